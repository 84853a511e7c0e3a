//go:build !unix

package disk

import (
	"errors"
	"os"
)

// ErrLocked is Lock's error where another process has the file locked.
var ErrLocked = errors.New("another process has locked the file")

// Lock only makes the file: this platform has no flock.
func Lock(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
