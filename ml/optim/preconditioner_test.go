package optim

import (
	"bytes"
	"math"
	"testing"
)

// twice is a quadratic with two outputs of n parameters each, and its Hessian as a preconditioner,
// known up to a factor per output.
func twice(n int, eval func(Request) *Eval) (func(Request) *Eval, *Preconditioner) {
	h := eval(Request{Theta: make([]float64, n)}).Hess
	return func(q Request) *Eval {
		a, b := eval(Request{Theta: q.Theta[:n]}), eval(Request{Theta: q.Theta[n:]})
		return &Eval{Loss: a.Loss + 3*b.Loss, Grad: append(a.Grad, scaled(b.Grad, 3)...)}
	}, NewPreconditioner(h, n)
}

func scaled(v []float64, by float64) []float64 {
	for i := range v {
		v[i] *= by
	}
	return v
}

// TestLBFGSBeginsWithTheHessian: a known Hessian saves steps, a wrong one does no harm, and a run
// resumed from a saved state is the unbroken run.
func TestLBFGSBeginsWithTheHessian(t *testing.T) {
	const n = 20
	quad, best := quadratic(n, 1e5)
	eval, first := twice(n, quad)
	stop := Stop{Tolerance: 1e-9, MaxIter: 500}
	x0 := make([]float64, 2*n)
	blind, told := run(t, NewLBFGS(x0, stop, nil), eval, 2000), run(t, NewLBFGS(x0, stop, first), eval, 2000)
	if told.Evals > 12 || told.Evals*3 > blind.Evals {
		t.Errorf("%d evaluations with the Hessian, %d without", told.Evals, blind.Evals)
	}
	for i, v := range told.Theta {
		if math.Abs(v-best[i%n]) > 1e-6 {
			t.Fatalf("parameter %d is %v, want %v", i, v, best[i%n])
		}
	}
	wrong := NewPreconditioner([]float64{1e-8, 0, 0, 1e8}, 2)
	if s := run(t, NewLBFGS([]float64{-1.2, 1}, stop, wrong), rosenbrock, 2000); math.Abs(s.Theta[0]-1) > 1e-5 {
		t.Errorf("with a wrong Hessian: %+v", s)
	}

	a, b := NewLBFGS(x0, stop, first), NewLBFGS(x0, stop, first)
	for {
		done, err := a.Tell(eval(a.Next()))
		if err != nil {
			t.Fatal(err)
		}
		saved := stateOf(b)
		for cut := range saved {
			if cut%97 == 0 && new(LBFGS).UnmarshalBinary(saved[:cut]) == nil {
				t.Fatalf("a state cut at %d was accepted", cut)
			}
		}
		b = new(LBFGS)
		if err := b.UnmarshalBinary(saved); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Tell(eval(b.Next())); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stateOf(a), stateOf(b)) {
			t.Fatal("a restored optimiser goes another way")
		}
		if done {
			return
		}
	}
}
