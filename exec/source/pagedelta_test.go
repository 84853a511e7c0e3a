package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/object"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestParquetDeltas: columns whose values are encoded by their differences are read page by page as the
// library reads them.
func TestParquetDeltas(t *testing.T) {
	rng := rand.New(rand.NewSource(11))
	for name, more := range map[string][]parquet.WriterProperty{
		"v1":    {parquet.WithDataPageVersion(parquet.DataPageV1)},
		"v2":    {parquet.WithDataPageVersion(parquet.DataPageV2)},
		"small": {parquet.WithDataPageSize(4 << 10), parquet.WithBatchSize(512), parquet.WithDataPageVersion(parquet.DataPageV2)},
	} {
		props := append([]parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.Plain)}, more...)
		for c, encodings := range map[int][2]parquet.Encoding{
			0: {parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaBinaryPacked}, 1: {parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaBinaryPacked},
			2: {parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaBinaryPacked}, 6: {parquet.Encodings.DeltaBinaryPacked, parquet.Encodings.DeltaBinaryPacked},
			9:  {parquet.Encodings.DeltaByteArray, parquet.Encodings.DeltaLengthByteArray},
			10: {parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray},
		} {
			for i := range 4 {
				props = append(props, parquet.WithEncodingFor(fmt.Sprintf("c%d_%v_%v", c, i > 1, i%2 == 1), encodings[i%2]))
			}
		}
		path := randomParquet(t, rng, 11000, props...)
		f, err := (&args{ctx: context.Background(), reader: Reader{Server: true}}).expand([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		info := &parquetInfo{}
		raw, err := openParquet(context.Background(), f[0], info, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := footer(context.Background(), f[0], info, nil); err != nil {
			t.Fatal(err)
		}
		for c := range info.cols {
			if p, err := openPages(raw, 0, info, c, 1<<20, readBytes, nil); p == nil || err != nil {
				t.Errorf("%s: column %s is left to the library: %v", name, info.cols[c].Name, err)
			} else {
				p.close()
			}
		}
		raw.Close()
		s := New(nil)
		p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
		got, want := read(t, s, p, 2), byLibrary(t, path, p.Cols)
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows of %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: row %d is\n%s\nnot\n%s", name, i, got[i], want[i])
			}
		}
	}
}

// TestDeltas: differences of any width, against the values; and what is no such page allocates nothing.
func TestDeltas(t *testing.T) {
	// A block of 8 values in one miniblock of 3 bits each: from 3 on +1 each, the last +5.
	packed := uint32(4) << (3 * 5)
	b := []byte{8, 1, 7, 6, 2, 3, byte(packed), byte(packed >> 8), byte(packed >> 16)}
	d, err := newDeltas(append(b, "rest"...), 7)
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := behind(d); err != nil || string(rest) != "rest" {
		t.Errorf("behind it is %q: %v", rest, err)
	}
	for _, want := range []int64{3, 4, 5, 6, 7, 8, 13} {
		if got, err := d.next(); got != want || err != nil {
			t.Errorf("%d, not %d: %v", got, want, err)
		}
	}
	rng := rand.New(rand.NewSource(1))
	head := func(block, minis, total uint64) []byte {
		return binary.AppendVarint(binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, block), minis), total), 5)
	}
	bad := [][]byte{head(128, 4, 1<<31), head(128, 4, 1<<62), head(1<<40, 4, 9), head(128, 1<<40, 9), head(128, 0, 9), head(0, 4, 9), head(100, 4, 9), head(128, 4, 9), {}, {0xff}}
	for range 300 {
		x := make([]byte, rng.Intn(60))
		rng.Read(x)
		bad = append(bad, append(head(128, 4, 10), x...), x)
	}
	for i, x := range bad {
		for _, e := range []parquet.Encoding{parquet.Encodings.DeltaLengthByteArray, parquet.Encodings.DeltaByteArray, parquet.Encodings.DeltaBinaryPacked} {
			phys := parquet.Types.ByteArray
			if e == parquet.Encodings.DeltaBinaryPacked {
				phys = parquet.Types.Int64
			}
			p := &pageReader{}
			p.values, p.encoding = 10, e
			if n := allocates(func() { _, err = p.plainOf(x, phys) }); n > 256<<10 {
				t.Errorf("page %d as %s: %d bytes are allocated", i, e, n)
			}
			if i < 8 && err == nil {
				t.Errorf("page %d as %s is accepted", i, e)
			}
		}
	}
	p := &pageReader{}
	p.values, p.encoding = 10, parquet.Encodings.DeltaBinaryPacked
	if _, err := p.plainOf(head(128, 4, 1), parquet.Types.ByteArray); err == nil {
		t.Error("strings are no integers")
	}
}

// deltaFile writes a column of strings and one of lists of one string each.
func deltaFile(t *testing.T, e parquet.Encoding, texts []string) string {
	t.Helper()
	text := array.NewBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String).(*array.StringBuilder)
	list := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	for _, s := range texts {
		text.Append(s)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).Append(s)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	rec := array.NewRecord(schema, []arrow.Array{text.NewArray(), list.NewArray()}, int64(len(texts)))
	path := filepath.Join(t.TempDir(), "x.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{rec}), out, int64(len(texts)),
		parquet.NewWriterProperties(parquet.WithStats(false), parquet.WithDictionaryDefault(false), parquet.WithEncoding(e)), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return path
}

// readOfAnybody reads a column as COPY does, and returns the bytes of its strings.
func readOfAnybody(t *testing.T, path string, col int, limit int64) (bytes int, err error) {
	t.Helper()
	pool := mem.NewPool("node", limit).Child("statement", 0)
	defer func() {
		if leaked := pool.Close(); leaked != 0 {
			t.Errorf("column %d: %d bytes stay charged", col, leaked)
		}
	}()
	acct := pool.Account("copy", false)
	defer acct.Close()
	p, err := OpenParquet(context.Background(), object.Local, path, "STDIN", acct)
	if err != nil {
		return 0, err
	}
	r := p.Read([]int{col})
	defer r.Close()
	for {
		b, err := r.Next(context.Background())
		if err == io.EOF {
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
		c := p.Columns()[col].Type
		for i := range b.N {
			d := types.DatumAt(c, b.Cols[0], i)
			if a, ok := d.(types.Array); ok {
				d = a.Elems[0]
			}
			bytes += len(d.(string))
		}
	}
}

// TestDeltasAreCharged: strings that begin as the one before are a small page, and many bytes: these are
// charged for, by whoever decodes them. A page that claims more lengths than it has values is damage.
func TestDeltasAreCharged(t *testing.T) {
	texts := make([]string, 400)
	for i := range texts {
		texts[i] = strings.Repeat("ab", 50_000) + fmt.Sprint(i)
	}
	path := deltaFile(t, parquet.Encodings.DeltaByteArray, texts)
	if st, err := os.Stat(path); err != nil || st.Size() > 1<<20 {
		t.Fatal(st.Size(), err)
	}
	few := deltaFile(t, parquet.Encodings.DeltaLengthByteArray, []string{"needle"})
	b, err := os.ReadFile(few)
	if err != nil {
		t.Fatal(err)
	}
	claim := []byte{0x80, 0x01, 4, 1, 12} // 128, 4, 1 value, the first 6
	if bytes.Count(b, claim) != 2 {
		t.Fatal("the heads are not found")
	}
	if err := os.WriteFile(few, bytes.ReplaceAll(b, claim, []byte{0x80, 0x01, 4, 100, 12}), 0o600); err != nil {
		t.Fatal(err)
	}
	for col := range 2 {
		if _, err := readOfAnybody(t, path, col, 16<<20); pgerr.CodeOf(err) != pgerr.OutOfMemory {
			t.Errorf("column %d: %v", col, err)
		}
		if n, err := readOfAnybody(t, path, col, 512<<20); err != nil || n != 400*100_000+1090 {
			t.Errorf("column %d: %d bytes, %v", col, n, err)
		}
		if _, err := readOfAnybody(t, few, col, 64<<20); pgerr.CodeOf(err) != pgerr.DataCorrupted {
			t.Errorf("column %d claims 100 lengths: %v", col, err)
		}
	}
}

// TestDamagedDeltas: a damaged header is an error, also one whose numbers overflow when multiplied: 8
// times 2⁶¹ miniblocks are 0.
func TestDamagedDeltas(t *testing.T) {
	for _, head := range [][3]uint64{{128, 0, 1}, {128, 1 << 61, 1}, {0, 1, 1}, {128, 256, 1}, {100, 4, 1}, {1 << 20, 4, 1}, {128, 4, 9}} {
		b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, head[0]), head[1]), head[2])
		if _, err := newDeltas(append(b, 0), 8); err != errPage {
			t.Errorf("%v: %v", head, err)
		}
	}
}
