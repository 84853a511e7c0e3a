package eval

import (
	"encoding/binary"
	"math/bits"

	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// caseNode is CASE. Which arm each row takes is found first, a condition being computed for the rows that have none yet
// or, where that is harmless, for all; then the results of the arms that some row takes.
type caseNode struct {
	conds []optional
	arms  []optional // a result for each condition, and that of ELSE
	typ   types.Type
	texts *armTexts // where all results are constant texts
	at    vector.Places
}

// mostArms is how many arms have a number each in a byte; what follows them is a CASE of its own.
const mostArms = 200

func (c *compiler) caseOf(e *expr.Case) (node, error) {
	whens, els := e.Whens, e.Else
	if len(whens) > mostArms {
		whens, els = whens[:mostArms], &expr.Case{Whens: whens[mostArms:], Else: els, Typ: e.Typ}
	}
	if els == nil {
		els = &expr.Const{Typ: e.Typ}
	}
	n := &caseNode{typ: e.Typ}
	if c.again {
		c.resting = append(c.resting, n)
	}
	for _, w := range whens {
		cond, err := c.compile(w.Cond)
		if err != nil {
			return nil, err
		}
		then, err := c.compile(w.Then)
		if err != nil {
			return nil, err
		}
		n.conds, n.arms = append(n.conds, newOptional(cond, w.Cond)), append(n.arms, newOptional(then, w.Then))
	}
	last, err := c.compile(els)
	if err != nil {
		return nil, err
	}
	n.arms = append(n.arms, newOptional(last, els))
	n.texts = textsOf(n.arms, e.Typ)
	return n, nil
}

func (n *caseNode) rest() { n.at = vector.Places{} }

func (n *caseNode) eval(fr *frame) (*vector.Vec, error) {
	if len(n.conds) == 1 && n.arms[0].harmless && n.arms[0].light && n.arms[1].null() && fixedWidth(n.typ.Form()) {
		return n.orNull(fr)
	}
	arm, count, err := n.choose(fr)
	if err != nil {
		return nil, err
	}
	if n.texts != nil {
		return n.texts.of(fr, arm), nil
	}
	taken, lone := 0, -1 // arms that are not NULL, one of them
	for k, c := range count {
		if c == fr.n {
			return n.arms[k].eval(fr)
		}
		if c > 0 && !n.arms[k].null() {
			taken, lone = taken+1, k
		}
	}
	switch {
	case taken == 0:
		return vector.NewNull(fr.n), nil
	case taken == 1 && n.typ.Form() != vector.Arr && n.arms[lone].whole(count[lone], fr.n):
		v, err := n.arms[lone].eval(fr)
		if err != nil {
			return nil, err
		}
		if !v.One {
			return v.Where(fr.a, bitsOf(fr.a, arm, uint8(lone))), nil
		}
	}
	if fixedWidth(n.typ.Form()) {
		return n.blend(fr, arm, count)
	}
	var parts []vector.Part
	for k, c := range count {
		if c == 0 || n.arms[k].null() {
			continue
		}
		rows := rowsWhere(fr.a, arm, uint8(k), c)
		v, err := n.arms[k].eval(fr.narrow(rows))
		if err != nil {
			return nil, err
		}
		parts = append(parts, vector.Part{Rows: rows, V: v})
	}
	return n.at.Scatter(fr.a, fr.n, n.typ, parts)
}

// orNull is the eval of a result that is computed for all rows, beside NULLs.
func (n *caseNode) orNull(fr *frame) (*vector.Vec, error) {
	cond, err := n.conds[0].eval(fr)
	if err != nil {
		return nil, err
	}
	t := vector.True(fr.a, cond)
	count := vector.CountBytes(t)
	if count == 0 {
		return vector.NewNull(fr.n), nil
	}
	v, err := n.arms[0].eval(fr)
	if err != nil || count == fr.n || v.AllNull() {
		return v, err
	}
	return v.Spread(fr.a).Where(fr.a, vector.PackBits(fr.a, t)), nil
}

// choose returns the arm of each row, and how many rows each arm has.
func (n *caseNode) choose(fr *frame) ([]uint8, []int, error) {
	last := uint8(len(n.conds))
	arm, count := vector.Alloc[uint8](fr.a, fr.n), make([]int, len(n.arms))
	for i := range arm {
		arm[i] = last
	}
	open := vector.Alloc[uint8](fr.a, fr.n) // 1: no condition has been true
	for i := range open {
		open[i] = 1
	}
	rest := fr.n
	for k := range n.conds {
		if rest == 0 {
			break
		}
		cond := &n.conds[k]
		if rest == fr.n || cond.whole(rest, fr.n) {
			v, err := cond.eval(fr)
			if err != nil {
				return nil, nil, err
			}
			count[k] = take(arm, open, vector.True(fr.a, v), uint8(k), last)
		} else {
			rows := rowsWhere(fr.a, open, 1, rest)
			v, err := cond.eval(fr.narrow(rows))
			if err != nil {
				return nil, nil, err
			}
			for i, t := range vector.True(fr.a, v) {
				if t == 1 {
					arm[rows[i]], open[rows[i]] = uint8(k), 0
					count[k]++
				}
			}
		}
		rest -= count[k]
	}
	count[last] = rest
	return arm, count, nil
}

// take gives the rows that are open and true the arm k instead of the last, eight at a time, and counts them.
func take(arm, open, t []uint8, k, last uint8) int {
	const ones = 0x0101010101010101
	swap, took, i := uint64(k^last)*ones, 0, 0
	for ; i+8 <= len(arm); i += 8 {
		o := binary.LittleEndian.Uint64(open[i:])
		h := binary.LittleEndian.Uint64(t[i:]) & o
		binary.LittleEndian.PutUint64(open[i:], o^h)
		binary.LittleEndian.PutUint64(arm[i:], binary.LittleEndian.Uint64(arm[i:])^h*0xff&swap)
		took += bits.OnesCount64(h)
	}
	for ; i < len(arm); i++ {
		h := t[i] & open[i]
		open[i] ^= h
		arm[i] ^= -h & (k ^ last)
		took += int(h)
	}
	return took
}

// bitsOf makes the bitmap of the rows of an arm.
func bitsOf(a *vector.Arena, arm []uint8, k uint8) []byte {
	is := vector.Alloc[uint8](a, len(arm))
	for i, x := range arm {
		is[i] = uint8((uint16(x^k) - 1) >> 15) // 1 where x is k
	}
	return vector.PackBits(a, is)
}

func countUp(a *vector.Arena, n int) []int32 {
	out := vector.Alloc[int32](a, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// coalesceNode computes each argument for the rows still NULL or, where that is harmless, for all.
type coalesceNode struct {
	args []optional
	typ  types.Type
	at   vector.Places
}

func (c *compiler) coalesce(e *expr.Coalesce) (node, error) {
	n := &coalesceNode{typ: e.Typ}
	for _, arg := range e.Args {
		a, err := c.compile(arg)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, newOptional(a, arg))
	}
	return n, nil
}

func (n *coalesceNode) eval(fr *frame) (*vector.Vec, error) {
	if fixedWidth(n.typ.Form()) {
		return n.fill(fr)
	}
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
