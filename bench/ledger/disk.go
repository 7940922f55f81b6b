package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// probe is how long the disk is measured each time.
const probe = 700 * time.Millisecond

// disk measures F.
type disk struct{ dir string }

// rate is how often in a second 4 KiB can be appended to a file and waited for.
func (d *disk) rate() (perSecond float64, err error) {
	f, err := os.Create(filepath.Join(d.dir, "probe"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 4096)
	n, start := 0, time.Now()
	for ; time.Since(start) < probe; n++ {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), nil
}

// around measures F before and after, and returns the mean.
func (d *disk) around(measure func() error) (float64, error) {
	before, err := d.rate()
	if err != nil {
		return 0, err
	}
	if err := measure(); err != nil {
		return 0, err
	}
	after, err := d.rate()
	return (before + after) / 2, err
}
