package window

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op/fold"
	"github.com/tributarydb/tributary/sql/types"
)

// afresh computes an aggregate that keeps its rows, such as a percentile, for the frames of a block's
// rows, one frame after the other. How depends on the frame:
//
//	the whole partition    one value for all: written (agg.Written) or from a state; sorted if that does not fit in memory
//	moves over the rows    sliding: rows are added and removed
//	only grows             rows are added to the state of the frame before
//	other frames           computed anew from all their rows
type afresh struct {
	f     *call
	r     *rows
	p     *block
	spans func(i int) ([3]span, error)
	whole func(i int) bool // reports whether the frame of row i is its whole partition
	zeros []uint32         // the groups of rows: all are in one
}

// afreshFrame is the state of the last frame that was computed.
type afreshFrame struct {
	row   int64 // the row of that frame, + 1
	have  [3]span
	last  types.Datum
	long  arrow.Array // the value if it is long; last is not set then
	cur   agg.Agg
	grown *agg.Growing // of cur, while frames only grow; nil: the value is computed from all rows
	kept  int64        // bytes charged for grown
	slide sliding
	from  int64 // the first row in slide
	done  int64 // the row after the last one in cur or slide
	held  int64 // bytes charged
	sorts bool  // when memory is refused, the frame is computed by sorting
}

// hold charges n more bytes.
func (a *afreshFrame) hold(ctx context.Context, r *rows, n int64) error {
	var err error
	switch {
	case a.sorts:
		err = r.w.acct.Grow(n)
	case r.file != nil || r.w.began():
		err = r.w.acct.Insist(ctx, n)
	default:
		err = r.w.charge(ctx, n)
	}
	if err == nil {
		a.held += n
	}
	return err
}

// release drops the state.
func (a *afreshFrame) release(r *rows) {
	r.w.acct.Shrink(a.held)
	*a = afreshFrame{}
}

// take returns the values of rows [from, to), or with bounded set, of only the first of them if the
// values are long. A long value that several rows share is made once, and returned for one row at a
// time.
func (x *afresh) take(ctx context.Context, from, to int, bounded bool) (arrow.Array, error) {
	a := &x.r.calls[x.f.k].afresh
	if bounded || to-from == 1 {
		if err := x.compute(ctx, from); err != nil {
			return nil, err
		}
		if a.long != nil {
			return a.long, nil
		}
	}
	t := x.f.item.Call.Typ
	return x.f.w.columnOf(ctx, t, from, to, bounded, func(i int) (types.Datum, error) {
		if err := x.compute(ctx, i); err != nil {
			return nil, err
		}
		if a.long != nil {
			return types.DatumAt(t, a.long, 0), nil
		}
		return a.last, nil
	})
}

// compute computes the frame of row i, which becomes the last one.
func (x *afresh) compute(ctx context.Context, i int) error {
	cr := &x.r.calls[x.f.k]
	a := &cr.afresh
	s, err := x.spans(i)
	if err != nil {
		return err
	}
	row := x.p.base + int64(i)
	first := x.p.first(i) == row
	if s == a.have && (!first || a.row == row+1) && a.row > 0 {
		return nil
	}
	if first {
		a.release(x.r)
		a.from, a.done = s[0].from, s[0].from
	}
	switch {
	case first && x.whole(i):
		err = x.computeWhole(ctx, s[0])
	case cr.slides && s[1].from == s[1].to && s[2].from == s[2].to:
		err = x.slideTo(ctx, s[0])
	default:
		err = x.add(ctx, s)
	}
	a.row, a.have = row+1, s
	return err
}

// computeWhole computes a frame that is a whole partition.
func (x *afresh) computeWhole(ctx context.Context, s span) error {
	a := &x.r.calls[x.f.k].afresh
	if x.f.writes {
		return x.write(ctx, s)
	}
	one, err := x.f.fresh()
	if err != nil {
		return err
	}
	sortable, ok := one.(agg.Sortable)
	a.sorts = ok && x.r.file != nil
	err = x.add(ctx, [3]span{s})
	last, sorts := a.last, a.sorts && err != nil && x.r.w.acct.Refused(err)
	a.release(x.r)
	if err != nil && !sorts {
		return err
	}
	if a.last = last; sorts {
		a.last, err = x.sorted(ctx, sortable)
	}
	return err
}

// add adds the rows that the last frame does not have, or all rows if the frame is no extension of it.
func (x *afresh) add(ctx context.Context, s [3]span) error {
	cr := &x.r.calls[x.f.k]
	a := &cr.afresh
	if cr.shrinks || a.cur == nil {
		sorts := a.sorts
		a.release(x.r)
		a.done, a.sorts = s[0].from, sorts
		var err error
		if a.cur, err = x.f.fresh(); err != nil {
			return err
		}
		a.cur.Resize(1)
		if !cr.shrinks {
			a.grown = agg.NewGrowing(a.cur)
		}
	}
	for k, rest := range s {
		if k == 0 {
			rest.from, a.done = a.done, max(rest.to, a.done)
		}
		for rest.from < rest.to {
			n := min(rest.to-rest.from, updateRows)
			if int64(len(x.zeros)) < n {
				x.zeros = make([]uint32, n)
			}
			if err := x.r.update(ctx, x.f, a.cur, x.zeros[:n], rest.from); err != nil {
				return err
			}
			rest.from += n
		}
	}
	was := a.held - a.kept
	if h, ok := a.cur.(agg.Holistic); ok {
		if err := a.hold(ctx, x.r, max(h.Need(0, 1, false)-a.kept, 0)); err != nil {
			return err
		}
	}
	var err error
	if a.grown != nil {
		a.last, err = a.grown.Result()
		a.kept = a.grown.Held()
	} else if arr, e := a.cur.Results(0, 1); e != nil {
		err = e
	} else {
		a.last = types.DatumAt(x.f.item.Call.Typ, arr, 0)
	}
	x.r.w.acct.Shrink(a.held - was - a.kept)
	a.held = was + a.kept
	return err
}

// slideTo changes the state to that of frame s, by adding and removing rows.
func (x *afresh) slideTo(ctx context.Context, s span) error {
	a := &x.r.calls[x.f.k].afresh
	if a.slide == nil || s.from < a.from || s.to < a.done {
		a.release(x.r)
		a.slide = newSliding(x.f.item.Call)
		a.from, a.done = s.from, s.from
	}
	a.slide.Pop(int(min(s.from, a.done) - a.from))
	a.from, a.done = s.from, max(s.from, a.done)
	for a.done < s.to {
		n := min(s.to-a.done, updateRows)
		if need := a.slide.Bytes() + n*slidingRow; need > a.held {
			if err := a.hold(ctx, x.r, need+need/8-a.held); err != nil {
				return err
			}
		}
		if err := x.r.each(ctx, x.f, span{a.done, a.done + n}, func(args []arrow.Array, s span) error {
			a.slide.Push(args, int(s.from), int(s.to))
			return nil
		}); err != nil {
			return err
		}
		a.done += n
	}
	a.last = a.slide.Result()
	return nil
}

// write makes the value of a frame in memory of its exact size, after measuring its rows.
func (x *afresh) write(ctx context.Context, s span) error {
	a := &x.r.calls[x.f.k].afresh
	out := agg.NewWritten(x.f.item.Call, x.f.env)
	if err := x.r.each(ctx, x.f, s, func(args []arrow.Array, s span) error { return out.Measure(args, int(s.from), int(s.to)) }); err != nil {
		return err
	}
	size, err := out.Size()
	if err != nil {
		return err
	}
	if err := a.hold(ctx, x.r, size); err != nil {
		return err
	}
	if err := x.r.each(ctx, x.f, s, func(args []arrow.Array, s span) error { return out.Write(args, int(s.from), int(s.to)) }); err != nil {
		return err
	}
	value := out.Value()
	if batch.ArrayBytes(value) > longValues {
		a.long = value
	} else {
		a.last = types.DatumAt(x.f.item.Call.Typ, value, 0)
	}
	return nil
}

// sorted computes the value of a frame of all rows of a file by sorting them.
func (x *afresh) sorted(ctx context.Context, s agg.Sortable) (types.Datum, error) {
	acct := x.r.w.rt.Pool.Account("window", false)
	defer acct.Close()
	of := fold.Groups{Runtime: x.r.w.rt, Stats: x.r.w.st, Account: acct, Agg: s, Call: x.f.item.Call, N: 1}
	c, at := 0, -1
	var part agg.Sortable // the state of a chunk's rows
	var out types.Datum
	err := of.Results(ctx, func(ctx context.Context) (int, []byte, error) {
		for ; at < 0; c++ {
			if c == len(x.r.chunks) {
				return 0, nil, io.EOF
			}
			_, known, err := x.r.knownOf(ctx, x.f, c)
			if err != nil {
				return 0, nil, err
			}
			one, err := x.f.fresh()
			if err != nil {
				return 0, nil, err
			}
			part, at = one.(agg.Sortable), 0
			one.Resize(1)
			begins := x.r.calls[x.f.k].begins
			if err := one.Update(make([]uint32, begins[c+1]-begins[c]), known.args); err != nil {
				return 0, nil, err
			}
		}
		state, next, err := part.PartialState(0, at, chunkBytes)
		at = next
		return 0, state, err
	}, func(col arrow.Array) (int64, error) {
		out = types.DatumAt(x.f.item.Call.Typ, col, 0)
		return batch.ArrayBytes(col), nil
	})
	return out, err
}
