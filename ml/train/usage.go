package train

import (
	"cmp"
	"context"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/rows"
)

// Usage is what a training has read, moved, written and held on one worker, in
// bytes.
type Usage struct {
	Worker  int
	Read    int64 // of the query's rows that arrived here, in all readings
	Reads   int64 // how often the query was read
	Moved   int64 // of rows that were sent to other workers
	Block   int64 // of the encoded rows
	Before  int64 // written to temporary files before the first step
	Written int64 // in all
	Peak    int64 // charged at most
}

// Total returns the sum over workers, also of peaks, but the maximum of Reads.
func Total(list []Usage) (sum Usage) {
	for _, u := range list {
		sum.Reads = max(sum.Reads, u.Reads)
		sum.Read, sum.Moved, sum.Block = sum.Read+u.Read, sum.Moved+u.Moved, sum.Block+u.Block
		sum.Before, sum.Written, sum.Peak = sum.Before+u.Before, sum.Written+u.Written, sum.Peak+u.Peak
	}
	return sum
}

// begin implements body.
func (t *usageTask) begin(w *Worker, p *Part) error {
	p.ofNode(func(context.Context) (family.Message, error) {
		u := w.rows.Usage()
		if w.taken {
			u = rows.Usage{Encoded: w.earlier}
		}
		return &usages{[]Usage{{w.cfg.Self, w.read.Load(), u.Reads, u.Moved, u.Encoded, w.before, w.Spilled(), w.cfg.Pool.Peak()}}}, nil
	})
	return nil
}

// usageTask asks the workers what they have used.
type usageTask struct{}

func (t *usageTask) kind() uint8 { return kindUsage }

func (t *usageTask) Encode(*canon.E) {}

func (t *usageTask) decode(_ *Job, d *canon.D) family.Message {
	return canon.Get[usages](d)
}

func (t *usageTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b *usages) {
		a.List = append(a.List, b.List...)
		slices.SortFunc(a.List, func(x, y Usage) int { return cmp.Compare(x.Worker, y.Worker) })
	})
}

// usages are those of some workers, in their order.
type usages struct{ List []Usage }

// Encode implements family.Message.
func (u *usages) Encode(e *canon.E) { canon.Put(e, u) }

// usage asks all workers.
func (r *runner) usage(ctx context.Context) ([]Usage, error) {
	u, err := reduceTo[*usages](ctx, r.red, &usageTask{})
	if err != nil {
		return nil, err
	}
	return u.List, nil
}
