package store

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// fuzzSegment returns a valid segment file of a few rows.
func fuzzSegment(f *testing.F) []byte {
	f.Helper()
	dir := f.TempDir()
	s, err := Open(Options{Dir: dir, Node: 1})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	w := s.NewWriter(WriterOptions{Columns: []WriterColumn{{Num: 1, Type: types.Int8}, {Num: 2, Type: types.Text}}, InlineBytes: -1, GroupRows: 64})
	ints, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 200 {
		ints.Append(int64(i * i))
		if i%5 == 0 {
			texts.AppendNull()
		} else {
			texts.Append("text of some length"[:i%19])
		}
	}
	if err := w.Write(context.Background(), batch.New([]arrow.Array{ints.NewArray(), texts.NewArray()}, 200)); err != nil {
		f.Fatal(err)
	}
	segs, err := w.Finish(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, segs[0].ID.String()+".seg"))
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// FuzzSegment damages a file and, if `mend`, corrects the checksum of its footer: opening it and
// reading its columns returns an error or succeeds, never panics.
func FuzzSegment(f *testing.F) {
	good := fuzzSegment(f)
	f.Add(uint32(0), []byte{1}, false)
	f.Add(uint32(len(good)-tailBytes), []byte{0xff, 0xff, 0xff, 0xff}, false)
	for back := tailBytes + 1; back < tailBytes+200; back += 7 {
		f.Add(uint32(len(good)-back), []byte{0xff, 0x7f}, true)
	}
	st, err := Open(Options{Dir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	path := st.path(catalog.SegmentID{})
	f.Fuzz(func(t *testing.T, at uint32, with []byte, mend bool) {
		b := append([]byte{}, good...)
		copy(b[int(at)%len(b):], with)
		if tail := b[len(b)-tailBytes:]; mend {
			if n := int(binary.LittleEndian.Uint32(tail)); n <= len(b)-tailBytes {
				binary.LittleEndian.PutUint32(tail[4:], crc32.Checksum(b[len(b)-tailBytes-n:len(b)-tailBytes], castagnoli))
			}
		}
		_ = os.Remove(path)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := st.openFile(&catalog.Segment{}, info)
		if err != nil {
			return
		}
		defer s.unmap()
		for g := range s.foot.Groups {
			for c := range s.foot.Cols {
				arr, err := s.array(g, c)
				if err != nil {
					continue
				}
				// Values within buffers are protected by their checksums only: a forged footer may
				// exchange the buffers of two columns.
				for i := 0; i < arr.Len() && !mend; i++ {
					if !arr.IsNull(i) {
						_, _ = io.WriteString(io.Discard, arr.ValueStr(i))
					}
				}
			}
		}
	})
}
