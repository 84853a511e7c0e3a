package eval

import (
	"context"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/function/builtin"
	"github.com/tributarydb/tributary/exec/function/userfn"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Sets runs set-returning functions over batches: for each input row the rows that its functions
// return, in lock step, the shorter ones padded with NULL. It is for one goroutine.
//
//	Start(batch)   evaluates the arguments for the batch's rows
//	Next(max)      the next rows: which input row each belongs to, and the
//	               functions' columns; io.EOF when the batch is done
//
// Rows are made when Next is called: generate_series(1, 1e9) takes no memory.
type Sets struct {
	calls []*setRun
	m     vector.Meter
	outer bool
	lists *elements // of the only call, which is unnest; nil: it is not
	n     int       // input rows
	row   int       // current input row
	in    bool
	ord   int64 // rows returned for the current input row
}

// setRun is one function of a Sets as it runs.
type setRun struct {
	function.SetCall
	args []*Program
	read function.ListMaker // where set, instead of impl
	impl function.SetMaker
	gen  function.Generator
	done bool
	cols []array.Builder
}

// CompileSets prepares calls over the columns of an input. With outer, an input row for which no
// function returns anything yields one row of NULLs.
func CompileSets(calls []plan.SetCall, in []plan.Column, env *function.Env, outer bool) (*Sets, error) {
	if env == nil {
		env = &function.Env{}
	}
	s := &Sets{m: env.NewMeter(), outer: outer}
	if len(calls) == 1 && !outer && isUnnest(calls[0]) {
		s.lists = &elements{}
	}
	for _, call := range calls {
		sc := &setRun{SetCall: function.SetCall{Call: call, Env: env, Meter: &s.m}}
		if call.Fn.Kind == fn.SetReturning {
			if call.Fn.User != nil {
				var err error
				if sc.impl, err = userfn.Set(call.Fn); err != nil {
					return nil, err
				}
			} else {
				sc.read, sc.impl = builtin.ListSets()[call.Fn.ID], builtin.Sets()[call.Fn.ID]
			}
			if sc.read == nil && sc.impl == nil {
				return nil, pgerr.Unsupported("function %s is not supported", call.Fn.Name)
			}
		} else {
			sc.impl = scalarAsSet(env)
		}
		for _, e := range inPlace(call.Fn.ID, call.Args) {
			p, err := Compile(e, in, env)
			if err != nil {
				return nil, err
			}
			sc.args = append(sc.args, p)
			sc.Types = append(sc.Types, e.Type())
		}
		for _, col := range call.Cols {
			sc.cols = append(sc.cols, array.NewBuilder(&s.m, col.Type.Arrow()))
		}
		s.calls = append(s.calls, sc)
	}
	return s, nil
}

// Start begins a batch, which must not change until Next has returned io.EOF.
func (s *Sets) Start(ctx context.Context, b *batch.Batch) (err error) {
	s.n, s.row, s.in = b.Rows(), 0, false
	if s.lists != nil {
		*s.lists = elements{}
	}
	for _, c := range s.calls {
		c.Args = c.Args[:0]
		for _, p := range c.args {
			v, err := p.start(ctx, b)
			if err != nil {
				return err
			}
			c.Args = append(c.Args, v)
		}
	}
	return nil
}

// Next returns up to max rows: parents[i] is the ordinal, among the rows of the batch that count,
// of the input row that row i belongs to; cols are the columns of all calls in order; ord counts
// the rows of each input row from 1, and is 0 for the row of NULLs of an input row that has none.
func (s *Sets) Next(ctx context.Context, max int) (parents []int32, cols []arrow.Array, ord []int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	defer s.m.Catch(1, &err)
	s.m.Begin(ctx)
	if s.lists != nil {
		if parents, col, ord, ok, err := s.lists.next(&s.m, s.calls[0].Args[0], s.n, max); ok {
			return parents, []arrow.Array{col}, ord, err
		}
	}
	got := make([]int, len(s.calls))
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
		clear(got)
		for i, c := range s.calls {
			if c.done {
				continue
			}
			for got[i] < want {
				k, err := c.gen.Next(ctx, want-got[i], c.cols)
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
		parents, ord = slices.Grow(parents, longest), slices.Grow(ord, longest)
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
	c.gen, c.done = function.Empty{}, false
	c.Keep(-c.Rows)
	if c.read != nil {
		g, err := c.read(&c.SetCall, row)
		if err == nil {
			c.gen = g
		}
		return err
	}
	args := make([]types.Datum, len(c.Args))
	for i, v := range c.Args {
		c.Holds(function.BoxedBytes * vector.ListLen(v.Arr, v.At(row)))
		args[i] = v.Datum(c.Types[i], row)
		if args[i] == nil && c.Call.Fn.Strict {
			return nil
		}
	}
	g, err := c.impl(&c.SetCall, args)
	if err != nil {
		return err
	}
	if g != nil {
		c.gen = g
	}
	return nil
}

// scalarAsSet is a plain function in FROM: one row.
func scalarAsSet(env *function.Env) function.SetMaker {
	return func(c *function.SetCall, args []types.Datum) (function.Generator, error) {
		nodes := make([]node, len(args))
		for i, d := range args {
			k, err := newConst(c.Types[i], d)
			if err != nil {
				return nil, err
			}
			nodes[i] = k
		}
		ret := types.Type{OID: c.Call.Fn.Ret, Mod: -1}
		if c.Call.Fn.Kind == fn.Scalar {
			_, ret = c.Call.Fn.BindArgs(c.Types)
		}
		if ret.OID == types.RecordOID {
			if ret.Rec == nil || len(ret.Rec.Fields) == 0 {
				ret.Rec = function.RecordOf(c.Call.Cols)
			}
		} else if len(c.Call.Cols) == 1 {
			ret = c.Call.Cols[0].Type
		}
		n, err := newCall(c.Call.Fn, nodes, c.Types, ret, env)
		if err != nil {
			return nil, err
		}
		k := c.Scratch()
		before := c.Meter.Holds()
		v, err := n.eval(&frame{ctx: k.Ctx, env: env, a: k.Arena, b: batch.New(nil, 1), n: 1})
		if err != nil {
			return nil, err
		}
		c.Keep(c.Meter.Holds() - before) // the value is charged until its row is returned
		d := v.Datum(ret, 0)
		if d == nil && len(c.Call.Cols) > 1 {
			d = make(types.Row, len(c.Call.Cols))
		}
		return c.List([]types.Datum{d}), nil
	}
}
