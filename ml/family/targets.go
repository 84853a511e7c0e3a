package family

import (
	"slices"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Several returns a family that learns several targets, each independently as f does,
// one after the other over the same blocks. The engine sets Block.Y to a target's
// values for the steps of that target (TargetStep). With one target it is f.
func Several(f Family, targets []string) Family {
	if len(targets) < 2 {
		return f
	}
	return &several{f, targets}
}

// TargetStep is the body of a step for one of several targets, the first being 0.
type TargetStep interface{ Target() int }

// TargetsPredictor is a Predictor of several targets.
type TargetsPredictor interface {
	// Part returns the predictor of one of them, the first being 0.
	Part(target int) Predictor
}

// Each returns the family of one of several targets.
func Each(f Family) Family {
	if s, ok := f.(*several); ok {
		return s.Family
	}
	return f
}

type several struct {
	Family
	targets []string
}

// Plan implements Family.
func (f *several) Plan(r *Request) (*Plan, error) {
	first, err := f.Family.Plan(r)
	if err != nil || first.Target == NoTarget {
		return first, err
	}
	p := *first
	p.Parts, p.MaxIterations = nil, 0
	for i := range f.targets {
		one := *r
		if one.More = nil; i > 0 {
			one.Target = &r.More[i-1]
		}
		part, err := f.Family.Plan(&one)
		switch {
		case err != nil:
			return nil, err
		case part.Task == TimeToEvent:
			return nil, pgerr.Unsupported("%s models with more than one target column are not supported", f.Info().Name).
				WithDetail("A duration goes with the event that ends it, and the statement names one event.").
				WithHint("Train a model a duration, each with its own event.")
		case part.Task != Regression && part.Task != Classification, !part.alike(first), len(part.Outputs) > 1:
			return nil, pgerr.Unsupported("%s models with more than one target column are not supported", f.Info().Name).
				WithDetail("Several targets are numbers and classes, of families that learn them.").WithHint("Train a model a target.")
		case part.Task != p.Task:
			p.Task = Mixed
		}
		p.MaxIterations += part.MaxIterations
		p.Parts = append(p.Parts, part)
	}
	p.Outputs = []Output{{Name: "predicted"}} // one value for each target: an array, or with classes a row
	if p.Task == Regression {
		p.Outputs[0].Type, _ = types.ArrayOf(types.Float8)
	} else {
		p.Outputs[0].Type = types.Type{OID: types.RecordOID, Mod: -1}
	}
	for i, t := range f.targets {
		out := p.Parts[i].Outputs[0]
		if out.Name = "predicted_" + t; p.Parts[i].Task == Classification {
			if out.Type = r.Target.Type; i > 0 {
				out.Type = r.More[i-1].Type
			}
		}
		p.Outputs = append(p.Outputs, out)
	}
	return &p, nil
}

// alike reports whether trainings of both plans can be over the same blocks.
func (p *Plan) alike(o *Plan) bool {
	return p.Scope == o.Scope && p.Distributed == o.Distributed && p.Standardize == o.Standardize && p.KeepMissing == o.KeepMissing && p.Narrow == o.Narrow &&
		p.Categories == o.Categories && p.Silence == o.Silence &&
		p.Grain == o.Grain && slices.Equal(p.Plain, o.Plain) && p.Time == o.Time && slices.Equal(p.Pair, o.Pair) && p.Identity == o.Identity
}

// setup returns the setup of one of the targets.
func (f *several) setup(s *Setup, target int) *Setup {
	one := *s
	one.Fitted, one.Plan = s.Fitted.ForTarget(target), s.Plan.Parts[target]
	if s.Weights != nil {
		one.Weight, one.Weights = s.Weights[target], nil
	}
	if m, ok := s.Start.(*severalPredictor); ok {
		one.Start = m.parts[target]
	}
	return &one
}

// ofTarget is a step's body with the target it is for.
type ofTarget struct {
	target int
	step   *Step
}

// Target implements TargetStep.
func (a *ofTarget) Target() int { return a.target }

// Encode implements Message.
func (a *ofTarget) Encode(e *canon.E) {
	e.U32(uint32(a.target))
	e.Bool(a.step.Body != nil)
	if a.step.Body != nil {
		a.step.Body.Encode(e)
	}
}

// DecodeStep implements Family.
func (f *several) DecodeStep(op uint8, d *canon.D) Message {
	a := &ofTarget{target: int(d.U32()), step: &Step{Op: op}}
	if a.target >= len(f.targets) {
		d.Fail()
		return a
	}
	if d.Bool() {
		a.step.Body = f.Family.DecodeStep(op, d)
	}
	return a
}

// NewDriver implements Family.
func (f *several) NewDriver(s *Setup, n *Node) (Driver, error) {
	d := &severalDriver{f: f, s: s, node: n, sum: State{Converged: true}}
	return d, d.begin()
}

// severalDriver drives one training for each target.
type severalDriver struct {
	f    *several
	s    *Setup
	node *Node
	held int64 // bytes that the target's driver has charged
	done []Predictor
	sum  State   // of the trainings that are done
	loss float64 // the sum of theirs
	now  Driver
	next *Step
}

func (d *severalDriver) begin() (err error) {
	_ = d.node.Grow(-d.held) // giving back cannot fail
	d.held = 0
	node := *d.node
	node.Grow = func(n int64) error {
		err := d.node.Grow(n)
		if err == nil {
			d.held += n
		}
		return err
	}
	d.now, err = d.f.Family.NewDriver(d.f.setup(d.s, len(d.done)), &node)
	return err
}

// Next implements Driver.
func (d *severalDriver) Next() *Step {
	if d.next == nil {
		s := d.now.Next()
		d.next = &Step{Op: s.Op, Set: s.Set, Batch: s.Batch, Body: &ofTarget{len(d.done), s}}
	}
	return d.next
}

// Tell implements Driver.
func (d *severalDriver) Tell(m Message) error {
	d.next = nil
	if err := d.now.Tell(m); err != nil {
		return err
	}
	st := d.now.State()
	if !st.Done {
		return nil
	}
	p, err := d.now.Predictor()
	if err != nil {
		return err
	}
	if err := d.node.Grow(p.Bytes()); err != nil {
		return err
	}
	d.done = append(d.done, p)
	d.loss += st.TrainLoss
	if d.sum.Converged || !st.Converged {
		d.sum.Stopped = st.Stopped
	}
	d.sum.Iteration, d.sum.Evals, d.sum.Converged = d.sum.Iteration+st.Iteration, d.sum.Evals+st.Evals, d.sum.Converged && st.Converged
	d.sum.TrainLoss, d.sum.ValidationLoss = d.loss/float64(len(d.done)), NoLoss()
	if d.sum.Done = len(d.done) == len(d.f.targets); d.sum.Done {
		return nil
	}
	return d.begin()
}

// State implements Driver: the losses of the current target, and at the end the mean of
// all.
func (d *severalDriver) State() State {
	if d.sum.Done {
		return d.sum
	}
	st := d.now.State()
	st.Iteration, st.Evals = st.Iteration+d.sum.Iteration, st.Evals+d.sum.Evals
	return st
}

// Predictor implements Driver.
func (d *severalDriver) Predictor() (Predictor, error) {
	return &severalPredictor{d.f.targets, d.done}, nil
}

// Encode implements Driver.
func (d *severalDriver) Encode(e *canon.E) error {
	encodeParts(e, d.done)
	d.sum.Encode(e)
	e.F64(d.loss)
	return d.now.Encode(e)
}

// UnmarshalBinary implements Driver.
func (d *severalDriver) UnmarshalBinary(b []byte) (err error) {
	r := canon.Read(b)
	if d.done, err = d.f.decodeParts(d.s.Fitted, r); err != nil {
		return err
	}
	d.sum, d.loss = DecodeState(r), r.F64()
	now := r.Take(r.Left())
	if len(d.done) >= len(d.f.targets) || d.sum.Done {
		r.Fail()
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.next = nil
	if err := d.begin(); err != nil {
		return err
	}
	return d.now.UnmarshalBinary(now)
}

// NewWorker implements Family.
func (f *several) NewWorker(s *Setup, n *Node) (Worker, error) {
	return &severalWorker{f: f, s: s, node: n, at: -1}, nil
}

// severalWorker has a worker for the current target.
type severalWorker struct {
	f    *several
	s    *Setup
	node *Node

	mu  sync.Mutex
	at  int
	now Worker
	err error
}

// of returns the worker of a step's target, and the step as that worker knows it.
func (w *severalWorker) of(s *Step) (Worker, *Step, error) {
	a, ok := s.Body.(*ofTarget)
	if !ok {
		return nil, nil, pgerr.Internal("a training step is aimed at no target")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.step.Set == 0 { // it was decoded
		a.step.Set, a.step.Batch = s.Set, s.Batch
	}
	if a.target != w.at {
		w.close()
		w.at = a.target
		w.now, w.err = w.f.Family.NewWorker(w.f.setup(w.s, a.target), w.node)
	}
	return w.now, a.step, w.err
}

func (w *severalWorker) close() {
	if w.now != nil {
		w.now.Close()
	}
	w.now = nil
}

// PassBytes implements Worker.
func (w *severalWorker) PassBytes(s *Step) (pass, partial int64) {
	now, step, err := w.of(s)
	if err != nil {
		return 0, 0 // NewPass returns the error
	}
	return now.PassBytes(step)
}

// NewPass implements Worker.
func (w *severalWorker) NewPass(s *Step) (Pass, error) {
	now, step, err := w.of(s)
	if err != nil {
		return nil, err
	}
	return now.NewPass(step)
}

// Close implements Worker.
func (w *severalWorker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.close()
}

// severalPredictor has a predictor for each target.
type severalPredictor struct {
	targets []string
	parts   []Predictor
}

func encodeParts(e *canon.E, parts []Predictor) {
	e.U32(uint32(len(parts)))
	for _, p := range parts {
		var one canon.E
		p.Encode(&one)
		e.Bytes(one.B)
	}
}

func (f *several) decodeParts(fit *feature.Fitted, d *canon.D) (parts []Predictor, err error) {
	n := d.Count(4)
	if n > len(f.targets) || n > len(fit.More)+1 {
		d.Fail()
		return nil, nil
	}
	for i := range n {
		one := canon.Read(d.Bytes())
		p, err := f.Family.Decode(fit.ForTarget(i), one)
		if err != nil {
			return nil, err
		}
		if err := one.Done("a model of one of several targets"); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Decode implements Family.
func (f *several) Decode(fit *feature.Fitted, d *canon.D) (Predictor, error) {
	parts, err := f.decodeParts(fit, d)
	if err != nil {
		return nil, err
	}
	p := &severalPredictor{f.targets, parts}
	for _, one := range parts {
		if s, ok := one.(Sequencer); ok && s.Length() != p.Length() {
			d.Fail()
		}
	}
	if len(parts) != len(f.targets) {
		d.Fail()
	}
	return p, nil
}

// Encode implements Predictor.
func (p *severalPredictor) Encode(e *canon.E) { encodeParts(e, p.parts) }

// Part implements TargetsPredictor.
func (p *severalPredictor) Part(target int) Predictor { return p.parts[target] }

// Score implements Predictor: of numbers the values by target, as an array and each as
// a further output. Of classes the parts are scored.
func (p *severalPredictor) Score(b *block.Block) *Scores {
	s := &Scores{Rows: b.Units()}
	for _, one := range p.parts {
		s.Vector = append(s.Vector, one.Score(b).Value)
	}
	s.Extra = s.Vector
	return s
}

// Length implements Sequencer: all parts are of the same windows.
func (p *severalPredictor) Length() int {
	for _, one := range p.parts {
		if s, ok := one.(Sequencer); ok {
			return s.Length()
		}
	}
	return 1
}

// Bytes implements Predictor.
func (p *severalPredictor) Bytes() (n int64) {
	for _, one := range p.parts {
		n += one.Bytes()
	}
	return n
}

// Scratch implements ScratchPredictor.
func (p *severalPredictor) Scratch() (most int64) {
	for _, q := range p.parts {
		most = max(most, Scratch(q))
	}
	return most
}

// List implements Lister: the rows of each target's predictor, with the target's name.
func (p *severalPredictor) List(relation string, part int, put func(row []types.Datum) error) (bool, error) {
	for i, one := range p.parts {
		l, can := one.(Lister)
		if !can {
			return false, nil
		}
		if ok, err := l.List(relation, part, func(r []types.Datum) error { return put(append(r, p.targets[i])) }); !ok || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// Describe implements Describer: the rows of each target's predictor, with the target's
// name.
func (p *severalPredictor) Describe(relation string) (rows [][]types.Datum, ok bool) {
	for i, one := range p.parts {
		d, can := one.(Describer)
		if !can {
			return nil, false
		}
		part, can := d.Describe(relation)
		if !can {
			return nil, false
		}
		for _, r := range part {
			rows = append(rows, append(r[:len(r):len(r)], p.targets[i]))
		}
	}
	return rows, true
}
