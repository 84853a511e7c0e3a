package op

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// RecursiveConfig is a WITH RECURSIVE. Init and Step make the operators of the
// two sides, of one lane; Step's read the last round's rows from working. Close,
// if not nil, is called when all is done.
type RecursiveConfig struct {
	Types []types.Type
	All   bool
	Init  func(ctx context.Context) (Operator, error)
	Step  func(ctx context.Context, working *Buffer) (Operator, error)
	Close func()
}

// NewRecursive gives the rows of Init, then those of Step over them, over
// those, and so on until a round gives none. It runs in lane 0.
//
//	Init ─► round 0 ─► out        without All, rows seen before are dropped
//	        │    ▲
//	        ▼    │
//	      Step ──┘ round 1, 2, …
func NewRecursive(rt *Runtime, st *Stats, cfg RecursiveConfig) []Operator {
	return lanes(rt, func(i int) *recursive { return &recursive{rt: rt, st: st, cfg: cfg, lane: i} })
}

type recursive struct {
	rt   *Runtime
	st   *Stats
	cfg  RecursiveConfig
	lane int

	in      Operator
	small   smallBatches // of in: rows that seen asks the disk for come apart from their batch, in every round
	working *Buffer      // what Step reads
	fresh   *Buffer      // what this round gives
	seen    *seenRows
	out     []*batch.Batch // given by seen, to be passed on
	ended   bool           // in has no more
	done    bool
	closed  bool
}

func (o *recursive) Open(context.Context) error { return nil }

func (o *recursive) Next(ctx context.Context) (*batch.Batch, error) {
	if o.lane > 0 {
		return nil, io.EOF
	}
	for !o.done {
		if o.in == nil {
			if err := o.begin(ctx); err != nil {
				return nil, err
			}
		}
		b, err := o.next(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			if err := o.round(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if b.N == 0 {
			continue
		}
		if err := o.fresh.Append(ctx, b); err != nil {
			return nil, err
		}
		return b, nil
	}
	return nil, io.EOF
}

// next gives rows of this round that were not there before, nil at its end.
func (o *recursive) next(ctx context.Context) (*batch.Batch, error) {
	if o.seen != nil && len(o.out) == 0 && (o.seen.full() || o.ended && o.seen.waits()) {
		var err error
		if o.out, err = o.seen.settle(ctx); err != nil {
			return nil, err
		}
	}
	if len(o.out) > 0 {
		b := o.out[0]
		o.out = o.out[1:]
		return b, nil
	}
	if o.ended {
		return nil, nil
	}
	b, err := o.small.next(func() (*batch.Batch, error) { return o.in.Next(ctx) })
	if err == io.EOF {
		o.ended = true
		return o.next(ctx)
	}
	if err != nil {
		return nil, err
	}
	if b = kernel.Compact(b); o.seen != nil {
		return o.seen.fresh(ctx, b)
	}
	return b, nil
}

func (o *recursive) begin(ctx context.Context) error {
	if !o.cfg.All {
		o.seen = newSeenRows(o.rt, o.st, o.cfg.Types)
	}
	o.fresh = NewBuffer(o.rt, o.cfg.Types)
	in, err := o.cfg.Init(ctx)
	if err != nil {
		return err
	}
	o.in, o.small = in, smallBatches{types: o.cfg.Types}
	return in.Open(ctx)
}

// round ends a round and begins the next, if this one gave rows.
func (o *recursive) round(ctx context.Context) error {
	if err := o.in.Close(); err != nil {
		return err
	}
	if o.working != nil {
		o.working.Close()
	}
	if err := o.fresh.Seal(ctx); err != nil {
		return err
	}
	o.working, o.fresh, o.ended = o.fresh, nil, false
	if o.working.Rows() == 0 {
		o.done = true
		return nil
	}
	o.fresh = NewBuffer(o.rt, o.cfg.Types)
	in, err := o.cfg.Step(ctx, o.working)
	if err != nil {
		return err
	}
	o.in, o.small = in, smallBatches{types: o.cfg.Types}
	return in.Open(ctx)
}

func (o *recursive) Close() error {
	if o.closed {
		return nil
	}
	o.done, o.closed = true, true
	var err error
	if o.in != nil {
		err = o.in.Close()
	}
	for _, b := range []*Buffer{o.working, o.fresh} {
		if b != nil {
			b.Close()
		}
	}
	if o.seen != nil {
		o.seen.close()
	}
	if o.cfg.Close != nil && o.lane == 0 {
		o.cfg.Close()
	}
	return err
}
