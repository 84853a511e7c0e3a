package store

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// CorruptError says that a segment's file on this node is damaged or missing.
// Another replica may be good.
type CorruptError struct {
	Segment catalog.SegmentID
	What    string
	Missing bool
}

// Error implements error.
func (e *CorruptError) Error() string { return e.Unwrap().Error() }

// Unwrap gives the error a client sees.
func (e *CorruptError) Unwrap() error {
	if e.Missing {
		return pgerr.New(pgerr.DataCorrupted, "segment %s is missing on this node", e.Segment)
	}
	return pgerr.New(pgerr.DataCorrupted, "invalid data in segment %s: %s", e.Segment, e.What).
		WithHint("The segment is read from another replica where there is one.")
}

// ioError turns an error of writing into one for the client: a full disk is
// 53100, so that the statement fails and nothing else does.
func ioError(err error, doing, path string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return pgerr.Wrap(pgerr.DiskFull, err, "could not %s file %q: No space left on device", doing, path).
			WithHint("Check free disk space.")
	case errors.Is(err, fs.ErrNotExist):
		return pgerr.Wrap(pgerr.UndefinedFile, err, "could not %s file %q: No such file or directory", doing, path)
	}
	return pgerr.Wrap(pgerr.IOError, err, "could not %s file %q", doing, path)
}
