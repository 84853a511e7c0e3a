package recursive

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is a WITH RECURSIVE. Init and Step make the operators of the
// two sides, of one thread; Step's read the last round's rows from working. Close,
// if not nil, is called when all is done.
type Config struct {
	Types []types.Type
	All   bool
	Init  func(ctx context.Context) (op.Operator, error)
	Step  func(ctx context.Context, working *op.Buffer) (op.Operator, error)
	Close func()
}

// New returns the rows of Init, then those of Step over them, over those, and so on until a round
// returns none. It runs in thread 0.
//
//	Init ─► round 0 ─► out        without All, rows seen before are dropped
//	        │    ▲
//	        ▼    │
//	      Step ──┘ round 1, 2, …
func New(rt *op.Runtime, st *op.Stats, cfg Config) []op.Operator {
	return op.Instances(rt, func(i int) *union { return &union{rt: rt, st: st, cfg: cfg, thread: i} })
}

type union struct {
	rt     *op.Runtime
	st     *op.Stats
	cfg    Config
	thread int

	in       op.Operator
	coalesce op.Coalescer // of in: rows that seen asks the disk for come apart from their batch, in every round
	working  *op.Buffer   // what Step reads
	fresh    *op.Buffer   // rows of this round
	seen     *seenRows
	out      []*batch.Batch // returned by seen, to be passed on
	ended    bool           // in has no more
	done     bool
	closed   bool
}

func (o *union) Open(context.Context) error { return nil }

func (o *union) Next(ctx context.Context) (*batch.Batch, error) {
	if o.thread > 0 {
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

// next returns rows of this round that were not there before, nil at its end.
func (o *union) next(ctx context.Context) (*batch.Batch, error) {
	if o.seen != nil && len(o.out) == 0 && (o.seen.full() || o.ended && o.seen.hasPending()) {
		var err error
		if o.out, err = o.seen.resolve(ctx); err != nil {
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
	b, err := o.coalesce.Next(func() (*batch.Batch, error) { return o.in.Next(ctx) })
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

func (o *union) begin(ctx context.Context) error {
	if !o.cfg.All {
		o.seen = newSeenRows(o.rt, o.st, o.cfg.Types)
	}
	o.fresh = op.NewBuffer(o.rt, o.cfg.Types)
	in, err := o.cfg.Init(ctx)
	if err != nil {
		return err
	}
	o.in, o.coalesce = in, op.Coalescer{Types: o.cfg.Types}
	return in.Open(ctx)
}

// round ends a round and begins the next, if this one had rows.
func (o *union) round(ctx context.Context) error {
	if err := o.in.Close(); err != nil {
		return err
	}
	if o.working != nil {
		o.working.Close()
	}
	if err := o.fresh.Finish(ctx); err != nil {
		return err
	}
	o.working, o.fresh, o.ended = o.fresh, nil, false
	if o.working.Rows() == 0 {
		o.done = true
		return nil
	}
	o.fresh = op.NewBuffer(o.rt, o.cfg.Types)
	in, err := o.cfg.Step(ctx, o.working)
	if err != nil {
		return err
	}
	o.in, o.coalesce = in, op.Coalescer{Types: o.cfg.Types}
	return in.Open(ctx)
}

func (o *union) Close() error {
	if o.closed {
		return nil
	}
	o.done, o.closed = true, true
	var err error
	if o.in != nil {
		err = o.in.Close()
	}
	for _, b := range []*op.Buffer{o.working, o.fresh} {
		if b != nil {
			b.Close()
		}
	}
	if o.seen != nil {
		o.seen.close()
	}
	if o.cfg.Close != nil && o.thread == 0 {
		o.cfg.Close()
	}
	return err
}
