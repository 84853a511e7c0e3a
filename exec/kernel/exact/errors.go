package exact

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Errors are sums over predicted numbers: of the truth y, of its square, of the
// error y−p, of its square, and of its size.
type Errors struct{ Y, YY, D, DD, Abs Long }

// ErrorsBytes is the memory of an Errors.
const ErrorsBytes = 5 * (longChunks + 2) * 8

// Parts returns the sums.
func (e *Errors) Parts() [5]*Long { return [5]*Long{&e.Y, &e.YY, &e.D, &e.DD, &e.Abs} }

// Add adds a row.
func (e *Errors) Add(y, p float64) {
	e.truth(y)
	e.error(y - p)
}

func (e *Errors) truth(y float64) {
	e.Y.Add(y)
	e.YY.AddProduct(y, y)
}

func (e *Errors) error(d float64) {
	e.D.Add(d)
	e.DD.AddProduct(d, d)
	e.Abs.Add(math.Abs(d))
}

// ErrorsScratch is what AddAll needs beside the sums.
type ErrorsScratch struct {
	errors f64.Errors
	truths f64.Splits
}

// AddAll adds rows, many at once by exact parts of their sums.
func (e *Errors) AddAll(y, p []float64, s *ErrorsScratch) {
	p = p[:len(y)]
	for len(y) >= f64.Lanes {
		n := min(f64.SplitRows, len(y)&^(f64.Lanes-1))
		truth, errs := s.errors.Parts(y[:n], p[:n])
		if truth == nil {
			if _, _, sums, ok := f64.ColumnSplits(&s.truths, y[:n], 1); ok[0] {
				truth = sums[:6]
			}
		}
		if truth != nil {
			e.Y.AddParts(int64(n), truth[:2]...)
			e.YY.AddParts(int64(n), truth[2:]...)
		} else {
			for _, v := range y[:n] {
				e.truth(v)
			}
		}
		if errs != nil {
			e.D.AddParts(int64(n), errs[:2]...)
			e.Abs.AddParts(int64(n), errs[2:4]...)
			e.DD.AddParts(int64(n), errs[4:]...)
		} else {
			for i, v := range y[:n] {
				e.error(v - p[i])
			}
		}
		y, p = y[n:], p[n:]
	}
	for i, v := range y {
		e.Add(v, p[i])
	}
}
