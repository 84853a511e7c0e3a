package eval

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

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
