package task

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Router sends a thread's rows to the tasks that read them. It is for one
// goroutine.
//
//	Gather     all to task 0
//	HashBy     each row by the hash of its keys, equal keys to the same task
//	Broadcast  every row to every task; what waits, waits in the first one's place
//	Spread     batches in turn
type Router struct {
	w     op.ExchangeWriter
	kind  plan.ExchangeKind
	types []types.Type
	keys  []op.Item
	h     *kernel.Hasher
	rows  int
	most  int64 // bytes that wait for one task
	turn  *atomic.Int64
	hash  []uint64
	order []int32 // the rows of all destinations
	next  []int   // by destination: the place in order of its next row
	dests []dest
}

// dest is what waits to be sent to a task.
type dest struct {
	rows  []int32
	pend  []*batch.Batch
	n     int
	bytes int64
}

// What waits is of all tasks at most waitBytes, which a statement is charged for each of its
// threads, and a batch each: of rows of 64 KiB a batch would be half a gigabyte for each task.
// With many tasks leastBytes make a message worth its while.
const (
	waitBytes  = 2 << 20
	leastBytes = 64 << 10
)

// NewRouter makes a thread's router. ts are the columns' types; keys, for HashBy,
// are computed over the columns. rows is the size of batches aimed at, turn is
// shared by the threads of a task.
func NewRouter(w op.ExchangeWriter, kind plan.ExchangeKind, ts []types.Type, keys []op.Item, keyTypes []types.Type, rows int, turn *atomic.Int64) *Router {
	most := int64(waitBytes)
	if kind != plan.Broadcast { // of which all waits in one place
		most = max(most/int64(w.Dests()), leastBytes)
	}
	return &Router{w: w, kind: kind, types: ts, keys: keys, h: kernel.NewHasher(keyTypes), rows: rows, most: most, turn: turn, next: make([]int, w.Dests()), dests: make([]dest, w.Dests())}
}

// Send sends the rows of b, or keeps them until there are enough.
func (r *Router) Send(ctx context.Context, b *batch.Batch) error {
	if b.Rows() == 0 {
		return nil
	}
	switch r.kind {
	case plan.Gather:
		return r.w.Send(ctx, 0, kernel.Compact(b))
	case plan.Broadcast:
		return r.toAll(ctx, b)
	case plan.Spread:
		d := int((r.turn.Add(1) - 1) % int64(len(r.dests)))
		return r.w.Send(ctx, d, kernel.Compact(b))
	}
	if len(r.dests) == 1 {
		return r.w.Send(ctx, 0, kernel.Compact(b))
	}
	return r.byHash(ctx, b)
}

// toAll sends to every task, small batches together: whoever wants all of the rows does
// nothing with the first.
func (r *Router) toAll(ctx context.Context, b *batch.Batch) error {
	return r.wait(ctx, 0, kernel.Compact(b))
}

// wait adds b to what waits to be sent to a task, and sends it when there is enough.
func (r *Router) wait(ctx context.Context, to int, b *batch.Batch) error {
	d := &r.dests[to]
	// Not more than a batch at once: receivers keep batches as chunks.
	if d.n > 0 && d.n+b.N > r.rows {
		if err := r.flush(ctx, to); err != nil {
			return err
		}
	}
	d.pend = append(d.pend, b)
	d.n += b.N
	if d.bytes += b.Bytes(); d.n < r.rows && d.bytes < r.most {
		return nil
	}
	return r.flush(ctx, to)
}

func (r *Router) byHash(ctx context.Context, b *batch.Batch) error {
	keys := make([]arrow.Array, len(r.keys))
	for i, k := range r.keys {
		var err error
		switch {
		case k.Program != nil:
			keys[i], err = k.Program.EvalScratch(ctx, b)
		case b.Sel != nil:
			keys[i] = kernel.Take(b.Cols[k.Col], b.Sel)
		default:
			keys[i] = b.Cols[k.Col]
		}
		if err != nil {
			return err
		}
	}
	n := b.Rows()
	r.hash = r.h.Hash(keys, n, r.hash)
	r.divide(b.Sel, n)
	for i := range r.dests {
		d := &r.dests[i]
		if len(d.rows) == 0 {
			continue
		}
		cols := make([]arrow.Array, len(b.Cols))
		for c, col := range b.Cols {
			cols[c] = kernel.Take(col, d.rows)
		}
		if err := r.wait(ctx, i, batch.New(cols, len(d.rows))); err != nil {
			return err
		}
	}
	return nil
}

// divide lists the rows of each destination, by the hashes of n rows, which sel are, nil: all.
// The lists lie one after the other: they are counted first, for to append to one of several
// lists takes longer than the hash does.
func (r *Router) divide(sel []int32, n int) {
	clear(r.next)
	for _, h := range r.hash {
		r.next[kernel.Dest(h, len(r.next))]++
	}
	if cap(r.order) < n {
		r.order = make([]int32, n)
	}
	order, from := r.order[:n], 0
	for d, k := range r.next {
		r.dests[d].rows = order[from : from+k]
		r.next[d] = from
		from += k
	}
	for i, h := range r.hash {
		at := int32(i)
		if sel != nil {
			at = sel[i]
		}
		next := &r.next[kernel.Dest(h, len(r.next))]
		order[*next] = at
		*next++
	}
}

func (r *Router) flush(ctx context.Context, i int) error {
	d := &r.dests[i]
	if d.n == 0 {
		return nil
	}
	b := rowset.Concat(r.types, d.pend)
	d.pend, d.n, d.bytes = nil, 0, 0
	if r.kind != plan.Broadcast {
		return r.w.Send(ctx, i, b)
	}
	for _, c := range b.Cols {
		types.Shareable(c) // all of the tasks share it
	}
	for to := range r.dests {
		if err := r.w.Send(ctx, to, b); err != nil {
			return err
		}
	}
	return nil
}

// Flush sends what waits.
func (r *Router) Flush(ctx context.Context) error {
	for i := range r.dests {
		if err := r.flush(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
