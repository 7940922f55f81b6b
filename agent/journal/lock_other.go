//go:build !unix

package journal

import (
	"errors"
	"os"
)

// lockFile returns an error, because the file would not be locked.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("files cannot be locked on this system: use SQL")
}
