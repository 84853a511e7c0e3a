package eval

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/cast"
	"github.com/tributarydb/tributary/exec/function/arrayfn"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// arrayNode is ARRAY[…].
type arrayNode struct {
	args  []node
	types []types.Type
	typ   types.Type
}

func (n *arrayNode) eval(fr *frame) (*vector.Vec, error) {
	elem, _ := n.typ.Elem()
	vs := make([]*vector.Vec, len(n.args))
	for i, arg := range n.args {
		if n.types[i].IsArray() {
			return nil, vector.ErrDimensions()
		}
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if vs[i], err = vector.Represented(fr.a, v, n.types[i], elem); err != nil {
			return nil, err
		}
	}
	w := vector.NewListWriter(fr.a, elem, fr.n, vs...)
	for i := range fr.n {
		for k := range vs {
			w.One(k, i)
		}
		w.End()
	}
	return w.Done()
}

// rowNode is ROW(…).
type rowNode struct {
	args  []node
	types []types.Type
	typ   types.Type
}

func (n *rowNode) eval(fr *frame) (*vector.Vec, error) {
	kids := make([]*vector.Vec, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if v.N != fr.n {
			return nil, pgerr.Internal("a field of %d rows among %d", v.N, fr.n)
		}
		kids[i] = fr.a.Detach(v)
	}
	return cast.NewStruct(fr.a, n.typ, kids, nil, fr.n)
}

// fieldNode is (row).field.
type fieldNode struct {
	arg       node
	index     int
	from, typ types.Type
}

func (n *fieldNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	s, ok := v.Arr.(*array.Struct)
	if v.AllNull() || !ok || n.index >= s.NumField() {
		return vector.NewNull(fr.n), nil
	}
	f := vector.FromArrow(fr.a, s.Field(n.index))
	if s.NullN() > 0 {
		w := *f
		w.Arr = nil
		if f.Kind == vector.Arr {
			w.Arr = f.Arr
		}
		w.Valid = vector.AndBits(fr.a, f.Valid, vector.BitsFrom(fr.a, s.NullBitmapBytes(), s.Data().Offset(), s.Len()), s.Len())
		f = &w
	}
	if v.One {
		w := *f
		w.One, w.N = true, fr.n
		if w.Kind != vector.Arr {
			w.Arr = nil
		}
		f = &w
	}
	return f, nil
}

// subscriptNode is array[i] and array[i:j].
type subscriptNode struct {
	array, index, upper node
	at, it, ut          types.Type
	slice               bool
	typ                 types.Type
}

func (c *compiler) subscript(e *expr.Subscript) (node, error) {
	n := &subscriptNode{slice: e.Slice, at: e.Array.Type(), typ: e.Typ}
	var err error
	if n.array, err = c.compile(e.Array); err != nil {
		return nil, err
	}
	if e.Index != nil {
		n.it = e.Index.Type()
		if n.index, err = c.compile(e.Index); err != nil {
			return nil, err
		}
	}
	if e.Upper != nil {
		n.ut = e.Upper.Type()
		if n.upper, err = c.compile(e.Upper); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *subscriptNode) eval(fr *frame) (*vector.Vec, error) {
	arr, err := n.array.eval(fr)
	if err != nil {
		return nil, err
	}
	var idx, up *vector.Vec
	if n.index != nil {
		if idx, err = n.index.eval(fr); err != nil {
			return nil, err
		}
	}
	if n.upper != nil {
		if up, err = n.upper.eval(fr); err != nil {
			return nil, err
		}
	}
	list, ok := arr.Arr.(*array.List)
	if arr.AllNull() || !ok || idx != nil && idx.AllNull() || up != nil && up.AllNull() {
		return vector.NewNull(fr.n), nil
	}
	base := arrayfn.LowerBound(n.at)
	row := func(i int) int {
		if arr.One {
			return 0
		}
		return i
	}
	if n.slice {
		return n.sliced(fr, list, row, idx, up, base)
	}
	take := make([]int32, fr.n)
	valid := vector.Alloc[byte](fr.a, (fr.n+7)/8)
	clear(valid)
	count := 0
	for i := range fr.n {
		r := row(i)
		if list.IsNull(r) || idx.Null(i) {
			continue
		}
		from, to := list.ValueOffsets(r)
		k := vector.IntAt(idx, i) - base
		if k < 0 || k >= to-from {
			continue
		}
		take[i] = int32(from + k)
		valid[i>>3] |= 1 << (i & 7)
		count++
	}
	elem, _ := n.at.Elem()
	values := vector.FromArrow(fr.a, list.ListValues())
	if count == 0 {
		return vector.NewNull(fr.n), nil
	}
	out, err := vector.TakeVec(fr.a, values, take, elem)
	if err != nil {
		return nil, err
	}
	w := *out
	w.Valid = vector.AndBits(fr.a, out.Valid, valid, fr.n)
	if count == fr.n && out.Valid == nil {
		w.Valid = nil
	}
	if w.Kind != vector.Arr {
		w.Arr = nil
	}
	return &w, nil
}

func (n *subscriptNode) sliced(fr *frame, list *array.List, row func(int) int, idx, up *vector.Vec, base int64) (*vector.Vec, error) {
	off := make([]int32, fr.n+1)
	var take []int32
	valid := fr.a.Lasting((fr.n + 7) / 8)
	nulls := 0
	for i := range fr.n {
		r := row(i)
		if list.IsNull(r) || idx != nil && idx.Null(i) || up != nil && up.Null(i) {
			nulls++
		} else {
			valid[i>>3] |= 1 << (i & 7)
			from, to := list.ValueOffsets(r)
			lo, hi := int64(0), to-from
			if idx != nil {
				lo = max(lo, vector.IntAt(idx, i)-base)
			}
			if up != nil {
				hi = min(hi, vector.IntAt(up, i)-base+1)
			}
			fr.a.Meter().Charge(4 * max(hi-lo, 0))
			for k := lo; k < hi; k++ {
				take = append(take, int32(from+k))
			}
		}
		off[i+1] = int32(len(take))
	}
	kids, err := vector.TakeArrow(fr.a, list.ListValues(), take)
	if err != nil {
		return nil, err
	}
	out := array.NewListData(array.NewData(list.DataType(), fr.n,
		[]*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off))},
		[]arrow.ArrayData{kids.Data()}, nulls, 0))
	return vector.FromArrow(fr.a, out), nil
}
