package eval

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Sets runs set-returning functions over batches: for each input row the rows
// that its functions give, in lock step, the shorter ones padded with NULL. It
// is for one goroutine.
//
//	Start(batch)   evaluates the arguments for the batch's rows
//	Next(max)      the next rows: which input row each belongs to, and the
//	               functions' columns; io.EOF when the batch is done
//
// Rows are made as they are asked for: generate_series(1, 1e9) needs no memory.
type Sets struct {
	calls []*setRun
	m     meter
	outer bool
	n     int // input rows
	row   int // current input row
	in    bool
	ord   int64 // rows given of the current input row
}

// setRun is one function of a Sets as it runs.
type setRun struct {
	setCall
	args []*Program
	read listMaker // where set, instead of impl
	impl setMaker
	gen  generator
	done bool
	cols []array.Builder
}

// CompileSets prepares calls over the columns of an input. With outer, an input
// row for which no function gives anything yields one row of NULLs.
func CompileSets(calls []plan.SetCall, in []plan.Column, env *Env, outer bool) (*Sets, error) {
	if env == nil {
		env = &Env{}
	}
	s := &Sets{m: env.meter(), outer: outer}
	for _, call := range calls {
		sc := &setRun{setCall: setCall{call: call, env: env, m: &s.m}}
		if call.Fn.Kind == fn.SetReturning {
			sc.read, sc.impl = listMakers[call.Fn.ID], setImpls()[call.Fn.ID]
			if sc.read == nil && sc.impl == nil {
				return nil, pgerr.Unsupported("function %s is not supported", call.Fn.Name)
			}
		} else {
			sc.impl = scalarAsSet(env)
		}
		for _, e := range call.Args {
			p, err := Compile(e, in, env)
			if err != nil {
				return nil, err
			}
			sc.args = append(sc.args, p)
			sc.at = append(sc.at, e.Type())
		}
		for _, col := range call.Cols {
			sc.cols = append(sc.cols, array.NewBuilder(&s.m, col.Type.Arrow()))
		}
		s.calls = append(s.calls, sc)
	}
	return s, nil
}

// Start begins a batch. The batch must not change until Next gave io.EOF.
func (s *Sets) Start(ctx context.Context, b *batch.Batch) (err error) {
	s.n, s.row, s.in = b.Rows(), 0, false
	for _, c := range s.calls {
		c.vals = c.vals[:0]
		for _, p := range c.args {
			v, err := p.start(ctx, b)
			if err != nil {
				return err
			}
			c.vals = append(c.vals, v)
		}
	}
	return nil
}

// Next gives up to max rows: parents[i] is the ordinal, among the rows of the
// batch that count, of the input row that row i belongs to; cols are the
// columns of all calls in order; ord counts the rows of each input row from 1,
// and is 0 for the row of NULLs of an input row that has none.
func (s *Sets) Next(ctx context.Context, max int) (parents []int32, cols []arrow.Array, ord []int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	defer s.m.catch(1, &err)
	s.m.begin(ctx)
	for len(parents) < max && s.row < s.n {
		if !s.in {
			s.ord = 0
			for _, c := range s.calls {
				if err := c.start(s.row); err != nil {
					return nil, nil, nil, err
				}
			}
			s.in = true
		}
		want := max - len(parents)
		longest := 0
		got := make([]int, len(s.calls))
		for i, c := range s.calls {
			if c.done {
				continue
			}
			for got[i] < want {
				k, err := c.gen.next(ctx, want-got[i], c.cols)
				if err != nil {
					return nil, nil, nil, err
				}
				if k == 0 {
					c.done = true
					break
				}
				got[i] += k
			}
			longest = max2(longest, got[i])
		}
		none := longest == 0 && s.ord == 0 && s.outer
		if none {
			longest = 1
		}
		for i, c := range s.calls {
			for _, b := range c.cols {
				b.AppendNulls(longest - got[i])
			}
		}
		for range longest {
			if !none {
				s.ord++
			}
			parents, ord = append(parents, int32(s.row)), append(ord, s.ord)
		}
		if longest < want {
			s.row++
			s.in = false
		}
	}
	if len(parents) == 0 {
		return nil, nil, nil, io.EOF
	}
	for _, c := range s.calls {
		for _, b := range c.cols {
			cols = append(cols, b.NewArray())
		}
	}
	return parents, cols, ord, nil
}

func max2(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func (c *setRun) start(row int) error {
	c.gen, c.done = empty{}, false
	c.keep(-c.rows)
	if c.read != nil {
		c.gen = c.read(&c.setCall, row)
		return nil
	}
	args := make([]types.Datum, len(c.vals))
	for i, v := range c.vals {
		c.holds(boxedBytes * listLen(v.arr, v.at(row)))
		args[i] = v.datum(c.at[i], row)
		if args[i] == nil && c.call.Fn.Strict {
			return nil
		}
	}
	g, err := c.impl(&c.setCall, args)
	if err != nil {
		return err
	}
	if g != nil {
		c.gen = g
	}
	return nil
}

// scalarAsSet is a plain function in FROM: one row.
func scalarAsSet(env *Env) setMaker {
	return func(c *setCall, args []types.Datum) (generator, error) {
		nodes := make([]node, len(args))
		for i, d := range args {
			k, err := newConst(c.at[i], d)
			if err != nil {
				return nil, err
			}
			nodes[i] = k
		}
		ret := types.Type{OID: c.call.Fn.Ret, Mod: -1}
		if c.call.Fn.Kind == fn.Scalar {
			_, ret = c.call.Fn.BindArgs(c.at)
		}
		if ret.OID == types.RecordOID {
			if ret.Rec == nil || len(ret.Rec.Fields) == 0 {
				ret.Rec = recordOf(c.call.Cols)
			}
		} else if len(c.call.Cols) == 1 {
			ret = c.call.Cols[0].Type
		}
		n, err := newCall(c.call.Fn, nodes, c.at, ret, env)
		if err != nil {
			return nil, err
		}
		k := c.scratch()
		before := c.m.holds()
		v, err := n.eval(&frame{ctx: k.ctx, env: env, a: k.a, b: batch.New(nil, 1), n: 1})
		if err != nil {
			return nil, err
		}
		c.keep(c.m.holds() - before) // the value is the row to come
		d := v.datum(ret, 0)
		if d == nil && len(c.call.Cols) > 1 {
			d = make(types.Row, len(c.call.Cols))
		}
		return c.list([]types.Datum{d}), nil
	}
}
