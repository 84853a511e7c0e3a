package eval

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Programs are several expressions over one input, computed together: the
// selected rows of a column are gathered once, and a subexpression of several
// expressions is computed once. They are for one goroutine.
type Programs struct {
	roots []node
	types []types.Type
	cols  []int // the input column that a root is, else -1
	total bool
	env   *function.Env
	a     vector.Arena
	m     vector.Meter
	fr    frame
	share []*vector.Vec
	out   []arrow.Array
	rows  []spreadRow // of the roots that are constants of many values, as a list of quantiles is
}

// spreadRow is a row and an array that repeats it.
type spreadRow struct{ row, all arrow.Array }

// keptSpread is how many bytes of such an array are kept for the next batches at most.
const keptSpread = 1 << 20

// CompileAll makes the programs of es over the columns of an input. at is the place of each
// expression's result; equal expressions share one.
func CompileAll(es []expr.Expr, in []plan.Column, env *function.Env) (p *Programs, at []int, err error) {
	if env == nil {
		env = &function.Env{}
	}
	c := newCompiler(in, env)
	c.sharing(nil)
	p = &Programs{env: env, m: env.NewMeter(), total: true}
	p.a = vector.NewArena(&p.m)
	known := map[string]int{}
	at = make([]int, len(es))
	for i, e := range es {
		key, named := Fingerprint(e)
		if k, ok := known[key]; named && ok {
			at[i] = k
			continue
		}
		c.note(e)
		at[i] = len(p.roots)
		if named {
			known[key] = at[i]
		}
		p.roots = append(p.roots, nil)
		p.types = append(p.types, e.Type())
		p.cols = append(p.cols, -1)
		p.total = p.total && Total(e)
	}
	for i, e := range es {
		k := at[i]
		if p.roots[k] != nil {
			continue
		}
		if p.roots[k], err = c.compile(e); err != nil {
			return nil, nil, err
		}
		if cn, ok := p.roots[k].(*colNode); ok {
			p.cols[k] = cn.ord
		}
	}
	p.share = make([]*vector.Vec, len(c.shared))
	p.out, p.rows = make([]arrow.Array, len(p.roots)), make([]spreadRow, len(p.roots))
	return p, at, nil
}

// Total reports whether the expressions may be computed for rows that do not
// count: none of them can fail, and none costs more than a loop over numbers.
func (p *Programs) Total() bool { return p.total }

// EvalScratch computes the expressions for the rows of b that count. The
// results are valid until the next call.
func (p *Programs) EvalScratch(ctx context.Context, b *batch.Batch) (out []arrow.Array, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer p.m.Catch(b.Rows(), &err)
	p.m.Begin(ctx)
	p.a.Reset()
	clear(p.share)
	cols := p.fr.cols
	clear(cols)
	if len(cols) != len(b.Cols) {
		cols = make([]*vector.Vec, len(b.Cols))
	}
	p.fr = frame{ctx: ctx, env: p.env, a: &p.a, b: b, sel: b.Sel, n: b.Rows(), cols: cols, shared: p.share, scratch: true}
	for i, root := range p.roots {
		if k := p.cols[i]; k >= 0 && b.Sel == nil {
			p.out[i] = b.Cols[k]
			continue
		}
		v := vector.NewNull(0)
		var err error
		if p.fr.n > 0 {
			if v, err = root.eval(&p.fr); err != nil {
				return nil, err
			}
		}
		if p.out[i], err = p.spread(i, v); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

// spread makes the array of what root i has computed.
func (p *Programs) spread(i int, v *vector.Vec) (arrow.Array, error) {
	if !v.One || v.Kind != vector.Arr {
		return v.Spread(&p.a).ToArrow(p.types[i])
	}
	r := &p.rows[i]
	if r.row == v.Arr && r.all.Len() >= v.N {
		return array.NewSlice(r.all, 0, int64(v.N)), nil
	}
	all, err := v.Spread(&p.a).ToArrow(p.types[i])
	if err == nil && batch.ArrayBytes(all) <= keptSpread {
		*r = spreadRow{v.Arr, all}
	}
	return all, err
}

// CompileColumns makes programs that compute columns of the same batches, in one goroutine: they
// share their memory, what they have made of a batch counts together, and a subexpression of several
// is computed once.
func CompileColumns(es []expr.Expr, in []plan.Column, env *function.Env) ([]*Program, error) {
	if env == nil {
		env = &function.Env{}
	}
	return compileColumns(es, newCompiler(in, env), newScratch(env))
}

func compileColumns(es []expr.Expr, c *compiler, mem *scratch) ([]*Program, error) {
	if calls := slices.ContainsFunc(es, shareable); calls && len(es) > 1 {
		c.sharing(es)
	}
	out := make([]*Program, len(es))
	for i, e := range es {
		var err error
		if out[i], err = compileRoot(e.Type(), c, mem, func(c *compiler) (node, error) { return c.compile(e) }); err != nil {
			return nil, err
		}
	}
	if len(c.shared) > 0 {
		mem.share = make([]*vector.Vec, len(c.shared))
	}
	return out, nil
}
