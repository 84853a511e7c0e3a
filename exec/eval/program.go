package eval

import (
	"context"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Program is a compiled expression. It is for one goroutine.
type Program struct {
	root node
	typ  types.Type
	env  *function.Env
	mem  *scratch
	used uint64 // the batch of mem that the last call was for
	fr   frame
	// col is the ordinal of the input column that the expression is, else -1.
	col int
}

// scratch is the memory of programs that compute the columns of a batch one after the other. Each
// with its own would take little, and a table of 1,600 columns a gigabyte.
type scratch struct {
	m    vector.Meter
	a    vector.Arena
	b    *batch.Batch // that is computed for
	used uint64       // how many there were

	share []*vector.Vec // results of sharedNodes for b
	mark  vector.Mark   // of a, after the last of them

	again   bool // other statements may use the programs (Rest)
	resting []resting
}

func newScratch(env *function.Env) *scratch {
	s := &scratch{m: env.NewMeter()}
	s.a = vector.NewArena(&s.m)
	return s
}

// begin starts a call of p: for another batch than the last call's, or a second one of p, what was
// made before is not read any more.
func (s *scratch) begin(ctx context.Context, p *Program, b *batch.Batch) {
	if s.b != b || p.used == s.used {
		s.b, s.used = b, s.used+1
		s.m.Begin(ctx)
		s.a.Reset()
		clear(s.share)
	}
	p.used = s.used
}

// node computes one expression for the rows of a frame.
type node interface {
	eval(fr *frame) (*vector.Vec, error)
}

// resting is a node that keeps something from one batch for the next, and forgets it before another statement comes.
type resting interface{ rest() }

// frame is the rows of a batch to compute for. Rows are numbered from 0 to n-1 within a frame.
type frame struct {
	ctx     context.Context
	env     *function.Env
	a       *vector.Arena
	b       *batch.Batch
	sel     []int32 // rows of the batch; nil: all
	n       int
	cols    []*vector.Vec // columns loaded so far, by ordinal
	scratch bool          // what is computed for all rows need only be valid until the next batch
	// shared are the results of sharedNodes so far; nil: they are not kept.
	shared []*vector.Vec
	mem    *scratch // where shared are kept between programs; nil: there is one frame for all expressions
	// whole and rows are, of a frame of fewer rows, the one with shared results that it was made of, and its rows there.
	whole *frame
	rows  []int32
}

// keep keeps a shared result.
func (fr *frame) keep(i int, v *vector.Vec) {
	if fr.shared[i] = v; fr.mem != nil {
		fr.mem.mark = fr.a.Mark()
	}
}

// narrow returns the frame of some rows of fr.
func (fr *frame) narrow(rows []int32) *frame {
	if len(rows) == fr.n {
		return fr
	}
	sub := *fr
	if fr.shared != nil {
		sub.whole, sub.rows = fr, rows
	} else if fr.whole != nil {
		sub.rows = vector.Alloc[int32](fr.a, len(rows))
		for i, r := range rows {
			sub.rows[i] = fr.rows[r]
		}
	}
	sub.cols, sub.shared = nil, nil
	sub.scratch = false // the caller may narrow again for other rows of the batch
	sub.n = len(rows)
	if fr.sel == nil {
		sub.sel = rows
	} else {
		sub.sel = vector.Alloc[int32](fr.a, len(rows))
		for i, r := range rows {
			sub.sel[i] = fr.sel[r]
		}
	}
	return &sub
}

func (fr *frame) column(i int, t types.Type) (*vector.Vec, error) {
	if fr.cols == nil {
		fr.cols = make([]*vector.Vec, len(fr.b.Cols))
	}
	if v := fr.cols[i]; v != nil {
		return v, nil
	}
	var v *vector.Vec
	var err error
	if fr.sel != nil {
		v, err = vector.Take(fr.a, fr.b.Cols[i], fr.sel, t)
	} else {
		v = vector.FromArrow(fr.a, fr.b.Cols[i])
	}
	if err == nil {
		fr.cols[i] = v
	}
	return v, err
}

// Compile makes a program of an expression over the columns of an input, which
// it finds by their IDs.
func Compile(e expr.Expr, in []plan.Column, env *function.Env) (*Program, error) {
	if env == nil {
		env = &function.Env{}
	}
	return compileRoot(e.Type(), newCompiler(in, env), newScratch(env), func(c *compiler) (node, error) { return c.compile(e) })
}

func compileRoot(t types.Type, c *compiler, mem *scratch, compile func(*compiler) (node, error)) (*Program, error) {
	env := c.env
	root, err := compile(c)
	if err != nil {
		return nil, err
	}
	p := &Program{root: root, typ: t, env: env, mem: mem, col: -1}
	if cn, ok := root.(*colNode); ok {
		p.col = cn.ord
	}
	return p, nil
}

// Type is the type of the expression.
func (p *Program) Type() types.Type { return p.typ }

func (p *Program) run(ctx context.Context, b *batch.Batch, scratch bool) (*vector.Vec, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mem.begin(ctx, p, b)
	p.mem.mark = p.mem.a.Mark()
	cols := p.fr.cols
	clear(cols)
	if len(cols) != len(b.Cols) {
		cols = make([]*vector.Vec, len(b.Cols))
	}
	p.fr = frame{ctx: ctx, env: p.env, a: &p.mem.a, b: b, sel: b.Sel, n: b.Rows(), cols: cols, scratch: scratch, shared: p.mem.share, mem: p.mem}
	if p.fr.n == 0 {
		return vector.NewNull(0), nil
	}
	return p.root.eval(&p.fr)
}

// Release frees the memory of the programs that share p's, and what their last calls are charged
// for, once the results are not read any more. They may be called again.
func (p *Program) Release() {
	p.fr = frame{}
	p.mem.b = nil
	p.mem.a.Free()
	p.mem.m.End()
}

// start begins an evaluation whose meter belongs to the caller.
func (p *Program) start(ctx context.Context, b *batch.Batch) (v *vector.Vec, err error) {
	defer p.mem.m.Catch(b.Rows(), &err)
	return p.run(ctx, b, false)
}

// Eval computes the expression for the rows of b that count: row i of the
// result is for the i-th of them. The result is immutable and may be kept.
func (p *Program) Eval(ctx context.Context, b *batch.Batch) (out arrow.Array, err error) {
	defer p.mem.m.Catch(b.Rows(), &err)
	if p.col >= 0 && b.Sel == nil {
		return b.Cols[p.col], nil
	}
	v, err := p.run(ctx, b, false)
	if err != nil {
		return nil, err
	}
	a := &p.mem.a
	out, err = a.Detach(v.Spread(a)).ToArrow(p.typ)
	a.Rewind(p.mem.mark) // the result lies on the heap
	return out, err
}

// EvalScratch is Eval with a result that is valid until the next call only.
func (p *Program) EvalScratch(ctx context.Context, b *batch.Batch) (out arrow.Array, err error) {
	defer p.mem.m.Catch(b.Rows(), &err)
	if p.col >= 0 && b.Sel == nil {
		return b.Cols[p.col], nil
	}
	v, err := p.run(ctx, b, true)
	if err != nil {
		return nil, err
	}
	return v.Spread(&p.mem.a).ToArrow(p.typ)
}

// Constant evaluates an expression without columns.
func Constant(e expr.Expr, env *function.Env) (types.Datum, error) {
	return ConstantContext(context.Background(), e, env)
}

// ConstantContext is Constant of an expression that may wait (nextval, pg_sleep).
func ConstantContext(ctx context.Context, e expr.Expr, env *function.Env) (types.Datum, error) {
	switch e := e.(type) {
	case *expr.Const:
		return e.Val, nil
	case *expr.Param:
		if e.N >= 1 && e.N <= len(env.Params) {
			return env.Params[e.N-1], nil
		}
	}
	p, err := Compile(e, nil, env)
	if err != nil {
		return nil, err
	}
	return p.constant(ctx)
}

// constant returns the value of a program without columns, which is not used
// again: what it charged stays charged for the value.
func (p *Program) constant(ctx context.Context) (d types.Datum, err error) {
	defer p.mem.m.Catch(1, &err)
	v, err := p.run(ctx, batch.New(nil, 1), false)
	if err != nil {
		return nil, err
	}
	return cloneDatum(v.Datum(p.typ, 0)), nil
}

// cloneDatum copies a short value out of its arena, which would otherwise live as long as the
// value.
func cloneDatum(d types.Datum) types.Datum {
	switch x := d.(type) {
	case string:
		if len(x) < vector.LittleText {
			return strings.Clone(x)
		}
	case []byte:
		if len(x) < vector.LittleText {
			return append([]byte{}, x...)
		}
	}
	return d
}

// Folder evaluates constant expressions for the optimiser. An expression that takes much memory or
// time is not folded: at execution it is charged and can be cancelled.
type Folder struct{ Env *function.Env }

const (
	foldBytes = 1 << 20
	foldWork  = 16 << 20
)

// Fold implements planner/opt's Folder.
func (f Folder) Fold(e expr.Expr) (types.Datum, error) {
	if c, ok := e.(*expr.Const); ok {
		return c.Val, nil
	}
	p, err := Compile(e, nil, f.Env)
	if err != nil {
		return nil, err
	}
	p.mem.m = vector.NewLimited(foldBytes, foldWork)
	return p.constant(context.Background())
}
