//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps other processes from using a data folder at the same time.
func lockFolder(dir string) (unlock func() error, err error) {
	unlock, err = lockFile(filepath.Join(dir, "lock"))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("--data: another process uses %s", dir)
	}
	return unlock, err
}

// lockStore keeps a second service from using an SQLite file.
func lockStore(path string) (unlock func() error, err error) {
	unlock, err = lockFile(path + ".lock")
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("store: another service uses %s: stop it first, or use PostgreSQL, which several instances may share", path)
	}
	return unlock, err
}

// lockFile returns EWOULDBLOCK if another process has the lock. The lock ends with the
// process, however it ends.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
