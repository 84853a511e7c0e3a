package window

import (
	"context"
	"math"
	"time"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// frameSet are the frames of a block's rows: [start, end), less what EXCLUDE
// leaves out.
type frameSet struct {
	p          *block
	exclude    byte
	start, end []int64
}

// spans are the rows of a frame, in order. What EXCLUDE leaves out is a run of
// peers, but perhaps for the row itself, so that three runs are left at most.
func (s *frameSet) spans(i int) (out [3]span) {
	lo, hi := s.start[i], max(s.start[i], s.end[i])
	if s.exclude == 0 {
		return [3]span{{lo, hi}, {hi, hi}, {hi, hi}}
	}
	at := s.p.base + int64(i)
	cut := span{hi, hi}
	switch s.exclude {
	case 'c':
		cut = span{at, at + 1}
	case 'g', 't':
		cut = span{s.p.peer[i], s.p.peerEnd[i]}
	}
	out[0] = span{lo, max(lo, min(cut.from, hi))}
	out[2] = span{min(hi, max(cut.to, lo)), hi}
	if s.exclude == 't' && lo <= at && at < hi {
		out[1] = span{at, at + 1}
	}
	return out
}

// row returns the k-th row of a frame from 0 on, or from the end where last is set; -1 where there
// is none.
func (s *frameSet) row(i int, k int64, last bool) int64 {
	spans := s.spans(i)
	if last {
		for j := len(spans) - 1; j >= 0; j-- {
			if x := spans[j]; x.from < x.to {
				return x.to - 1
			}
		}
		return -1
	}
	for _, x := range spans {
		n := x.to - x.from
		if k < n {
			return x.from + k
		}
		k -= n
	}
	return -1
}

// grow reports whether all frames begin with their partition and none has less than
// the one before it there, which for the first row ends at before.
func (s *frameSet) grow(before int64) bool {
	if s.exclude != 0 {
		return false
	}
	for i, from := range s.start {
		if from != s.p.first(i) || s.p.base+int64(i) > from && s.end[i] < before {
			return false
		}
		before = s.end[i]
	}
	return true
}

// frames finds the frame of every row.
func (f *call) frames(ctx context.Context, r *rows, p *block) (*frameSet, error) {
	fr := f.item.Frame
	s := &frameSet{p: p, exclude: fr.Exclude, start: make([]int64, p.n), end: make([]int64, p.n)}
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
			if iv, ok := off.(datetime.Interval); ok && fr.Mode == 'v' {
				switch f.w.orderSpecs[0].Type.Class() {
				case types.ClassTime, types.ClassTimetz: // which have no days; four days exceed the distance of any two values
					off = min(iv.Micros, 4*24*3600*1e6)
				}
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
			for i := range dst {
				dst[i] = p.first(i)
			}
		case plan.UnboundedFollowing:
			for i := range dst {
				dst[i] = p.last(i)
			}
		case plan.CurrentRow:
			for i := range dst {
				switch {
				case fr.Mode == 'r':
					dst[i] = p.base + int64(i+side)
				case side == 0:
					dst[i] = p.peer[i]
				default:
					dst[i] = p.peerEnd[i]
				}
			}
		default:
			if err := f.offsets(ctx, r, p, dst, side, b.Kind == plan.Preceding, off); err != nil {
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
	case number.Decimal:
		return v.Sign() < 0 || v.IsNaN()
	case datetime.Interval:
		return types.Compare(types.IntervalT, v, datetime.Interval{}) < 0
	}
	return false
}

// offsets places bounds of the form n PRECEDING or FOLLOWING.
func (f *call) offsets(ctx context.Context, r *rows, p *block, dst []int64, side int, back bool, off types.Datum) error {
	switch f.item.Frame.Mode {
	case 'r', 'g':
		k, ok := off.(int64)
		if !ok {
			return pgerr.Internal("frame offset is not an integer")
		}
		k = min(k, r.begins[len(r.chunks)]+1)
		if back {
			k = -k
		}
		for i := range dst {
			if f.item.Frame.Mode == 'r' {
				dst[i] = max(p.first(i), min(p.base+int64(i+side)+k, p.last(i)))
				continue
			}
			of := p.groupsOf(i, r.groups)
			var err error
			switch g := p.groupOf(i) + k + int64(side); {
			case g < of.from:
				dst[i] = p.first(i)
			case g >= of.to:
				dst[i] = p.last(i)
			case i > 0 && p.group[i] == p.group[i-1]:
				dst[i] = dst[i-1]
			default:
				dst[i], err = r.head(ctx, g)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return f.rangeOffsets(ctx, r, p, dst, side, back, off)
}

// rangeOffsets places RANGE bounds: the first row (start) or the row after the
// last (end) whose ordering value is within the offset of the current row's.
func (f *call) rangeOffsets(ctx context.Context, r *rows, p *block, dst []int64, side int, back bool, off types.Datum) error {
	if len(f.w.order) != 1 {
		return pgerr.New(pgerr.WindowingError, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
	}
	if spec := f.w.orderSpecs[0]; r.file == nil {
		arr, err := f.w.order[0].Eval(ctx, p.b)
		if err != nil {
			return err
		}
		s := sweeping{p: p, arr: arr, dst: dst, after: side == 1, desc: spec.Desc}
		if s.place(spec.Type, back, off) {
			return nil
		}
	}
	vals, err := r.values(ctx, p)
	if err != nil {
		return err
	}
	t, desc := f.w.orderSpecs[0].Type, f.w.orderSpecs[0].Desc
	if t.OID == types.DateOID {
		t = types.Timestamp
	}
	move := shift{back: back != desc, upper: (side == 1) != desc}
	if t.OID == types.TimestamptzOID {
		move.loc = f.env.Location()
	}
	within := r.valued // NULLs come first or last
	for i := range dst {
		if r.file == nil && (i == 0 || p.first(i) != p.first(i-1)) {
			within = span{p.first(i), p.last(i)}
			for within.from < within.to && vals[within.from] == nil {
				within.from++
			}
			for within.to > within.from && vals[within.to-1] == nil {
				within.to--
			}
		}
		if vals[i] == nil {
			// NULLs are peers of each other and of nothing else.
			if dst[i] = p.peer[i]; side == 1 {
				dst[i] = p.peerEnd[i]
			}
			continue
		}
		limit, beyond, err := move.limit(t, vals[i], off)
		if err != nil {
			return err
		}
		if dst[i], err = r.search(ctx, within, func(v types.Datum) bool {
			c := -beyond
			if c == 0 {
				c = types.Compare(t, v, limit)
			}
			if desc {
				c = -c
			}
			return c < 0 || side == 1 && c == 0
		}); err != nil {
			return err
		}
	}
	return nil
}

// shift is how a RANGE bound lies to a row's value.
type shift struct {
	back  bool // below it
	upper bool // the values of the frame are at most the bound, not at least
	loc   *time.Location
}

// limit moves an ordering value by an offset. Where that is more or less than any
// value of the type there is no limit: beyond is 1 or -1.
func (s shift) limit(t types.Type, v, off types.Datum) (limit types.Datum, beyond int, err error) {
	switch x := v.(type) {
	case int64:
		switch o := off.(type) {
		case datetime.Interval:
			if s.back {
				if o, err = datetime.IntervalNeg(o); err != nil {
					return nil, 0, err
				}
			}
			limit, err = datetime.TimestampAddInterval(x, o, s.loc)
			return limit, 0, err
		case int64:
			switch {
			case s.back && x < math.MinInt64+o:
				return nil, -1, nil
			case s.back:
				return x - o, 0, nil
			case x > math.MaxInt64-o:
				return nil, 1, nil
			}
			return x + o, 0, nil
		}
	case datetime.TimeTZ:
		if o, ok := off.(int64); ok {
			if s.back {
				o = -o
			}
			x.Micros += o
			return x, 0, nil
		}
	case float64:
		if o, ok := off.(float64); ok {
			if s.back {
				o = -o
			}
			r := x + o
			if r != r && x == x {
				// Every number is infinitely far from an infinity, except NaN.
				r = math.Inf(-1)
				if s.upper {
					r = math.Inf(1)
				}
			}
			return r, 0, nil
		}
	case number.Decimal:
		if o, ok := off.(number.Decimal); ok {
			add := x.Add
			if s.back {
				add = x.Sub
			}
			r, err := add(o)
			if r.IsNaN() && !x.IsNaN() {
				r = number.DecimalNegInf
				if s.upper {
					r = number.DecimalInf
				}
			}
			return r, 0, err
		}
	case datetime.Interval:
		if o, ok := off.(datetime.Interval); ok {
			add := datetime.IntervalAdd
			if s.back {
				add = datetime.IntervalSub
			}
			limit, err = add(x, o)
			return limit, 0, err
		}
	}
	return nil, 0, pgerr.New(pgerr.FeatureNotSupported, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", t)
}
