package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// windowFunc is one function over a window.
type windowFunc struct {
	item   plan.WindowItem
	w      *windowLane
	args   []*eval.Program
	filter *eval.Program
	offset [2]*eval.Program // of the frame's start and end
	env    *types.Env
}

func (f *windowFunc) compute(ctx context.Context, p *windowPart) (arrow.Array, error) {
	args := make([]arrow.Array, len(f.args))
	if f.item.Call.Fn.Name == "ml_windows" {
		if err := f.w.sequence(ctx, p); err != nil {
			return nil, err
		}
	}
	for i, a := range f.args {
		arr, err := a.Eval(ctx, p.b)
		if err != nil {
			return nil, err
		}
		args[i] = arr
	}
	if f.item.Call.Fn.Kind == fn.Aggregate {
		return f.aggregate(ctx, p, args)
	}
	t := f.item.Call.Typ
	at := func(k, i int) types.Datum { return types.DatumAt(f.item.Call.Args[k].Type(), args[k], i) }
	n := p.n
	switch f.item.Call.Fn.Name {
	case "ml_windows":
		// The argument is a model's score of the partition: the model saw its rows
		// in their order, as one sequence.
		return args[0], nil
	case "row_number":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) { return int64(i + 1), nil })
	case "rank":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) { return int64(p.peer[i]) + 1, nil })
	case "dense_rank":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) { return int64(p.group[i]) + 1, nil })
	case "percent_rank":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			if n == 1 {
				return 0.0, nil
			}
			return float64(p.peer[i]) / float64(n-1), nil
		})
	case "cume_dist":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) { return float64(p.peerEnd[i]) / float64(n), nil })
	case "ntile":
		k, _ := at(0, 0).(int64)
		if at(0, 0) == nil {
			return batch.Nulls(t.Arrow(), n), nil
		}
		if k <= 0 {
			return nil, pgerr.New(pgerr.InvalidArgumentForNtile, "argument of ntile must be greater than zero")
		}
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			size, more := int64(n)/k, int64(n)%k
			r := int64(i)
			if r < more*(size+1) {
				return r/(size+1) + 1, nil
			}
			return more + (r-more*(size+1))/max(size, 1) + 1, nil
		})
	case "lag", "lead":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			by := int64(1)
			if len(args) > 1 {
				d, ok := at(1, i).(int64)
				if !ok {
					return nil, nil
				}
				by = d
			}
			if f.item.Call.Fn.Name == "lag" {
				by = -by
			}
			if j := int64(i) + by; j >= 0 && j < int64(n) {
				return at(0, int(j)), nil
			}
			if len(args) > 2 {
				return at(2, i), nil
			}
			return nil, nil
		})
	case "first_value", "last_value", "nth_value":
		fr, err := f.frames(ctx, p)
		if err != nil {
			return nil, err
		}
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			k := int64(1)
			if f.item.Call.Fn.Name == "nth_value" {
				d, ok := at(1, i).(int64)
				if !ok {
					return nil, nil
				}
				if d <= 0 {
					return nil, pgerr.New(pgerr.InvalidArgumentForNthValue, "argument of nth_value must be greater than zero")
				}
				k = d
			}
			if j := fr.row(i, k-1, f.item.Call.Fn.Name == "last_value"); j >= 0 {
				return at(0, j), nil
			}
			return nil, nil
		})
	}
	return nil, pgerr.Unsupported("window function %s is not supported", f.item.Call.Fn.Name)
}

// sequence checks that the partition's rows have an order that a model can go by,
// and charges for what the model makes of them.
func (o *windowLane) sequence(ctx context.Context, p *windowPart) error {
	for i, e := range o.order {
		arr, err := e.Eval(ctx, p.b)
		if err != nil {
			return err
		}
		if arr.NullN() > 0 {
			return pgerr.New(pgerr.NullValueNotAllowed, "a column by which windows are ordered contains NULL").
				WithDetail("It is number %d of the model's order_by.", i+1).WithHint("Leave these rows out of the query.")
		}
	}
	return o.acct.Grow(2 * p.b.Bytes())
}

// treeGroups is how many frames' results are made at once.
const treeGroups = 256

// aggregate computes an aggregate over each row's frame. Where frames begin
// with the partition and only grow, one state takes the rows as they come. Other
// frames are put together from a tree of states, but for aggregates that keep
// their rows, which take each new frame's afresh.
func (f *windowFunc) aggregate(ctx context.Context, p *windowPart, args []arrow.Array) (arrow.Array, error) {
	fr, err := f.frames(ctx, p)
	if err != nil {
		return nil, err
	}
	rows := p.n
	if f.filter != nil {
		arr, err := f.filter.Eval(ctx, p.b)
		if err != nil {
			return nil, err
		}
		if err := f.w.acct.Grow(batch.New(args, p.n).Bytes() + 8*int64(p.n)); err != nil {
			return nil, err
		}
		args, fr.before = passing(arr.(*array.Boolean), args, p.n)
		rows = int(fr.before[p.n])
	}
	fresh := func() (agg.Agg, error) { return agg.New(f.item.Call, f.env) }
	probe, err := fresh()
	if err != nil {
		return nil, err
	}
	if _, keeps := probe.(agg.Heavy); keeps || fr.grow() {
		return f.afresh(ctx, fr, fresh, args)
	}
	tree, err := newFrameTree(ctx, f.w.acct, fresh, args, rows)
	if err != nil {
		return nil, err
	}
	var results arrow.Array
	var groups []int32 // of the rows from first on
	first := 0
	return f.w.column(ctx, f.item.Call.Typ, p.n, func(i int) (types.Datum, error) {
		if i == first+len(groups) {
			first, groups = i, groups[:0]
			cur, err := fresh()
			if err != nil {
				return nil, err
			}
			cur.Resize(treeGroups)
			var last [3]span
			n := int32(0)
			for j := i; j < p.n; j++ {
				s := fr.spans(j)
				if n == 0 || s != last {
					if n == treeGroups {
						break
					}
					for _, x := range s {
						if err := tree.add(cur, uint32(n), x); err != nil {
							return nil, err
						}
					}
					last = s
					n++
				}
				groups = append(groups, n-1)
			}
			if results, err = cur.Results(0, int(n)); err != nil {
				return nil, err
			}
		}
		return types.DatumAt(f.item.Call.Typ, results, int(groups[i-first])), nil
	})
}

// afresh computes frames one after the other: what the last has and no more is
// kept, anything else is taken again.
func (f *windowFunc) afresh(ctx context.Context, fr *frameSet, fresh func() (agg.Agg, error), args []arrow.Array) (arrow.Array, error) {
	grows := fr.grow()
	var cur agg.Agg
	var done int32
	var have [3]span
	var last types.Datum
	return f.w.column(ctx, f.item.Call.Typ, len(fr.start), func(i int) (types.Datum, error) {
		s := fr.spans(i)
		if cur != nil && s == have {
			return last, nil
		}
		var err error
		if !grows || cur == nil {
			if cur, err = fresh(); err != nil {
				return nil, err
			}
			cur.Resize(1)
			done = s[0].from
		}
		for k, x := range s {
			if k == 0 {
				x.from, done = done, max(x.to, done)
			}
			if x.from < x.to {
				if err := updateSpan(cur, make([]uint32, x.to-x.from), args, x); err != nil {
					return nil, err
				}
			}
		}
		arr, err := cur.Results(0, 1)
		if err != nil {
			return nil, err
		}
		have, last = s, types.DatumAt(f.item.Call.Typ, arr, 0)
		return last, nil
	})
}
