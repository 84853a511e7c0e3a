package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel/selection"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Filter keeps the rows for which all of its conditions are true. It is for one
// goroutine.
//
// Conditions apply in order, each to the rows that the ones before left, those first
// that read a column where it lies and write the selection without branches: comparisons of
// integers with a constant or each other (masked), then those of other columns with a constant,
// and what is known for each entry of a dictionary. Everything else is evaluated as a boolean column.
type Filter struct {
	conds []condition
	env   *function.Env
	a     vector.Arena
	m     vector.Meter
	bufs  [2][]int32
	words []uint16 // a mask
	done  []bool   // which conditions masks have been applied for, in this batch

	again   bool // other statements may use the filter (Rest)
	resting []resting
}

// condition narrows a selection: of the rows sel (nil: all n) it writes those
// that pass to out and returns how many they are. ok is false where this batch's
// column is in a form it does not read.
type condition struct {
	e    expr.Expr
	fast selector
	in   *interval // where it is one
	mask masker
	col  int
	root node
}

// CompileFilter makes a filter of conditions over the columns of an input.
func CompileFilter(conds []expr.Expr, in []plan.Column, env *function.Env) (*Filter, error) {
	if env == nil {
		env = &function.Env{}
	}
	return compileFilter(conds, newCompiler(in, env))
}

func compileFilter(conds []expr.Expr, c *compiler) (*Filter, error) {
	f := &Filter{env: c.env, m: c.env.NewMeter()}
	f.a = vector.NewArena(&f.m)
	for _, e := range flatten(conds) {
		root, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		cond := condition{e: e, root: root, col: -1}
		c.hot(e, root, &cond)
		f.conds = append(f.conds, cond)
	}
	var err error
	f.conds, err = c.masksFirst(f.conds)
	f.done = make([]bool, len(f.conds))
	return f, err
}

// flatten splits conjunctions.
func flatten(conds []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, e := range conds {
		if a, ok := e.(*expr.And); ok {
			out = append(out, flatten(a.Args)...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// Select returns the batch narrowed to the rows that pass; the same batch where
// all do.
func (f *Filter) Select(ctx context.Context, b *batch.Batch) (pass *batch.Batch, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer f.m.Catch(b.Rows(), &err)
	f.m.Begin(ctx)
	f.a.Reset()
	sel, n := b.Sel, b.Rows()
	own := 0
	clear(f.done)
	if sel == nil {
		sel, n = f.masked(b)
	}
	for at := range 2 * len(f.conds) {
		i, direct := at%len(f.conds), at < len(f.conds)
		c := &f.conds[i]
		if n == 0 {
			break
		}
		if f.done[i] || direct && c.fast == nil {
			continue
		}
		out := f.buffer(own, b.N)
		k := 0
		if direct {
			if k, f.done[i] = c.fast(f, b.Cols[c.col], sel, b.N, out); !f.done[i] {
				continue
			}
		} else {
			fr := frame{ctx: ctx, env: f.env, a: &f.a, b: b, sel: sel, n: n}
			v, err := c.root.eval(&fr)
			if err != nil {
				return nil, err
			}
			k = f.selectTrue(v, sel, n, out)
		}
		if k == n {
			continue // all pass: the selection stays what it was
		}
		sel, n = out[:k], k
		own = 1 - own
	}
	if n == b.Rows() {
		return b, nil
	}
	res := *b
	res.Sel = append(make([]int32, 0, n), sel[:n]...)
	return &res, nil
}

// Release is Program.Release of a filter.
func (f *Filter) Release() {
	f.a.Free()
	f.m.End()
}

func (f *Filter) buffer(i, n int) []int32 {
	if len(f.bufs[i]) < n+selection.Slack {
		f.bufs[i] = make([]int32, n+selection.Slack)
	}
	return f.bufs[i]
}

// selectTrue writes the rows at which v is true, unless all n are.
func (f *Filter) selectTrue(v *vector.Vec, sel []int32, n int, out []int32) int {
	if v.AllNull() {
		return 0
	}
	if v.One {
		if vector.Values[uint8](v)[0] == 0 {
			return 0
		}
		return n // out is not read
	}
	x := vector.Values[uint8](v)
	w := selection.Words(len(x))
	if len(f.words) < w {
		f.words = make([]uint16, w)
	}
	m := f.words[:w]
	k := selection.FromBools(m, x)
	if v.Valid != nil {
		k = selection.And(m, v.Valid, 0, len(x))
	}
	if k == n {
		return k
	}
	selection.Rows(m, out)
	if sel != nil {
		for i, at := range out[:k] {
			out[i] = sel[at]
		}
	}
	return k
}

// hot sets the specialised loop of a condition that has one.
func (c *compiler) hot(e expr.Expr, root node, cond *condition) {
	switch e := e.(type) {
	case *expr.In:
		n, ok := root.(*inNode)
		if !ok || n.strs == nil || n.null || n.empty {
			return
		}
		if cn, ok := n.arg.(*colNode); ok {
			cond.perEntry(cn.ord, func(d *vector.Vec, fr *frame) ([]uint8, error) {
				flags := append([]uint8(nil), n.entries(d)...)
				if n.not {
					for i := range flags {
						flags[i] ^= 1
					}
				}
				return flags, nil
			})
		}
	case *expr.Call:
		call, ok := root.(*callNode)
		if !ok {
			return
		}
		if call.perEntry {
			for _, arg := range call.args {
				if cn, ok := arg.(*colNode); ok {
					cond.perEntry(cn.ord, call.entries)
				}
			}
			return
		}
		if len(e.Args) != 2 {
			return
		}
		op, ok := comparisonOf(e)
		if !ok {
			return
		}
		col, k := call.args[0], call.args[1]
		at := call.typ[0]
		if a, ok := col.(*colNode); ok && call.typ[0].OID == call.typ[1].OID && call.typ[0].Scale == call.typ[1].Scale && at.Form() == call.typ[1].Form() {
			if b, ok := k.(*colNode); ok {
				cond.mask = maskPair(op, at.Form(), a.ord, b.ord)
				return
			}
		}
		if _, ok := col.(*constNode); ok {
			col, k, op = k, col, op.Swap()
			at = call.typ[1]
		}
		cn, ok1 := col.(*colNode)
		kn, ok2 := k.(*constNode)
		if !ok1 || !ok2 || kn.val == nil || call.typ[0].Form() != call.typ[1].Form() || call.typ[0].OID != call.typ[1].OID || call.typ[0].Scale != call.typ[1].Scale {
			return
		}
		if in, ok := intervalOf(op, at, &kn.v); ok {
			cond.in, cond.fast, cond.mask, cond.col = &in, hotInterval(in), in.mask(cn.ord), cn.ord
		} else if fast := hotCompare(op, at, &kn.v); fast != nil {
			cond.fast, cond.col = fast, cn.ord
		}
	case *expr.IsNull:
		n, ok := root.(*nullTest)
		if !ok || e.Arg.Type().OID == types.RecordOID {
			return
		}
		if cn, ok := n.arg.(*colNode); ok {
			cond.fast, cond.col = hotNull(e.Not), cn.ord
		}
	case *expr.Col:
		if cn, ok := root.(*colNode); ok {
			cond.fast, cond.col = hotBool, cn.ord
		}
	}
}

// perEntry makes the condition one that is computed once for each entry of a dictionary.
func (c *condition) perEntry(col int, compute func(dict *vector.Vec, fr *frame) ([]uint8, error)) {
	e := &entries{compute: compute}
	c.fast, c.mask, c.col = e.narrow, e.mask(col), col
}

// comparisonOf returns which comparison a call is.
func comparisonOf(e *expr.Call) (compare.CmpOp, bool) {
	op, ok := comparisons()[e.Fn.ID]
	return op, ok
}

func hotNull(not bool) selector {
	return func(_ *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
		if col.DataType().ID() == arrow.NULL {
			return 0, false
		}
		if col.NullN() == 0 && not {
			if sel != nil {
				return len(sel), true
			}
			return n, true
		}
		if col.NullN() == 0 {
			return 0, true
		}
		bits, off := col.NullBitmapBytes(), col.Data().Offset()
		flip := vector.ByteOf(!not)
		k := 0
		if sel == nil {
			for i := range n {
				j := i + off
				out[k] = int32(i)
				k += int(bits[j>>3]>>(j&7)&1 ^ flip)
			}
			return k, true
		}
		for _, r := range sel {
			j := int(r) + off
			out[k] = r
			k += int(bits[j>>3]>>(j&7)&1 ^ flip)
		}
		return k, true
	}
}

func hotBool(_ *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
	b, ok := col.(*array.Boolean)
	if !ok || b.NullN() > 0 {
		return 0, false
	}
	bits, off := b.Data().Buffers()[1].Bytes(), b.Data().Offset()
	k := 0
	if sel == nil {
		for i := range n {
			j := i + off
			out[k] = int32(i)
			k += int(bits[j>>3] >> (j & 7) & 1)
		}
		return k, true
	}
	for _, r := range sel {
		j := int(r) + off
		out[k] = r
		k += int(bits[j>>3] >> (j & 7) & 1)
	}
	return k, true
}
