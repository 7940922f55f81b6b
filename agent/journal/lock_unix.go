//go:build unix

package journal

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// A lock is tried for a fifth of a second.
const (
	lockTries = 20
	lockWait  = 10 * time.Millisecond
)

// lockFile locks a file until it is closed or the process ends. It returns [ErrLocked].
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == lockTries {
			break
		}
		time.Sleep(lockWait) // a process that this one just started shares the lock until it runs its program
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
