package window

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// call is one function over a window.
type call struct {
	item   plan.WindowItem
	w      *window
	k      int // among the window's calls
	args   []*eval.Program
	filter *eval.Program
	offset [2]*eval.Program // of the frame's start and end
	env    *function.Env
	writes bool // the aggregate's value may be as long as its rows, and is written (agg.Written)
}

// arguments computes the call's arguments over rows.
func (f *call) arguments(ctx context.Context, b *batch.Batch) ([]arrow.Array, error) {
	args := make([]arrow.Array, len(f.args))
	for i, a := range f.args {
		arr, err := a.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		args[i] = arr
	}
	return args, nil
}

// fresh makes the call's aggregate, without states.
func (f *call) fresh() (agg.Agg, error) {
	a, err := agg.New(f.item.Call, f.env)
	return agg.ByRow(a), err
}

// compute returns the call's values for p's rows, which are rows of r.
func (f *call) compute(ctx context.Context, r *rows, p *block) (arrow.Array, error) {
	if f.item.Call.Fn.Name == "ml_windows" {
		return f.sequence(ctx, r, p)
	}
	if f.item.Call.Fn.Kind == fn.Aggregate {
		return f.aggregate(ctx, r, p)
	}
	of, err := r.of(ctx, f, p)
	if err != nil {
		return nil, err
	}
	args := of.args
	t := f.item.Call.Typ
	at := func(k, i int) types.Datum { return types.DatumAt(f.item.Call.Args[k].Type(), args[k], i) }
	n := p.n
	switch f.item.Call.Fn.Name {
	case "row_number":
		return integers(n, func(i int) int64 { return p.base + int64(i) - p.first(i) + 1 }), nil
	case "rank":
		return integers(n, func(i int) int64 { return p.peer[i] - p.first(i) + 1 }), nil
	case "dense_rank":
		return integers(n, func(i int) int64 { return p.groupOf(i) - p.groupsOf(i, r.groups).from + 1 }), nil
	case "percent_rank":
		return floats(n, func(i int) float64 { return float64(p.peer[i]-p.first(i)) / float64(max(p.last(i)-p.first(i)-1, 1)) }), nil
	case "cume_dist":
		return floats(n, func(i int) float64 { return float64(p.peerEnd[i]-p.first(i)) / float64(p.last(i)-p.first(i)) }), nil
	case "ntile":
		return f.ntile(ctx, r, p)
	case "lag", "lead":
		if len(r.chunks) == 1 && len(args) < 3 {
			if by, ok := f.distance(); ok {
				return f.w.pick(ctx, t, args[0], p.away(by))
			}
		}
		rows := make([]int64, n)
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
			row := p.base + int64(i)
			if by >= p.first(i)-row && by < p.last(i)-row {
				rows[i] = row + by
			} else if rows[i] = -1; len(args) > 2 {
				rows[i], some = -2, true
			}
		}
		if some && len(r.chunks) == 1 && f.alike(2) {
			// The values, and after them the defaults.
			to := make([]int32, n)
			for i, row := range rows {
				if to[i] = int32(row); row == -2 {
					to[i] = int32(n + i)
				}
			}
			return f.w.pick(ctx, t, kernel.Concat(t.Arrow(), []arrow.Array{args[0], args[2]}), to)
		}
		arr, err := r.pick(ctx, f, rows)
		if err != nil || !some {
			return arr, err
		}
		return f.w.column(ctx, t, n, func(i int) (types.Datum, error) {
			if rows[i] == -2 {
				return at(2, i), nil
			}
			return types.DatumAt(t, arr, i), nil
		})
	case "first_value", "last_value", "nth_value":
		if f.item.Call.Filter != nil {
			return f.lastPassing(ctx, r, p, args[len(args)-1].(*array.Boolean))
		}
		fr, err := f.frames(ctx, r, p)
		if err != nil {
			return nil, err
		}
		rows := make([]int64, n)
		if fr.exclude == 0 && f.item.Call.Fn.Name != "nth_value" {
			for i, from := range fr.start {
				if rows[i] = from; from >= fr.end[i] {
					rows[i] = -1
				} else if f.item.Call.Fn.Name == "last_value" {
					rows[i] = fr.end[i] - 1
				}
			}
			return r.pick(ctx, f, rows)
		}
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
			rows[i] = fr.row(i, k-1, f.item.Call.Fn.Name == "last_value")
		}
		return r.pick(ctx, f, rows)
	}
	return nil, pgerr.Unsupported("window function %s is not supported", f.item.Call.Fn.Name)
}

// lastPassing is last_value over the rows that FILTER passes, up to the row itself, of a frame that begins with the
// partition. SQL knows no FILTER of it; the planner makes these (planner/unnest: ordered).
func (f *call) lastPassing(ctx context.Context, r *rows, p *block, pass *array.Boolean) (arrow.Array, error) {
	fr := f.item.Frame
	if f.item.Call.Fn.Name != "last_value" || fr.Mode != 'r' || fr.Exclude != 0 || fr.Start.Kind != plan.UnboundedPreceding || fr.End.Kind != plan.CurrentRow {
		return nil, pgerr.Internal("FILTER of %s with another frame than the rows so far", f.item.Call.Fn.Name)
	}
	cr := &r.calls[f.k]
	at := make([]int64, p.n)
	for i := range at {
		if !pass.IsNull(i) && pass.Value(i) {
			cr.passed = p.base + int64(i) + 1
		}
		if at[i] = cr.passed - 1; at[i] < p.first(i) {
			at[i] = -1
		}
	}
	return r.pick(ctx, f, at)
}

// distance returns by how many rows lag or lead goes, where that is the same for all.
func (f *call) distance() (by int64, ok bool) {
	by = 1
	if a := f.item.Call.Args; len(a) > 1 {
		c, _ := a[1].(*expr.Const)
		if c == nil {
			return 0, false
		}
		if by, ok = c.Val.(int64); !ok {
			return 0, false
		}
	}
	if f.item.Call.Fn.Name == "lag" {
		by = -by
	}
	return by, true
}

// away returns, for each row of partitions in memory, the one that is so many rows after it; -1 where there is none.
func (p *block) away(by int64) []int32 {
	to := make([]int32, p.n)
	for _, part := range p.parts {
		from, end := part.from, part.to
		// Rows of [low, high) have one.
		low, high := min(max(from-max(by, from-end), from), end), max(min(end-min(by, end-from), end), from)
		for i := from; i < min(low, end); i++ {
			to[i] = -1
		}
		for i := low; i < high; i++ {
			to[i] = int32(i + by)
		}
		for i := max(high, low); i < end; i++ {
			to[i] = -1
		}
	}
	return to
}

// alike reports whether argument k and the first one are as the call's values are.
func (f *call) alike(k int) bool {
	t := f.item.Call.Typ
	return f.item.Call.Args[0].Type().SamePhysical(t) && f.item.Call.Args[k].Type().SamePhysical(t)
}

// ntile computes ntile, whose argument is the same in all of a partition.
func (f *call) ntile(ctx context.Context, r *rows, p *block) (arrow.Array, error) {
	out, valid := make([]int32, p.n), make([]byte, batch.BitmapBytes(p.n))
	for i, end := 0, 0; i < p.n; i = end {
		first, last := p.first(i), p.last(i)
		end = int(min(last-p.base, int64(p.n)))
		d, err := r.tiles(ctx, f, first)
		if err != nil {
			return nil, err
		}
		if d == nil {
			continue
		}
		k, _ := d.(int64)
		if k <= 0 {
			return nil, pgerr.New(pgerr.InvalidArgumentForNtile, "argument of ntile must be greater than zero")
		}
		putTiles(out[i:end], p.base+int64(i)-first, last-first, k)
		for j := i; j < end; j++ {
			batch.SetBit(valid, j)
		}
	}
	return batch.FromSlice(f.item.Call.Typ.Arrow(), out, valid), nil
}

// tiles returns ntile's argument in the first row of a partition.
func (r *rows) tiles(ctx context.Context, f *call, row int64) (types.Datum, error) {
	cr := &r.calls[f.k]
	if cr.tileAt == row+1 {
		return cr.tile, nil
	}
	p, err := r.block(ctx, chunkOf(r.begins, row))
	if err != nil {
		return nil, err
	}
	of, err := r.of(ctx, f, p)
	if err != nil {
		return nil, err
	}
	cr.tile, cr.tileAt = types.DatumAt(f.item.Call.Args[0].Type(), of.args[0], int(row-p.base)), row+1
	return cr.tile, nil
}
