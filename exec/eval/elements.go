package eval

import (
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/plan"
)

// isUnnest reports whether a call is unnest of an array whose elements are the column's values as they lie.
func isUnnest(call plan.SetCall) bool {
	if call.Fn.ID != "unnest(anyarray)" || len(call.Cols) != 1 {
		return false
	}
	elem, ok := call.Args[0].Type().Elem()
	return ok && elem.SamePhysical(call.Cols[0].Type)
}

// elements reads the elements of a column of lists, which lie one after the other: they are copied together, not one
// by one.
type elements struct {
	row int
	ord int64 // elements of the row that were read
}

// next returns up to max elements of n rows, the row of each and its number there; io.EOF at the end. ok is false for
// values that are no such column.
func (e *elements) next(m *vector.Meter, v *vector.Vec, n, max int) (parents []int32, col arrow.Array, ord []int64, ok bool, err error) {
	l, ok := v.Arr.(*array.List)
	if !ok || v.One {
		return nil, nil, nil, false, nil
	}
	from, to := int64(0), int64(0)
	if e.row < n {
		room := min(max, l.ListValues().Len())
		parents, ord = make([]int32, 0, room), make([]int64, 0, room)
	}
	for len(parents) < max && e.row < n {
		var begin, end int64
		if !v.Null(e.row) {
			begin, end = l.ValueOffsets(e.row)
		}
		if begin += e.ord; begin < end {
			if len(parents) == 0 {
				from, to = begin, begin
			} else if begin != to {
				break
			}
		}
		for ; begin < end && len(parents) < max; begin++ {
			e.ord++
			parents, ord = append(parents, int32(e.row)), append(ord, e.ord)
			to++
		}
		if begin >= end {
			e.row, e.ord = e.row+1, 0
		}
	}
	if len(parents) == 0 {
		return nil, nil, nil, true, io.EOF
	}
	part := array.NewSlice(l.ListValues(), from, to)
	m.Charge(batch.ArrayBytes(part))
	return parents, kernel.Copy(part), ord, true, nil
}
