package optim

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
)

// backtrack is a backtracking line search for a step with sufficient decrease: one
// without it is halved (Nocedal and Wright, Numerical Optimization, 2nd edition,
// algorithm 3.1).
type backtrack struct {
	alpha  float64
	halved int
}

// maxHalvings bounds the search.
const maxHalvings = 40

// set starts a search along the core's direction.
func (b *backtrack) set(c *core, alpha float64) {
	b.alpha, b.halved = alpha, 0
	c.moveTrial(alpha)
}

// short reports whether the loss of e, the evaluation of the trial point, is not at
// most most. Then the trial step is halved, or the core has a reason to stop.
func (b *backtrack) short(c *core, e *Eval, most float64) bool {
	if finite(e) && e.Loss <= most {
		return false
	}
	if b.halved++; b.halved > maxHalvings {
		c.reason = NoProgress
		return true
	}
	b.alpha = float64(b.alpha * 0.5)
	c.moveTrial(b.alpha)
	return true
}

// least returns the loss required of a step in a Newton direction, allowing for
// rounding.
func (b *backtrack) least(c *core) float64 {
	slope := f64.Dot(c.g, c.direction)
	return c.f + float64(wolfeDecrease*b.alpha*slope) + float64(1e-13*math.Abs(c.f))
}

func (b *backtrack) encode(e *canon.E) {
	e.F64(b.alpha)
	e.Int(b.halved)
}

func (b *backtrack) decode(d *canon.D) { b.alpha, b.halved = d.F64(), d.Int() }
