//go:build !unix

package main

// lockFolder and lockStore do nothing: this system has no advisory locks of files.
func lockFolder(string) (unlock func() error, err error) { return func() error { return nil }, nil }

func lockStore(string) (unlock func() error, err error) { return func() error { return nil }, nil }
