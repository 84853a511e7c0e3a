package eval

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/builtin"
	"github.com/tributarydb/tributary/exec/function/textfn"
	"github.com/tributarydb/tributary/exec/function/userfn"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
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
	run  function.Impl
	memo any
	// results of the entries of the last dictionary, for functions of one string: each entry is
	// computed once, not each row.
	perEntry bool
	key      arrow.ArrayData
	cached   *vector.Vec
	size     int64 // charged for it
	pays     dictionaryPays
}

func newCall(f *fn.Func, args []node, at []types.Type, ret types.Type, env *function.Env) (node, error) {
	if f.User != nil {
		run, err := userfn.Scalar(f)
		return &callNode{f: f, args: args, typ: at, ret: ret, run: run}, err
	}
	if f.ID == "textcat(text,text)" {
		args, at = chained(f, args, at)
	}
	m := builtin.Scalars()[f.ID]
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
	if f.Vol == fn.Immutable && f.Strict && (!f.CanFail || textfn.PatternFunc(f)) {
		strings := 0
		for i, a := range args {
			if _, con := a.(*constNode); con {
				continue
			}
			strings++
			if at[i].Form() != vector.Str {
				strings = 2
			}
		}
		n.perEntry = strings == 1 && ret.Form() != vector.Arr
	}
	return n, nil
}

// chained returns the arguments of calls of f that are arguments of a call of f in their place: a || b || c is one call of three.
func chained(f *fn.Func, args []node, at []types.Type) (all []node, ts []types.Type) {
	for i, a := range args {
		if n, ok := a.(*callNode); ok && n.f == f {
			all, ts = append(all, n.args...), append(ts, n.typ...)
		} else {
			all, ts = append(all, a), append(ts, at[i])
		}
	}
	return all, ts
}

func (n *callNode) rest() {
	n.memo, n.key, n.cached, n.size, n.pays = nil, nil, nil, 0, dictionaryPays{}
}

func (n *callNode) eval(fr *frame) (*vector.Vec, error) {
	args := make([]*vector.Vec, len(n.args))
	allOne := n.f.Vol != fn.Volatile
	for i, arg := range n.args {
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if n.f.Strict && v.AllNull() {
			return vector.NewNull(fr.n), nil
		}
		allOne = allOne && v.One
		args[i] = v
	}
	if n.perEntry {
		if v, err := n.byDictionary(fr, args); v != nil || err != nil {
			return v, err
		}
	}
	return n.apply(fr, args, fr.n, allOne)
}

func (n *callNode) apply(fr *frame, args []*vector.Vec, rows int, allOne bool) (*vector.Vec, error) {
	c := &function.Call{Ctx: fr.ctx, Env: fr.env, Arena: fr.a, Fn: n.f, Types: n.typ, Ret: n.ret, N: rows, Memo: &n.memo}
	if allOne {
		c.N = 1
	}
	if m := fr.a.Meter(); m != nil {
		m.Caller = n.f.Name
	}
	if n.f.Strict {
		for _, v := range args {
			if !v.One {
				c.Valid = vector.AndBits(fr.a, c.Valid, v.Valid, c.N)
			}
		}
	}
	v, err := n.run(c, args)
	if err != nil {
		return nil, err
	}
	if allOne {
		w := *v
		w.One, w.N = true, rows
		return &w, nil
	}
	return v, nil
}

// dictionaryPays decides when to compute something for all entries of a dictionary: at once where it is small, else
// after a quarter as many rows of it, which batches that share it have together.
type dictionaryPays struct{ seen kernel.DictRows }

// after counts n more rows of a dictionary of so many entries; key, which may be nil, identifies it.
func (p *dictionaryPays) after(key arrow.ArrayData, entries, n int) bool {
	return entries <= max(4*p.seen.Add(key, n), 1024)
}

// byDictionary computes a function of one dictionary column once for each
// entry, and maps rows to the results. It returns nil where another argument is
// a column too, or where the dictionary is much larger than the rows of it so far.
func (n *callNode) byDictionary(fr *frame, args []*vector.Vec) (*vector.Vec, error) {
	var d *vector.Vec
	at := 0
	for i, v := range args {
		if v.One {
			continue
		}
		if v.Kind != vector.Dict || d != nil {
			return nil, nil
		}
		d, at = v, i
	}
	if d == nil {
		return nil, nil
	}
	res := n.cached
	if d.Key == nil || n.key != d.Key || res == nil {
		if !n.pays.after(d.Key, d.Dict.N, fr.n) {
			return nil, nil
		}
		in := append([]*vector.Vec(nil), args...)
		in[at] = d.Dict
		for i, v := range in {
			if v.One {
				w := *v
				w.N = d.Dict.N
				in[i] = &w
			}
		}
		sub := *fr
		sub.a, sub.shared = fr.a.Fresh(), nil // the result outlives this batch
		before := fr.a.Meter().Holds()
		v, err := n.apply(&sub, in, d.Dict.N, false)
		if err != nil {
			// The error may be of a dictionary entry that no row here has: the rows are evaluated instead.
			return nil, nil
		}
		res = v.Spread(sub.a)
		if res.Kind == vector.Str && res.Valid == nil {
			// Its array too is made once: by it who reads the next batch knows that the dictionary is the same.
			w := *res
			if w.Arr, err = res.ToArrow(n.ret); err != nil {
				return nil, err
			}
			res = &w
		}
		size := fr.a.Meter().Holds() - before
		fr.a.Meter().Keep(size - n.size)
		n.key, n.cached, n.size = d.Key, res, size
	}
	out, err := vector.TakeEntries(fr.a, res, vector.Values[int32](d), d.Valid, n.ret)
	if err == nil && out.Kind == vector.Dict && out.Dict.Arr != nil {
		out.Key = out.Dict.Arr.Data()
	}
	return out, err
}

// entries computes a boolean function once for each entry of the dictionary d:
// 1 where it is true. It returns nil where an argument is not constant.
func (n *callNode) entries(d *vector.Vec, fr *frame) ([]uint8, error) {
	args := make([]*vector.Vec, len(n.args))
	for i, arg := range n.args {
		if _, ok := arg.(*colNode); ok {
			args[i] = d.Dict
			continue
		}
		v, err := arg.eval(fr)
		if err != nil {
			return nil, err
		}
		if v.AllNull() || !v.One {
			return nil, nil
		}
		args[i] = v
	}
	v, err := n.apply(fr, args, d.Dict.N, false)
	if err != nil || v.Kind != vector.Bool {
		return nil, err
	}
	t, _ := vector.Truth(fr.a, v)
	return append([]uint8(nil), t...), nil
}
