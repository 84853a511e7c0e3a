package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// allocates returns the number of bytes that f allocates.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDecompressBounded: decompression stops at the uncompressed size that the page header states.
// A page of zeros that claims 1,000 bytes but has 32 MiB must not allocate them.
func TestDecompressBounded(t *testing.T) {
	zeros := make([]byte, 32<<20)
	for _, c := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli} {
		codec, err := compress.GetCodec(c)
		if err != nil {
			t.Fatal(err)
		}
		packed := codec.Encode(nil, zeros)
		dec, err := decoderOf(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := dec(make([]byte, len(zeros)), packed); err != nil {
			t.Fatal(c, err)
		}
		dst := make([]byte, 1000)
		if n := allocates(func() { err = dec(dst, packed) }); n > 24<<20 {
			t.Errorf("%s: %d bytes for a page of 1000", c, n)
		}
		if err == nil && (c == compress.Codecs.Snappy || c == compress.Codecs.Zstd) {
			t.Errorf("%s: a page of another size is accepted", c)
		}
	}
}

// TestFooterBounded: a footer that claims a list of 100 million elements is refused before memory
// is allocated for them.
func TestFooterBounded(t *testing.T) {
	foot := []byte{0x15, 0x02, 0x19, 0xfc} // version 1; a list of structs, whose length follows
	foot = binary.AppendUvarint(foot, 100_000_000)
	b := append([]byte("PAR1"), foot...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(foot)))
	b = append(b, "PAR1"...)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	acct := mem.NewPool("node", 1<<20).Account("copy", false)
	defer acct.Close()
	var err error
	if n := allocates(func() { _, err = OpenParquet(context.Background(), object.Local, path, "STDIN", acct) }); n > 16<<20 {
		t.Errorf("%d bytes are allocated for a footer of %d", n, len(foot))
	}
	if pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
}

// TestUntrustedPagesAreCharged: a file of a megabyte with pages that decompress to much more is
// read within the memory limit or refused: a column that is read page by page, and one of lists,
// which the library reads.
func TestUntrustedPagesAreCharged(t *testing.T) {
	long := make([]byte, 16<<20)
	for i := range long {
		long[i] = 'x'
	}
	text := array.NewBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String).(*array.StringBuilder)
	text.Append(string(long))
	list := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	list.Append(true)
	list.ValueBuilder().(*array.StringBuilder).Append(string(long))
	schema := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	rec := array.NewRecord(schema, []arrow.Array{text.NewArray(), list.NewArray()}, 1)
	path := filepath.Join(t.TempDir(), "x.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{rec}), out, 1,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithStats(false), parquet.WithDictionaryDefault(false)), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	read := func(limit int64, col int) error {
		pool := mem.NewPool("node", limit).Child("statement", 0)
		defer func() {
			if leaked := pool.Close(); leaked != 0 {
				t.Errorf("column %d of %d bytes: %d bytes stay charged", col, limit, leaked)
			}
		}()
		acct := pool.Account("copy", false)
		defer acct.Close()
		p, err := OpenParquet(context.Background(), object.Local, path, "STDIN", acct)
		if err != nil {
			return err
		}
		r := p.Read([]int{col})
		defer r.Close()
		for {
			if _, err := r.Next(context.Background()); err != nil {
				if err == io.EOF {
					return nil
				}
				return err
			}
		}
	}
	for col := range 2 {
		if err := read(8<<20, col); pgerr.CodeOf(err) != pgerr.OutOfMemory {
			t.Errorf("column %d: %v", col, err)
		}
		if err := read(256<<20, col); err != nil {
			t.Errorf("column %d: %v", col, err)
		}
	}
}

// TestLongStringsAreCharged: a string long enough for a batch of its own is charged in addition to
// the page, and the dictionary, from which it is copied; all of it is released.
func TestLongStringsAreCharged(t *testing.T) {
	const size = 16 << 20
	for _, c := range []struct {
		dictionary bool
		least      int64 // with the page buffers that are not charged
	}{
		{false, 2 * size}, // the page, the column
		{true, 4 * size},  // the page, the dictionary (twice its page's size), the column
	} {
		text := array.NewBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String).(*array.StringBuilder)
		text.Append(string(bytes.Repeat([]byte("x"), size)))
		schema := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String}}, nil)
		path := filepath.Join(t.TempDir(), "x.parquet")
		out, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{array.NewRecord(schema, []arrow.Array{text.NewArray()}, 1)}), out, 1,
			parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Brotli), parquet.WithStats(false), parquet.WithDictionaryDefault(c.dictionary),
				parquet.WithDictionaryPageSizeLimit(2*size)), pqarrow.DefaultWriterProps()); err != nil {
			t.Fatal(err)
		}
		s := New(nil)
		pool := mem.NewPool("node", 1<<30).Child("statement", 0)
		lines, _, err := readRows(s, src(t, s, "read_parquet", []plan.Arg{arg("", path)}), pool)
		if err != nil || len(lines) != 1 || len(lines[0]) != size {
			t.Fatal(len(lines), err)
		}
		if got := pool.Peak() + freePages; got < c.least || got > c.least+2<<20 {
			t.Errorf("dictionary %v: %d bytes are charged", c.dictionary, got)
		}
		if leaked := pool.Close(); leaked != 0 {
			t.Errorf("dictionary %v: %d bytes stay charged", c.dictionary, leaked)
		}
	}
}

// TestHeadsOfOtherPages: a page header with the struct of another page type, in addition to its own
// or instead of it, is damage: the library might read the one that this package has not checked.
func TestHeadsOfOtherPages(t *testing.T) {
	begin := []byte{0x15, 0, 0x15, 20, 0x15, 20} // a data page of ten bytes
	own := []byte{0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0}
	other := []byte{0x3c, 0x15, 200, 1, 0x15, 0, 0x15, 0, 0x15, 0, 0x15, 0, 0x15, 0, 0} // the struct of a data page of version 2
	join := func(parts ...[]byte) []byte { return append(bytes.Join(parts, nil), 0) }
	if h, _, err := readPageHead(join(begin, own)); err != nil || h.values != 1 {
		t.Fatal(h, err)
	}
	if _, _, err := readPageHead(join(begin, own, other)); err != errHead {
		t.Error("two heads:", err)
	}
	other[0] = 0x5c
	if _, _, err := readPageHead(join(begin, other)); err != errHead {
		t.Error("another head:", err)
	}
	if _, _, err := readPageHead(join(begin)); err != errHead {
		t.Error("no head:", err)
	}
	index := join([]byte{0x15, 2, 0x15, 0, 0x15, 0}) // an index page of no bytes
	for _, check := range []bool{true, false} {
		p := &pageReader{left: 1}
		p.in.open(bytes.NewReader(index), 0, int64(len(index)))
		if _, _, err := p.sizes(nil, check); (err == errPage) != check {
			t.Errorf("a page that the library does not skip, checked %v: %v", check, err)
		}
	}
}
