package train

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Local is a Reducer over workers in one process, which stand for a single node or several. Worker
// i has number i.
type Local struct {
	Workers []*Worker
	Rescan  bool // set by Distribute: the rows must be read a second time
	rows    int64
	owners  []int
}

// Distribute counts the rows, places the leaves in ranges and sends rows to the owners of their
// leaves. It returns the number of rows. If rows must be read a second time nothing is sent.
func (l *Local) Distribute(ctx context.Context) (int64, error) {
	ids := make([]int, len(l.Workers))
	buckets := make([]int64, block.Buckets)
	var total int64
	job := l.Workers[0].job
	for i, w := range l.Workers {
		ids[i] = i
		counts, short := w.Finish()
		for b, c := range counts {
			total += c
			buckets[b] += c
		}
		l.Rescan = short || l.Rescan
	}
	l.rows = total
	if job.InPlace() {
		return total, l.assign(nil, nil, l.Rescan)
	}
	l.owners = reduce.Place(job.Leaves(buckets), ids)
	if l.Rescan {
		return total, l.assign(l.owners, nil, true)
	}
	return total, l.DistributeTo(ctx, l.owners)
}

// DistributeRescan completes the second reading.
func (l *Local) DistributeRescan() error {
	if l.Workers[0].job.InPlace() {
		return nil
	}
	for _, w := range l.Workers {
		if err := distributed(w).Sent(); err != nil {
			return err
		}
	}
	return l.spread(l.rows, l.owners)
}

// DistributeTo sends rows to the given owners of the leaves.
func (l *Local) DistributeTo(ctx context.Context, owners []int) error {
	var total int64
	for _, w := range l.Workers {
		counts, _ := w.Finish()
		for _, n := range counts {
			total += n
		}
	}
	for leaf, owner := range owners {
		from, to := record.LeafBuckets(leaf, len(owners))
		for i, w := range l.Workers {
			if err := ctx.Err(); err != nil {
				return err
			}
			for b := from; b < to && i != owner; b++ {
				if err := distributed(w).TakeBucket(b, func(rows []byte) error { return distributed(l.Workers[owner]).Put(b, rows) }); err != nil {
					return err
				}
			}
		}
	}
	return l.spread(total, owners)
}

// spread divides the copies of common rows among all leaves, and assigns the leaves to owners.
func (l *Local) spread(total int64, owners []int) error {
	var common []record.Frequent
	if l.Workers[0].job.Spreads(len(owners)) {
		for _, w := range l.Workers {
			some, err := distributed(w).Frequent(total)
			if err != nil {
				return err
			}
			common = append(common, some...)
		}
	}
	return l.assign(owners, record.MergeFrequent(common, total), false)
}

func (l *Local) assign(owners []int, common []record.Frequent, rescan bool) error {
	for _, w := range l.Workers {
		if err := w.Assign(owners, rescan, common); err != nil {
			return err
		}
	}
	return nil
}

func distributed(w *Worker) rows.Distributed {
	d, err := w.Distributed()
	if err != nil {
		panic(err)
	}
	return d
}

// Home implements Reducer.
func (l *Local) Home() *family.Node { return l.Workers[0].Home() }

// Reduce implements Reducer.
func (l *Local) Reduce(ctx context.Context, t Task) (family.Message, error) {
	parts := make([]*Part, len(l.Workers))
	for i, w := range l.Workers {
		p, err := w.Begin(t, func(ctx context.Context, s *Shipment) error {
			return parts[s.To].Offer(ctx, s.Slice, s.Node, s.Data)
		})
		if err != nil {
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
