package optim

import (
	"encoding"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Need says what an evaluation must return.
type Need uint8

// The values of Need; they are or-ed.
const (
	Loss Need = 1 << iota
	Grad
	Hessian
	Product // of the Hessian with Along
)

// MiniBatch names a part of the training rows: step Step of the Steps that make
// up an epoch. Which rows that is, is decided where the rows are.
type MiniBatch struct {
	Epoch, Step, Steps int
}

// Request asks for an evaluation at Theta, over all rows or a mini-batch. The
// slice belongs to the optimiser and must not be changed.
type Request struct {
	Theta []float64
	Need  Need
	Along []float64
	Batch *MiniBatch
}

// Eval is the answer: the objective at Theta. Hess is a full row-major matrix of
// which only the upper triangle counts. Optimisers do not keep the slices.
type Eval struct {
	Loss    float64
	Grad    []float64
	Hess    []float64
	Product []float64
}

// Optimizer is a state machine with an ask-and-tell interface. Its methods are for one
// goroutine.
type Optimizer interface {
	// Next returns the next request. Until Tell it returns the same one again.
	Next() Request
	// Tell passes the evaluation that Next requested. done means that State has the
	// result; an error (22P01, 22003) means that no finite solution can be found.
	Tell(e *Eval) (done bool, err error)
	// State returns the current state.
	State() State
	// Encode writes the machine's state.
	Encode(e *canon.E)
	encoding.BinaryUnmarshaler
}

// Reason says why an optimiser stopped.
type Reason uint8

// The reasons.
const (
	Running    Reason = iota
	Converged         // the gradient is within the tolerance
	Exhausted         // max_iterations were made
	NoProgress        // the loss cannot be lowered any more in float64
)

func (r Reason) String() string {
	return [...]string{"running", "converged", "max_iterations", "no further progress"}[r]
}

// State is the progress of an optimiser. Theta is the best accepted point, which must
// not be changed.
type State struct {
	Theta     []float64
	Loss      float64 // at Theta
	GradNorm  float64 // at Theta
	Iteration int     // accepted steps, or finished epochs
	Evals     int
	Reason    Reason
}

// Stop has the stopping criteria: a gradient norm of Tolerance times the first one, or
// times From where that is set, or MaxIter steps.
type Stop struct {
	Tolerance float64
	MaxIter   int
	From      float64
}

// The maximum number of parameter-sized vectors that an optimiser holds: without and
// with a history of steps.
const (
	CoreVectors    = 6
	HistoryVectors = CoreVectors + 2*lbfgsHistory
)

// core is the state that the deterministic optimisers share.
type core struct {
	stop      Stop
	x, g      []float64 // accepted point and its gradient
	f         float64
	g0        float64 // norm of the first gradient
	iter      int
	evals     int
	reason    Reason
	started   bool
	trial     []float64 // the point requested
	direction []float64
}

func newCore(x0 []float64, s Stop) core {
	n := len(x0)
	c := core{stop: s, x: make([]float64, n), g: make([]float64, n), trial: make([]float64, n), direction: make([]float64, n)}
	copy(c.x, x0)
	copy(c.trial, x0)
	return c
}

func (c *core) State() State {
	return State{Theta: c.x, Loss: c.f, GradNorm: norm(c.g), Iteration: c.iter, Evals: c.evals, Reason: c.reason}
}

// accept makes (trial, e) the current point and reports whether the optimisation is
// done.
func (c *core) accept(e *Eval) bool { return c.acceptAt(e, norm(e.Grad)) }

// acceptAt is accept with n as the norm of the gradient.
func (c *core) acceptAt(e *Eval, n float64) bool {
	copy(c.x, c.trial)
	copy(c.g, e.Grad)
	c.f = e.Loss
	if !c.started {
		if c.started, c.g0 = true, n; c.stop.From > 0 {
			c.g0 = c.stop.From
		}
	} else {
		c.iter++
	}
	switch {
	case n <= float64(c.stop.Tolerance*c.g0):
		c.reason = Converged
	case c.iter >= c.stop.MaxIter:
		c.reason = Exhausted
	}
	return c.reason != Running
}

// moveTrial sets trial = x + alpha·direction.
func (c *core) moveTrial(alpha float64) {
	copy(c.trial, c.x)
	f64.Axpy(c.trial, alpha, c.direction)
}

func (c *core) encode(e *canon.E) {
	e.F64(c.stop.Tolerance)
	e.Int(c.stop.MaxIter)
	e.F64(c.stop.From)
	e.F64s(c.x)
	e.F64s(c.g)
	e.F64(c.f)
	e.F64(c.g0)
	e.Int(c.iter)
	e.Int(c.evals)
	e.U8(uint8(c.reason))
	e.Bool(c.started)
	e.F64s(c.trial)
	e.F64s(c.direction)
}

func (c *core) decode(d *canon.D) {
	*c = core{stop: Stop{d.F64(), d.Int(), d.F64()}, x: d.F64s(), g: d.F64s(), f: d.F64(), g0: d.F64(),
		iter: d.Int(), evals: d.Int(), reason: Reason(d.U8()), started: d.Bool(), trial: d.F64s(), direction: d.F64s()}
	n := len(c.x)
	if c.reason > NoProgress || len(c.g) != n || len(c.trial) != n || len(c.direction) != n {
		d.Fail()
	}
}

func norm(v []float64) float64 { return math.Sqrt(f64.Dot(v, v)) }

func finite(e *Eval) bool {
	if !isFinite(e.Loss) {
		return false
	}
	for _, g := range e.Grad {
		if !isFinite(g) {
			return false
		}
	}
	return true
}

func isFinite(v float64) bool { return v-v == 0 }

// Diverged returns the error of a training whose numbers have become infinite or NaN.
func Diverged(iter int) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "training diverged: the loss is not finite after iteration %d", iter).
		WithHint("Lower learn_rate, standardize the features, or add a penalty with l2_reg.")
}
