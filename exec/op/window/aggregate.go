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

// frameGroups is how many frames' results are made at once.
const frameGroups = 1024

// aggregate computes an aggregate over each row's frame. Frames that begin with
// their partition and only grow are the one before and what is new; others are put
// together from a tree of states. Aggregates that keep their rows, or whose states
// must travel encoded, take each new frame's afresh where they do not grow.
func (f *call) aggregate(ctx context.Context, p *block, args []arrow.Array) (arrow.Array, error) {
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
		if err := f.w.acct.Insist(ctx, batch.New(args, p.n).Bytes()+8*int64(p.n)); err != nil {
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
	_, keeps := probe.(agg.Heavy)
	_, merges := probe.(agg.Merger)
	grows := fr.grow()
	var states func(frames []frame) (agg.Agg, int, error)
	switch {
	case keeps || grows && !merges:
		return f.afresh(ctx, fr, fresh, args)
	case grows:
		states = (&runningFrames{fresh: fresh, args: args}).states
	default:
		tree, err := newFrameTree(ctx, f.w.acct, fresh, args, rows)
		if err != nil {
			return nil, err
		}
		states = func(frames []frame) (agg.Agg, int, error) {
			cur, err := fresh()
			if err != nil {
				return nil, 0, err
			}
			cur.Resize(len(frames))
			for k, x := range frames {
				for _, s := range x.spans {
					if err := tree.add(cur, uint32(k), s); err != nil {
						return nil, 0, err
					}
				}
			}
			return cur, 0, nil
		}
	}
	return f.byFrames(ctx, fr, states)
}

// frame is a frame that rows share.
type frame struct {
	spans [3]span
	first bool // the first of its partition
}

// byFrames returns the results of the rows' frames, of which states makes so many
// at once as are different and follow each other; it returns the first one's group.
func (f *call) byFrames(ctx context.Context, fr *frameSet, states func([]frame) (agg.Agg, int, error)) (arrow.Array, error) {
	t := f.item.Call.Typ
	var pieces []arrow.Array
	frames := make([]frame, 0, frameGroups)
	var of []int32 // the frames of the rows that wait
	give := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		cur, from, err := states(frames)
		if err != nil {
			return err
		}
		piece, err := cur.Results(from, from+len(frames))
		if err != nil {
			return err
		}
		if len(of) > len(frames) { // else each row has a frame of its own
			if piece, err = f.w.pick(ctx, t, piece, of); err != nil {
				return err
			}
		}
		pieces = append(pieces, piece)
		frames, of = frames[:0], of[:0]
		return nil
	}
	for i := range fr.start {
		x := frame{spans: fr.spans(i), first: fr.p.first[i] == int32(i)}
		if len(frames) == 0 || x.first || x.spans != frames[len(frames)-1].spans {
			if len(frames) == frameGroups {
				if err := give(); err != nil {
					return nil, err
				}
			}
			frames = append(frames, x)
		}
		of = append(of, int32(len(frames)-1))
	}
	if err := give(); err != nil {
		return nil, err
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	return kernel.Concat(t.Arrow(), pieces), nil
}

// runningFrames makes the states of frames that grow: each is that of the frame
// before in its partition, and of the rows that are new. They are put together in
// the rows' order, as in frameTree.
//
//	group   0            1        2        3 …
//	        carried on   frame 0  frame 1  frame 2
type runningFrames struct {
	fresh func() (agg.Agg, error)
	args  []arrow.Array
	last  agg.Agg // of the frames before
	at    uint32  // the last of them
	done  int32   // the rows that it has end here
}

func (r *runningFrames) states(frames []frame) (agg.Agg, int, error) {
	own, err := r.fresh() // of the rows that are new in each
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
		err := updateSpan(own, groups, r.args, span{from, from + int32(len(groups))})
		from, groups = from+int32(len(groups)), groups[:0]
		return err
	}
	var goOn []uint32 // the frames that have a frame before
	for k, x := range frames {
		s := x.spans[0]
		if x.first {
			if next := from + int32(len(groups)); next != s.from {
				if err := put(); err != nil {
					return nil, 0, err
				}
				from = s.from
			}
		} else {
			goOn = append(goOn, uint32(1+k))
		}
		for from+int32(len(groups)) < s.to {
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

// run adds to the states of frames, those of the rows that are new in each, those of the
// frames before them.
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

// afresh computes frames one after the other: what the last has and no more is
// kept, anything else is taken again.
func (f *call) afresh(ctx context.Context, fr *frameSet, fresh func() (agg.Agg, error), args []arrow.Array) (arrow.Array, error) {
	grows := fr.grow()
	var cur agg.Agg
	var done int32
	var have [3]span
	var last types.Datum
	return f.w.column(ctx, f.item.Call.Typ, len(fr.start), func(i int) (types.Datum, error) {
		s := fr.spans(i)
		first := fr.p.first[i] == int32(i)
		if !first && s == have {
			return last, nil
		}
		var err error
		if !grows || first {
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

func integers(n int, f func(i int) int64) arrow.Array {
	out := make([]int64, n)
	for i := range out {
		out[i] = f(i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, nil)
}

// pick returns the rows of arr; -1 gives NULL. Many may be of one long value.
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
		if err := o.acct.Insist(ctx, long); err != nil {
			return nil, err
		}
	}
	return kernel.Take(arr, rows), nil
}
