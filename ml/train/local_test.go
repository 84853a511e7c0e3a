package train

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Local is a Reducer over workers in one process, which stand for a single node or several. Worker
// i has number i.
type Local struct {
	Workers []*Worker
	lanes   *atomic.Int64
	first   int
	Rescan  bool // set by Distribute: the rows must be read a second time
	*Distribution
}

// Distribute counts the rows, places the leaves in ranges and sends rows to the owners of their
// leaves. It returns the number of rows. If rows must be read a second time nothing is sent.
func (l *Local) Distribute(ctx context.Context) (rows int64, err error) {
	if l.Distribution, err = Distribute(ctx, l.Workers[0].job, l, len(l.Workers), l.first); err == nil {
		rows, l.Rescan = l.Rows, l.Distribution.Rescan
	}
	return rows, err
}

// DistributeTo sends rows to the given owners of the leaves.
func (l *Local) DistributeTo(ctx context.Context, total int64, owners []int) error {
	return (&Distribution{Rows: total, job: l.Workers[0].job, red: l, owners: owners}).send(ctx)
}

// sender is a WorkerConfig's Send among the workers.
func (l *Local) sender(_ context.Context, to int, each func(put func(rows []byte) error) error) error {
	return each(l.Workers[to].Put)
}

// Home implements Reducer.
func (l *Local) Home() *family.Node { return l.Workers[0].Home() }

// Lane implements Laned.
func (l *Local) Lane(lane int) Reducer { return &localLane{l, lane} }

type localLane struct {
	*Local
	lane int
}

// Home implements Reducer.
func (l *localLane) Home() *family.Node { return l.Workers[0].Lane(l.lane).Home() }

// Reduce implements Reducer.
func (l *localLane) Reduce(ctx context.Context, t Task) (family.Message, error) {
	t.Iter = InLane(l.lane, 0)
	for l.lanes != nil {
		if was := l.lanes.Load(); was >= int64(l.lane) || l.lanes.CompareAndSwap(was, int64(l.lane)) {
			break
		}
	}
	return l.Local.Reduce(ctx, t)
}

// Reduce implements Reducer.
func (l *Local) Reduce(ctx context.Context, t Task) (family.Message, error) {
	parts := make([]*Part, len(l.Workers))
	for i, w := range l.Workers {
		p, err := w.Begin(t, func(ctx context.Context, s *Shipment) error {
			return parts[s.To].Offer(ctx, s.Slice, s.Node, s.Data)
		})
		if err != nil {
			ended, end := context.WithCancel(ctx)
			end()
			for _, begun := range parts[:i] {
				_ = begun.Run(ended)
			}
			return nil, err
		}
		parts[i] = p
	}
	var g errgroup.Group
	for _, p := range parts {
		g.Go(func() error { return p.Run(ctx) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return result(parts[0])
}

// result returns the result of a reduction that has ended.
func result(first *Part) (family.Message, error) {
	m, err := first.Result()
	if err == nil && m == nil {
		err = pgerr.Internal("a training task gave no result")
	}
	return m, err
}

// Close closes the workers.
func (l *Local) Close() error {
	var first error
	for _, w := range l.Workers {
		if err := w.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
