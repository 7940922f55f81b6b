//go:build !unix

package card_test

import "errors"

// limitFiles is for unix alone, as is its test.
func limitFiles(uint64) error { return errors.ErrUnsupported }
