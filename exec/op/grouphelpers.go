package op

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
)

// groupHelpers are goroutines that train groups for the one thread that gets all rows. They take whole groups; one
// that is longer than a few batches stays with the thread.
//
//	rows   a a a b b c | c c c c d e e | e …
//	units  a b ───────▶   c d ───────▶   e …       to a helper that waits, or else the thread trains them
type groupHelpers struct {
	o       *trainGroups
	g       *errgroup.Group
	ctx     context.Context // ends with the first error of a helper
	cancel  context.CancelFunc
	units   chan groupUnit
	closed  bool
	runs    []*groupRun
	pending groupUnit // the rows of the last group so far
	key     []byte    // of these
}

// groupUnit is rows of whole groups.
type groupUnit struct {
	batches []*batch.Batch
	rows    int
	bytes   int64
}

// longGroup is the number of rows from which a group is not handed over.
const longGroup = 4 * batch.DefaultSize

func newGroupHelpers(ctx context.Context, o *trainGroups) *groupHelpers {
	h := &groupHelpers{o: o, units: make(chan groupUnit)}
	ctx, h.cancel = context.WithCancel(ctx)
	h.g, h.ctx = errgroup.WithContext(ctx)
	for range o.rt.Threads - 1 {
		r := o.newRun()
		h.runs = append(h.runs, r)
		h.g.Go(func() error {
			return Guard("training of groups", func() error {
				for u := range h.units {
					if err := h.train(h.ctx, r, u); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return h
}

// train trains the groups of a unit.
func (h *groupHelpers) train(ctx context.Context, r *groupRun, u groupUnit) error {
	defer h.o.charge(-u.bytes)
	var keys kernel.Keys
	for _, b := range u.batches {
		r.keysOf(&keys, b)
		for at := 0; at < b.N; {
			var err error
			if at, err = r.group(ctx, b, &keys, at); err != nil {
				return err
			}
		}
	}
	return r.end(ctx)
}

// hand gives a unit to a helper that waits for one, or trains it here.
func (h *groupHelpers) hand(ctx context.Context, u groupUnit) error {
	if u.rows == 0 {
		return nil
	}
	select {
	case h.units <- u:
		return nil
	case <-h.ctx.Done():
		h.o.charge(-u.bytes)
		return errors.Join(h.wait(), ctx.Err())
	default:
		return h.train(ctx, h.o.own, u)
	}
}

// add adds rows of the batch being read to a unit.
func (h *groupHelpers) add(u *groupUnit, from, to int) {
	if from == to {
		return
	}
	b := h.o.rows.Slice(from, to)
	n := h.o.rows.Bytes() * int64(to-from) / int64(h.o.rows.N)
	h.o.charge(n)
	u.batches, u.rows, u.bytes = append(u.batches, b), u.rows+to-from, u.bytes+n
}

// share hands over what the batch has of whole groups.
func (h *groupHelpers) share(ctx context.Context) (err error) {
	o := h.o
	first := o.keys.At(o.at)
	if o.own.open != nil { // a long group
		if o.own.continues(first) {
			o.at, err = o.own.group(ctx, o.rows, &o.keys, o.at)
			return err
		}
		return o.own.end(ctx)
	}
	last := o.rows.N - 1
	for last > o.at && string(o.keys.At(last-1)) == string(o.keys.At(o.rows.N-1)) {
		last--
	}
	u := h.pending
	if last > o.at || string(first) != string(h.key) {
		h.pending = groupUnit{}
		h.add(&u, o.at, last)
		h.key = append(h.key[:0], o.keys.At(last)...)
		h.add(&h.pending, last, o.rows.N)
		o.at = o.rows.N
		return h.hand(ctx, u)
	}
	h.add(&h.pending, o.at, o.rows.N)
	o.at = o.rows.N
	if h.pending.rows <= longGroup {
		return nil
	}
	u, h.pending = h.pending, groupUnit{}
	defer o.charge(-u.bytes)
	for _, b := range u.batches { // all of one group, which is left open
		o.own.keysOf(&o.keys, b)
		if _, err := o.own.group(ctx, b, &o.keys, 0); err != nil {
			return err
		}
	}
	return nil
}

// finish trains what is left and waits for the helpers.
func (h *groupHelpers) finish(ctx context.Context) error {
	if err := h.o.own.end(ctx); err != nil {
		return err
	}
	u := h.pending
	h.pending = groupUnit{}
	if err := h.hand(ctx, u); err != nil {
		return err
	}
	return h.wait()
}

// wait ends the helpers and returns the first error of one.
func (h *groupHelpers) wait() error {
	if !h.closed {
		h.closed = true
		close(h.units)
	}
	return h.g.Wait()
}

// close stops the helpers. It may be called twice.
func (h *groupHelpers) close() error {
	h.cancel()
	_ = h.wait() // the error was returned, or the operator is closed before its end
	var all []error
	for _, r := range h.runs {
		all = append(all, r.close())
	}
	h.o.charge(-h.pending.bytes)
	h.pending = groupUnit{}
	return errors.Join(all...)
}
