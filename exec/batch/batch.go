package batch

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/types"
)

// DefaultSize is the number of rows that operators aim at in a batch.
const DefaultSize = 8192

// Batch is a set of equally long columns with an optional selection.
type Batch struct {
	Cols []arrow.Array
	N    int     // rows in each column; needed because Cols may be empty
	Sel  []int32 // nil: all rows; else ascending row numbers below N
	// Seq orders batches of one stream where the order of rows is a fact of
	// the source (a table's position, a generator's row number): the ordinal
	// of the batch's first row. -1 where there is no such order.
	Seq int64
}

// New makes a batch of all rows of cols, without an order.
func New(cols []arrow.Array, n int) *Batch { return &Batch{Cols: cols, N: n, Seq: -1} }

// Rows returns the number of selected rows.
func (b *Batch) Rows() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// With returns a batch of other columns with the same rows, selection and order.
func (b *Batch) With(cols []arrow.Array) *Batch {
	return &Batch{Cols: cols, N: b.N, Sel: b.Sel, Seq: b.Seq}
}

// Columns returns a batch of the columns at some places, with the same rows, selection and order.
func (b *Batch) Columns(at []int) *Batch {
	cols := make([]arrow.Array, len(at))
	for i, c := range at {
		cols[i] = b.Cols[c]
	}
	return b.With(cols)
}

// Bytes returns the size of the buffers that the batch refers to. Buffers that several columns
// share are counted for each.
func (b *Batch) Bytes() int64 {
	var n int64
	for _, c := range b.Cols {
		n += ArrayBytes(c)
	}
	return n + int64(cap(b.Sel))*4
}

// ArrayBytes returns the bytes of arr's buffers that its rows use.
func ArrayBytes(arr arrow.Array) int64 { return dataBytes(arr.Data()) }

func dataBytes(d arrow.ArrayData) int64 {
	var n int64
	rows := int64(d.Len())
	bufs := d.Buffers()
	switch dt := d.DataType().(type) {
	case arrow.FixedWidthDataType:
		n = (rows*int64(dt.BitWidth()) + 7) / 8
		if d.NullN() > 0 {
			n += (rows + 7) / 8
		}
	default:
		for _, b := range bufs {
			if b != nil {
				n += int64(b.Len())
			}
		}
		if len(bufs) == 3 && bufs[1] != nil && rows > 0 {
			// strings and binaries: only the window that the offsets span
			off := arrow.Int32Traits.CastFromBytes(bufs[1].Bytes())
			if d.Offset()+int(rows) < len(off) {
				n = rows*4 + int64(off[d.Offset()+int(rows)]-off[d.Offset()])
			}
		}
	}
	for _, c := range d.Children() {
		n += dataBytes(c)
	}
	// The interface is never nil: it may hold a nil *Data.
	if dict, _ := d.Dictionary().(*array.Data); dict != nil && dict.Len() > 0 {
		// Batches of a segment share its dictionary, others have one each; which is the case is not known
		// here. Count all of it, but no more than the rows would take as plain strings.
		size := dataBytes(dict)
		n += min(size, (size/int64(dict.Len())+1)*rows)
	}
	return n
}

// PlainBytes returns the bytes that the rows sel of arr, or all of them if sel is nil, take as plain
// values: a dictionary's string for each row that has it, where ArrayBytes counts the dictionary.
func PlainBytes(arr arrow.Array, sel []int32) int64 {
	n := arr.Len()
	if sel != nil {
		n = len(sel)
	}
	if sel == nil && arr.DataType().ID() != arrow.DICTIONARY {
		return ArrayBytes(arr)
	}
	var values func(row int) int
	switch a := arr.(type) {
	case *array.Dictionary:
		s := StringsOf(arr)
		values = func(row int) int {
			if a.IsNull(row) {
				return 0
			}
			return len(s.Value(row))
		}
	case *array.String:
		values = a.ValueLen
	case *array.Binary:
		values = a.ValueLen
	default:
		return ArrayBytes(arr) * int64(n) / int64(max(arr.Len(), 1))
	}
	size := 4 * int64(n)
	for i := range n {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		size += int64(values(row))
	}
	return size
}

// SourceRows maps numbers of selected rows to row numbers of the columns: rows itself where there
// is no selection.
func (b *Batch) SourceRows(rows []int32) []int32 {
	if b.Sel == nil {
		return rows
	}
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = b.Sel[r]
	}
	return out
}

// Slice returns selected rows [from, to) of the batch, without copying.
func (b *Batch) Slice(from, to int) *Batch {
	out := &Batch{N: b.N, Cols: b.Cols, Seq: b.Seq}
	if b.Sel != nil {
		out.Sel = b.Sel[from:to]
		return out
	}
	cols := make([]arrow.Array, len(b.Cols))
	for i, c := range b.Cols {
		cols[i] = types.Shareable(array.NewSlice(c, int64(from), int64(to)))
	}
	out.Cols, out.N = cols, to-from
	if b.Seq >= 0 {
		out.Seq = b.Seq + int64(from)
	}
	return out
}
