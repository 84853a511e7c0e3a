package eval

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

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

func (n *arrayNode) eval(fr *frame) (*vec, error) {
	elem, _ := n.typ.Elem()
	vs := make([]*vec, len(n.args))
	for i, arg := range n.args {
		if n.types[i].IsArray() {
			return nil, errDimensions()
		}
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	b := array.NewBuilder(fr.a.allocator(), n.typ.Arrow()).(*array.ListBuilder)
	b.Reserve(fr.n)
	for i := range fr.n {
		b.Append(true)
		for k, v := range vs {
			if err := types.AppendDatum(b.ValueBuilder(), elem, v.datum(n.types[k], i)); err != nil {
				return nil, err
			}
		}
	}
	return fromArrow(fr.a, b.NewArray()), nil
}

// rowNode is ROW(…).
type rowNode struct {
	args  []node
	types []types.Type
	typ   types.Type
}

func (n *rowNode) eval(fr *frame) (*vec, error) {
	kids := make([]*vec, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if v.n != fr.n {
			return nil, pgerr.Internal("a field of %d rows among %d", v.n, fr.n)
		}
		kids[i] = fr.a.detach(v)
	}
	return structVec(fr.a, n.typ, kids, nil, fr.n)
}

// fieldNode is (row).field.
type fieldNode struct {
	arg       node
	index     int
	from, typ types.Type
}

func (n *fieldNode) eval(fr *frame) (*vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	s, ok := v.arr.(*array.Struct)
	if v.allNull() || !ok || n.index >= s.NumField() {
		return nullVec(fr.n), nil
	}
	f := fromArrow(fr.a, s.Field(n.index))
	if s.NullN() > 0 {
		w := *f
		w.arr = nil
		if f.kind == kArr {
			w.arr = f.arr
		}
		w.valid = andBits(fr.a, f.valid, bitsFrom(fr.a, s.NullBitmapBytes(), s.Data().Offset(), s.Len()), s.Len())
		f = &w
	}
	if v.one {
		w := *f
		w.one, w.n = true, fr.n
		if w.kind != kArr {
			w.arr = nil
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

func (n *subscriptNode) eval(fr *frame) (*vec, error) {
	arr, err := n.array.eval(fr)
	if err != nil {
		return nil, err
	}
	var idx, up *vec
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
	list, ok := arr.arr.(*array.List)
	if arr.allNull() || !ok || idx != nil && idx.allNull() || up != nil && up.allNull() {
		return nullVec(fr.n), nil
	}
	base := lowerBound(n.at)
	row := func(i int) int {
		if arr.one {
			return 0
		}
		return i
	}
	if n.slice {
		return n.sliced(fr, list, row, idx, up, base)
	}
	take := make([]int32, fr.n)
	valid := alloc[byte](fr.a, (fr.n+7)/8)
	clear(valid)
	count := 0
	for i := range fr.n {
		r := row(i)
		if list.IsNull(r) || idx.null(i) {
			continue
		}
		from, to := list.ValueOffsets(r)
		k := intAt(idx, i) - base
		if k < 0 || k >= to-from {
			continue
		}
		take[i] = int32(from + k)
		valid[i>>3] |= 1 << (i & 7)
		count++
	}
	elem, _ := n.at.Elem()
	values := fromArrow(fr.a, list.ListValues())
	if count == 0 {
		return nullVec(fr.n), nil
	}
	out, err := takeVec(fr.a, values, take, elem)
	if err != nil {
		return nil, err
	}
	w := *out
	w.valid = andBits(fr.a, out.valid, valid, fr.n)
	if count == fr.n && out.valid == nil {
		w.valid = nil
	}
	if w.kind != kArr {
		w.arr = nil
	}
	return &w, nil
}

func (n *subscriptNode) sliced(fr *frame, list *array.List, row func(int) int, idx, up *vec, base int64) (*vec, error) {
	off := make([]int32, fr.n+1)
	var take []int32
	valid := fr.a.lasting((fr.n + 7) / 8)
	nulls := 0
	for i := range fr.n {
		r := row(i)
		if list.IsNull(r) || idx != nil && idx.null(i) || up != nil && up.null(i) {
			nulls++
		} else {
			valid[i>>3] |= 1 << (i & 7)
			from, to := list.ValueOffsets(r)
			lo, hi := int64(0), to-from
			if idx != nil {
				lo = max(lo, intAt(idx, i)-base)
			}
			if up != nil {
				hi = min(hi, intAt(up, i)-base+1)
			}
			fr.a.meter().charge(4 * max(hi-lo, 0))
			for k := lo; k < hi; k++ {
				take = append(take, int32(from+k))
			}
		}
		off[i+1] = int32(len(take))
	}
	kids, err := takeArrow(fr.a, list.ListValues(), take)
	if err != nil {
		return nil, err
	}
	out := array.NewListData(array.NewData(list.DataType(), fr.n,
		[]*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(off))},
		[]arrow.ArrayData{kids.Data()}, nulls, 0))
	return fromArrow(fr.a, out), nil
}

// predictNode applies a model to its features.
type predictNode struct {
	e      *expr.Predict
	args   []node
	scorer Scorer
}

func (n *predictNode) eval(fr *frame) (*vec, error) {
	if n.scorer == nil {
		if fr.env.Host == nil {
			return nil, pgerr.Unsupported("model %q cannot be used here", n.e.Model)
		}
		s, err := fr.env.Host.Scorer(fr.ctx, n.e.Ref, fr.env.Pool)
		if err != nil {
			return nil, err
		}
		n.scorer = s
	}
	cols := make([]arrow.Array, len(n.args))
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if cols[i], err = fr.a.detach(v.spread(fr.a)).toArrow(n.e.Args[i].Type()); err != nil {
			return nil, err
		}
	}
	out, err := n.scorer.Score(fr.ctx, n.e.Mode, n.e.Output, cols, fr.n)
	if err != nil {
		return nil, err
	}
	return fromArrow(fr.a, out), nil
}
