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

// Parts are the sums.
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
	splits f64.Splits
	x      []float64
}

// AddAll adds rows: many at once, in parts of their sums that are exact.
func (e *Errors) AddAll(y, p []float64, s *ErrorsScratch) {
	const cols = 3 // y, y−p, |y−p|
	if s.x == nil {
		s.x = make([]float64, cols*f64.SplitRows)
	}
	p = p[:len(y)]
	for len(y) >= f64.Lanes {
		n := min(f64.SplitRows, len(y)&^(f64.Lanes-1))
		x := s.x[:cols*n]
		for i := 0; i < n; i += f64.Lanes { // in arrays, which need no look at bounds
			yt, pt := (*[f64.Lanes]float64)(y[i:]), (*[f64.Lanes]float64)(p[i:])
			to := (*[cols * f64.Lanes]float64)(x[cols*i:])
			for l, v := range yt {
				d := v - pt[l]
				to[l], to[f64.Lanes+l], to[2*f64.Lanes+l] = v, d, math.Abs(d)
			}
		}
		_, _, sums, ok := f64.ColumnSplits(&s.splits, x, cols)
		if ok[0] {
			e.Y.AddParts(int64(n), sums[:2]...)
			e.YY.AddParts(int64(n), sums[2:6]...)
		} else {
			for _, v := range y[:n] {
				e.truth(v)
			}
		}
		if ok[1] && ok[2] {
			e.D.AddParts(int64(n), sums[6:8]...)
			e.DD.AddParts(int64(n), sums[8:12]...)
			e.Abs.AddParts(int64(n), sums[12:14]...)
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
