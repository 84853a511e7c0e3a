package training

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner"
)

// begin reads what a training starts from: the model that it continues, and the rows that it is given to
// begin with. Their memory, and what a search keeps of its trials, is charged until the function that it returns is called.
func (d *drive) begin(ctx context.Context, in *train.Input) (done func(), err error) {
	acct := d.x.Pool.Account("what a training's driver holds", false)
	defer func() {
		if err != nil {
			acct.Close()
		}
	}()
	in.Hold = func(n int64) error {
		if n < 0 {
			acct.Shrink(-n)
			return nil
		}
		return acct.Grow(n)
	}
	if m := d.state.Model(d.rec.job.Schema, d.rec.job.Model); m != nil && in.Job.WarmStart() && d.rec.job.Verify == 0 {
		d.base = m.Find(0)
	}
	if d.base != nil {
		err := d.j.cfg.Blobs.Read(ctx, d.base.Blob(), func(b []byte) (err error) {
			in.Start, err = model.DecodeWithin(b, acct.Grow)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if d.plan.Given != nil && in.Resume == nil {
		if err := d.readGiven(ctx, in, acct); err != nil {
			return nil, err
		}
	}
	return acct.Close, nil
}

func (d *drive) readGiven(ctx context.Context, in *train.Input, acct *mem.Account) error {
	q, err := d.j.given(ctx, d.x.Caller, d.state, in.Job) // the optimiser changes the tree it is given
	if err != nil {
		return err
	}
	r := d.x.Open(d.state)
	defer r.Close()
	rows, _, err := r.Query(ctx, planner.Once(q), nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := acct.Insist(ctx, b.Bytes()); err != nil {
			return err
		}
		in.Given = append(in.Given, kernel.Compact(b))
	}
}
