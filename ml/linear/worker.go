package linear

import (
	"context"

	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker is a node's part. It has no state but the parameters of each step.
type worker struct {
	s   *family.Setup
	obj objective.Objective
}

// NewWorker implements family.Family.
func (g *glm) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{s: s, obj: g.objective(s.Classes())}, nil
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) int64 {
	f := w.s.Fitted
	return Bytes(w.obj.Outputs(), f.Dense, f.Ones, s.Body.(*request).need)
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	f, r := w.s.Fitted, s.Body.(*request)
	if len(r.theta) != w.obj.Outputs()*(f.Params()+1) {
		return nil, pgerr.Internal("a training task has %d parameters", len(r.theta))
	}
	return &stepPass{w: w, r: r, p: NewPass(w.obj, f.Dense, f.Ones)}, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}

// stepPass is a step's use of a Pass. A leaf has one block of a set, so that its
// partial is that block's.
type stepPass struct {
	w   *worker
	r   *request
	p   *Pass
	sum *reduce.Sums
}

// Add implements family.Pass.
func (p *stepPass) Add(ctx context.Context, r family.Rows, b *dataset.Block) (err error) {
	s, err := p.p.Run(ctx, b, p.r.theta, p.r.need, r.From, r.To)
	if err != nil || p.sum == nil {
		p.sum = s
		return err
	}
	p.sum, err = reduce.MergeSums(p.sum, s)
	return err
}

// Partial implements family.Pass.
func (p *stepPass) Partial() family.Message {
	s := p.sum
	if s == nil {
		s = &reduce.Sums{Vec: make([]float64, VectorLen(p.w.obj.Outputs(), p.w.s.Fitted.Params(), p.r.need))}
	}
	p.sum = nil
	return s
}
