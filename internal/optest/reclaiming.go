package optest

import (
	"context"
	"io"
	"runtime"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
)

// greedy makes all operators of a statement give way whenever a thread of in is asked for rows: its own
// waits for them then, and those of other threads may wait too, for rows, their readers or each other.
func greedy(rt *op.Runtime, in []op.Operator) []op.Operator {
	for i := range in {
		in[i] = &greedyThread{Operator: in[i], rt: rt}
	}
	return in
}

type greedyThread struct {
	op.Operator
	rt    *op.Runtime
	ended bool
}

// AllowReuse implements op.Reuser.
func (o *greedyThread) AllowReuse() { op.AllowReuse(o.Operator) }

// endTries is how often a thread at its end asks, while the other threads go on to where they wait for it.
const endTries = 500

func (o *greedyThread) Next(ctx context.Context) (*batch.Batch, error) {
	if _, err := o.rt.Pool.ReclaimAll(); err != nil {
		return nil, err
	}
	b, err := o.Operator.Next(ctx)
	if err != io.EOF || o.ended {
		return b, err
	}
	o.ended = true
	for range endTries {
		runtime.Gosched()
		if n, err := o.rt.Pool.ReclaimAll(); n > 0 || err != nil {
			break
		}
	}
	return b, err
}
