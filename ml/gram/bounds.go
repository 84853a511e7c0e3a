package gram

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
)

// Bounds are the least and greatest values of rows of a weight above 0, by dense
// column, and the greatest weight. Add leaves a part of them aside, until Fold.
type Bounds struct {
	Low, High []float64
	MaxWeight float64

	ends32 ends[float32]
	ends64 ends[float64]
}

// NewBounds are those of no rows.
func NewBounds(dense int) *Bounds {
	b := &Bounds{Low: make([]float64, dense), High: make([]float64, dense)}
	for j := range b.Low {
		b.Low[j], b.High[j] = math.Inf(1), math.Inf(-1)
	}
	return b
}

// BoundsOf returns the bounds of rows of weight 1.
func BoundsOf(r *feature.Ranges) *Bounds { return &Bounds{Low: r.Low, High: r.High, MaxWeight: 1} }

// BoundsBytes is the memory of a Bounds.
func BoundsBytes(dense int) int64 { return 160 * int64(dense+1) }

// Add takes n rows of a block, from a tile on.
func (o *Bounds) Add(b *block.Block, from, n int) {
	plain := true // no row is left out
	for _, w := range b.W[from : from+n] {
		plain = plain && w > 0
		if w > o.MaxWeight {
			o.MaxWeight = w
		}
	}
	if b.X32 != nil {
		extremes(&o.ends32, o, b.X32[from*b.Dense:(from+n)*b.Dense], b.W[from:from+n], plain)
	} else {
		extremes(&o.ends64, o, b.X64[from*b.Dense:(from+n)*b.Dense], b.W[from:from+n], plain)
	}
}

// Fold ends adding. Zeros have no sign after it.
func (o *Bounds) Fold() {
	o.ends32.fold(o)
	o.ends64.fold(o)
	for j := range o.Low {
		o.Low[j], o.High[j] = o.Low[j]+0, o.High[j]+0
	}
}

// Merge takes in other folded bounds.
func (o *Bounds) Merge(r *Bounds) {
	for j, v := range r.Low {
		o.Low[j], o.High[j] = min(o.Low[j], v), max(o.High[j], r.High[j])
	}
	o.MaxWeight = max(o.MaxWeight, r.MaxWeight)
}

// Encode writes the canonical bytes.
func (o *Bounds) Encode(e *canon.E) {
	e.F64s(o.Low)
	e.F64s(o.High)
	e.F64(o.MaxWeight)
}

// DecodeBounds reads what Encode wrote.
func DecodeBounds(d *canon.D) *Bounds {
	o := &Bounds{Low: d.F64s(), High: d.F64s(), MaxWeight: d.F64()}
	if len(o.Low) != len(o.High) {
		d.Fail()
	}
	return o
}

// ends are bounds by column and lane.
type ends[T f64.Elem] struct{ low, high []T }

// extremes adds rows to bounds. Where all rows have a weight they are added by lane,
// and fold combines the lanes.
func extremes[T f64.Elem](e *ends[T], o *Bounds, x []T, w []float64, plain bool) {
	d := len(o.Low)
	if !plain {
		for i, v := range x {
			if row := i/(d*f64.Lanes)*f64.Lanes + i%f64.Lanes; w[row] > 0 {
				j := i / f64.Lanes % d
				o.Low[j], o.High[j] = min(o.Low[j], float64(v)), max(o.High[j], float64(v))
			}
		}
		return
	}
	if e.low == nil {
		e.low, e.high = make([]T, d*f64.Lanes), make([]T, d*f64.Lanes)
		for i := range e.low {
			e.low[i], e.high[i] = T(math.Inf(1)), T(math.Inf(-1))
		}
	}
	f64.ColumnBounds(e.low, e.high, x, d)
}

func (e *ends[T]) fold(o *Bounds) {
	for i, v := range e.low {
		j := i / f64.Lanes
		o.Low[j], o.High[j] = min(o.Low[j], float64(v)), max(o.High[j], float64(e.high[i]))
	}
	e.low, e.high = nil, nil
}

// Half is the power of two that brings v to at most ½.
func Half(v float64) float64 {
	f, e := math.Frexp(v)
	if f == 0.5 {
		e--
	}
	return math.Ldexp(1, min(-e-1, 900))
}
