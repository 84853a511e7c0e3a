package metric

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// LogLoss is the mean cross-entropy. Its sums do not depend on the order of rows.
type LogLoss struct{ sum, weight exact.Sum }

const probEps = 0x1p-52

// Add counts a row whose true class was given the probability p, which is kept
// off 0 as scikit-learn does.
func (l *LogLoss) Add(p, weight float64) {
	l.sum.Add(-float64(weight * f64.Log1(math.Min(math.Max(p, probEps), 1))))
	l.weight.Add(weight)
}

// AddAll counts rows of weight 1, to the bit as Add does.
func (l *LogLoss) AddAll(p []float64) {
	var loss [64]float64
	for from := 0; from < len(p); from += len(loss) {
		part := p[from:min(from+len(loss), len(p))]
		f64.CrossEntropy(loss[:len(part)], part, hits[:len(part)])
		for i, v := range part {
			if !(v <= 1-probEps) { // CrossEntropy clips such to 1 - eps
				loss[i] = -f64.Log1(math.Min(math.Max(v, probEps), 1))
			}
			l.sum.Add(loss[i])
		}
	}
	l.weight.AddTimes(1, len(p))
}

// hits are labels of 1, for AddAll, whose probabilities are those of the rows' classes.
var hits = func() (y [64]float64) {
	for i := range y {
		y[i] = 1
	}
	return y
}()

// Merge adds another state.
func (l *LogLoss) Merge(o *LogLoss) { l.sum.Merge(&o.sum); l.weight.Merge(&o.weight) }

// Mean is the metric.
func (l *LogLoss) Mean() float64 { return l.sum.Value() / l.weight.Value() }

// Append appends the sums.
func (l *LogLoss) Append(dst []byte) []byte { return l.weight.Append(l.sum.Append(dst)) }

// Decode reads what Append wrote, and reports whether b is well-formed.
func (l *LogLoss) Decode(b []byte) bool {
	if len(b) != 2*exact.Bytes {
		return false
	}
	l.sum.Decode(b)
	l.weight.Decode(b[exact.Bytes:])
	return true
}
