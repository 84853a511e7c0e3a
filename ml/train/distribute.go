package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Distribution says where the rows of a job are.
type Distribution struct {
	Rows   int64 // of the query, over all workers
	Rescan bool  // not all workers can hold their rows: the query must be read once more
	job    *Job
	red    Reducer
	owners []int // of the leaves; nil in place
}

// Distribute brings rows, when the query has been read, to the workers that own their
// leaves, unless they will be read again. Each step is a task, like those of Run; what
// needs no answer waits for the next one. first is added to the numbers of the owners, for
// copies of the same rows to have others.
func Distribute(ctx context.Context, job *Job, red Reducer, workers, first int) (*Distribution, error) {
	f, err := reduceTo[*finished](ctx, red, &finishTask{})
	if err != nil {
		return nil, err
	}
	d := &Distribution{Rescan: f.Short, job: job, red: red}
	for _, n := range f.Buckets {
		d.Rows += n
	}
	d.owners = job.rows().Place(job.Leaves(f.Buckets), workers)
	for i, w := range d.owners {
		d.owners[i] = (w + first) % workers
	}
	if d.Rescan {
		return d, d.reduce(ctx, &sendTask{d.owners, true})
	}
	return d, d.AfterReading(ctx)
}

// AfterReading ends the distribution when the query has been read: once more, where most rows were
// sent to their owners as they were read. In place each worker divides its own.
func (d *Distribution) AfterReading(ctx context.Context) error {
	if d.owners == nil {
		return nil
	}
	return d.send(ctx)
}

// send has rows sent to their owners, and the copies of frequent ones shared by all leaves.
func (d *Distribution) send(ctx context.Context) error {
	if err := d.reduce(ctx, &sendTask{Owners: d.owners}); err != nil || !d.job.SpreadsCopies(len(d.owners)) {
		return err
	}
	list, err := reduceTo[frequentRows](ctx, d.red, &frequentTask{d.Rows})
	if err != nil || len(list) == 0 {
		return err
	}
	return d.reduce(ctx, &shareTask{d.owners, record.MergeFrequent(list, d.Rows)})
}

func (d *Distribution) reduce(ctx context.Context, b body) error {
	_, err := d.red.Reduce(ctx, Task{body: b})
	return err
}

// finishTask ends a reading of the query.
type finishTask struct{}

// finished is how many rows workers have, by bucket, and whether one cannot hold its own.
type finished struct {
	Buckets []int64
	Short   bool
}

func (t *finishTask) kind() uint8 { return kindFinish }

func (t *finishTask) Encode(*canon.E) {}

func (t *finishTask) begin(w *Worker, p *Part) error {
	p.ofNode(func(context.Context) (family.Message, error) {
		f := &finished{}
		f.Buckets, f.Short = w.rows.Finish()
		w.due = true // in place they are where they belong
		return f, nil
	})
	return nil
}

// Encode implements family.Message.
func (f *finished) Encode(e *canon.E) { canon.Put(e, f) }

func (t *finishTask) decode(_ *Job, d *canon.D) family.Message {
	f := canon.Get[finished](d)
	if n := len(f.Buckets); n != block.Buckets && n != 1 {
		d.Fail()
	}
	return f
}

func (t *finishTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b *finished) {
		if len(a.Buckets) < len(b.Buckets) {
			a.Buckets, b.Buckets = b.Buckets, a.Buckets
		}
		for i, n := range b.Buckets {
			a.Buckets[i] += n
		}
		a.Short = a.Short || b.Short
	})
}

// sendTask has workers send rows to the owners of their leaves; or, with rescan, drop them:
// the query will be read once more.
type sendTask struct {
	Owners []int
	Rescan bool
}

// done is a partial that only says that a worker is done.
type done struct{}

// Encode implements family.Message.
func (done) Encode(*canon.E) {}

func (t *sendTask) kind() uint8 { return kindSend }

func (t *sendTask) Encode(e *canon.E) { canon.Put(e, t) }

func (t *sendTask) begin(w *Worker, p *Part) error {
	if n := len(t.Owners); n > block.Buckets {
		return pgerr.New(pgerr.DataCorrupted, "a training has %d leaves", n)
	}
	p.ofNode(func(ctx context.Context) (family.Message, error) {
		if t.Rescan {
			again, err := w.rows.ReadAgain(t.Owners)
			if err != nil {
				return nil, err
			}
			w.rows = again
			w.assign(t.Owners)
			return done{}, nil
		}
		d, err := w.distributed()
		if err == nil {
			err = d.Send(ctx, t.Owners)
		}
		w.owners, w.due = t.Owners, true
		return done{}, err
	})
	return nil
}

func (t *sendTask) decode(*Job, *canon.D) family.Message { return done{} }

func (t *sendTask) merge(_ *Job, left, _ family.Message) (family.Message, error) { return left, nil }

// frequentTask asks for the rows that are frequent among so many.
type frequentTask struct{ Total int64 }

// frequentRows are those of some workers.
type frequentRows []record.Frequent

func (t *frequentTask) kind() uint8 { return kindFrequent }

func (t *frequentTask) Encode(e *canon.E) { canon.Put(e, t) }

func (t *frequentTask) begin(w *Worker, p *Part) error {
	p.ofNode(func(context.Context) (family.Message, error) {
		d, err := w.distributed()
		if err != nil {
			return nil, err
		}
		list, err := d.Frequent(t.Total)
		return frequentRows(list), err
	})
	return nil
}

// Encode implements family.Message.
func (f frequentRows) Encode(e *canon.E) { canon.Put(e, &f) }

func (f frequentRows) check(d *canon.D) {
	for _, x := range f {
		if x.N < 0 || x.Held < 0 || x.Held > x.N {
			d.Fail()
		}
	}
}

func (t *frequentTask) decode(_ *Job, d *canon.D) family.Message {
	f := *canon.Get[frequentRows](d)
	f.check(d)
	return f
}

func (t *frequentTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	a, err := as[frequentRows](left)
	if err != nil {
		return nil, err
	}
	b, err := as[frequentRows](right)
	return append(a, b...), err
}

// shareTask has the leaves share the copies of frequent rows.
type shareTask struct {
	Owners   []int
	Frequent frequentRows
}

func (t *shareTask) kind() uint8 { return kindShare }

func (t *shareTask) Encode(e *canon.E) { canon.Put(e, t) }

func (t *shareTask) decode(*Job, *canon.D) family.Message { return done{} }

func (t *shareTask) merge(_ *Job, left, _ family.Message) (family.Message, error) { return left, nil }

func (t *shareTask) begin(w *Worker, p *Part) error {
	p.ofNode(func(context.Context) (family.Message, error) { return done{}, w.share(t.Owners, t.Frequent) })
	return nil
}
