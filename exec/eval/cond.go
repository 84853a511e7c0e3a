package eval

import (
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// caseNode is CASE: each condition is computed for the rows that no branch has
// taken yet, each result for the rows of its branch.
type caseNode struct {
	conds []node
	thens []node
	els   node // nil: NULL
	typ   types.Type
	at    vector.Places
	// free: branches are computed for all rows, as that is cheaper than to pick those of each, and cannot fail.
	free bool
}

// mostFree is how many conditions a CASE has at most whose branches are computed for all rows.
const mostFree = 4

// free reports whether the conditions after the first and the results of a CASE may be computed for all rows.
func free(e *expr.Case) bool {
	ok := len(e.Whens) <= mostFree && e.Typ.Form() >= vector.Bool && e.Typ.Form() <= vector.F64 && (e.Else == nil || Total(e.Else))
	for i, w := range e.Whens {
		ok = ok && Total(w.Then) && (i == 0 || cheap(w.Cond))
	}
	return ok
}

func (c *compiler) caseOf(e *expr.Case) (node, error) {
	n := &caseNode{typ: e.Typ, free: free(e)}
	if c.again {
		c.resting = append(c.resting, n)
	}
	for _, w := range e.Whens {
		cond, err := c.compile(w.Cond)
		if err != nil {
			return nil, err
		}
		then, err := c.compile(w.Then)
		if err != nil {
			return nil, err
		}
		n.conds, n.thens = append(n.conds, cond), append(n.thens, then)
	}
	if e.Else != nil {
		var err error
		if n.els, err = c.compile(e.Else); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *caseNode) rest() { n.at = vector.Places{} }

// choose computes a CASE from its last branch to its first, each chosen where its condition is true.
func (n *caseNode) choose(fr *frame) (out *vector.Vec, err error) {
	out = vector.NewNull(fr.n)
	if n.els != nil {
		if out, err = n.els.eval(fr); err != nil {
			return nil, err
		}
	}
	for k := len(n.conds) - 1; k >= 0; k-- {
		v, err := n.conds[k].eval(fr)
		if err != nil {
			return nil, err
		}
		cond := vector.True(fr.a, v)
		hits := vector.CountBytes(cond)
		if hits == 0 {
			continue
		}
		if v, err = n.thens[k].eval(fr); err != nil {
			return nil, err
		}
		if hits < fr.n {
			v = vector.Choose(fr.a, n.typ.Form(), cond, v, out)
		}
		out = v
	}
	return out, nil
}

func (n *caseNode) eval(fr *frame) (*vector.Vec, error) {
	if n.free {
		return n.choose(fr)
	}
	rest := countUp(fr.a, fr.n)
	var parts []vector.Part
	for k, cond := range n.conds {
		if len(rest) == 0 {
			break
		}
		sub := fr.narrow(rest)
		v, err := cond.eval(sub)
		if err != nil {
			return nil, err
		}
		t, _ := vector.Truth(fr.a, v)
		hits := vector.CountBytes(t)
		if hits == 0 {
			continue
		}
		if hits == len(rest) {
			v, err := n.thens[k].eval(sub)
			if err != nil {
				return nil, err
			}
			parts = append(parts, vector.Part{Rows: rest, V: v})
			rest = nil
			break
		}
		yes, no := vector.Alloc[int32](fr.a, len(rest)), vector.Alloc[int32](fr.a, len(rest))
		ny, nn := 0, 0
		for i, r := range rest {
			yes[ny], no[nn] = r, r
			ny += int(t[i])
			nn += int(1 - t[i])
		}
		rest = no[:nn]
		v, err = n.thens[k].eval(fr.narrow(yes[:ny]))
		if err != nil {
			return nil, err
		}
		parts = append(parts, vector.Part{Rows: yes[:ny], V: v})
	}
	if len(rest) > 0 && n.els != nil {
		v, err := n.els.eval(fr.narrow(rest))
		if err != nil {
			return nil, err
		}
		parts = append(parts, vector.Part{Rows: rest, V: v})
	}
	if len(parts) == 0 {
		return vector.NewNull(fr.n), nil
	}
	return n.at.Scatter(fr.a, fr.n, n.typ, parts)
}

func countUp(a *vector.Arena, n int) []int32 {
	out := vector.Alloc[int32](a, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// coalesceNode computes each argument for the rows still NULL.
type coalesceNode struct {
	args []node
	typ  types.Type
	at   vector.Places
}

func (n *coalesceNode) eval(fr *frame) (*vector.Vec, error) {
	rest := countUp(fr.a, fr.n)
	var parts []vector.Part
	for _, arg := range n.args {
		if len(rest) == 0 {
			break
		}
		v, err := arg.eval(fr.narrow(rest))
		if err != nil {
			return nil, err
		}
		if v.AllNull() {
			continue
		}
		parts = append(parts, vector.Part{Rows: rest, V: v})
		if v.Valid == nil {
			rest = nil
			break
		}
		open := vector.Alloc[int32](fr.a, len(rest))
		k := 0
		for i, r := range rest {
			if v.Null(i) {
				open[k] = r
				k++
			}
		}
		rest = open[:k]
	}
	if len(parts) == 0 {
		return vector.NewNull(fr.n), nil
	}
	// a later part fills what an earlier one left NULL
	return scatterOver(fr.a, fr.n, n.typ, parts, &n.at)
}

// scatterOver is vector.Scatter where rows may be in several parts: the first that is not NULL
// counts.
func scatterOver(a *vector.Arena, n int, t types.Type, parts []vector.Part, at *vector.Places) (*vector.Vec, error) {
	if len(parts) == 1 && len(parts[0].Rows) == n {
		return parts[0].V, nil
	}
	for i := range parts[:len(parts)-1] {
		p := &parts[i]
		if p.V.Valid == nil {
			continue
		}
		keep := vector.Alloc[int32](a, len(p.Rows))
		rows := vector.Alloc[int32](a, len(p.Rows))
		k := 0
		for j, r := range p.Rows {
			if !p.V.Null(j) {
				keep[k], rows[k] = int32(j), r
				k++
			}
		}
		v, err := vector.TakeVec(a, p.V, keep[:k], t)
		if err != nil {
			return nil, err
		}
		p.Rows, p.V = rows[:k], v
	}
	return at.Scatter(a, n, t, parts)
}
