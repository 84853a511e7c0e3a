package search

import (
	"math"
	"math/rand/v2"
)

// Trial is something to train.
type Trial struct {
	Number int // from 1
	Point  Point
	// Rung is how often the trial was promoted. Share of the trial's iterations are those
	// that it has made when it is measured, from its beginning: 1 for all of them.
	Rung  int
	Share float64
}

// Begun returns the share that the trial has made before it is trained now.
func (t Trial) Begun() float64 {
	if t.Rung == 0 {
		return 0
	}
	return t.Share / keep
}

// Search is an algorithm. It is for one goroutine.
type Search interface {
	// Next returns the trials to train now, in the order of their numbers; none when the
	// search is over. A trial of a later rung goes on from where it was.
	Next() []Trial
	// Tell passes the losses of the last batch, in its order, lower being better; NaN of a
	// trial that failed.
	Tell(losses []float64)
}

// The names of algorithms.
const (
	Random  = "random"
	Grid    = "grid"
	Halving = "halving"
	TPE     = "tpe"
)

// Config is what a search is made of.
type Config struct {
	Algorithm string
	Space     Space
	Trials    int // at most
	Parallel  int // trials that TPE chooses before it is told of one of them
	Seed      uint64
	// Iterations is how many a trial makes at most, for halving.
	Iterations int
}

// New makes a search.
func New(c Config) Search {
	c.Trials = int(math.Min(float64(c.Trials), c.Space.Size()))
	switch c.Algorithm {
	case Grid:
		return numbered(c.Space.Grid(c.Space.Steps(c.Trials)))
	case Halving:
		return newHalving(c)
	case TPE:
		return newTPE(c)
	}
	return numbered(drawn(c))
}

// drawn returns random points.
func drawn(c Config) (out []Point) {
	r, s := source(c.Seed), seen{}
	for range c.Trials {
		out = append(out, s.fresh(c.Space, r, func() Point { return c.Space.draw(r) }))
	}
	return out
}

// source returns a search's random numbers, which are no others' with the same seed.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x7365617263686564)) }

// once is a search whose trials do not depend on results.
type once struct{ trials []Trial }

// These is a search of trials that are chosen already.
func These(trials []Trial) Search { return &once{trials} }

func numbered(points []Point) Search {
	o := &once{}
	for i, p := range points {
		o.trials = append(o.trials, Trial{Number: i + 1, Point: p, Share: 1})
	}
	return o
}

func (o *once) Next() (out []Trial) {
	out, o.trials = o.trials, nil
	return out
}

func (o *once) Tell([]float64) {}

// better reports whether a loss is better than another; that of a failed trial is not
// better than any.
func better(a, b float64) bool { return a < b || b != b && a == a }
