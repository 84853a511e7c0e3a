package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	"github.com/klauspost/compress/snappy"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// onePage writes a file with all values of each column in one page: numbers, numbers with NULLs,
// and strings with NULLs, of up to `longest` bytes.
func onePage(t *testing.T, rows, longest int, props ...parquet.WriterProperty) string {
	t.Helper()
	rng := rand.New(rand.NewSource(5))
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(rng.Int63())
		if i%7 == 0 {
			b.Field(1).AppendNull()
			b.Field(2).AppendNull()
			continue
		}
		b.Field(1).(*array.Int32Builder).Append(int32(i))
		b.Field(2).(*array.StringBuilder).Append(strings.Repeat(fmt.Sprint(rng.Intn(1000), "é"), rng.Intn(longest/5)))
	}
	path := filepath.Join(t.TempDir(), "one.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	props = append([]parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(1 << 30), parquet.WithBatchSize(1 << 20)}, props...)
	if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{b.NewRecord()}), out, 1<<20, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return path
}

// readRows reads a source as text; it returns also the bytes of the largest batch and the peak of
// memory charged to pool.
func readRows(s *Sources, p *plan.Source, pool *mem.Pool) (lines []string, most int64, err error) {
	r, err := s.Open(context.Background(), p, 0, 1, pool)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = r.Close() }()
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			return lines, most, nil
		}
		if err != nil {
			return nil, most, err
		}
		most = max(most, b.Bytes())
		for i := range b.N {
			var line []string
			for c, col := range p.Cols {
				text := "∅"
				if d := types.DatumAt(col.Type, b.Cols[c], i); d != nil {
					text = types.TextOf(col.Type, d, nil)
				}
				line = append(line, text)
			}
			lines = append(lines, strings.Join(line, "|"))
		}
	}
}

// TestLargePages: a page that is larger than the memory limit is decompressed and decoded in
// slices; the rows are those that the library reads.
func TestLargePages(t *testing.T) {
	for _, c := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			path := onePage(t, 300, 200_000, parquet.WithCompression(c), parquet.WithDataPageVersion(version))
			s := New(nil)
			p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
			pool := mem.NewPool("n", 64<<20).Child("statement", 12<<20) // the limit includes the window of zstd
			lines, most, err := readRows(s, p, pool)
			if err != nil {
				t.Fatal(c, err)
			}
			if !slices.Equal(lines, byLibrary(t, path, p.Cols)) {
				t.Errorf("%s %v: other rows than the library's", c, version)
			}
			if most > 10<<20 {
				t.Errorf("%s %v: a batch of %d bytes", c, version, most)
			}
			if leaked := pool.Close(); leaked != 0 {
				t.Errorf("%s %v: %d bytes stay charged", c, version, leaked)
			}
		}
	}
}

// TestLargePagesRefused: a page that cannot be read in slices is charged before it is decoded, and
// refused if it is too large.
func TestLargePagesRefused(t *testing.T) {
	path := onePage(t, 300, 200_000, parquet.WithCompression(compress.Codecs.Brotli))
	s := New(nil)
	p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
	pool := mem.NewPool("n", 32<<20).Child("statement", 2<<20)
	_, _, err := readRows(s, p, pool)
	if e := pgerr.From(err); err == nil || e.Code != pgerr.OutOfMemory || !strings.Contains(e.Hint, "smaller pages") {
		t.Fatal(err)
	}
	if leaked := pool.Close(); leaked != 0 {
		t.Errorf("%d bytes stay charged", leaked)
	}
	if lines, _, err := readRows(s, p, nil); err != nil || !slices.Equal(lines, byLibrary(t, path, p.Cols)) {
		t.Error("with memory:", err)
	}
}

// TestClaimedPage: a page header that claims two gigabytes is reported as damage, and nothing is
// allocated for it.
func TestClaimedPage(t *testing.T) {
	for _, c := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli} {
		for _, claim := range []struct{ size, packed int }{{1<<31 - 1, 1000}, {1000, 1<<31 - 1}, {1<<31 - 1, 1<<31 - 1}} {
			p := &pageReader{left: 10, compression: c}
			if c != compress.Codecs.Uncompressed {
				p.codec, _ = decoderOf(compress.Codecs.Snappy)
			}
			p.charge = func(more int, must bool) error {
				if more > 1<<20 {
					t.Errorf("%s, %d of %d bytes: asked for %d bytes", c, claim.packed, claim.size, more)
				}
				return nil
			}
			var b []byte
			field := func(delta byte, typ byte, v int) {
				b = append(b, delta<<4|typ)
				for u := uint64(v) << 1; ; u >>= 7 {
					if u < 0x80 {
						b = append(b, byte(u))
						break
					}
					b = append(b, byte(u)|0x80)
				}
			}
			field(1, 5, int(dictionaryPage))
			field(1, 5, claim.size)
			field(1, 5, claim.packed)
			b = append(b, 4<<4|thriftStruct)
			field(1, 5, 10)
			b = append(b, 0, 0)
			b = append(b, make([]byte, 5000)...)
			p.in.open(bytes.NewReader(b), 0, int64(len(b)))
			if _, err := p.next(); err != errPage {
				t.Errorf("%s, %d of %d bytes: %v", c, claim.packed, claim.size, err)
			}
		}
	}
}

// TestSnappyReader: the streaming decoder of a Snappy block returns the bytes of the block, however
// it is read; for a damaged block an error, or as many bytes as its header says.
func TestSnappyReader(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 60 {
		data := make([]byte, rng.Intn(300_000))
		for i := range data {
			switch {
			case i > 0 && rng.Intn(3) > 0:
				data[i] = data[rng.Intn(min(i, 1+rng.Intn(70_000)))]
			case i > 4 && rng.Intn(2) == 0:
				data[i] = data[i-4]
			default:
				data[i] = byte(rng.Intn(256))
			}
		}
		if rng.Intn(2) == 0 {
			data = bytes.Repeat(data[:min(len(data), 1+rng.Intn(3000))], 1+rng.Intn(50))
		}
		block := snappy.Encode(nil, data)
		r, err := newSnappyReader(bytes.NewReader(block), len(data))
		if err != nil {
			t.Fatal(err)
		}
		if rng.Intn(2) == 0 {
			r = iotest.HalfReader(r)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %d wanted: %v", len(got), len(data), err)
		}
		if _, err := newSnappyReader(bytes.NewReader(block), len(data)+1); err != errSnappy {
			t.Error("another length:", err)
		}
		block[rng.Intn(len(block))] ^= byte(1 << rng.Intn(8))
		if r, err := newSnappyReader(bytes.NewReader(block), len(data)); err == nil {
			if got, err := io.ReadAll(r); err == nil && len(got) != len(data) || len(got) > len(data) {
				t.Errorf("damaged: %d bytes of %d, %v", len(got), len(data), err)
			}
		}
	}
}
