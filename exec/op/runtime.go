package op

import (
	"context"
	"errors"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
)

// Runtime is what all operators of one task share.
type Runtime struct {
	Threads   int
	BatchSize int        // rows aimed at in a batch; 0 is batch.DefaultSize
	Pool      *mem.Pool  // the statement's
	Spill     *spill.Dir // the statement's
}

// Rows returns the batch size.
func (rt *Runtime) Rows() int {
	if rt.BatchSize <= 0 {
		return batch.DefaultSize
	}
	return rt.BatchSize
}

// PartitionBuffer returns how many bytes of rows a thread gathers before it writes them to
// partitions.
func (rt *Runtime) PartitionBuffer() int64 {
	return min(16<<20, max(256<<10, rt.Pool.Limit()/int64(16*rt.Threads)))
}

// Instances makes an operator's instances, one a thread, in the threads' order.
func Instances[T Operator](rt *Runtime, make func(thread int) T) []Operator {
	out := []Operator{}
	for i := 0; i < rt.Threads; i++ {
		out = append(out, make(i))
	}
	return out
}

// OpenAll opens inputs in order.
func OpenAll(ctx context.Context, in ...Operator) error {
	for _, o := range in {
		if err := o.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// CloseAll closes all inputs, whatever the errors.
func CloseAll(in ...Operator) error {
	var all error
	for _, o := range in {
		all = errors.Join(all, o.Close())
	}
	return all
}

// Drain calls f with every batch of in that has rows.
func Drain(ctx context.Context, in Operator, f func(*batch.Batch) error) error {
	for {
		b, err := in.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		if err := f(b); err != nil {
			return err
		}
	}
}
