package window

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// call is one function over a window.
type call struct {
	item   plan.WindowItem
	w      *window
	args   []*eval.Program
	filter *eval.Program
	offset [2]*eval.Program // of the frame's start and end
	env    *types.Env
}

func (f *call) compute(ctx context.Context, p *block) (arrow.Array, error) {
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
		return integers(n, func(i int) int64 { return int64(i) - int64(p.first[i]) + 1 }), nil
	case "rank":
		return integers(n, func(i int) int64 { return int64(p.peer[i]-p.first[i]) + 1 }), nil
	case "dense_rank":
		return integers(n, func(i int) int64 { return int64(p.group[i]-p.group[p.first[i]]) + 1 }), nil
	case "percent_rank":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			if p.last[i]-p.first[i] == 1 {
				return 0.0, nil
			}
			return float64(p.peer[i]-p.first[i]) / float64(p.last[i]-p.first[i]-1), nil
		})
	case "cume_dist":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			return float64(p.peerEnd[i]-p.first[i]) / float64(p.last[i]-p.first[i]), nil
		})
	case "ntile":
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			d := at(0, int(p.first[i]))
			if d == nil {
				return nil, nil
			}
			k, _ := d.(int64)
			if k <= 0 {
				return nil, pgerr.New(pgerr.InvalidArgumentForNtile, "argument of ntile must be greater than zero")
			}
			all := int64(p.last[i] - p.first[i])
			size, more := all/k, all%k
			r := int64(i) - int64(p.first[i])
			if r < more*(size+1) {
				return r/(size+1) + 1, nil
			}
			return more + (r-more*(size+1))/max(size, 1) + 1, nil
		})
	case "lag", "lead":
		rows := make([]int32, n)
		some := false // rows take the default
		for i := range rows {
			by := int64(1)
			if len(args) > 1 {
				d, ok := at(1, i).(int64)
				if !ok {
					rows[i] = -1
					continue
				}
				by = d
			}
			if f.item.Call.Fn.Name == "lag" {
				by = -by
			}
			if j := int64(i) + by; j >= int64(p.first[i]) && j < int64(p.last[i]) {
				rows[i] = int32(j)
			} else if rows[i] = -1; len(args) > 2 {
				rows[i], some = -2, true
			}
		}
		if !some {
			return f.w.pick(ctx, t, args[0], rows)
		}
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			switch rows[i] {
			case -1:
				return nil, nil
			case -2:
				return at(2, i), nil
			}
			return at(0, int(rows[i])), nil
		})
	case "first_value", "last_value", "nth_value":
		fr, err := f.frames(ctx, p)
		if err != nil {
			return nil, err
		}
		rows := make([]int32, n)
		for i := range rows {
			k := int64(1)
			if f.item.Call.Fn.Name == "nth_value" {
				d, ok := at(1, i).(int64)
				if !ok {
					rows[i] = -1
					continue
				}
				if d <= 0 {
					return nil, pgerr.New(pgerr.InvalidArgumentForNthValue, "argument of nth_value must be greater than zero")
				}
				k = d
			}
			rows[i] = int32(fr.row(i, k-1, f.item.Call.Fn.Name == "last_value"))
		}
		return f.w.pick(ctx, t, args[0], rows)
	}
	return nil, pgerr.Unsupported("window function %s is not supported", f.item.Call.Fn.Name)
}

// sequence checks that the partition's rows have an order that a model can go by,
// and charges for what the model makes of them.
func (o *window) sequence(ctx context.Context, p *block) error {
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
	return o.acct.Insist(ctx, 2*p.b.Bytes())
}
