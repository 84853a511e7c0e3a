package agg

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// Written makes the value of an aggregate whose result contains all its rows, from rows that can be
// read twice: a first pass measures them, and a second writes them into memory of that size. So memory
// has neither a list of the rows beside the value nor the spare capacity of a growing buffer.
type Written struct {
	c      *collect
	text   written   // string_agg, json_agg, json_object_agg
	list   *listFold // array_agg, once writing begins
	rows   int64
	bytes  int64
	writes bool // writing has begun
}

// written is a fold that appends to a buffer.
type written interface {
	fold
	buffer() *[]byte
	end() string // what follows the last row
}

func (f *stringFold) buffer() *[]byte     { return &f.out }
func (f *stringFold) end() string         { return "" }
func (f *jsonFold) buffer() *[]byte       { return &f.out }
func (f *jsonFold) end() string           { return "]" }
func (f *jsonObjectFold) buffer() *[]byte { return &f.out }
func (f *jsonObjectFold) end() string     { return " }" }

// NewWritten returns the empty value of a call; nil if the aggregate is not one of these.
func NewWritten(call expr.AggCall, env *function.Env) *Written {
	a, err := New(call, env)
	c, ok := ByRow(a).(*collect)
	if err != nil || !ok || call.Distinct || len(call.OrderBy) > 0 || call.Typ.OID == types.JSONBOID || c.inner != nil || c.machine != nil {
		return nil
	}
	w := &Written{c: c}
	if call.Fn.Name == "array_agg" {
		return w
	}
	if w.text, ok = c.newFold(0).(written); !ok {
		return nil
	}
	return w
}

// each calls f with each row of [from, to) that is not ignored.
func (w *Written) each(args []arrow.Array, from, to int, f func(types.Row) error) error {
	row := make(types.Row, len(args))
	for i := from; i < to; i++ {
		if w.c.skips(args, i) {
			continue
		}
		for k, a := range args {
			row[k] = types.DatumAt(w.c.layout[k], a, i)
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// Measure adds the length of rows [from, to).
func (w *Written) Measure(args []arrow.Array, from, to int) error {
	return w.each(args, from, to, func(row types.Row) error {
		w.rows++
		if w.text == nil {
			w.bytes += types.DatumBytes(row[0])
			return nil
		}
		err := w.text.add(row)
		out := w.text.buffer()
		w.bytes += int64(len(*out))
		*out = (*out)[:0]
		return err
	})
}

// Size returns the bytes that the value takes, once all rows are measured.
func (w *Written) Size() (int64, error) {
	size := w.bytes
	switch {
	case w.text != nil:
		size += int64(len(w.text.end()))
	case w.fills():
		size += 10 * w.rows // Arrow allocates a power of two
	default:
		size = 2 * (size + 16*w.rows)
	}
	if size > maxBytes {
		return 0, errTooLong(size)
	}
	return size, nil
}

// fills reports whether the elements of an array take exactly the bytes that were measured.
func (w *Written) fills() bool {
	oid := w.c.args[0].OID
	return oid == types.TextOID || oid == types.VarcharOID || oid == types.ByteaOID
}

// Write writes the rows that were measured, in the same order.
func (w *Written) Write(args []arrow.Array, from, to int) error {
	switch begins := !w.writes; {
	case begins && w.text != nil:
		w.text = w.c.newFold(0).(written)
		*w.text.buffer() = make([]byte, 0, int(w.bytes)+len(w.text.end()))
	case begins:
		w.list = newListFold(w.c, 0)
		w.list.list.ValueBuilder().Reserve(int(w.rows))
		if b, ok := w.list.list.ValueBuilder().(interface{ ReserveData(int) }); ok && w.fills() {
			b.ReserveData(int(w.bytes))
		}
	}
	if w.writes = true; w.text != nil {
		return w.each(args, from, to, w.text.add)
	}
	return w.each(args, from, to, w.list.add)
}

// Value returns the value, in a column of one row.
func (w *Written) Value() arrow.Array {
	switch {
	case w.rows == 0:
		return batch.Nulls(w.c.call.Typ.Arrow(), 1)
	case w.text == nil:
		return w.list.column()
	}
	return ended(w.text, w.c.call.Typ)
}

// ended returns the text that was written for some rows as a column of one row, which refers to the
// buffer.
func ended(w written, t types.Type) arrow.Array {
	out := append(*w.buffer(), w.end()...)
	return batch.FromOffsets(t.Arrow(), []int32{0, int32(len(out))}, out, nil)
}
