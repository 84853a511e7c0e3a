package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
)

// draw chooses the rows to hold out, by how often rows occur.
func (r *runner) draw(ctx context.Context) (*dataset.Holdout, error) {
	share := r.job.holdout(r.in.Rows)
	if share == 0 || !r.job.counts() {
		return &dataset.Holdout{Share: share}, nil
	}
	c, err := r.counted(ctx)
	if err != nil {
		return nil, err
	}
	return r.holdouts(c)[0], nil
}

// counted returns how often rows occur.
func (r *runner) counted(ctx context.Context) (*dataset.Copies, error) {
	c, err := r.copies(ctx, &copiesTask{})
	if err != nil {
		return nil, err
	}
	rows := c.Unsure()
	switch {
	case r.in.Rescan != nil:
		if len(rows) > 0 || !r.drawn(c, r.job.zone()) {
			return c, r.recount(ctx, c)
		}
	case len(rows) > 0:
		again, err := r.copies(ctx, &copiesTask{rows: rows})
		if err != nil {
			return nil, err
		}
		c.List = again.List
	}
	return c, nil
}

func (r *runner) copies(ctx context.Context, t *copiesTask) (*dataset.Copies, error) {
	m, err := r.reduce(ctx, t)
	if err != nil {
		return nil, err
	}
	return as[*dataset.Copies](m)
}

// copiesTask asks the nodes for the numbers of copies of rows: as they were counted on
// arrival, or, with rows, of exactly these rows.
type copiesTask struct{ rows []dataset.RowHash }

func (t *copiesTask) kind() uint8 { return kindCopies }

func (t *copiesTask) Encode(e *canon.E) {
	e.U32(uint32(len(t.rows)))
	for _, h := range t.rows {
		h.Encode(e)
	}
}

func decodeCopies(d *canon.D) *copiesTask {
	t := &copiesTask{}
	for range d.Count(len(dataset.RowHash{})) {
		t.rows = append(t.rows, dataset.DecodeRowHash(d))
	}
	return t
}

func (t *copiesTask) decode(_ *Job, d *canon.D) family.Message { return dataset.DecodeCopies(d) }

func (t *copiesTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	a, err := as[*dataset.Copies](left)
	if err != nil {
		return nil, err
	}
	b, err := as[*dataset.Copies](right)
	if err != nil {
		return nil, err
	}
	a.Merge(b)
	return a, nil
}

// count counts the copies of rows in a leaf.
func (w *Worker) count(t *copiesTask) leafFunc {
	return func(ctx context.Context, leaf int) (family.Message, error) {
		if w.in != nil {
			return w.in.countLeaf(leaf, t.rows)
		}
		var c *dataset.Copies
		return c, w.withLeaf(ctx, leaf, func(_ *dataset.Leaf, v *dataset.View) error {
			c = v.Count(t.rows, w.self)
			return nil
		})
	}
}
