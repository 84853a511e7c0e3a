package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/tributarydb/tributary/sql/catalog"
)

// Look checks by name and size only whether a file of this node is as the catalog has it. The error
// is a *CorruptError where it is not.
func (s *Store) Look(ref *catalog.Segment) error {
	st, err := s.fs.Stat(s.path(ref.ID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{Segment: ref.ID, Missing: true, ref: ref}
	case err != nil:
		return &CorruptError{Segment: ref.ID, What: err.Error(), ref: ref}
	case ref.Bytes > 0 && st.Size() != ref.Bytes:
		return &CorruptError{Segment: ref.ID, What: fmt.Sprintf("the file has %d bytes, not %d", st.Size(), ref.Bytes), ref: ref}
	}
	return nil
}

// Scrub reads a file from the device, bypassing the system's page cache, and compares its hash with
// the catalog's. pace is called with the bytes of each read, and may wait. The error is a
// *CorruptError where the file is not good.
func (s *Store) Scrub(ctx context.Context, ref *catalog.Segment, pace func(context.Context, int) error) error {
	if err := s.Look(ref); err != nil {
		return err
	}
	f, err := s.fs.OpenDirect(s.path(ref.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{Segment: ref.ID, Missing: true, ref: ref}
	}
	if err != nil {
		return &CorruptError{Segment: ref.ID, What: err.Error(), ref: ref}
	}
	defer f.Close()
	sum, buf := SumOf(ref), make([]byte, 256<<10)
	for {
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		if perr := pace(ctx, n); perr != nil {
			return perr
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return &CorruptError{Segment: ref.ID, What: err.Error(), ref: ref}
		}
	}
	if !sum.Good() {
		return &CorruptError{Segment: ref.ID, What: "the file has another hash", ref: ref}
	}
	return nil
}

// ScrubMark is the progress of scrubbing: after file At of a pass that began at Started; the one
// before it ended at Completed (seconds since 1970, 0 for never).
type ScrubMark struct {
	At                 catalog.SegmentID
	Started, Completed int64
}

func (s *Store) markPath() string { return filepath.Join(s.dir, "scrub") }

// ScrubMark reads the mark; a missing or unreadable one stands for a first pass.
func (s *Store) ScrubMark() (m ScrubMark) {
	b, err := s.readFile(s.markPath())
	if err != nil {
		return m
	}
	var at string
	if _, err := fmt.Sscanf(string(b), "at %s started %d completed %d\n", &at, &m.Started, &m.Completed); err != nil {
		return ScrubMark{}
	}
	m.At, _ = catalog.ParseSegmentID(at)
	return m
}

// SetScrubMark writes the mark. After a crash an older one may be there: some
// files are read twice.
func (s *Store) SetScrubMark(m ScrubMark) error {
	path := s.markPath() + tempSuffix
	_ = s.fs.Remove(path)
	f, err := s.fs.Create(path)
	if err != nil {
		return ioError(err, "create", path)
	}
	_, err = io.Copy(f, strings.NewReader(fmt.Sprintf("at %s started %d completed %d\n", m.At, m.Started, m.Completed)))
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.fs.Rename(path, s.markPath())
	}
	if err != nil {
		_ = s.fs.Remove(path)
	}
	return ioError(err, "write", path)
}
