package window

import (
	"context"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// frameGroups is for how many frames results are made at once.
const frameGroups = 1024

// aggregate computes an aggregate over the frame of each row. Frames that start with their
// partition and only grow add the new rows to the state of the frame before; others are merged from
// a segment tree of states (tree.go). Aggregates that keep their rows, or whose states can only be
// merged encoded, are computed from scratch for each frame that does not only grow.
func (f *call) aggregate(ctx context.Context, r *rows, p *block) (arrow.Array, error) {
	fr, err := f.frames(ctx, r, p)
	if err != nil {
		return nil, err
	}
	of, err := r.of(ctx, f, p)
	if err != nil {
		return nil, err
	}
	cr := &r.calls[f.k]
	if err := cr.find(f); err != nil {
		return nil, err
	}
	if r.file == nil {
		if cr.begins = r.begins; of.before != nil {
			cr.begins = []int64{0, int64(of.before[p.n])}
		}
	}
	cr.shrinks = cr.shrinks || !fr.grow(cr.end)
	cr.end = fr.end[p.n-1]
	spans := func(i int) ([3]span, error) { return fr.spans(i), nil }
	if of.before != nil {
		spans = func(i int) ([3]span, error) { return fr.passing(ctx, r, f, of, i) }
	}
	plain := of.before == nil && fr.exclude == 0
	if plain && cr.spans && r.file == nil {
		if arr, err := f.bySpans(ctx, fr, of.args, cr.shrinks); arr != nil || err != nil {
			return arr, err
		}
	}
	var states func(frames []frame) (agg.Agg, int, error)
	switch {
	case cr.keeps || !cr.shrinks && !cr.merges && cr.states == nil:
		x := &afresh{f: f, r: r, p: p, spans: spans, whole: func(i int) bool {
			return fr.exclude == 0 && fr.start[i] == p.first(i) && fr.end[i] == p.last(i)
		}}
		of.later = x.take
		return nil, nil
	case !cr.shrinks && cr.states == nil:
		if cr.running == nil {
			cr.running = &runningFrames{fresh: f.fresh, update: func(to agg.Agg, groups []uint32, from int64) error {
				return r.update(ctx, f, to, groups, from)
			}}
		}
		states = cr.running.states
	default:
		if r.file != nil && cr.states == nil {
			return nil, pgerr.Internal("a frame of rows in a file ends before the one of the row before")
		}
		states = func(frames []frame) (agg.Agg, int, error) {
			cur, err := f.fresh()
			if err != nil {
				return nil, 0, err
			}
			cur.Resize(len(frames))
			if cr.spans && r.file == nil {
				if all, err := f.differences(frames, cr.begins[0], of.args); all != nil || err != nil {
					return all, 0, err
				}
			}
			for k, x := range frames {
				if err := r.add(ctx, f, cur, uint32(k), x.span); err != nil {
					return nil, 0, err
				}
				if x.rest == nil {
					continue
				}
				for _, s := range x.rest {
					if err := r.add(ctx, f, cur, uint32(k), s); err != nil {
						return nil, 0, err
					}
				}
			}
			return cur, 0, nil
		}
	}
	return f.byFrames(ctx, fr, plain, spans, states)
}

// spanRows is the most rows for each frame that are read to subtract sums.
const spanRows = 16

// runningSpanRows is the same for frames that only grow, which are computed fast otherwise too.
const runningSpanRows = 4

// bySpans returns the results of the rows' frames, which are partitions' in memory and have no gaps, by differences of
// sums (agg.Spanner); nil if that is not possible, or if most rows have the frame of the one before.
func (f *call) bySpans(ctx context.Context, fr *frameSet, args []arrow.Array, shrinks bool) (arrow.Array, error) {
	differ := 1
	for i := 1; i < fr.p.n; i++ {
		if fr.start[i] != fr.start[i-1] || fr.end[i] != fr.end[i-1] {
			differ++
		}
	}
	if differ < fr.p.n/2 {
		return nil, nil
	}
	most := int64(runningSpanRows)
	if shrinks {
		most = spanRows
	}
	var arrays []arrow.Array
	spans := make([][2]int32, 0, frameGroups)
	for from := 0; from < fr.p.n; from += frameGroups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := fr.start[from:min(from+frameGroups, fr.p.n)]
		end := fr.end[from:][:len(start)]
		lo, hi := int64(math.MaxInt64), int64(0)
		for i, s := range start {
			if s < end[i] {
				lo, hi = min(lo, s), max(hi, end[i])
			}
		}
		if lo >= hi || hi-lo > most*int64(len(start)) {
			return nil, nil
		}
		spans = spans[:0]
		for i, s := range start {
			s = min(max(s, lo), hi)
			spans = append(spans, [2]int32{int32(s), int32(min(max(end[i], s), hi))})
		}
		cur, err := f.fresh()
		if err != nil {
			return nil, err
		}
		cur.Resize(len(spans))
		if !cur.(agg.Spanner).UpdateSpans(spans, args) {
			return nil, nil
		}
		arr, err := cur.Results(0, len(spans))
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, arr)
	}
	if len(arrays) == 1 {
		return arrays[0], nil
	}
	return kernel.Concat(f.item.Call.Typ.Arrow(), arrays), nil
}

// differences are the states of frames by differences of sums, those of what EXCLUDE leaves of a frame put together; nil
// if that is not possible.
func (f *call) differences(frames []frame, base int64, args []arrow.Array) (agg.Agg, error) {
	var all agg.Agg
	groups := make([]uint32, len(frames))
	for part := range 3 {
		spans, ok := spansOf(frames, part, base)
		if !ok {
			return nil, nil
		}
		if spans == nil && (all != nil || part < 2) {
			continue // no frame has rows there
		}
		cur, err := f.fresh()
		if err != nil {
			return nil, err
		}
		cur.Resize(len(frames))
		if spans != nil && !cur.(agg.Spanner).UpdateSpans(spans, args) {
			return nil, nil
		}
		if all == nil {
			all = cur
			continue
		}
		m, ok := all.(agg.Merger)
		if !ok {
			return nil, nil
		}
		for k := range groups {
			groups[k] = uint32(k)
		}
		if err := m.MergeFrom(groups, cur, groups); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// spansOf are the rows of one part of each frame, counted from base on; nil where there are none. It returns false if there are
// many more rows than frames.
func spansOf(frames []frame, part int, base int64) ([][2]int32, bool) {
	of := func(x *frame) span {
		switch {
		case part == 0:
			return x.span
		case x.rest == nil:
			return span{}
		}
		return x.rest[part-1]
	}
	lo, hi := int64(math.MaxInt64), int64(0)
	for k := range frames {
		if x := of(&frames[k]); x.from < x.to {
			lo, hi = min(lo, x.from), max(hi, x.to)
		}
	}
	if lo >= hi {
		return nil, true
	}
	if hi-lo > spanRows*int64(len(frames)) || hi-base > math.MaxInt32 {
		return nil, false
	}
	out := make([][2]int32, len(frames))
	for k := range frames {
		x := of(&frames[k])
		if x.from >= x.to {
			x.from, x.to = lo, lo
		}
		out[k] = [2]int32{int32(x.from - base), int32(x.to - base)}
	}
	return out, true
}

// find determines how the aggregate of f can be computed.
func (cr *callRows) find(f *call) error {
	if cr.known {
		return nil
	}
	a, err := f.fresh()
	if err != nil {
		return err
	}
	_, cr.keeps = a.(agg.Holistic)
	_, cr.merges = a.(agg.Merger)
	_, cr.spans = a.(agg.Spanner)
	cr.slides = newSliding(f.item.Call) != nil
	cr.known = true
	return nil
}

// passing returns a frame's spans in numbers of those rows that pass f's FILTER.
func (s *frameSet) passing(ctx context.Context, r *rows, f *call, of *blockCall, i int) ([3]span, error) {
	out := s.spans(i)
	for k := range out {
		for _, row := range []*int64{&out[k].from, &out[k].to} {
			if at := *row - s.p.base; at >= 0 && at <= int64(s.p.n) {
				*row = r.calls[f.k].begins[s.p.number] + int64(of.before[at])
				continue
			}
			var err error
			if *row, err = r.passed(ctx, f, *row); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// frame is the frame of one or more rows.
type frame struct {
	span
	rest  *[2]span // the spans after the rows that EXCLUDE removes; nil: there are none
	first bool     // the first frame of its partition
}

// byFrames returns the results of the rows' frames, by states, which computes many different
// consecutive frames at once and returns the first one's group.
func (f *call) byFrames(ctx context.Context, fr *frameSet, plain bool, spans func(i int) ([3]span, error), states func([]frame) (agg.Agg, int, error)) (arrow.Array, error) {
	t := f.item.Call.Typ
	var arrays []arrow.Array
	frames := make([]frame, 0, frameGroups)
	var of []int32 // by row: the frame, for rows that are not computed yet
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		cur, from, err := states(frames)
		if err != nil {
			return err
		}
		arr, err := cur.Results(from, from+len(frames))
		if err != nil {
			return err
		}
		if len(of) > len(frames) { // otherwise each row has a frame of its own
			if arr, err = f.w.pick(ctx, t, arr, of); err != nil {
				return err
			}
		}
		arrays = append(arrays, arr)
		frames, of = frames[:0], of[:0]
		return nil
	}
	var last [3]span
	for i := range fr.p.n {
		x := frame{first: fr.p.first(i) == fr.p.base+int64(i)}
		same := false
		if plain {
			x.span = span{fr.start[i], max(fr.start[i], fr.end[i])}
			same = x.span == last[0]
			last[0] = x.span
		} else {
			s, err := spans(i)
			if err != nil {
				return nil, err
			}
			if x.span = s[0]; s[1].from < s[1].to || s[2].from < s[2].to {
				x.rest = &[2]span{s[1], s[2]}
			}
			same, last = s == last, s
		}
		if len(frames) == 0 || x.first || !same {
			if len(frames) == frameGroups {
				if err := flush(); err != nil {
					return nil, err
				}
			}
			frames = append(frames, x)
		}
		of = append(of, int32(len(frames)-1))
	}
	if err := flush(); err != nil {
		return nil, err
	}
	if len(arrays) == 1 {
		return arrays[0], nil
	}
	return kernel.Concat(t.Arrow(), arrays), nil
}

// runningFrames makes the states of frames that only grow: the state of a frame is that of the frame
// before it in the partition, merged with that of its new rows. States are merged in the rows' order,
// as in frameTree, so that both ways have the same result.
//
//	group   0            1        2        3 …
//	        carried on   frame 0  frame 1  frame 2
type runningFrames struct {
	fresh  func() (agg.Agg, error)
	update func(to agg.Agg, groups []uint32, from int64) error // adds rows from a row on to groups
	last   agg.Agg                                             // the states of the frames before
	at     uint32                                              // the group of the last frame in it
	done   int64                                               // the row after the last one in it
}

func (r *runningFrames) states(frames []frame) (agg.Agg, int, error) {
	own, err := r.fresh() // the states of the rows that are new in each frame
	if err != nil {
		return nil, 0, err
	}
	own.Resize(1 + len(frames))
	var groups []uint32
	from := r.done
	put := func() error {
		if len(groups) == 0 {
			return nil
		}
		err := r.update(own, groups, from)
		from, groups = from+int64(len(groups)), groups[:0]
		return err
	}
	var goOn []uint32 // the frames that extend the frame before them
	for k, x := range frames {
		s := x.span
		if x.first {
			if next := from + int64(len(groups)); next != s.from {
				if err := put(); err != nil {
					return nil, 0, err
				}
				from = s.from
			}
		} else {
			goOn = append(goOn, uint32(1+k))
		}
		for from+int64(len(groups)) < s.to {
			if len(groups) == updateRows {
				if err := put(); err != nil {
					return nil, 0, err
				}
			}
			groups = append(groups, uint32(1+k))
		}
	}
	if err := put(); err != nil {
		return nil, 0, err
	}
	all := own
	if len(goOn) > 0 {
		if all, err = r.run(own, frames, goOn); err != nil {
			return nil, 0, err
		}
	}
	r.last, r.at, r.done = all, uint32(len(frames)), from
	return all, 1, nil
}

// run merges, for each frame, the state of the frame before it and that of its new rows.
func (r *runningFrames) run(own agg.Agg, frames []frame, goOn []uint32) (agg.Agg, error) {
	carry := func(to agg.Agg) error {
		if frames[0].first {
			return nil
		}
		return to.(agg.Merger).MergeFrom([]uint32{0}, r.last, []uint32{r.at})
	}
	if s, ok := own.(agg.Runner); ok {
		if err := carry(own); err != nil {
			return nil, err
		}
		return own, s.Run(goOn)
	}
	all, err := r.fresh()
	if err != nil {
		return nil, err
	}
	all.Resize(1 + len(frames))
	if err := carry(all); err != nil {
		return nil, err
	}
	to := all.(agg.Merger)
	group, id := []uint32{0}, []uint32{0}
	for k, x := range frames {
		group[0] = uint32(1 + k)
		if !x.first {
			id[0] = uint32(k)
			if err := to.MergeFrom(group, all, id); err != nil {
				return nil, err
			}
		}
		id[0] = uint32(1 + k)
		if err := to.MergeFrom(group, own, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func integers(n int, f func(i int) int64) arrow.Array {
	out := make([]int64, n)
	for i := range out {
		out[i] = f(i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil)
}

func floats(n int, f func(i int) float64) arrow.Array {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, nil)
}

// pick returns the values of arr at rows; NULL for -1. Many rows may have the same long value.
func (o *window) pick(ctx context.Context, t types.Type, arr arrow.Array, rows []int32) (arrow.Array, error) {
	arr = kernel.Flatten(arr)
	long := int64(0)
	switch a := arr.(type) {
	case *array.Binary:
		for _, r := range rows {
			if r >= 0 {
				long += int64(a.ValueLen(int(r)))
			}
		}
	case *array.String:
		for _, r := range rows {
			if r >= 0 {
				long += int64(a.ValueLen(int(r)))
			}
		}
	default:
		if _, nested := arr.DataType().(arrow.NestedType); nested {
			return o.column(ctx, t, len(rows), func(i int) (types.Datum, error) {
				if rows[i] < 0 {
					return nil, nil
				}
				return types.DatumAt(t, arr, int(rows[i])), nil
			})
		}
	}
	if long > math.MaxInt32 {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "values of %d bytes in one partition", long)
	}
	if long > blockBytes {
		if err := o.insist(ctx, long); err != nil {
			return nil, err
		}
	}
	return kernel.Take(arr, rows), nil
}
