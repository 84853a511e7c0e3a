package train

import (
	"context"

	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/profiling"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// profileTask counts the values of the features of the training rows. Its sums are of whole rows.
type profileTask struct{ centers []float64 }

func (t *profileTask) kind() uint8 { return kindProfile }

func (t *profileTask) Encode(e *canon.E) { e.F64s(t.centers) }

func (t *profileTask) begin(w *Worker, p *Part) (err error) {
	if w.fitted == nil {
		return pgerr.Internal("a training task to describe the rows came before one to encode")
	}
	f, _ := w.job.learns(w.fitted)
	p.whole = true
	p.work = func() (taskPass, error) {
		d := profiling.NewDrafter(f, t.centers)
		if d == nil {
			return nil, pgerr.Internal("a training task describes rows of other features")
		}
		return &profilePass{w, d}, nil
	}
	p.threads, err = w.room(profiling.DraftBytes(f), 0, len(w.leaves), w.cfg.Threads, true)
	return err
}

func (t *profileTask) decode(j *Job, d *canon.D) family.Message { return profiling.DecodeDraft(d) }

func (t *profileTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, profiling.MergeDrafts)
}

// profilePass counts the values of the leaves that one goroutine takes.
type profilePass struct {
	w *Worker
	d *profiling.Drafter
}

func (h *profilePass) do(ctx context.Context, it *item) (family.Message, error) {
	b, release, err := h.w.blocks.Open(blockOf(family.Rows{Leaf: it.leaf}))
	if err != nil {
		return nil, err
	}
	defer release()
	if b != nil && b.Rows > 0 {
		h.d.Add(b)
	}
	return nil, ctx.Err()
}

func (h *profilePass) rest() family.Message { return h.d.Draft() }

// describe describes the training rows, for a model whose rows are compared with others later: nil where that is not
// asked for, or there is no memory for it.
func describe(ctx context.Context, r *runner) (*profile.Profile, error) {
	if !r.in.Profile || r.fold < r.folds {
		return nil, nil
	}
	if p := r.profiled.Load(); p != nil {
		return p, nil
	}
	centers := profiling.Centers(r.learns, r.job.Spec(), r.stats)
	if len(centers) == 0 {
		return nil, nil
	}
	d, err := reduceTo[*profiling.Draft](ctx, r.red, &profileTask{centers})
	if pgerr.Is(err, pgerr.OutOfMemory) && ctx.Err() == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := profiling.Profile(r.learns, d, centers, r.job.Spec(), r.stats)
	r.profiled.Store(p)
	return p, nil
}
