package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/decimal128"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// randomParquet writes a file with columns that are read page by page: each type with and without
// NULLs, of few and of many values.
func randomParquet(t *testing.T, rng *rand.Rand, rows int, props ...parquet.WriterProperty) string {
	t.Helper()
	kinds := []arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32,
		arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Timestamp_us,
		&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 18, Scale: 0}, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary}
	var fields []arrow.Field
	for i, k := range kinds {
		for _, null := range []bool{false, true} {
			for _, few := range []bool{false, true} {
				fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d_%v_%v", i, null, few), Type: k, Nullable: null})
			}
		}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, f := range fields {
		few := i%2 == 1
		gone := 0 // how many rows are yet to be NULL, to have runs of NULLs
		for range rows {
			if gone == 0 && f.Nullable && rng.Intn(20) == 0 {
				gone = 1 + rng.Intn(300)*rng.Intn(2)
			}
			if gone > 0 {
				gone--
				b.Field(i).AppendNull()
				continue
			}
			v := rng.Int63n(1 << 45)
			if few {
				v %= 9
			}
			if rng.Intn(2) == 0 {
				v = -v
			}
			switch fb := b.Field(i).(type) {
			case *array.Int16Builder:
				fb.Append(int16(v))
			case *array.Int32Builder:
				fb.Append(int32(v))
			case *array.Int64Builder:
				fb.Append(v)
			case *array.Float32Builder:
				fb.Append(float32(v))
			case *array.Float64Builder:
				fb.Append(float64(v))
			case *array.Date32Builder:
				fb.Append(arrow.Date32(v % 40000))
			case *array.TimestampBuilder:
				fb.Append(arrow.Timestamp(v))
			case *array.Decimal128Builder:
				if f.Type.(*arrow.Decimal128Type).Precision == 7 {
					v %= 9999999
				}
				fb.Append(decimal128.FromI64(v))
			case *array.StringBuilder:
				fb.Append(fmt.Sprint("s", v))
			case *array.BinaryBuilder:
				fb.Append([]byte(fmt.Sprint("b", v)))
			}
		}
	}
	tab := array.NewTableFromRecords(schema, []arrow.Record{b.NewRecord()})
	path := filepath.Join(t.TempDir(), "r.parquet")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pqarrow.WriteTable(tab, out, int64(rows*4/5), parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps()); err != nil {
		t.Fatal(err)
	}
	return path
}

// byLibrary reads a file as text with the Parquet library alone.
func byLibrary(t *testing.T, path string, cols []plan.Column) []string {
	t.Helper()
	f, err := (&args{ctx: context.Background(), reader: Reader{Server: true}}).expand([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := openParquet(context.Background(), f[0], &parquetInfo{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	r, err := arrowReader(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, raw.NumRows())
	for c := range cols {
		rd, err := r.GetColumn(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		col := &converted{rd, cols[c].Type}
		arr, err := col.next(int(raw.NumRows()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			text := "∅"
			if d := types.DatumAt(cols[c].Type, arr, i); d != nil {
				text = types.TextOf(cols[c].Type, d, nil)
			}
			if c > 0 {
				lines[i] += "|"
			}
			lines[i] += text
		}
	}
	return lines
}

func TestParquetPages(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	for name, props := range map[string][]parquet.WriterProperty{
		"v1":      {parquet.WithDataPageVersion(parquet.DataPageV1)},
		"v2":      {parquet.WithDataPageVersion(parquet.DataPageV2)},
		"plain":   {parquet.WithDictionaryDefault(false)},
		"integer": {parquet.WithStoreDecimalAsInteger(true)},
		"both":    {parquet.WithDictionaryPageSizeLimit(4 << 10), parquet.WithDataPageSize(2 << 10), parquet.WithBatchSize(64)},
		"small":   {parquet.WithDataPageSize(300), parquet.WithBatchSize(10), parquet.WithDataPageVersion(parquet.DataPageV2)},
		"delta": {parquet.WithDictionaryFor("c2_false_false", false), parquet.WithEncodingFor("c2_false_false", parquet.Encodings.DeltaBinaryPacked),
			parquet.WithDictionaryFor("c9_true_true", false), parquet.WithEncodingFor("c9_true_true", parquet.Encodings.DeltaLengthByteArray)},
	} {
		t.Run(name, func(t *testing.T) {
			path := randomParquet(t, rng, 11000, props...)
			s := New(nil)
			p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
			got, want := read(t, s, p, 2), byLibrary(t, path, p.Cols)
			if len(got) != len(want) {
				t.Fatalf("%d rows of %d", len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("row %d is\n%s\nnot\n%s", i, got[i], want[i])
				}
			}
		})
	}
}

// TestParquetReuse: batches of numbers reuse the memory of the batch before if the consumer has
// allowed it (op.AllowReuse), and only then.
func TestParquetReuse(t *testing.T) {
	s := New(nil)
	p := src(t, s, "read_parquet", []plan.Arg{arg("", randomParquet(t, rand.New(rand.NewSource(3)), 25000))})
	for _, reuse := range []bool{false, true} {
		r, err := s.Open(context.Background(), p, 0, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if reuse {
			op.AllowReuse(r)
		}
		last := make([]*byte, len(p.Cols))
		for n := 0; ; n++ {
			b, err := r.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range b.Cols {
				if oid := p.Cols[i].Type.OID; oid == types.TextOID || oid == types.ByteaOID {
					continue
				}
				at := &c.Data().Buffers()[1].Bytes()[0]
				if n > 0 && (at == last[i]) != reuse {
					t.Fatalf("batch %d, reuse %v: column %s in the same memory: %v", n, reuse, p.Cols[i].Name, at == last[i])
				}
				last[i] = at
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParquetPagesDamaged: reading a damaged file returns an error or other rows; it never panics.
func TestParquetPagesDamaged(t *testing.T) {
	rng := rand.New(rand.NewSource(8))
	path := randomParquet(t, rng, 400, parquet.WithDataPageSize(500), parquet.WithBatchSize(50))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := New(nil)
	p := src(t, s, "read_parquet", []plan.Arg{arg("", path)})
	failed := 0
	for range 120 {
		bad := append([]byte(nil), whole...)
		for range 1 + rng.Intn(3) {
			bad[4+rng.Intn(len(bad)*3/4)] ^= byte(1 << rng.Intn(8))
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := tryRead(s, p, 1); err != nil {
			failed++
			if c := pgerr.CodeOf(err); c != pgerr.DataCorrupted && c != pgerr.DatetimeFieldOverflow && c != pgerr.NumericValueOutOfRange && c != pgerr.CharacterNotInRepertoire {
				t.Fatal(c, err)
			}
		}
	}
	if failed == 0 {
		t.Error("nothing was noticed")
	}
}

// TestHybrid: the decoder of Parquet's RLE/bit-packing hybrid returns what a plain decoder returns,
// however many values are read at once.
func TestHybrid(t *testing.T) {
	rng := rand.New(rand.NewSource(9))
	for range 300 {
		width := uint(rng.Intn(21))
		var in []byte
		var want []int32
		for range 1 + rng.Intn(6) {
			if rng.Intn(2) == 0 {
				n, v := 1+rng.Intn(200), int32(rng.Int63n(1<<width))
				in = append(in, byte(n<<1|0x80), byte(n>>6))
				for i := uint(0); i < (width+7)/8; i++ {
					in = append(in, byte(v>>(8*i)))
				}
				for range n {
					want = append(want, v)
				}
				continue
			}
			groups := 1 + rng.Intn(5)
			in = append(in, byte(groups<<1|1))
			bits := make([]byte, uint(groups)*width)
			for i := range uint(groups * 8) {
				v := int32(rng.Int63n(1 << width))
				want = append(want, v)
				for b := range width {
					bits[(i*width+b)/8] |= byte(v>>b&1) << ((i*width + b) % 8)
				}
			}
			in = append(in, bits...)
		}
		h, err := newHybrid(in, width)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(want); {
			n := min(1+rng.Intn(50), len(want)-at)
			if rng.Intn(3) == 0 {
				same, err := h.all(want[at], n)
				if err != nil {
					t.Fatal(err)
				}
				for i := range same {
					if want[at+i] != want[at] {
						t.Fatal("a run goes on beyond its end")
					}
				}
				at += same
				continue
			}
			got := make([]int32, n)
			if err := h.read(got); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if v != want[at+i] {
					t.Fatalf("value %d is %d, not %d", at+i, v, want[at+i])
				}
			}
			at += n
		}
		if err := h.read(make([]int32, 1)); err == nil {
			t.Fatal("there is more than was written")
		}
	}
	if _, err := newHybrid(nil, 32); err == nil {
		t.Error("32 bits")
	}
}

// TestParquetText: text that is not UTF-8, or has a zero byte, is an error that names the place, in
// every encoding; bytea values, and columns that are not read, may have any bytes.
func TestParquetText(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.Binary}}, nil)
	for encoding, props := range map[string][]parquet.WriterProperty{
		"dictionary": nil,
		"plain":      {parquet.WithDictionaryDefault(false)},
		"delta":      {parquet.WithDictionaryDefault(false), parquet.WithEncoding(parquet.Encodings.DeltaByteArray)},
	} {
		for _, c := range []struct{ one, two, bad string }{
			{"plain", "text", ""},
			{"Größe", "\u2028 and \U0001F600", ""},
			{"", "ends with \xc3", "0xc3"},
			{"ends with \xc3", "\xa9 begins", "0xc3"}, // one character divided between two strings
			{"a", "long enough for words \xff", "0xff"},
			{"a zero\x00byte", "b", "0x00"},
			{"\x00", "", "0x00"},
		} {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			for i := range 40 {
				text := c.one
				if i%3 == 2 {
					text = c.two
				}
				b.Field(0).(*array.Int32Builder).Append(int32(i))
				b.Field(1).(*array.StringBuilder).Append(text)
				b.Field(2).(*array.BinaryBuilder).Append([]byte("\xff\x00"))
			}
			path := filepath.Join(t.TempDir(), "t.parquet")
			out, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := pqarrow.WriteTable(array.NewTableFromRecords(schema, []arrow.Record{b.NewRecord()}), out, 40, parquet.NewWriterProperties(append(props, parquet.WithEncodingFor("n", parquet.Encodings.Plain))...), pqarrow.DefaultWriterProps()); err != nil {
				t.Fatal(err)
			}
			s := New(nil)
			args := []plan.Arg{arg("", path)}
			rows, err := tryRead(s, src(t, s, "read_parquet", args), 1)
			var e *pgerr.Error
			switch {
			case c.bad == "":
				if err != nil || len(rows) != 40 || !strings.Contains(rows[2], c.two) {
					t.Errorf("%s %q: %v", encoding, c, err)
				}
			case !errors.As(err, &e) || e.Code != pgerr.CharacterNotInRepertoire || !strings.Contains(e.Message, c.bad) || !strings.Contains(e.Detail, `"s"`) || !strings.Contains(e.Detail, path):
				t.Errorf("%s %q: %v", encoding, c, err)
			}
			if rows, err := tryRead(s, src(t, s, "read_parquet", args, "n", "b"), 1); err != nil || len(rows) != 40 {
				t.Errorf("%s %q: %d rows of other columns, %v", encoding, c, len(rows), err)
			}
		}
	}
}
