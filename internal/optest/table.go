package optest

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Table is an input: rows of datums.
type Table struct {
	Types []types.Type
	Rows  []types.Row
}

// Array makes a column of datums.
func Array(t testing.TB, ty types.Type, vals []types.Datum) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, ty.Arrow())
	for _, v := range vals {
		if err := types.AppendDatum(b, ty, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// Dictionary encodes a string column, with a value that no row has.
func Dictionary(arr arrow.Array) arrow.Array {
	s, ok := arr.(*array.String)
	if !ok {
		return arr
	}
	vb := array.NewStringBuilder(memory.DefaultAllocator)
	vb.Append("a value that is not used")
	at := map[string]int32{}
	index := make([]int32, s.Len())
	valid := make([]byte, batch.BitmapBytes(s.Len()))
	for i := range index {
		if s.IsNull(i) {
			continue
		}
		batch.SetBit(valid, i)
		k, ok := at[s.Value(i)]
		if !ok {
			k = int32(vb.Len())
			at[s.Value(i)] = k
			vb.Append(s.Value(i))
		}
		index[i] = k
	}
	if s.NullN() == 0 {
		valid = nil
	}
	return batch.FromIndices(types.DictArrow, index, valid, vb.NewArray())
}

// Form is how the rows of a table are represented in batches.
type Form struct {
	Size int  // selected rows in a batch
	Sel  bool // with unselected rows in between
	Dict bool // strings as dictionaries; every second batch where Mixed
	Mix  bool
}

// Batches returns the table's rows in batches.
func (tb Table) Batches(t testing.TB, f Form) []*batch.Batch {
	t.Helper()
	var out []*batch.Batch
	for from := 0; from < len(tb.Rows); from += f.Size {
		rows := tb.Rows[from:min(from+f.Size, len(tb.Rows))]
		var sel []int32
		if f.Sel {
			// junk rows, from elsewhere in the table
			var with []types.Row
			for i, r := range rows {
				if (from+i)%3 != 1 {
					with = append(with, tb.Rows[(from+7*i)%len(tb.Rows)])
				}
				sel = append(sel, int32(len(with)))
				with = append(with, r)
			}
			rows = append(with, tb.Rows[0])
		}
		cols := make([]arrow.Array, len(tb.Types))
		for c, ty := range tb.Types {
			vals := make([]types.Datum, len(rows))
			for i, r := range rows {
				vals[i] = r[c]
			}
			cols[c] = Array(t, ty, vals)
			if f.Dict && (!f.Mix || len(out)%2 == 0) {
				cols[c] = Dictionary(cols[c])
			}
			if f.Mix && len(out)%3 == 2 && cols[c].Len() > 0 {
				// the same rows as a slice of something longer
				cols[c] = offset(t, ty, cols[c])
			}
		}
		b := batch.New(cols, len(rows))
		b.Sel = sel
		out = append(out, b)
	}
	return out
}

// offset returns arr as a slice that does not begin at row 0.
func offset(t testing.TB, ty types.Type, arr arrow.Array) arrow.Array {
	if arr.DataType().ID() == arrow.DICTIONARY {
		return arr
	}
	first := array.NewSlice(arr, 0, 1)
	both, err := array.Concatenate([]arrow.Array{first, first, first, arr}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return types.Shareable(array.NewSlice(both, 3, int64(both.Len())))
}

// Source returns batches to whichever thread asks.
func Source(threads int, batches []*batch.Batch) []op.Operator {
	s := &source{batches: batches}
	out := make([]op.Operator, threads)
	for i := range out {
		out[i] = &sourceThread{s: s}
	}
	return out
}

type source struct {
	mu      sync.Mutex
	batches []*batch.Batch
}

type sourceThread struct {
	s      *source
	opened bool
	closed bool
	reuse  bool
	last   [][]byte // of the last batch, where memory is reused
}

// AllowReuse implements op.Reuser: a reader that uses a batch after asking for the next one
// finds other numbers there.
func (o *sourceThread) AllowReuse() { o.reuse = true }

// copied copies the batch's numbers to memory that the next call overwrites.
func (o *sourceThread) copied(b *batch.Batch) *batch.Batch {
	out := *b
	out.Cols = slices.Clone(b.Cols)
	for i, c := range b.Cols {
		d := c.Data()
		t, ok := c.DataType().(arrow.FixedWidthDataType)
		if id := c.DataType().ID(); !ok || id == arrow.BOOL || id == arrow.DICTIONARY || len(d.Buffers()) != 2 || d.Buffers()[1] == nil {
			continue
		}
		bytes := slices.Clone(d.Buffers()[1].Bytes()[:(d.Offset()+d.Len())*t.BitWidth()/8])
		o.last = append(o.last, bytes)
		data := array.NewData(c.DataType(), d.Len(), []*memory.Buffer{d.Buffers()[0], memory.NewBufferBytes(bytes)}, nil, d.NullN(), d.Offset())
		out.Cols[i] = types.Shareable(array.MakeFromData(data))
	}
	return &out
}

func (o *sourceThread) Open(context.Context) error {
	o.opened = true
	return nil
}

func (o *sourceThread) Next(ctx context.Context) (*batch.Batch, error) {
	if !o.opened || o.closed {
		return nil, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, b := range o.last {
		for i := range b {
			b[i] = 0xa5
		}
	}
	o.last = nil
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	if len(o.s.batches) == 0 {
		return nil, io.EOF
	}
	b := o.s.batches[0]
	o.s.batches = o.s.batches[1:]
	if o.reuse {
		b = o.copied(b)
	}
	return b, nil
}

func (o *sourceThread) Close() error {
	o.closed = true
	return nil
}

// RowsOf returns the selected rows of a batch.
func RowsOf(b *batch.Batch, ts []types.Type) []types.Row {
	var out []types.Row
	for i := 0; i < b.Rows(); i++ {
		at := i
		if b.Sel != nil {
			at = int(b.Sel[i])
		}
		row := make(types.Row, len(ts))
		for c, ty := range ts {
			row[c] = types.DatumAt(ty, b.Cols[c], at)
		}
		out = append(out, row)
	}
	return out
}

// Text writes a row for comparing and printing.
func Text(r types.Row, ts []types.Type) string {
	parts := make([]string, len(r))
	for i, d := range r {
		if d == nil {
			parts[i] = "NULL"
		} else {
			parts[i] = string(types.AppendText(nil, ts[i], d, types.DefaultEnv))
		}
	}
	return strings.Join(parts, "|")
}

// Texts writes rows, sorted unless ordered.
func Texts(rows []types.Row, ts []types.Type, ordered bool) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = Text(r, ts)
	}
	if !ordered {
		slices.Sort(out)
	}
	return out
}

// Random returns a table of n rows with NULLs, whose values come from small domains so
// that they match.
func Random(r *rand.Rand, n int, ts ...types.Type) Table {
	tb := Table{Types: ts}
	for range n {
		row := make(types.Row, len(ts))
		for c, ty := range ts {
			row[c] = Value(r, ty, 40)
		}
		tb.Rows = append(tb.Rows, row)
	}
	return tb
}

// Value makes a value out of a domain of about the given size, a tenth NULL.
func Value(r *rand.Rand, t types.Type, domain int) types.Datum {
	if r.Intn(10) == 0 {
		return nil
	}
	k := int64(r.Intn(domain) - domain/4)
	if e, ok := t.Elem(); ok {
		a := types.Array{Elem: e}
		for range r.Intn(4) {
			a.Elems = append(a.Elems, Value(r, e, 3))
		}
		return a
	}
	switch t.Class() {
	case types.ClassBool:
		return k%2 == 0
	case types.ClassInteger, types.ClassDate, types.ClassTimestamp, types.ClassTimestamptz:
		return k * k * k
	case types.ClassObject, types.ClassTime:
		return k * k
	case types.ClassFloat:
		return []float64{float64(k), math.Copysign(0, -1), 0.5, nan(), inf()}[r.Intn(5)]
	case types.ClassNumeric:
		if t.IsFixed() {
			return number.DecimalFromInt64(k*25, int32(t.Scale))
		}
		return number.DecimalFromInt64(k*100, int32(r.Intn(4)))
	case types.ClassBytes:
		return []byte(fmt.Sprintf("%c\x00%d", rune('a'+k&3), k))
	case types.ClassUUID:
		return [16]byte{0: byte(k), 15: byte(k)}
	case types.ClassInterval:
		return []datetime.Interval{{Days: int32(k)}, {Micros: k * 86400e6}, {Months: int32(k), Micros: 5}}[r.Intn(3)]
	case types.ClassTimetz:
		return datetime.TimeTZ{Micros: (k&7 + 8) * 3600e6, Zone: int32(k&3) * 3600}
	case types.ClassText:
		if t.OID != types.BpcharOID {
			break
		}
		return fmt.Sprintf("v%d", k)[:r.Intn(3)] + strings.Repeat(" ", r.Intn(3))
	case types.ClassOther:
		if t.Form() != types.FormBinary { // that of networks
			break
		}
		d, err := types.ParseText(t, []string{fmt.Sprintf("10.%d.0.0/%d", k&3, 16+k&7), fmt.Sprintf("1::%d", k&7)}[r.Intn(2)], nil)
		if err != nil {
			panic(err)
		}
		return d
	case types.ClassJSONB:
		return []string{`{"a": 1}`, `[1, 2]`, `"x"`, `null`, fmt.Sprint(k), `{"a": 1.0}`}[r.Intn(6)]
	}
	switch r.Intn(3) {
	case 0:
		return fmt.Sprintf("value with a long common beginning %d", k)
	case 1:
		return ""
	}
	return fmt.Sprintf("v%d", k)
}

// Columns returns items that are the input's columns.
func Columns(threads int, cols ...int) [][]op.Item {
	out := make([][]op.Item, threads)
	for i := range out {
		out[i] = []op.Item{}
		for _, c := range cols {
			out[i] = append(out[i], op.Item{Col: c})
		}
	}
	return out
}

// Wide makes rows that take memory: a key of the given domain, a number, text.
func Wide(r *rand.Rand, n, domain int) Table {
	tb := Table{Types: []types.Type{types.Int8, types.Int4, types.Text}}
	for i := range n {
		var k types.Datum = int64(r.Intn(domain))
		if r.Intn(200) == 0 {
			k = nil
		}
		tb.Rows = append(tb.Rows, types.Row{k, int64(r.Intn(50)), fmt.Sprintf("%0200d", i)})
	}
	return tb
}
