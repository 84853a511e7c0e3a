package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
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
			if f.item.Frame.Exclude != 0 {
				rows := fr.rows(p, i, f.item.Frame.Exclude)
				switch {
				case f.item.Call.Fn.Name == "last_value" && len(rows) > 0:
					return at(0, int(rows[len(rows)-1])), nil
				case f.item.Call.Fn.Name != "last_value" && int64(len(rows)) >= k:
					return at(0, int(rows[k-1])), nil
				}
				return nil, nil
			}
			lo, hi := int64(fr.start[i]), int64(fr.end[i])
			if f.item.Call.Fn.Name == "last_value" {
				if hi > lo {
					return at(0, int(hi-1)), nil
				}
				return nil, nil
			}
			if lo+k-1 < hi {
				return at(0, int(lo+k-1)), nil
			}
			return nil, nil
		})
	}
	return nil, pgerr.Unsupported("window function %s is not supported", f.item.Call.Fn.Name)
}

// aggregate computes an aggregate over each row's frame. Where frames begin
// with the partition and only grow, one state takes the rows as they come;
// elsewhere each new frame is computed afresh.
func (f *windowFunc) aggregate(ctx context.Context, p *windowPart, args []arrow.Array) (arrow.Array, error) {
	fr, err := f.frames(ctx, p)
	if err != nil {
		return nil, err
	}
	var pass *array.Boolean
	if f.filter != nil {
		arr, err := f.filter.Eval(ctx, p.b)
		if err != nil {
			return nil, err
		}
		pass = arr.(*array.Boolean)
	}
	grows := f.item.Frame.Exclude == 0
	for i := 0; i < p.n && grows; i++ {
		grows = fr.start[i] == 0 && (i == 0 || fr.end[i] >= fr.end[i-1])
	}
	update := func(a agg.Agg, rows []int32) error {
		if pass != nil {
			kept := rows[:0:0]
			for _, r := range rows {
				if !pass.IsNull(int(r)) && pass.Value(int(r)) {
					kept = append(kept, r)
				}
			}
			rows = kept
		}
		if len(rows) == 0 {
			return nil
		}
		sub := make([]arrow.Array, len(args))
		for k, c := range args {
			if int(rows[len(rows)-1]-rows[0])+1 == len(rows) {
				sub[k] = array.NewSlice(c, int64(rows[0]), int64(rows[len(rows)-1])+1)
			} else {
				sub[k] = kernel.Take(c, rows)
			}
		}
		return a.Update(make([]uint32, len(rows)), sub)
	}
	var cur agg.Agg
	var done int32
	lastStart, lastEnd := int32(-1), int32(-1)
	var last types.Datum
	return f.w.column(ctx, f.item.Call.Typ, p.n, func(i int) (types.Datum, error) {
		lo, hi := fr.start[i], max(fr.end[i], fr.start[i])
		if f.item.Frame.Exclude == 0 && lo == lastStart && hi == lastEnd {
			return last, nil
		}
		var err error
		if !grows || cur == nil {
			if cur, err = agg.New(f.item.Call, f.env); err != nil {
				return nil, err
			}
			cur.Resize(1)
			done = lo
		}
		if f.item.Frame.Exclude != 0 {
			err = update(cur, fr.rows(p, i, f.item.Frame.Exclude))
		} else {
			err = update(cur, span(done, hi))
			done = hi
		}
		if err != nil {
			return nil, err
		}
		arr, err := cur.Results(0, 1)
		if err != nil {
			return nil, err
		}
		lastStart, lastEnd = lo, hi
		last = types.DatumAt(f.item.Call.Typ, arr, 0)
		return last, nil
	})
}

func span(from, to int32) []int32 {
	out := make([]int32, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// frameSet are the frames of a partition's rows: [start, end).
type frameSet struct{ start, end []int32 }

// rows lists a frame's rows without those that EXCLUDE leaves out.
func (s *frameSet) rows(p *windowPart, i int, exclude byte) []int32 {
	var out []int32
	for j := s.start[i]; j < s.end[i]; j++ {
		peer := p.group[j] == p.group[i]
		switch exclude {
		case 'c':
			if int(j) == i {
				continue
			}
		case 'g':
			if peer {
				continue
			}
		case 't':
			if peer && int(j) != i {
				continue
			}
		}
		out = append(out, j)
	}
	return out
}

// frames finds the frame of every row.
func (f *windowFunc) frames(ctx context.Context, p *windowPart) (*frameSet, error) {
	s := &frameSet{start: make([]int32, p.n), end: make([]int32, p.n)}
	fr := f.item.Frame
	for side, b := range []plan.FrameBound{fr.Start, fr.End} {
		dst := s.start
		if side == 1 {
			dst = s.end
		}
		var off types.Datum
		if f.offset[side] != nil {
			arr, err := f.offset[side].Eval(ctx, p.b.Slice(0, 1))
			if err != nil {
				return nil, err
			}
			word := [2]string{"starting", "ending"}[side]
			off = types.DatumAt(b.Offset.Type(), arr, 0)
			if off == nil {
				return nil, pgerr.New(pgerr.NullValueNotAllowed, "frame %s offset must not be null", word)
			}
			if negative(off) {
				if fr.Mode == 'v' {
					return nil, pgerr.New(pgerr.InvalidPrecedingOrFollowingSize, "invalid preceding or following size in window function")
				}
				return nil, pgerr.New(pgerr.InvalidPrecedingOrFollowingSize, "frame %s offset must not be negative", word)
			}
		}
		switch b.Kind {
		case plan.UnboundedPreceding:
		case plan.UnboundedFollowing:
			for i := range dst {
				dst[i] = int32(p.n)
			}
		case plan.CurrentRow:
			for i := range dst {
				switch {
				case fr.Mode == 'r':
					dst[i] = int32(i + side)
				case side == 0:
					dst[i] = p.peer[i]
				default:
					dst[i] = p.peerEnd[i]
				}
			}
		default:
			if err := f.offsets(ctx, p, dst, side, b.Kind == plan.Preceding, off); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func negative(d types.Datum) bool {
	switch v := d.(type) {
	case int64:
		return v < 0
	case float64:
		return v < 0 || v != v
	case types.Decimal:
		return v.Sign() < 0
	case types.Interval:
		return types.Compare(types.IntervalT, v, types.Interval{}) < 0
	}
	return false
}

// offsets places bounds of the form n PRECEDING or FOLLOWING.
func (f *windowFunc) offsets(ctx context.Context, p *windowPart, dst []int32, side int, back bool, off types.Datum) error {
	n := int64(p.n)
	clamp := func(v int64) int32 { return int32(max(0, min(v, n))) }
	switch f.item.Frame.Mode {
	case 'r', 'g':
		k, ok := off.(int64)
		if !ok {
			return pgerr.Internal("frame offset is not an integer")
		}
		k = min(k, n+1)
		if back {
			k = -k
		}
		if f.item.Frame.Mode == 'r' {
			for i := range dst {
				dst[i] = clamp(int64(i) + k + int64(side))
			}
			return nil
		}
		var first []int32 // first row of each peer group
		for i := 0; i < p.n; i++ {
			if int(p.group[i]) == len(first) {
				first = append(first, int32(i))
			}
		}
		for i := range dst {
			g := int64(p.group[i]) + k + int64(side)
			switch {
			case g < 0:
				dst[i] = 0
			case g >= int64(len(first)):
				dst[i] = int32(n)
			default:
				dst[i] = first[g]
			}
		}
		return nil
	}
	return f.rangeOffsets(ctx, p, dst, side, back, off)
}

// rangeOffsets places RANGE bounds: the first row (start) or the row after the
// last (end) whose ordering value is within the offset of the current row's.
func (f *windowFunc) rangeOffsets(ctx context.Context, p *windowPart, dst []int32, side int, back bool, off types.Datum) error {
	if len(f.w.order) != 1 {
		return pgerr.New(pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	arr, err := f.w.order[0].Eval(ctx, p.b)
	if err != nil {
		return err
	}
	t, desc := f.w.orderSpecs[0].Type, f.w.orderSpecs[0].Desc
	vals := make([]types.Datum, p.n)
	for i := range vals {
		vals[i] = types.DatumAt(t, arr, i)
	}
	var loc = f.env
	for i := range dst {
		if vals[i] == nil {
			// NULLs are peers of each other and of nothing else.
			if dst[i] = p.peer[i]; side == 1 {
				dst[i] = p.peerEnd[i]
			}
			continue
		}
		limit, err := shift(t, vals[i], off, back != desc, loc)
		if err != nil {
			return err
		}
		// Binary search among the rows that are not NULL.
		lo, hi := 0, p.n
		for lo < p.n && vals[lo] == nil {
			lo++
		}
		for hi > lo && vals[hi-1] == nil {
			hi--
		}
		for lo < hi {
			mid := (lo + hi) / 2
			c := types.Compare(t, vals[mid], limit)
			if desc {
				c = -c
			}
			if c < 0 || side == 1 && c == 0 {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		dst[i] = int32(lo)
	}
	return nil
}

// shift moves an ordering value by an offset.
func shift(t types.Type, v, off types.Datum, back bool, env *types.Env) (types.Datum, error) {
	switch x := v.(type) {
	case int64:
		if iv, ok := off.(types.Interval); ok {
			if back {
				n, err := types.IntervalNeg(iv)
				if err != nil {
					return nil, err
				}
				iv = n
			}
			if t.OID == types.DateOID {
				x *= 86400000000
			}
			if t.OID == types.TimeOID {
				return x + iv.Micros, nil
			}
			if env != nil && t.OID == types.TimestamptzOID {
				return types.TimestampAddInterval(x, iv, env.Location)
			}
			r, err := types.TimestampAddInterval(x, iv, nil)
			if t.OID == types.DateOID && err == nil {
				// Compare as dates do with timestamps: round down the way back.
				d := r / 86400000000
				if r%86400000000 < 0 {
					d--
				}
				return d, nil
			}
			return r, err
		}
		o, ok := off.(int64)
		if !ok {
			break
		}
		if back {
			o = -o
		}
		s := x + o
		if (s > x) != (o > 0) && o != 0 {
			if o > 0 {
				return int64(1<<63 - 1), nil
			}
			return int64(-1 << 63), nil
		}
		return s, nil
	case float64:
		o, ok := off.(float64)
		if !ok {
			break
		}
		if back {
			o = -o
		}
		return x + o, nil
	case types.Decimal:
		o, ok := off.(types.Decimal)
		if !ok {
			break
		}
		if back {
			return x.Sub(o)
		}
		return x.Add(o)
	case types.Interval:
		o, ok := off.(types.Interval)
		if !ok {
			break
		}
		if back {
			return types.IntervalSub(x, o)
		}
		return types.IntervalAdd(x, o)
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", t)
}
