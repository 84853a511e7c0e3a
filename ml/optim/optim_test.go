package optim

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// quadratic is ½xᵀAx - bᵀx with an ill-conditioned diagonal A, rotated a
// little; its minimum is known.
func quadratic(n int, cond float64) (eval func(Request) *Eval, best []float64) {
	best = make([]float64, n)
	a := make([]float64, n*n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range best {
		best[i] = r.NormFloat64()
		a[i*n+i] = math.Pow(cond, float64(i)/float64(max(n-1, 1)))
	}
	u := make([]float64, n) // A += u·uᵀ
	for i := range u {
		u[i] = r.NormFloat64()
		for j := range i + 1 {
			a[i*n+j] += u[i] * u[j]
			if j != i {
				a[j*n+i] += u[i] * u[j]
			}
		}
	}
	return func(q Request) *Eval {
		e := &Eval{Grad: make([]float64, n), Hess: append([]float64(nil), a...)}
		for i := range n {
			for j := range n {
				e.Grad[i] += a[i*n+j] * (q.Theta[j] - best[j])
			}
		}
		if q.Need&Product != 0 {
			e.Product = times(a, q.Along)
		}
		for i := range n {
			e.Loss += 0.5 * e.Grad[i] * (q.Theta[i] - best[i])
		}
		return e
	}, best
}

// rosenbrock is not convex, so that full steps overshoot and the line search must shorten them.
func rosenbrock(q Request) *Eval {
	x, y := q.Theta[0], q.Theta[1]
	e := &Eval{Loss: 100*(y-x*x)*(y-x*x) + (1-x)*(1-x),
		Grad: []float64{-400*x*(y-x*x) - 2*(1-x), 200 * (y - x*x)},
		Hess: []float64{1200*x*x - 400*y + 2, -400 * x, -400 * x, 200}}
	if q.Need&Product != 0 {
		e.Product = times(e.Hess, q.Along)
	}
	return e
}

func times(h, v []float64) []float64 {
	n := len(v)
	out := make([]float64, n)
	for i := range n {
		for j := range n {
			out[i] += h[i*n+j] * v[j]
		}
	}
	return out
}

func run(t *testing.T, o Optimizer, eval func(Request) *Eval, max int) State {
	t.Helper()
	for range max {
		done, err := o.Tell(eval(o.Next()))
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return o.State()
		}
	}
	t.Fatalf("%T is not done after %d evaluations: %+v", o, max, o.State())
	return State{}
}

func TestFindsTheMinimum(t *testing.T) {
	stop := Stop{Tolerance: 1e-9, MaxIter: 5000}
	for _, n := range []int{1, 2, 10, 60} {
		eval, best := quadratic(n, 1000)
		x0 := make([]float64, n)
		for _, o := range []Optimizer{NewLBFGS(x0, stop, nil), NewNewton(x0, stop), NewNewtonCG(x0, stop), NewGD(x0, stop, 0)} {
			s := run(t, o, eval, 20000)
			for i := range best {
				if math.Abs(s.Theta[i]-best[i]) > 1e-5 {
					t.Errorf("%T n=%d: x[%d] = %v, want %v (%v)", o, n, i, s.Theta[i], best[i], s)
					break
				}
			}
			if _, ok := o.(*Newton); ok && s.Evals > 3 {
				t.Errorf("Newton took %d evaluations of a quadratic", s.Evals)
			}
		}
	}
	for _, o := range []Optimizer{NewLBFGS([]float64{-1.2, 1}, stop, nil), NewNewton([]float64{-1.2, 1}, stop), NewNewtonCG([]float64{-1.2, 1}, stop)} {
		s := run(t, o, rosenbrock, 200)
		if math.Abs(s.Theta[0]-1) > 1e-6 || math.Abs(s.Theta[1]-1) > 1e-6 {
			t.Errorf("%T on Rosenbrock's function: %+v", o, s)
		}
	}
}

// noisy is the mean over parts of a function, each part evaluated by itself, as mini-batches are.
func noisy(q Request) *Eval {
	x := q.Theta[0]
	c := 3 + float64(q.Batch.Step%3-1)*0.1
	return &Eval{Loss: (x - c) * (x - c), Grad: []float64{2 * (x - c)}}
}

func TestStochasticRulesComeNear(t *testing.T) {
	for rule, rate := range map[Rule]float64{SGD: 0.05, Momentum: 0.01, Adam: 0.05} {
		s := run(t, NewStochastic([]float64{0}, Stop{MaxIter: 200}, rule, rate, Epoch{Steps: 9}, 1), noisy, 1800)
		if math.Abs(s.Theta[0]-3) > 0.1 || s.Iteration != 200 || s.Evals != 1800 || s.Reason != Exhausted {
			t.Errorf("rule %d: %+v", rule, s)
		}
	}
}

func TestShuffledIsAPermutation(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 16, 100, 1000} {
		for _, run := range []int{0, 1, 3, 8, 40, 1000} {
			for epoch := range 3 {
				seen, apart := make([]bool, n), 0
				for i := range n {
					v := Epoch{n, run}.Shuffled(42, epoch, i)
					if v < 0 || v >= n || seen[v] {
						t.Fatalf("n=%d: %d comes twice or is out of range", n, v)
					}
					seen[v] = true
					if i > 0 && run > 0 && i%run != 0 {
						if w := (v - (Epoch{n, run}.Shuffled(42, epoch, i-1)) + n) % n; w >= run && n-w >= run {
							apart++
						}
					}
				}
				if apart > 0 {
					t.Errorf("n=%d, runs of %d: %d neighbours in time are further apart", n, run, apart)
				}
			}
		}
	}
	if a, b := fmt.Sprint(order(1, 0)), fmt.Sprint(order(1, 1)); a == b {
		t.Errorf("two epochs have the order %s", a)
	}
}

func order(seed uint64, epoch int) (o []int) {
	for i := range 20 {
		o = append(o, Epoch{20, 3}.Shuffled(seed, epoch, i))
	}
	return o
}

// TestResumeIsTheUnbrokenRun saves and restores every optimizer before each step: the parameters
// are the same to the bit.
func TestResumeIsTheUnbrokenRun(t *testing.T) {
	stop := Stop{Tolerance: 1e-10, MaxIter: 60, From: 2}
	quad, _ := quadratic(12, 1e4)
	x0 := make([]float64, 12)
	cases := []struct {
		fresh, empty func() Optimizer
		eval         func(Request) *Eval
	}{
		{func() Optimizer { return NewLBFGS(x0, stop, nil) }, func() Optimizer { return new(LBFGS) }, quad},
		{func() Optimizer { return NewLBFGS([]float64{-1.2, 1}, stop, nil) }, func() Optimizer { return new(LBFGS) }, rosenbrock},
		{func() Optimizer { return NewOWLQN(x0, half(12), stop) }, func() Optimizer { return new(OWLQN) }, quad},
		{func() Optimizer { return NewNewton([]float64{-1.2, 1}, stop) }, func() Optimizer { return new(Newton) }, rosenbrock},
		{func() Optimizer { return NewNewtonCG(x0, stop) }, func() Optimizer { return new(NewtonCG) }, quad},
		{func() Optimizer { return NewNewtonCG([]float64{-1.2, 1}, stop) }, func() Optimizer { return new(NewtonCG) }, rosenbrock},
		{func() Optimizer { return NewGD(x0, stop, 0) }, func() Optimizer { return new(GD) }, quad},
		{func() Optimizer { return NewStochastic([]float64{0}, stop, Adam, 0.1, Epoch{Steps: 4}, 9) }, func() Optimizer { return new(Stochastic) }, noisy},
	}
	for i, c := range cases {
		a, b := c.fresh(), c.fresh()
		for step := 0; ; step++ {
			da, err := a.Tell(c.eval(a.Next()))
			if err != nil {
				t.Fatal(err)
			}
			saved := stateOf(b)
			b = c.empty()
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			for cut := range saved {
				if cut%7 == 0 && c.empty().UnmarshalBinary(saved[:cut]) == nil {
					t.Fatalf("case %d: a state cut at %d was accepted", i, cut)
				}
			}
			db, err := b.Tell(c.eval(b.Next()))
			if err != nil {
				t.Fatal(err)
			}
			ba := stateOf(a)
			bb := stateOf(b)
			if da != db || !bytes.Equal(ba, bb) {
				t.Fatalf("case %d: step %d differs after a restore", i, step)
			}
			if da {
				break
			}
		}
	}
}

// TestLossNeverRises: with a line search the loss never rises.
func TestLossNeverRises(t *testing.T) {
	stop := Stop{Tolerance: 1e-12, MaxIter: 300}
	for _, o := range []Optimizer{NewLBFGS([]float64{-1.2, 1}, stop, nil), NewNewton([]float64{-1.2, 1}, stop), NewNewtonCG([]float64{-1.2, 1}, stop), NewGD([]float64{-1.2, 1}, stop, 0)} {
		last := math.Inf(1)
		for {
			done, err := o.Tell(rosenbrock(o.Next()))
			if err != nil {
				t.Fatal(err)
			}
			s := o.State()
			if s.Loss > last*(1+1e-12) {
				t.Fatalf("%T: loss rises from %v to %v", o, last, s.Loss)
			}
			last = s.Loss
			if done {
				break
			}
		}
	}
}

func TestNewtonLeavesCollinearDirections(t *testing.T) {
	// x1 and x2 are the same feature, so only the sum of their weights is determined.
	eval := func(q Request) *Eval {
		e := q.Theta[0] + q.Theta[1] - 2
		return &Eval{Loss: 0.5 * e * e, Grad: []float64{e, e, 0}, Hess: []float64{1, 1, 0, 1, 1, 0, 0, 0, 0}}
	}
	s := run(t, NewNewton(make([]float64, 3), Stop{Tolerance: 1e-9, MaxIter: 9}), eval, 5)
	if s.Theta[0] != 2 || s.Theta[1] != 0 || s.Theta[2] != 0 || s.Reason != Converged {
		t.Errorf("%+v", s)
	}
}

func TestDivergenceIsAnError(t *testing.T) {
	o := NewGD([]float64{1}, Stop{Tolerance: 1e-9, MaxIter: 10000}, 10)
	eval := func(q Request) *Eval {
		x := q.Theta[0]
		return &Eval{Loss: x * x * x * x, Grad: []float64{4 * x * x * x}}
	}
	for range 10000 {
		if done, err := o.Tell(eval(o.Next())); err != nil {
			return
		} else if done {
			break
		}
	}
	t.Errorf("no error: %+v", o.State())
}

func half(n int) []float64 {
	l := make([]float64, n)
	for i := range l {
		l[i] = 0.5
	}
	return l
}

// TestOWLQNAgainstCoordinateDescent minimises quadratics with L1 penalties, some of which leave a
// parameter without one. The slow reference is coordinate descent.
func TestOWLQNAgainstCoordinateDescent(t *testing.T) {
	for _, n := range []int{1, 3, 12} {
		for _, strength := range []float64{0, 0.1, 3, 30, 1e4} {
			eval, _ := quadratic(n, 100)
			l1 := make([]float64, n)
			for i := range l1 {
				if i%4 != 1 {
					l1[i] = strength
				}
			}
			o := NewOWLQN(make([]float64, n), l1, Stop{Tolerance: 1e-10, MaxIter: 3000})
			got := run(t, o, eval, 20000)
			want := make([]float64, n)
			for range 1000 {
				for i := range want {
					e := eval(Request{Theta: want})
					a := e.Hess[i*n+i]
					v := want[i] - e.Grad[i]/a
					want[i] = math.Copysign(math.Max(math.Abs(v)-l1[i]/a, 0), v)
				}
			}
			total := func(x []float64) float64 {
				f := eval(Request{Theta: x}).Loss
				for i, v := range x {
					f += l1[i] * math.Abs(v)
				}
				return f
			}
			if f := total(got.Theta); f > total(want)+1e-8*(1+math.Abs(f)) || math.Abs(f-got.Loss) > 1e-9*(1+math.Abs(f)) {
				t.Errorf("n=%d l1=%v: %v (%v), coordinate descent gets %v; %v", n, strength, f, got.Loss, total(want), got.Reason)
			}
			for i, v := range got.Theta {
				if strength == 1e4 && i%4 != 1 && v != 0 {
					t.Errorf("n=%d: parameter %d is %v under a penalty that leaves none", n, i, v)
				}
			}
		}
	}
}

func stateOf(o Optimizer) []byte {
	var e canon.E
	o.Encode(&e)
	return e.B
}
