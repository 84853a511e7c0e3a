package vector

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// Lists is a column of arrays as it lies: the elements of all rows are one column.
type Lists struct {
	col   *Vec
	off   []int32 // of each row into the elements, and their end; nil where there are none
	Elems *Vec
}

// ListsOf views a column of arrays; one of another kind has NULLs only.
func ListsOf(a *Arena, v *Vec) Lists {
	l, ok := v.Arr.(*array.List)
	if !ok || l.Len() == 0 {
		return Lists{col: v, Elems: NewNull(0)}
	}
	off := l.Offsets()[l.Data().Offset():][:l.Len()+1]
	return Lists{v, off, FromArrow(a, array.NewSlice(l.ListValues(), int64(off[0]), int64(off[l.Len()])))}
}

// Row returns where the elements of row i are; a NULL has none.
func (l *Lists) Row(i int) (from, to int) {
	if l.off == nil || l.col.Null(i) {
		return 0, 0
	}
	i = l.col.At(i)
	return int(l.off[i] - l.off[0]), int(l.off[i+1] - l.off[0])
}

// Represented returns a column of type from as one of to, which has its values but may hold them in another form.
func Represented(a *Arena, v *Vec, from, to types.Type) (*Vec, error) {
	if v.Kind == Null || from.Form() == to.Form() && (to.OID != types.NumericOID || from.SamePhysical(to)) {
		return v, nil
	}
	b := array.NewBuilder(a.Allocator(), to.Arrow())
	for i := range v.Stored() {
		if err := types.AppendDatum(b, to, v.Datum(from, i)); err != nil {
			return nil, err
		}
	}
	out := *FromArrow(a, b.NewArray())
	out.N, out.One = v.N, v.One
	return &out, nil
}

// ListWriter makes a column of arrays, row by row, of elements that lie in other columns. They are copied when all rows
// are known, piece by piece.
type ListWriter struct {
	a      *Arena
	elem   types.Type
	from   []*Vec
	pieces []piece
	off    []int32
	valid  []byte // nil: no row is NULL yet
	n      int    // elements
}

// piece is the elements from … to-1 of a column.
type piece struct{ col, from, to int32 }

// NewListWriter makes a writer of n rows of arrays of elem. The columns hold values as columns of elem do, texts also by
// dictionary.
func NewListWriter(a *Arena, elem types.Type, n int, from ...*Vec) *ListWriter {
	a.Meter().Charge(int64(16 * n))
	for k, v := range from {
		if v.AllNull() {
			from[k] = NewNull(v.N)
		}
	}
	return &ListWriter{a: a, elem: elem, from: from, pieces: make([]piece, 0, n), off: append(make([]int32, 0, n+1), 0)}
}

// Add appends elements of column col to the row at hand.
func (w *ListWriter) Add(col, from, to int) {
	if from >= to {
		return
	}
	w.n += to - from
	if k := len(w.pieces) - 1; k >= 0 && w.pieces[k].col == int32(col) && w.pieces[k].to == int32(from) {
		w.pieces[k].to = int32(to)
		return
	}
	if len(w.pieces) == cap(w.pieces) {
		w.a.Meter().Charge(int64(cap(w.pieces)) * int64(unsafe.Sizeof(piece{})))
	}
	w.pieces = append(w.pieces, piece{int32(col), int32(from), int32(to)})
}

// One appends the value that column col has in row i.
func (w *ListWriter) One(col, i int) {
	i = w.from[col].At(i)
	w.Add(col, i, i+1)
}

// Null ends a row that is NULL, which has no elements.
func (w *ListWriter) Null() {
	if w.valid == nil {
		w.valid = batch.AllOnes(cap(w.off) - 1)
	}
	batch.ClearBit(w.valid, len(w.off)-1)
	w.End()
}

// End ends a row.
func (w *ListWriter) End() {
	w.off = append(w.off, int32(w.n))
	w.a.Meter().Poll(RowWork)
}

// Done returns the column, after the last row.
func (w *ListWriter) Done() (*Vec, error) {
	if err := TooLarge(len(w.off)-1, Product(int64(w.n), 4)); err != nil {
		return nil, err
	}
	dt := w.elem.Arrow()
	elems, err := w.gather(dt)
	if err != nil {
		return nil, err
	}
	return FromArrow(w.a, kernel.List(arrow.ListOf(dt), w.off, elems, w.valid)), nil
}

func (w *ListWriter) gather(dt arrow.DataType) (arrow.Array, error) {
	a, out := w.a.Fresh(), &Vec{Kind: w.elem.Form(), N: w.n}
	if w.n == 0 {
		return batch.Nulls(dt, 0), nil
	}
	out.Valid = w.validity(a)
	switch out.Kind {
	case Bool:
		joinFixed[uint8](a, out, w)
	case I16:
		joinFixed[int16](a, out, w)
	case I32, U32, F32:
		joinFixed[int32](a, out, w)
	case I64, F64:
		joinFixed[int64](a, out, w)
	case F12:
		joinFixed[[12]byte](a, out, w)
	case F16:
		joinFixed[[16]byte](a, out, w)
	case Str, Bin:
		if err := w.texts(a, out); err != nil {
			return nil, err
		}
	default:
		return w.nested(dt)
	}
	return out.asArrow(dt)
}

// validity is the bitmap of the elements, nil where none is NULL.
func (w *ListWriter) validity(a *Arena) []byte {
	all := true
	for _, v := range w.from {
		all = all && v.Valid == nil && v.Kind != Null
	}
	if all {
		return nil
	}
	bits, at := a.Lasting(batch.BitmapBytes(w.n)), 0
	for _, p := range w.pieces {
		v := w.from[p.col]
		for i := p.from; i < p.to; i++ {
			if !v.Null(int(i)) {
				batch.SetBit(bits, at)
			}
			at++
		}
	}
	return bits
}

func joinFixed[T any](a *Arena, out *Vec, w *ListWriter) {
	dst := Alloc[T](a, w.n)
	at := dst
	from := make([][]T, len(w.from))
	for k, v := range w.from {
		if v.Kind != Null {
			from[k] = Values[T](v)
		}
	}
	for _, p := range w.pieces {
		switch src := from[p.col]; {
		case src == nil:
			clear(at[:p.to-p.from])
		case p.to == p.from+1:
			at[0] = src[p.from]
		default:
			copy(at, src[p.from:p.to])
		}
		at = at[p.to-p.from:]
	}
	out.P = unsafe.Pointer(unsafe.SliceData(dst))
}

// texts joins texts and binary values.
func (w *ListWriter) texts(a *Arena, out *Vec) error {
	size := 0
	for _, p := range w.pieces {
		switch v := w.from[p.col]; v.Kind {
		case Null:
		case Dict:
			for i := p.from; i < p.to; i++ {
				if !v.Null(int(i)) {
					size += len(v.Str(int(i)))
				}
			}
		default:
			size += int(v.Off[p.to] - v.Off[p.from])
		}
	}
	if err := TooLarge(len(w.off)-1, size); err != nil {
		return err
	}
	off, data := Alloc[int32](a, w.n+1)[:0], a.Lasting(size)[:0]
	for _, p := range w.pieces {
		switch v := w.from[p.col]; v.Kind {
		case Null, Dict:
			for i := p.from; i < p.to; i++ {
				off = append(off, int32(len(data)))
				if !v.Null(int(i)) {
					data = append(data, v.Str(int(i))...)
				}
			}
		default:
			by := int32(len(data)) - v.Off[p.from]
			for _, o := range v.Off[p.from:p.to] {
				off = append(off, o+by)
			}
			data = append(data, v.Data[v.Off[p.from]:v.Off[p.to]]...)
		}
	}
	out.Off, out.Data = append(off, int32(len(data))), data
	return nil
}

// nested takes elements that are arrays or rows themselves from all columns, one after the other.
func (w *ListWriter) nested(dt arrow.DataType) (arrow.Array, error) {
	all, base := []arrow.Array{batch.Nulls(dt, 1)}, make([]int32, len(w.from))
	end := int32(1)
	for k, v := range w.from {
		if base[k] = end; v.Kind == Arr {
			w.a.Meter().Charge(batch.ArrayBytes(v.Arr))
			all, end = append(all, v.Arr), end+int32(v.Arr.Len())
		}
	}
	w.a.Meter().Charge(int64(4 * w.n))
	rows := make([]int32, 0, w.n)
	for _, p := range w.pieces {
		v := w.from[p.col]
		for i := p.from; i < p.to; i++ {
			if v.Null(int(i)) {
				rows = append(rows, 0)
			} else {
				rows = append(rows, base[p.col]+i)
			}
		}
	}
	return TakeArrow(w.a, kernel.Concat(dt, all), rows)
}
