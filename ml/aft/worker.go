package aft

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opMoments = iota // weight, Σ log t and Σ (log t)²; and the weight of events
	opLoss           // the loss alone: of a step that may be too long, or of rows held out
	opNewton         // loss, gradient and Hessian
)

// point is the body of a step: the parameters.
type point struct{ Theta []float64 }

// Encode implements family.Message.
func (p *point) Encode(e *canon.E) { canon.Put(e, p) }

// sums are the loss, and where they are asked for the gradient and the Hessian, row by row.
type sums struct{ V []float64 }

// Encode implements family.Message.
func (s *sums) Encode(e *canon.E) { canon.Put(e, s) }

// sumsLen is the length of a step's sums.
func (p *problem) sumsLen(op uint8) int {
	switch op {
	case opMoments:
		return 4
	case opLoss:
		return 2
	}
	return 2 + p.size() + p.size()*p.size()
}

// worker implements family.Worker; it has no state.
type worker struct{ p *problem }

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	return 0, 8 * int64(w.p.sumsLen(s.Op))
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{p: w.p, op: s.Op}
	if s.Op == opMoments {
		return p, nil
	}
	at, ok := s.Body.(*point)
	if !ok || len(at.Theta) != w.p.size() {
		return nil, pgerr.Internal("a step of an AFT model has no body that fits")
	}
	p.theta = at.Theta
	return p, nil
}

// pass implements family.Pass.
type pass struct {
	p     *problem
	op    uint8
	theta []float64
	sums  []float64
	x     []entry // of a row: the derivatives of z by the parameters
}

type entry struct {
	j int
	x float64
}

// Add implements family.Pass.
func (a *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if a.sums == nil {
		a.sums = make([]float64, a.p.sumsLen(a.op))
	}
	for i := r.From; i < min(r.To, b.Rows); i++ {
		w, t := b.W[i], math.Abs(b.Y[i])
		if !(w > 0) {
			continue
		}
		if !(t > 0) {
			return pgerr.New(pgerr.InvalidParameterValue, "a duration of an AFT model must be above 0").
				WithHint("Leave such rows out, or give them the shortest time that is told apart.")
		}
		a.row(b, i, w, f64.Log1(t), !math.Signbit(b.Y[i]))
	}
	return nil
}

func (a *pass) row(b *block.Block, i int, w, log float64, happened bool) {
	if a.op == opMoments {
		a.sums[0] += w
		a.sums[1] += float64(w * log)
		a.sums[2] += float64(float64(w*log) * log)
		if happened {
			a.sums[3] += w
		}
		return
	}
	n := a.p.n
	a.x = a.x[:0]
	z := float64(a.theta[n+1]*log) - a.theta[n]
	a.p.columns(b, i, func(j int, x float64) {
		z -= float64(a.theta[j] * x)
		a.x = append(a.x, entry{j, -x})
	})
	a.x = append(a.x, entry{n, -1}, entry{n + 1, log})
	of := a.p.dist.after
	if happened {
		of = a.p.dist.event
	}
	l, g, h := of(z)
	tau := a.theta[n+1]
	if happened {
		l += f64.Log1(tau) - log
	}
	a.sums[0] -= float64(w * l)
	a.sums[1] += w
	if a.op == opLoss {
		return
	}
	size := a.p.size()
	grad, hess := a.sums[2:2+size], a.sums[2+size:]
	for _, p := range a.x {
		grad[p.j] -= float64(float64(w*g) * p.x)
		v := -float64(float64(w*h) * p.x)
		for _, q := range a.x {
			hess[p.j*size+q.j] += float64(v * q.x)
		}
	}
	if happened {
		grad[n+1] -= w / tau
		hess[(n+1)*size+n+1] += w / float64(tau*tau)
	}
}

// Partial implements family.Pass.
func (a *pass) Partial() family.Message {
	s := &sums{a.sums}
	if a.sums = nil; s.V == nil {
		s.V = make([]float64, a.p.sumsLen(a.op))
	}
	return s
}
