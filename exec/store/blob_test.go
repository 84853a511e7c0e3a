package store_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// putBlob stores bytes as a file; readBlob reads them back.
func putBlob(s *store.Store, data []byte) (*catalog.Segment, error) {
	return s.PutBlob(0, func(w io.Writer) error { _, err := w.Write(data); return err })
}

func readBlob(s *store.Store, ref *catalog.Segment) (b []byte, err error) {
	err = s.ReadBlob(ctx, ref, func(data []byte) error { b = bytes.Clone(data); return nil })
	return b, err
}

func TestBlobs(t *testing.T) {
	s := open(t, nil)
	ref, err := putBlob(s, []byte("parameters"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := readBlob(s, ref); err != nil || string(b) != "parameters" {
		t.Fatal(b, err)
	}
	ref.SHA256[0]++
	if _, err := readBlob(s, ref); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Fatal(err)
	}
}
