package eval

import (
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// slot stands for a column that the node above it computes.
type slot struct{ v *vec }

func (s *slot) eval(*frame) (*vec, error) { return s.v, nil }

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

func (n *distinctNode) eval(fr *frame) (*vec, error) {
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
	t, _ := truth(fr.a, eq)
	for i := range t {
		same := t[i]
		if l.null(i) && r.null(i) {
			same = 1
		}
		if n.not {
			t[i] = same
		} else {
			t[i] = 1 - same
		}
	}
	return boolVec(t, nil), nil
}

// inNode is [NOT] IN of a list: constants by a set, the rest one by one.
type inNode struct {
	arg   node
	slot  slot
	eqs   []node // generic: arg = element
	not   bool
	ints  *intSet
	strs  map[string]struct{}
	null  bool // the list holds a NULL
	empty bool // it holds nothing
	typ   types.Type
	memo  []uint8 // of a dictionary: which entries are in the set
	entry *vec
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
	if n.constants(list, lt, at) {
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

// constants makes a set of the list if all of it is constant and of the
// argument's type, and equality is that of the carried values.
func (n *inNode) constants(list []node, lt []types.Type, at types.Type) bool {
	var ints []int64
	strs := map[string]struct{}{}
	k := kindOf(at)
	switch {
	case k == kI16 || k == kI32 || k == kI64 || k == kU32:
	case k == kStr && at.OID != types.JSONBOID:
	default:
		return false
	}
	for i, el := range list {
		c, ok := el.(*constNode)
		if !ok {
			return false
		}
		if c.val == nil {
			n.null = true
			continue
		}
		if lt[i].OID != at.OID || lt[i].Scale != at.Scale || kindOf(lt[i]) != k {
			return false
		}
		if k == kStr {
			strs[types.Compared(at, c.v.str(0))] = struct{}{}
		} else {
			ints = append(ints, intAt(&c.v, 0))
		}
	}
	if k == kStr {
		n.strs = strs
	} else {
		n.ints = newIntSet(ints)
	}
	return true
}

func (n *inNode) eval(fr *frame) (*vec, error) {
	v, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	if n.empty { // no element, no doubt
		return boolConst(n.not, fr.n), nil
	}
	if v.allNull() && (n.ints != nil || n.strs != nil) {
		return nullVec(fr.n), nil
	}
	if n.ints == nil && n.strs == nil {
		return n.generic(fr, v)
	}
	rows := v.stored()
	hit := alloc[uint8](fr.a, rows)
	switch {
	case n.ints != nil && v.kind == kI16:
		inInts(n.ints, hit, vals[int16](v))
	case n.ints != nil && v.kind == kI32:
		inInts(n.ints, hit, vals[int32](v))
	case n.ints != nil && v.kind == kU32:
		inInts(n.ints, hit, vals[uint32](v))
	case n.ints != nil:
		inInts(n.ints, hit, vals[int64](v))
	case v.kind == kDict && !v.one && v.dict.n <= 2*v.n:
		flags := n.entries(v)
		idx := vals[int32](v)
		if v.valid == nil {
			for i, x := range idx {
				hit[i] = flags[x]
			}
			break
		}
		for i, x := range idx {
			if !v.null(i) {
				hit[i] = flags[x]
			} else {
				hit[i] = 0
			}
		}
	default:
		for i := range hit {
			hit[i] = 0
			if !v.null(i) {
				_, ok := n.strs[types.Compared(n.typ, v.str(i))]
				hit[i] = b2u(ok)
			}
		}
	}
	valid := v.valid
	if n.null {
		// not found among the others: unknown
		valid = cloneBits(fr.a, valid, rows)
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
	out := boolVec(hit, valid)
	out.n, out.one = v.n, v.one
	return out, nil
}

// entries tells which entries of v's dictionary are in the set; remembered for
// the next batch of the same dictionary.
func (n *inNode) entries(v *vec) []uint8 {
	if n.entry != nil && v.key != nil && n.entry.key == v.key {
		return n.memo
	}
	flags := make([]uint8, v.dict.n)
	for i := range flags {
		_, ok := n.strs[types.Compared(n.typ, v.dict.str(i))]
		flags[i] = b2u(ok)
	}
	n.entry, n.memo = v, flags
	return flags
}

func (n *inNode) generic(fr *frame, v *vec) (*vec, error) {
	n.slot.v = v
	t, f := alloc[uint8](fr.a, fr.n), alloc[uint8](fr.a, fr.n)
	for i := range t {
		t[i], f[i] = 0, 1
	}
	for _, eq := range n.eqs {
		e, err := eq.eval(fr)
		if err != nil {
			return nil, err
		}
		t2, f2 := truth(fr.a, e)
		for i := range t {
			t[i] |= t2[i]
			f[i] &= f2[i]
		}
	}
	if n.not {
		t, f = f, t
	}
	return fromTruth(fr.a, t, f), nil
}

// intSet answers membership by a scan of few values, a bitmap of a dense range
// or a hash table.
type intSet struct {
	few   []int64
	lo    int64
	dense []uint64
	span  uint64
	many  map[int64]struct{}
}

func newIntSet(v []int64) *intSet {
	s := &intSet{}
	if len(v) <= 4 {
		s.few = v
		return s
	}
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	if span := uint64(hi) - uint64(lo); span < 1<<20 {
		s.lo, s.span, s.dense = lo, span, make([]uint64, span/64+1)
		for _, x := range v {
			d := uint64(x) - uint64(lo)
			s.dense[d/64] |= 1 << (d % 64)
		}
		return s
	}
	s.many = make(map[int64]struct{}, len(v))
	for _, x := range v {
		s.many[x] = struct{}{}
	}
	return s
}

func inInts[T integer](s *intSet, out []uint8, v []T) {
	switch {
	case s.dense != nil:
		for i, x := range v {
			d := uint64(int64(x)) - uint64(s.lo)
			out[i] = 0
			if d <= s.span {
				out[i] = uint8(s.dense[d/64] >> (d % 64) & 1)
			}
		}
	case s.many != nil:
		for i, x := range v {
			_, ok := s.many[int64(x)]
			out[i] = b2u(ok)
		}
	default:
		clear(out)
		for _, k := range s.few {
			c := T(k)
			if int64(c) != k {
				continue
			}
			for i, x := range v {
				out[i] |= b2u(x == c)
			}
		}
	}
}

// anyAllNode is arg op ANY|ALL (array): the elements of all rows make one
// column, against which the argument is compared in one go.
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

func (n *anyAllNode) eval(fr *frame) (*vec, error) {
	arg, err := n.arg.eval(fr)
	if err != nil {
		return nil, err
	}
	arr, err := n.arr.eval(fr)
	if err != nil {
		return nil, err
	}
	list, ok := arr.arr.(*array.List)
	if arr.allNull() || !ok {
		return nullVec(fr.n), nil
	}
	rows := make([]int32, 0, fr.n)
	elems := make([]int32, 0, fr.n)
	for i := range fr.n {
		r := i
		if arr.one {
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
	t, f := alloc[uint8](fr.a, fr.n), alloc[uint8](fr.a, fr.n)
	for i := range t {
		r := i
		if arr.one {
			r = 0
		}
		if list.IsNull(r) {
			t[i], f[i] = 0, 0
		} else {
			t[i], f[i] = b2u(n.all), b2u(!n.all)
		}
	}
	if len(rows) == 0 {
		return fromTruth(fr.a, t, f), nil
	}
	if n.as.v, err = takeVec(fr.a, arg, rows, n.at); err != nil {
		return nil, err
	}
	if n.es.v, err = takeVec(fr.a, fromArrow(fr.a, list.ListValues()), elems, n.et); err != nil {
		return nil, err
	}
	sub := *fr
	sub.n = len(rows)
	v, err := n.cmp.eval(&sub)
	if err != nil {
		return nil, err
	}
	t2, f2 := truth(fr.a, v)
	for i, r := range rows {
		if n.all {
			t[r] &= t2[i]
			f[r] |= f2[i]
		} else {
			t[r] |= t2[i]
			f[r] &= f2[i]
		}
	}
	return fromTruth(fr.a, t, f), nil
}
