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
	Lanes     int
	BatchSize int        // rows aimed at in a batch; 0 is batch.DefaultSize
	Pool      *mem.Pool  // the statement's
	Spill     *spill.Dir // the statement's
}

// Rows is the batch size.
func (rt *Runtime) Rows() int {
	if rt.BatchSize <= 0 {
		return batch.DefaultSize
	}
	return rt.BatchSize
}

// refused tells whether err is acct's own budget speaking, so that its
// operator can help itself by spilling.
func refused(err error, acct *mem.Account) bool {
	var b *mem.BudgetError
	return errors.As(err, &b) && b.Account == acct
}

// lanes makes the operators of all lanes.
func lanes[T Operator](rt *Runtime, make func(lane int) T) []Operator {
	out := []Operator{}
	for i := 0; i < rt.Lanes; i++ {
		out = append(out, make(i))
	}
	return out
}

// openAll opens inputs in order.
func openAll(ctx context.Context, in ...Operator) error {
	for _, o := range in {
		if err := o.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes all inputs, whatever the errors.
func closeAll(in ...Operator) error {
	var all error
	for _, o := range in {
		all = errors.Join(all, o.Close())
	}
	return all
}

// drain calls f with every batch of in that has rows.
func drain(ctx context.Context, in Operator, f func(*batch.Batch) error) error {
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

func isEOF(err error) bool { return err == io.EOF }
