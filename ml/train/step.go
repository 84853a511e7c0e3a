package train

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// begin says how the partials of a step are merged: where each is sent to the first
// worker there is one for each leaf.
func (t *stepTask) begin(w *Worker, p *Part) error {
	p.whole = w.job.Plan.Scope == family.ByNode && !(w.job.Plan.Distributed && w.job.Gathers())
	_, err := w.familyWorker(t)
	return err
}

// passes prepares the passes over a part's items.
func (t *stepTask) passes(w *Worker, p *Part) (err error) {
	pass, partial := w.family.PassBytes(t.step)
	if p.threads, err = w.room(pass, partial, len(p.items), w.cfg.Threads, p.whole); err != nil {
		return err
	}
	w.stepped.Do(func() { w.before = w.Spilled() })
	p.work = func() (taskPass, error) {
		pass, err := w.family.NewPass(t.step)
		return &stepPass{w: w, step: t.step, by: t.by, pass: pass, whole: p.whole}, err
	}
	return nil
}

// stepPass runs a family's step.
type stepPass struct {
	w     *Worker
	step  *family.Step
	by    *targetWeights
	pass  family.Pass
	whole bool
}

func (h *stepPass) do(ctx context.Context, it *item) (family.Message, error) {
	for _, r := range it.rows {
		if err := h.add(ctx, r); err != nil {
			return nil, err
		}
	}
	if h.whole || len(it.rows) == 0 {
		return nil, nil
	}
	return h.pass.Partial(), nil
}

func (h *stepPass) add(ctx context.Context, r family.Rows) error {
	if h.step.Kept {
		return h.pass.Add(ctx, r, nil)
	}
	b, release, err := h.w.blocks.Open(blockOf(r))
	if err != nil || b == nil {
		return err
	}
	defer release()
	if a, ok := h.step.Body.(family.TargetStep); ok {
		var free func()
		if b, free, err = h.by.forTarget(b, a.Target(), h.w.blocks); err != nil {
			return err
		}
		defer free()
	}
	return h.pass.Add(ctx, r, b)
}

func (h *stepPass) rest() family.Message {
	if !h.whole {
		return nil
	}
	return h.pass.Partial()
}

// stepTask is a step of the family. It carries what a Setup needs of the rows, and
// where a mini-batch's rows are.
type stepTask struct {
	rows, held int64
	weight     float64
	by         *targetWeights // of several targets whose classes have weights; else nil
	step       *family.Step
	slices     []block.Slice // of a mini-batch, by leaf
	per        int           // elements of a slice of the partial's vector
}

// sliceElements is the length of a slice of a partial's vector: long enough for a
// message, and short enough for the slices of a vector that is worth it to have
// homes on all nodes. maxSlices bounds them.
const (
	sliceElements = 1 << 15
	maxSlices     = 1 << 24
)

// parts is the number of slices in which partials travel.
func (t *stepTask) parts() int {
	return max(1, (t.step.Elements+t.per-1)/t.per)
}

// Needs reports whether a worker takes part in the task, with leaves of these owners.
// The first one always does: it gets the result.
func (t *Task) Needs(worker int, owners []int) bool {
	s, ok := t.body.(*stepTask)
	if !ok || s.step.Batch == nil || worker == 0 {
		return true
	}
	return slices.ContainsFunc(s.slices, func(x block.Slice) bool { return x.Leaf < len(owners) && owners[x.Leaf] == worker })
}

// Step reports whether the task is a family's step.
func (t *Task) Step() bool {
	_, ok := t.body.(*stepTask)
	return ok
}

func (t *stepTask) kind() uint8 { return kindStep }

func (t *stepTask) Encode(e *canon.E) {
	e.I64(t.rows)
	e.I64(t.held)
	e.F64(t.weight)
	t.by.encode(e)
	e.U8(t.step.Op)
	e.U8(uint8(t.step.Set))
	e.Int(t.step.Elements)
	e.Bool(t.step.Kept)
	e.Int(t.per)
	e.Bool(t.step.Batch != nil)
	if b := t.step.Batch; b != nil {
		e.Int(b.Epoch)
		e.Int(b.Step)
		e.Int(b.Steps)
		e.U32(uint32(len(t.slices)))
		for _, s := range t.slices {
			e.U32(uint32(s.Leaf))
			e.Int(s.From)
			e.Int(s.To)
		}
	}
	e.Bool(t.step.Body != nil)
	if t.step.Body != nil {
		t.step.Body.Encode(e)
	}
}

func decodeStep(j *Job, d *canon.D) *stepTask {
	t := &stepTask{rows: d.I64(), held: d.I64(), weight: d.F64(), by: decodeTargetWeights(j, d), step: &family.Step{Op: d.U8(), Set: family.Set(d.U8()), Elements: d.Int(), Kept: d.Bool()}, per: d.Int()}
	if t.step.Elements < 0 || t.per < 1 || t.step.Elements/t.per >= maxSlices {
		d.Fail()
	}
	if d.Bool() {
		b := &optim.MiniBatch{Epoch: d.Int(), Step: d.Int(), Steps: d.Int()}
		if b.Steps < 1 || b.Step < 0 || b.Step >= b.Steps {
			d.Fail()
		}
		t.step.Batch = b
		last := -1
		for range d.Count(20) {
			s := block.Slice{Leaf: int(d.U32()), From: d.Int(), To: d.Int()}
			if s.Leaf <= last || s.From < 0 || s.From >= s.To || s.From%j.Plan.Unit() != 0 || s.To%j.Plan.Unit() != 0 {
				d.Fail()
			}
			last, t.slices = s.Leaf, append(t.slices, s)
		}
	}
	if d.Bool() {
		t.step.Body = j.Family.DecodeStep(t.step.Op, d)
	}
	return t
}

func (t *stepTask) decode(j *Job, d *canon.D) family.Message {
	return j.Family.DecodePartial(t.step.Op, d)
}

func (t *stepTask) merge(j *Job, left, right family.Message) (family.Message, error) {
	return j.Family.Merge(t.step.Op, left, right)
}

// familyWorker returns the family's part, made by the first step.
func (w *Worker) familyWorker(t *stepTask) (family.Worker, error) {
	switch {
	case w.fitted == nil:
		return nil, pgerr.Internal("a training step came before the rows were encoded")
	case w.family != nil:
		return w.family, nil
	}
	f, _ := w.job.learns(w.fitted)
	s := &family.Setup{Options: w.job.Options, Plan: w.job.Plan, Fitted: f, Seed: w.job.Seed(), Rows: t.rows, Held: t.held, Weight: t.weight}
	if t.by != nil {
		s.Weights = t.by.Sums
	}
	made, err := w.job.Family.NewWorker(s, w.Home())
	if err == nil {
		w.family = made
	}
	return made, err
}
