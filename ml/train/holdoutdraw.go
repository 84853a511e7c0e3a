package train

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/rows"
)

// drawAll chooses the rows to hold out, by how often rows occur, for each training.
func (r *runner) drawAll(ctx context.Context) ([]*holdout.Holdout, error) {
	share := r.job.holdout(r.in.Rows)
	if !r.job.counts() || share == 0 && r.job.Folds() == 0 {
		return []*holdout.Holdout{{Share: share}}, nil
	}
	c, err := r.counted(ctx)
	if err != nil {
		return nil, err
	}
	return r.holdouts(c), nil
}

// counted returns how often rows occur.
func (r *runner) counted(ctx context.Context) (*holdout.Copies, error) {
	c, err := r.copies(ctx, &copiesTask{})
	if err != nil {
		return nil, err
	}
	rows := c.Unsure()
	switch {
	case r.in.Rescan != nil:
		if len(rows) > 0 || !r.drawn(c, r.job.bands()) {
			return c, r.recount(ctx, c)
		}
	case len(rows) > 0:
		again, err := r.copies(ctx, &copiesTask{Rows: rows})
		if err != nil {
			return nil, err
		}
		c.List = again.List
	}
	return c, nil
}

// copiesTask asks the nodes for the numbers of copies of rows: as they were counted on
// arrival, or, with rows, of exactly these rows.
type copiesTask struct{ Rows []block.RowHash }

func (t *copiesTask) kind() uint8 { return kindCopies }

func (t *copiesTask) Encode(e *canon.E) { canon.Put(e, t) }

func (t *copiesTask) decode(_ *Job, d *canon.D) family.Message { return holdout.DecodeCopies(d) }

func (t *copiesTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, func(a, b *holdout.Copies) { a.Merge(b) })
}

// begin implements body. The copies in leaves are added up.
func (t *copiesTask) begin(w *Worker, p *Part) error {
	err := p.do(w.rows.Copies(t.Rows))
	p.whole = true
	return err
}

// holdouts returns what is held out, for each training.
func (r *runner) holdouts(c *holdout.Copies) (list []*holdout.Holdout) {
	perNode := r.job.rows().CopiesPerNode(r.in.Rescan != nil)
	if n := r.job.Folds(); n > 0 {
		for fold := range n {
			list = append(list, c.Fold(fold, n, perNode))
		}
		return list
	}
	return append(list, c.Holdout(r.job.holdout(r.in.Rows), perNode))
}

// drawn reports whether it is known which of the rows read are held out, from
// statistics divided by a zone.
func (r *runner) drawn(c *holdout.Copies, bands holdout.Bands) bool {
	return !slices.ContainsFunc(r.holdouts(c), func(h *holdout.Holdout) bool { return !bands.Draws(h, c) })
}

// recount reads the query once more, to count the rows that may be frequent; these
// counts then replace those of c.
func (r *runner) recount(ctx context.Context, c *holdout.Copies) error {
	t := &recountTask{Rows: c.Candidates()}
	for _, h := range r.holdouts(c) {
		t.Cuts = append(t.Cuts, h.From, h.Cut)
	}
	if _, err := r.reduce(ctx, t); err != nil {
		return err
	}
	if err := r.in.Rescan(ctx); err != nil {
		return err
	}
	again, err := r.copies(ctx, &copiesTask{Rows: t.Rows})
	if err != nil {
		return err
	}
	if c.List = again.List; !r.drawn(c, holdout.BandsAround(t.Cuts)) {
		return rows.ErrDraw
	}
	return nil
}

// recountTask prepares workers for a reading that takes statistics: those of the given
// rows separately, those of others by where the draw may be cut.
type recountTask struct {
	Rows []block.RowHash
	Cuts []int
}

func (t *recountTask) kind() uint8 { return kindRecount }

func (t *recountTask) Encode(e *canon.E) { canon.Put(e, t) }

func (t *recountTask) decode(_ *Job, d *canon.D) family.Message { return holdout.DecodeCopies(d) }

func (t *recountTask) merge(j *Job, left, right family.Message) (family.Message, error) {
	return (&copiesTask{}).merge(j, left, right)
}

// begin implements body.
func (t *recountTask) begin(w *Worker, p *Part) error {
	return w.reread(p, &holdout.Copies{}, func(r *rows.Reread) error { return r.Recount(t.Rows, t.Cuts) })
}

// copies counts the copies of rows on all nodes.
func (r *runner) copies(ctx context.Context, t *copiesTask) (*holdout.Copies, error) {
	return reduceTo[*holdout.Copies](ctx, r.red, t)
}
