package kmeans

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// The steps.
const (
	opBounds  uint8 = iota + 1 // greatest values
	opFirst                    // sums of all rows, the first rows drawn
	opDraw                     // rows far from the points
	opWeights                  // weight of the rows nearest to each point
	opAssign                   // Lloyd's iteration: what changed
	opFar                      // the rows that are farthest from their centroid
	opBatch                    // sums of a mini-batch's clusters
	opExact                    // distances of all rows
	numOps
)

// body is the body of all steps; each uses some of the fields.
type body struct {
	Iter   int       // opAssign: the number of the iteration, from 0
	Points []float64 // candidates or centroids, one after the other
	Prev   []float64 // opAssign: the centroids of the iteration before
	From   int       // opDraw, opWeights: the points before this one were there in the step before
	Draw   int       // how many rows to draw
	Salt   uint64    // the salt of the hash that they are drawn by
	Grid   grid
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) { canon.Put(e, b) }

// DecodeStep implements family.Family.
func (kmeans) DecodeStep(op uint8, d *canon.D) family.Message {
	b := canon.Get[body](d)
	if op == 0 || op >= numOps || b.Iter < 0 || b.From < 0 || b.Draw < 0 || b.Draw > 1<<24 || len(b.Prev) > 0 && len(b.Prev) != len(b.Points) ||
		!finite(b.Points) || !finite(b.Prev) {
		d.Fail()
	}
	return b
}

// partial is the partial of all steps; an empty list means zeros.
type partial struct {
	Max       []float64 // opBounds: of |x| by dense column
	MaxWeight float64
	MaxHeld   float64 // of |x| in any column of rows that are held out
	Sums      []int64 // by point and coordinate, on the grid
	Weights   []int64 // by point
	Changed   int64   // rows that moved to another cluster
	Inertia   [2]wide // squared distances, of rows to train on and held out; opFirst: from the origin, without slots
	Held      int64   // weight of rows held out
	Dists     []wide  // by point
	Sample    sample
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) { canon.Put(e, p) }

// DecodePartial implements family.Family.
func (kmeans) DecodePartial(op uint8, d *canon.D) family.Message {
	p := canon.Get[partial](d)
	if op == 0 || op >= numOps || p.Sample.Cap < len(p.Sample.Picks) {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (kmeans) Merge(op uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*partial), right.(*partial)
	if len(l.Max) == 0 {
		l.Max = r.Max
	}
	for j, v := range r.Max {
		l.Max[j] = max(l.Max[j], v)
	}
	l.MaxWeight, l.MaxHeld = max(l.MaxWeight, r.MaxWeight), max(l.MaxHeld, r.MaxHeld)
	plus(&l.Sums, r.Sums)
	plus(&l.Weights, r.Weights)
	l.Changed += r.Changed
	l.Held += r.Held
	for i := range l.Inertia {
		l.Inertia[i].plus(r.Inertia[i])
	}
	if len(l.Dists) == 0 {
		l.Dists, r.Dists = r.Dists, nil
	}
	for i, w := range r.Dists {
		l.Dists[i].plus(w)
	}
	l.Sample.Cap = max(l.Sample.Cap, r.Sample.Cap)
	l.Sample.merge(&r.Sample)
	return l, nil
}

func plus(dst *[]int64, v []int64) {
	if len(*dst) == 0 {
		*dst = v
		return
	}
	for i, x := range v {
		(*dst)[i] += x
	}
}

func finite(v []float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

func tooLarge(v []float64) bool {
	for _, x := range v {
		if !(math.Abs(x) < 1e140) {
			return true
		}
	}
	return false
}

// Slice implements family.Sliced.
func (p *partial) Slice(from, to int) family.Message {
	s := &partial{}
	if from == 0 {
		*s = *p
	}
	s.Sums = family.Cut(p.Sums, from, to)
	return s
}

// Join implements family.Sliced.
func (p *partial) Join(list []family.Message) (family.Message, error) {
	sums, err := family.Join(list, func(p *partial) []int64 { return p.Sums })
	out := *p
	out.Sums = sums
	return &out, err
}
