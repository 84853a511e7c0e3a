package store

import (
	"fmt"

	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// CorruptError says that a segment's file on this node is damaged or missing.
// Another replica may be good.
type CorruptError struct {
	Segment catalog.SegmentID
	What    string
	Missing bool

	ref *catalog.Segment // what should be there; nil where that is not known
	bad *segment         // what was read instead; nil where nothing was
}

// Error implements error.
func (e *CorruptError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error a client sees.
func (e *CorruptError) Unwrap() error {
	if e.Missing {
		return pgerr.New(pgerr.DataCorrupted, "segment %s is missing on this node", e.Segment)
	}
	return pgerr.New(pgerr.DataCorrupted, "invalid data in segment %s: %s", e.Segment, e.What).
		WithHint("The segment is read from another replica where there is one.")
}

// RepairedError says that a statement met damage which is repaired by now, or is found as such if it is
// met again: if the statement is run again it finds good data where there is some.
type RepairedError struct{ Segment catalog.SegmentID }

// Error implements error.
func (e *RepairedError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error a client sees.
func (e *RepairedError) Unwrap() error {
	return pgerr.New(pgerr.DataCorrupted, "segment %s was damaged while it was read", e.Segment).
		WithHint("Run the statement again.")
}

// ioError wraps an error of the file system with its SQLSTATE.
func ioError(err error, doing, path string) error {
	if err == nil {
		return nil
	}
	return disk.Error(err, fmt.Sprintf("could not %s file %q", doing, path))
}
