package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/wire/codec"
)

var env = &types.Env{Settings: datetime.Settings{Location: time.UTC}}

// TestRows encodes columns of every representation, with NULLs and a selection, and decodes the
// messages to the same values.
func TestRows(t *testing.T) {
	ts := []types.Type{types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Text, types.Bytea, types.Date}
	texts := [][]string{
		{"t", "-5", "2147483647", "-9223372036854775808", "1.5", "-0", "héllo", `\x00ff`, "2024-02-29"},
		{"f", "7", "-1", "12", "NaN", "1e+300", "", `\x`, "0001-01-01"},
	}
	var cols []arrow.Array
	for i, typ := range ts {
		b := array.NewBuilder(memory.DefaultAllocator, typ.Arrow())
		for r := range 3 {
			if r == 1 {
				b.AppendNull()
				continue
			}
			d, err := types.ParseText(typ, texts[r/2][i], env)
			if err != nil {
				t.Fatal(err)
			}
			if err := types.AppendDatum(b, typ, d); err != nil {
				t.Fatal(err)
			}
		}
		cols = append(cols, b.NewArray())
	}
	b := batch.New(cols, 3)
	b.Sel = []int32{2, 0, 1}
	for _, format := range []int16{codec.Text, codec.Binary} {
		formats, err := codec.Formats([]int16{format}, len(ts))
		if err != nil {
			t.Fatal(err)
		}
		rows := codec.NewRows(ts, formats, env, nil, func(int64) error { return nil })
		var out []byte
		for from := 0; from < b.Rows(); {
			var next int
			if out, next, err = rows.Append(out, b, from, b.Rows(), 1); err != nil || next != from+1 {
				t.Fatalf("a full buffer took rows %d to %d", from, next)
			}
			from = next
		}
		whole, n, err := rows.Append(nil, b, 0, b.Rows(), 1<<20)
		if err != nil || n != b.Rows() || !bytes.Equal(whole, out) {
			t.Fatal("rows one by one and at once differ")
		}
		for _, r := range []int{1, 0, -1} {
			vals := dataRow(t, &out)
			for i, v := range vals {
				if r < 0 {
					if v != nil {
						t.Errorf("%v: %q for NULL", ts[i], v)
					}
					continue
				}
				got := string(v)
				if format == codec.Binary {
					d, err := codec.Params("", ts[i:i+1], []int16{codec.Binary}, [][]byte{v}, env, nil)
					if err != nil {
						t.Fatal(err)
					}
					got = string(types.AppendText(nil, ts[i], d[0], env))
				}
				if got != texts[r][i] {
					t.Errorf("%v in format %d: %q, want %q", ts[i], format, got, texts[r][i])
				}
			}
		}
		if len(out) != 0 {
			t.Errorf("%d bytes are left", len(out))
		}
	}
}

func dataRow(t *testing.T, in *[]byte) [][]byte {
	t.Helper()
	b := *in
	size := int(binary.BigEndian.Uint32(b[1:]))
	if b[0] != 'D' {
		t.Fatalf("message %q", b[0])
	}
	body := b[5 : 1+size]
	*in = b[1+size:]
	n := binary.BigEndian.Uint16(body)
	body = body[2:]
	var out [][]byte
	for range n {
		l := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if l < 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, append([]byte{}, body[:l]...))
		body = body[l:]
	}
	if len(body) != 0 {
		t.Fatalf("%d bytes too many in a row", len(body))
	}
	return out
}

var fuzzed = []types.OID{types.BoolOID, types.Int2OID, types.Int4OID, types.Int8OID, types.Float4OID, types.Float8OID, types.NumericOID, types.TextOID,
	types.VarcharOID, types.BpcharOID, types.NameOID, types.CharOID, types.ByteaOID, types.DateOID, types.TimeOID, types.TimetzOID, types.TimestampOID,
	types.TimestamptzOID, types.IntervalOID, types.UUIDOID, types.JSONOID, types.JSONBOID, types.OIDOID,
	1007, 1009, 1231} // int4[], text[], numeric[]

// FuzzParams decodes arbitrary bytes as a parameter: it is an error with a SQLSTATE, or a value that
// is the same after encoding and decoding it.
func FuzzParams(f *testing.F) {
	for i, o := range fuzzed {
		f.Add(byte(i), true, []byte{0, 0, 0, 1})
		f.Add(byte(i), true, []byte{0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 0x13, 0x88, 0, 0, 0, 0})
		f.Add(byte(i), false, []byte("1"))
		_ = o
	}
	f.Add(byte(23), true, []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff})
	f.Add(byte(23), false, []byte("{1,NULL,{3}}"))
	f.Add(byte(6), false, []byte("-1.5e100"))
	f.Add(byte(16), false, []byte("2024-02-30 12:00:00.5 Europe/Berlin"))
	f.Add(byte(18), false, []byte("1 year -2 mons 3 days 04:05:06.7"))
	f.Add(byte(21), false, []byte(`{"a":[1,2,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, which byte, inBinary bool, in []byte) {
		typ := types.Type{OID: fuzzed[int(which)%len(fuzzed)], Mod: -1}
		format := codec.Text
		if inBinary {
			format = codec.Binary
		}
		ts := []types.Type{typ}
		vals, err := codec.Params("", ts, []int16{format}, [][]byte{in}, env, nil)
		if err != nil {
			var e *pgerr.Error
			if !errors.As(err, &e) || e.Code == "" || e.Code == pgerr.InternalError {
				t.Fatalf("%v: %v", typ, err)
			}
			return
		}
		text := types.AppendText([]byte{}, typ, vals[0], env)
		if !utf8.Valid(text) {
			t.Fatalf("%v: %q is not text", typ, text)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			t.Fatalf("%v: %q holds a zero", typ, text)
		}
		bin := types.AppendBinary([]byte{}, typ, vals[0]) // not nil, which would be NULL
		for _, again := range []struct {
			format int16
			bytes  []byte
		}{{codec.Text, text}, {codec.Binary, bin}} {
			back, err := codec.Params("", ts, []int16{again.format}, [][]byte{again.bytes}, env, nil)
			if err != nil {
				t.Fatalf("%v: %q of %q in format %d: %v", typ, again.bytes, in, again.format, err)
			}
			if got := types.AppendText(nil, typ, back[0], env); !bytes.Equal(got, text) {
				t.Fatalf("%v: %q became %q in format %d", typ, text, got, again.format)
			}
		}
	})
}

// TestLongRows: memory for a long row is charged before it is written, and the row is in a buffer of
// its own.
func TestLongRows(t *testing.T) {
	bld := array.NewStringBuilder(memory.DefaultAllocator)
	for _, n := range []int{10, 3 * codec.Long, 20, 2 * codec.Long} {
		bld.Append(strings.Repeat("x", n))
	}
	b := batch.New([]arrow.Array{bld.NewArray()}, 4)
	var asked []int64
	var refuse error
	rows := codec.NewRows([]types.Type{types.Text}, []int16{codec.Text}, types.DefaultEnv, nil, func(n int64) error {
		asked = append(asked, n)
		return refuse
	})
	var cuts []int
	for from := 0; from < 4; {
		out, next, err := rows.Append(nil, b, from, 4, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) > 0 && int64(cap(out)) > 2*asked[len(asked)-1] {
			t.Errorf("%d bytes of room for a row of %d", cap(out), asked[len(asked)-1])
		}
		cuts = append(cuts, next)
		from = next
	}
	if !slices.Equal(cuts, []int{1, 2, 3, 4}) || len(asked) != 2 || asked[0] < 3*codec.Long || asked[1] < 2*codec.Long {
		t.Errorf("cut at %v, asked for %v", cuts, asked)
	}
	refuse = errors.New("no room")
	if out, next, err := rows.Append(nil, b, 1, 4, 1<<16); err != refuse || next != 1 || len(out) != 0 {
		t.Errorf("%d bytes, row %d, %v", len(out), next, err)
	}
}
