package eval

import (
	"context"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// call is what a function's implementation sees of one evaluation. n rows are
// to be computed; arguments hold n rows or one value for all.
type call struct {
	ctx   context.Context
	env   *Env
	a     *arena
	f     *fn.Func
	types []types.Type // of the arguments
	ret   types.Type
	n     int
	valid []byte  // strict functions: rows without a NULL argument; nil: all
	col   *column // the result's, where its values are of variable length
	memo  *any    // kept between calls of one node: compiled patterns and the like
}

// meter is what the call charges; nil where there is none.
func (c *call) meter() *meter {
	if c == nil {
		return nil
	}
	return c.a.meter()
}

// impl computes a function. For strict functions it need not care about rows
// that valid excludes, and gives a result whose valid is c.valid or less.
type impl func(c *call, args []*vec) (*vec, error)

// maker chooses the implementation for the types at hand, when a program is
// compiled.
type maker func(f *fn.Func, args []types.Type, ret types.Type) impl

// always is a maker that does not look at types.
func always(i impl) maker {
	return func(*fn.Func, []types.Type, types.Type) impl { return i }
}

// table maps fn.Func.ID to what makes its implementation.
type table map[string]maker

var impls = sync.OnceValue(func() table {
	t := table{}
	addComparisons(t)
	addArithmetic(t)
	addMath(t)
	addNumeric(t)
	addConversions(t)
	addStrings(t)
	addBytes(t)
	addBits(t)
	addPatterns(t)
	addRegexp(t)
	addFormat(t)
	addDatetime(t)
	addDateArithmetic(t)
	addArrays(t)
	addJSON(t)
	addJSONBuild(t)
	addJSONPath(t)
	addSystem(t)
	addCatalog(t)
	addEnums(t)
	addSend(t)
	addStates(t)
	for id, m := range t {
		if strings.Contains(id, "json") {
			t[id] = weighed(m)
		}
	}
	return t
})

// put registers an implementation; the ID must be one that planner/fn lists.
func (t table) put(id string, m maker) {
	if t[id] != nil {
		panic("BUG: " + id + " is implemented twice")
	}
	t[id] = m
}

// puts registers the same implementation under several IDs.
func (t table) puts(m maker, ids ...string) {
	for _, id := range ids {
		t.put(id, m)
	}
}

// callNode calls a function.
type callNode struct {
	f    *fn.Func
	args []node
	typ  []types.Type
	ret  types.Type
	run  impl
	memo any
	// dictionary results of the last dictionaries seen, for functions of one
	// string: computing once an entry is enough.
	perEntry bool
	key      arrow.ArrayData
	cached   *vec
	size     int64 // charged for it
}

func newCall(f *fn.Func, args []node, at []types.Type, ret types.Type, env *Env) (node, error) {
	m := impls()[f.ID]
	if m == nil {
		if f.Kind != fn.Scalar {
			return nil, pgerr.Internal("%s is not a scalar function", f.ID)
		}
		return nil, pgerr.Unsupported("function %s is not supported", f.Name)
	}
	run := m(f, at, ret)
	if run == nil {
		return nil, pgerr.Internal("no implementation of %s for %v", f.ID, at)
	}
	n := &callNode{f: f, args: args, typ: at, ret: ret, run: run}
	if f.Vol == fn.Immutable && f.Strict && (!f.CanFail || patternFunc(f)) {
		strings := 0
		for i, a := range args {
			if _, con := a.(*constNode); con {
				continue
			}
			strings++
			if kindOf(at[i]) != kStr {
				strings = 2
			}
		}
		n.perEntry = strings == 1 && kindOf(ret) != kArr
	}
	return n, nil
}

func (n *callNode) eval(fr *frame) (*vec, error) {
	args := make([]*vec, len(n.args))
	allOne := n.f.Vol != fn.Volatile
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if n.f.Strict && v.allNull() {
			return nullVec(fr.n), nil
		}
		allOne = allOne && v.one
		args[i] = v
	}
	if n.perEntry {
		if v, err := n.byDictionary(fr, args); v != nil || err != nil {
			return v, err
		}
	}
	return n.apply(fr, args, fr.n, allOne)
}

func (n *callNode) apply(fr *frame, args []*vec, rows int, allOne bool) (*vec, error) {
	c := &call{ctx: fr.ctx, env: fr.env, a: fr.a, f: n.f, types: n.typ, ret: n.ret, n: rows, memo: &n.memo}
	if allOne {
		c.n = 1
	}
	if m := fr.a.meter(); m != nil {
		m.what = n.f.Name
	}
	if n.f.Strict {
		for _, v := range args {
			if !v.one {
				c.valid = andBits(fr.a, c.valid, v.valid, c.n)
			}
		}
	}
	v, err := n.run(c, args)
	if err != nil {
		return nil, err
	}
	if allOne {
		w := *v
		w.one, w.n = true, rows
		return &w, nil
	}
	return v, nil
}

// byDictionary computes a function of one dictionary column an entry, and maps
// rows to the results. It gives nil where that does not pay.
func (n *callNode) byDictionary(fr *frame, args []*vec) (*vec, error) {
	var d *vec
	at := 0
	for i, v := range args {
		if v.one {
			continue
		}
		if v.kind != kDict || d != nil {
			return nil, nil
		}
		d, at = v, i
	}
	if d == nil {
		return nil, nil
	}
	res := n.cached
	if d.key == nil || n.key != d.key || res == nil {
		if d.dict.n > 4*fr.n && d.dict.n > 1024 {
			return nil, nil
		}
		in := append([]*vec(nil), args...)
		in[at] = d.dict
		for i, v := range in {
			if v.one {
				w := *v
				w.n = d.dict.n
				in[i] = &w
			}
		}
		sub := *fr
		sub.a, sub.shared = fr.a.fresh(), nil // the result outlives this batch
		before := fr.a.meter().holds()
		v, err := n.apply(&sub, in, d.dict.n, false)
		if err != nil {
			// It may be of an entry that no row here has: the rows tell.
			return nil, nil
		}
		res = v.spread(sub.a)
		size := fr.a.meter().holds() - before
		fr.a.meter().keep(size - n.size)
		n.key, n.cached, n.size = d.key, res, size
	}
	out, err := takeEntries(fr.a, res, vals[int32](d), d.valid, n.ret)
	return out, err
}

// takeEntries is takeVec for indices some of which may be NULL; strings stay a
// dictionary.
func takeEntries(a *arena, res *vec, idx []int32, valid []byte, t types.Type) (*vec, error) {
	if res.kind == kNull {
		return nullVec(len(idx)), nil
	}
	if valid != nil {
		// indices of NULL rows may be anything
		clean := alloc[int32](a, len(idx))
		for i, x := range idx {
			if valid[i>>3]>>(i&7)&1 == 0 {
				x = 0
			}
			clean[i] = x
		}
		idx = clean
		if res.n == 0 {
			return nullVec(len(idx)), nil
		}
	}
	var out *vec
	if res.kind == kStr {
		out = fixedVec(kDict, idx, nil)
		out.dict = res
		if res.valid != nil {
			out.valid = takeBits(a, res.valid, 0, idx)
			out.dict = &vec{kind: kStr, n: res.n, off: res.off, data: res.data}
		}
	} else {
		v, err := takeVec(a, res, idx, t)
		if err != nil {
			return nil, err
		}
		out = v
	}
	out.valid = andBits(a, out.valid, valid, len(idx))
	return out, nil
}

// entries computes a boolean function once an entry of the dictionary of d: 1
// where it is true. It gives nil where an argument is not constant.
func (n *callNode) entries(d *vec, fr *frame) ([]uint8, error) {
	args := make([]*vec, len(n.args))
	for i, arg := range n.args {
		if _, ok := arg.(*colNode); ok {
			args[i] = d.dict
			continue
		}
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if v.allNull() || !v.one {
			return nil, nil
		}
		args[i] = v
	}
	v, err := n.apply(fr, args, d.dict.n, false)
	if err != nil || v.kind != kBool {
		return nil, err
	}
	t, _ := truth(fr.a, v)
	return append([]uint8(nil), t...), nil
}
