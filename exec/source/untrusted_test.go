package source

import (
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
	"github.com/tributarydb/tributary/sql/pgerr"
)

// allocates returns the bytes that f allocates.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a page is said to be uncompressed is not exceeded.
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

// A footer that claims a list of 100 million elements is refused before there is room for them.
func TestFooterBounded(t *testing.T) {
	foot := []byte{0x15, 0x02, 0x19, 0xfc} // version 1; a list of structs, its size follows
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
	if n := allocates(func() { _, err = OpenParquet(path, "STDIN", acct) }); n > 16<<20 {
		t.Errorf("%d bytes are allocated for a footer of %d", n, len(foot))
	}
	if pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Error(err)
	}
}

// A file of a megabyte whose pages are large is read within the account, or not at all: a column
// that is read page by page, and one of lists, which the library reads.
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
		acct := mem.NewPool("node", limit).Account("copy", false)
		defer acct.Close()
		p, err := OpenParquet(path, "STDIN", acct)
		if err != nil {
			return err
		}
		r, err := p.Read(context.Background(), []int{col})
		if err != nil {
			return err
		}
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
