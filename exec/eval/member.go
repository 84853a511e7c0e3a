package eval

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// slot is a leaf whose column the node above it sets.
type slot struct{ v *vector.Vec }

func (s *slot) eval(*frame) (*vector.Vec, error) { return s.v, nil }

// distinctNode is IS [NOT] DISTINCT FROM.
type distinctNode struct {
	l, r   node
	ls, rs slot
	eq     node
	not    bool
}

func (c *compiler) distinct(e *expr.Distinct) (node, error) {
	n := &distinctNode{not: e.Not}
	var err error
	if n.l, err = c.compile(e.L); err != nil {
		return nil, err
	}
	if n.r, err = c.compile(e.R); err != nil {
		return nil, err
	}
	if n.eq, err = newCall(e.Eq, []node{&n.ls, &n.rs}, []types.Type{e.L.Type(), e.R.Type()}, types.Bool, c.env); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *distinctNode) eval(fr *frame) (*vector.Vec, error) {
	l, err := n.l.eval(fr)
	if err != nil {
		return nil, err
	}
	r, err := n.r.eval(fr)
	if err != nil {
		return nil, err
	}
	n.ls.v, n.rs.v = l, r
	eq, err := n.eq.eval(fr)
	if err != nil {
		return nil, err
	}
	t, _ := vector.Truth(fr.a, eq)
	for i := range t {
		same := t[i]
		if l.Null(i) && r.Null(i) {
			same = 1
		}
		if n.not {
			t[i] = same
		} else {
			t[i] = 1 - same
		}
	}
	return vector.NewBool(t, nil), nil
}

// inNode is [NOT] IN of a list: constants by a set, the rest one by one.
type inNode struct {
	arg   node
	slot  slot
	eqs   []node // generic: arg = element
	not   bool
	ints  *intSet
	strs  map[string]struct{}
	short *intSet             // strs as short keys, where they all are
	decs  map[string]struct{} // of a numeric without a fixed scale
	null  bool                // the list holds a NULL
	empty bool                // it holds nothing
	typ   types.Type
	memo  []uint8 // of a dictionary: which entries are in the set
	entry *vector.Vec
}

func (c *compiler) in(e *expr.In) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	list, err := c.all(e.List)
	if err != nil {
		return nil, err
	}
	return c.inList(arg, e.Arg.Type(), list, typesOf(e.List), e.Eq, e.Not)
}

func (c *compiler) inList(arg node, at types.Type, list []node, lt []types.Type, eq *fn.Func, not bool) (node, error) {
	n := &inNode{arg: arg, not: not, typ: at, empty: len(list) == 0}
	if n.constants(len(list), at, func(i int) (types.Datum, types.Type, bool) {
		k, ok := list[i].(*constNode)
		if !ok {
			return nil, at, false
		}
		return k.val, lt[i], true
	}) {
		return n, nil
	}
	for i, el := range list {
		x, err := newCall(eq, []node{&n.slot, el}, []types.Type{at, lt[i]}, types.Bool, c.env)
		if err != nil {
			return nil, err
		}
		n.eqs = append(n.eqs, x)
	}
	return n, nil
}

// constants makes a set of a list of so many elements if all of it is constant and of the
// argument's type, and equality is that of the represented values.
func (n *inNode) constants(count int, at types.Type, el func(int) (types.Datum, types.Type, bool)) bool {
	var ints []int64
	strs := map[string]struct{}{}
	k := at.Form()
	numeric := at.OID == types.NumericOID
	switch {
	case k == vector.I16 || k == vector.I32 || k == vector.I64 || k == vector.U32:
	case k == vector.F32 || k == vector.F64 || numeric:
	case k == vector.Str && at.Class() != types.ClassJSONB:
	default:
		return false
	}
	for i := range count {
		d, t, ok := el(i)
		if !ok {
			return false
		}
		if d == nil {
			n.null = true
			continue
		}
		if x, ok := d.(int64); ok && isInteger(t) && isInteger(at) {
			ints = append(ints, x) // of whatever width
			continue
		}
		if x, ok := d.(number.Decimal); ok && numeric {
			if k != vector.I64 {
				strs[decimalKey(x)] = struct{}{}
			} else if c, ok := x.Coefficient(int32(at.Scale)); ok && x.Rescale(int32(at.Scale)).Cmp(x) == 0 {
				ints = append(ints, c)
			}
			continue
		}
		if t.OID != at.OID || t.Scale != at.Scale || t.Form() != k {
			return false
		}
		v, err := vector.NewConst(t, d, 1)
		if err != nil {
			return false
		}
		switch k {
		case vector.Str:
			strs[types.Compared(at, v.Str(0))] = struct{}{}
		case vector.F32:
			ints = append(ints, floatKey(vector.At[float32](v, 0)))
		case vector.F64:
			ints = append(ints, floatKey(vector.At[float64](v, 0)))
		default:
			ints = append(ints, vector.IntAt(v, 0))
		}
	}
	if numeric && k != vector.I64 {
		n.decs = strs
	} else if k == vector.Str {
		if n.strs = strs; at.OID != types.BpcharOID {
			n.short = shortSet(strs)
		}
	} else {
		n.ints = newIntSet(ints)
	}
	return true
}

// floatKey returns the same number for values that are equal in SQL: 0 and -0, and all NaN.
func floatKey[T float32 | float64](x T) int64 {
	if x != x {
		return math.MinInt64 // the bits of -0, which is none's key
	}
	return int64(math.Float64bits(float64(x) + 0))
}

// decimalKey is the same text for equal numbers.
func decimalKey(d number.Decimal) string { return string(d.TrimScale().AppendBinary(nil)) }

func floatKeys[T float32 | float64](fr *frame, v *vector.Vec) []int64 {
	vals := vector.Values[T](v)
	out := vector.Alloc[int64](fr.a, len(vals))
	for i, x := range vals {
		out[i] = floatKey(x)
	}
	return out
}

func isInteger(t types.Type) bool {
	return t.OID == types.Int2OID || t.OID == types.Int4OID || t.OID == types.Int8OID
}

func (n *inNode) eval(fr *frame) (*vector.Vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	if n.empty { // x IN () is false, also for a NULL x
		return vector.NewBoolConst(n.not, fr.n), nil
	}
	if n.ints == nil && n.strs == nil && n.decs == nil {
		return n.generic(fr, v)
	}
	if v.AllNull() {
		return vector.NewNull(fr.n), nil
	}
	rows := v.Stored()
	hit := vector.Alloc[uint8](fr.a, rows)
	switch {
	case n.ints != nil && v.Kind == vector.I16:
		inInts(n.ints, hit, vector.Values[int16](v))
	case n.ints != nil && v.Kind == vector.I32:
		inInts(n.ints, hit, vector.Values[int32](v))
	case n.ints != nil && v.Kind == vector.F32:
		inInts(n.ints, hit, floatKeys[float32](fr, v))
	case n.ints != nil && v.Kind == vector.F64:
		inInts(n.ints, hit, floatKeys[float64](fr, v))
	case n.ints != nil && v.Kind == vector.U32:
		inInts(n.ints, hit, vector.Values[uint32](v))
	case n.ints != nil:
		inInts(n.ints, hit, vector.Values[int64](v))
	case n.decs != nil:
		at := vector.DecimalReader(v, n.typ)
		for i := range hit {
			hit[i] = 0
			if !v.Null(i) {
				_, ok := n.decs[decimalKey(at(i))]
				hit[i] = vector.ByteOf(ok)
			}
		}
	case v.Kind == vector.Dict && !v.One && v.Dict.N <= 2*v.N:
		flags := n.entries(v)
		idx := vector.Values[int32](v)
		if v.Valid == nil {
			for i, x := range idx {
				hit[i] = flags[x]
			}
			break
		}
		for i, x := range idx {
			if !v.Null(i) {
				hit[i] = flags[x]
			} else {
				hit[i] = 0
			}
		}
	case n.short != nil && v.Kind == vector.Str:
		inInts(n.short, hit, shortKeys(vector.Alloc[int64](fr.a, rows), v))
	default:
		for i := range hit {
			hit[i] = 0
			if !v.Null(i) {
				_, ok := n.strs[types.Compared(n.typ, v.Str(i))]
				hit[i] = vector.ByteOf(ok)
			}
		}
	}
	valid := v.Valid
	if n.null {
		// a NULL in the list: where no element is equal the result is NULL
		valid = vector.CloneBits(fr.a, valid, rows)
		for i, h := range hit {
			if h == 0 {
				valid[i>>3] &^= 1 << (i & 7)
			}
		}
	}
	if n.not {
		for i := range hit {
			hit[i] ^= 1
		}
	}
	out := vector.NewBool(hit, valid)
	out.N, out.One = v.N, v.One
	return out, nil
}

// entries returns which entries of v's dictionary are in the set; it is kept for
// the next batch with the same dictionary.
func (n *inNode) entries(v *vector.Vec) []uint8 {
	if n.entry != nil && v.Key != nil && n.entry.Key == v.Key {
		return n.memo
	}
	flags := make([]uint8, v.Dict.N)
	for i := range flags {
		_, ok := n.strs[types.Compared(n.typ, v.Dict.Str(i))]
		flags[i] = vector.ByteOf(ok)
	}
	n.entry, n.memo = v, flags
	return flags
}

func (n *inNode) generic(fr *frame, v *vector.Vec) (*vector.Vec, error) {
	n.slot.v = v
	t, f := vector.Alloc[uint8](fr.a, fr.n), vector.Alloc[uint8](fr.a, fr.n)
	for i := range t {
		t[i], f[i] = 0, 1
	}
	for _, eq := range n.eqs {
		e, err := eq.eval(fr)
		if err != nil {
			return nil, err
		}
		t2, f2 := vector.Truth(fr.a, e)
		for i := range t {
			t[i] |= t2[i]
			f[i] &= f2[i]
		}
	}
	if n.not {
		t, f = f, t
	}
	return vector.FromTruth(fr.a, t, f), nil
}

// anyAllNode is arg op ANY|ALL (array): the elements of all rows are one
// column, which one call of the operator compares the argument with.
type anyAllNode struct {
	arg, arr node
	as, es   slot
	cmp      node
	all      bool
	at, et   types.Type
}

func (c *compiler) anyAll(e *expr.AnyAll) (node, error) {
	et, ok := e.Array.Type().Elem()
	if !ok {
		return nil, pgerr.New(pgerr.WrongObjectType, "op ANY/ALL (array) requires array on right side")
	}
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	arr, err := c.compile(e.Array)
	if err != nil {
		return nil, err
	}
	if k, ok := arr.(*constNode); ok && k.val != nil && (e.Op == "=" && !e.All || e.Op == "<>" && e.All) {
		a, ok := k.val.(types.Array)
		set := &inNode{arg: arg, not: e.All, typ: e.Arg.Type(), empty: len(a.Elems) == 0}
		if ok && set.constants(len(a.Elems), e.Arg.Type(), func(i int) (types.Datum, types.Type, bool) { return a.Elems[i], et, true }) {
			return set, nil
		}
		if eq := fn.FindOperator("=", e.Arg.Type().OID, et.OID); ok && eq != nil {
			var list []node
			var lt []types.Type
			for _, d := range a.Elems {
				x, err := newConst(et, d)
				if err != nil {
					return nil, err
				}
				list, lt = append(list, x), append(lt, et)
			}
			return c.inList(arg, e.Arg.Type(), list, lt, eq.Func, e.All)
		}
	}
	n := &anyAllNode{arg: arg, arr: arr, all: e.All, at: e.Arg.Type(), et: et}
	if n.cmp, err = newCall(e.Fn, []node{&n.as, &n.es}, []types.Type{n.at, et}, types.Bool, c.env); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *anyAllNode) eval(fr *frame) (*vector.Vec, error) {
	arg, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	arr, err := n.arr.eval(fr)
	if err != nil {
		return nil, err
	}
	list, ok := arr.Arr.(*array.List)
	if arr.AllNull() || !ok {
		return vector.NewNull(fr.n), nil
	}
	rows := make([]int32, 0, fr.n)
	elems := make([]int32, 0, fr.n)
	for i := range fr.n {
		r := i
		if arr.One {
			r = 0
		}
		if list.IsNull(r) {
			continue
		}
		from, to := list.ValueOffsets(r)
		for j := from; j < to; j++ {
			rows, elems = append(rows, int32(i)), append(elems, int32(j))
		}
	}
	t, f := vector.Alloc[uint8](fr.a, fr.n), vector.Alloc[uint8](fr.a, fr.n)
	for i := range t {
		r := i
		if arr.One {
			r = 0
		}
		if list.IsNull(r) {
			t[i], f[i] = 0, 0
		} else {
			t[i], f[i] = vector.ByteOf(n.all), vector.ByteOf(!n.all)
		}
	}
	if len(rows) == 0 {
		return vector.FromTruth(fr.a, t, f), nil
	}
	if n.as.v, err = vector.TakeVec(fr.a, arg, rows, n.at); err != nil {
		return nil, err
	}
	if n.es.v, err = vector.TakeVec(fr.a, vector.FromArrow(fr.a, list.ListValues()), elems, n.et); err != nil {
		return nil, err
	}
	sub := *fr
	sub.n = len(rows)
	v, err := n.cmp.eval(&sub)
	if err != nil {
		return nil, err
	}
	t2, f2 := vector.Truth(fr.a, v)
	for i, r := range rows {
		if n.all {
			t[r] &= t2[i]
			f[r] |= f2[i]
		} else {
			t[r] |= t2[i]
			f[r] &= f2[i]
		}
	}
	return vector.FromTruth(fr.a, t, f), nil
}
