package kmeans

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// travel is how far centroids have moved since the marks began. A row's mark is
// an upper bound on the distance to its centroid a and a lower one on the
// distance to all others, as they would be had no centroid moved since the
// beginning: nothing need be written for a row that stays, and its bounds are
//
//	up + drift[a]      low - others[a]
//
// A tile's gap is the least difference of the two over its rows, likewise: while
// it is above total, no row of the tile moves.
type travel struct {
	iter   int // the last iteration that is included
	drift  []float64
	others []float64
	total  float64
	rest   int // for how many iterations no marks are kept
}

// motion is the movement of a centroid, and its distance from the next one.
type motion struct {
	drift  float64 // upper bound on the distance it has moved since the marks began
	others float64 // upper bound, summed over iterations, on the movement of any other centroid
	apart  float64 // lower bound on the distance of the nearest other centroid
}

// unmarked is the gap of tiles whose rows have no marks.
const unmarked = -1

// Rows of few coordinates and centroids are found to stay by recomputing distances in
// float32, which costs less than marks up to quickMost products. Both rest where few
// rows stay, and when the centroids move far at first.
const (
	quickMost = 1000
	restFirst = 1
	restAgain = 3
)

// apartMost is the number of centroids up to which the distances between all of
// them are computed.
const apartMost = 512

// over turns a rounded result into an upper bound, under into a lower one.
func over(v float64) float64  { return v * (1 + 0x1p-30) }
func under(v float64) float64 { return v * (1 - 0x1p-30) }

// move adds the centroids' step before an iteration to the travel. A repeated iteration
// is not added twice; after a gap the travel is reset.
func (w *worker) move(p *places) {
	k, t := p.all.k, &w.way
	switch iter := p.body.Iter; {
	case p.prev == nil:
		*t = travel{drift: make([]float64, k), others: make([]float64, k), rest: restFirst}
	case iter == t.iter+1 && len(t.drift) == k:
		t.iter = iter
		t.add(p.body, k)
	case iter != t.iter || len(t.drift) != k:
		*t = travel{iter: iter, drift: make([]float64, k), others: make([]float64, k)}
		for _, st := range w.state { // the order does not matter: all are reset
			if st != nil {
				for i := range st.stamp {
					st.stamp[i] = -1
				}
			}
		}
	}
	if seen, held := w.seen.Swap(0), w.held.Swap(0); held*5 < seen*2 {
		t.rest = restAgain
	}
	p.plain = true
	switch dense, codes, _ := w.shape(); {
	case t.rest > 0:
		t.rest--
	case dense > 0 && codes == 0 && k*dense <= quickMost:
		if c, ok := f64.NewCenters32(p.body.Points, dense); ok {
			p.quick = c
		}
	default:
		p.plain = false
	}
	p.total = t.total
	// No distance is above reach; see hold for what the bounds must differ by.
	reach := math.Sqrt(math.Ldexp(p.body.Grid.Unit, exact.WholeBits) / p.body.Grid.Square)
	p.margin = float64(0x1p-14*reach) + math.Sqrt(2*p.slack)
	p.motion = make([]motion, k)
	for i := range k {
		p.motion[i] = motion{drift: t.drift[i], others: t.others[i]}
	}
	if !p.plain && k <= apartMost {
		p.measure()
	}
}

// add adds the movement before an iteration.
func (t *travel) add(b *body, k int) {
	d := len(b.Points) / k
	first, second, who := 0.0, 0.0, -1
	for i := range k {
		v := over(math.Sqrt(squared(b.Points[i*d:(i+1)*d], b.Prev[i*d:(i+1)*d])))
		t.drift[i] = over(t.drift[i] + v)
		if v > first {
			first, second, who = v, first, i
		} else {
			second = max(second, v)
		}
	}
	for i := range k {
		if i == who {
			t.others[i] = over(t.others[i] + second)
		} else {
			t.others[i] = over(t.others[i] + first)
		}
	}
	// A row's upper bound grows by one such step. Its lower one falls by one; or,
	// as the distance of two centroids less the upper bound, by three.
	t.total = over(t.total + float64(4*first))
}

// measure computes the distances between centroids.
func (p *places) measure() {
	k := p.all.k
	d := len(p.body.Points) / k
	for i := range k {
		p.motion[i].apart = inf()
	}
	for i := range k {
		for j := range i {
			v := under(math.Sqrt(squared(p.body.Points[i*d:(i+1)*d], p.body.Points[j*d:(j+1)*d])))
			p.motion[i].apart, p.motion[j].apart = min(p.motion[i].apart, v), min(p.motion[j].apart, v)
		}
	}
}

// mark keeps an upper and a lower bound, rounded outwards.
func mark(up, low float64) uint64 {
	if up >= 0 {
		up *= 1 + 0x1p-22
	} else {
		up *= 1 - 0x1p-22
	}
	if low *= 1 - 0x1p-22; low > math.MaxFloat32 {
		low = math.MaxFloat32
	}
	return uint64(math.Float32bits(float32(up+1e-37)))<<32 | uint64(math.Float32bits(float32(low-1e-37)))
}

func bounds(m uint64) (up, low float64) {
	return float64(math.Float32frombits(uint32(m >> 32))), float64(math.Float32frombits(uint32(m)))
}
