package kmeans

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Limits of the work on candidates at the root, in products of coordinates: a
// few seconds. Beyond reduceMost the heaviest candidates are the centroids.
const (
	reduceMost = 2e10
	trialsMost = 4e9
	roundsMost = 4e10
)

// reduce makes k centroids of candidates with weights: greedy k-means++ and then
// Lloyd's iterations, on one goroutine and in one order.
func reduce(points []float64, weights []int64, k, d int, seed uint64) []float64 {
	n := len(points) / d
	if n <= k {
		return points
	}
	work := float64(n) * float64(k) * float64(d)
	if work > reduceMost {
		return heaviest(points, weights, k, d)
	}
	r := random(seed)
	x := func(i int) []float64 { return points[i*d : (i+1)*d] }
	w := make([]float64, n)
	for i, v := range weights {
		w[i] = float64(v)
	}
	near := make([]float64, n) // weight times squared distance to the nearest so far
	copy(near, w)
	out := append([]float64{}, x(r.draw(near))...)
	for i := range near {
		near[i] = float64(w[i] * squared(x(i), out))
	}
	trials := max(1, min(2+bits.Len(uint(k)), int(trialsMost/work))) // about 2 + log k, as in Arthur and Vassilvitskii's code and scikit-learn
	try, best := make([]float64, n), make([]float64, n)
	for len(out) < k*d {
		least, who := inf(), -1
		for range trials {
			c := r.draw(near)
			sum := 0.0
			for i := range try {
				try[i] = min(near[i], float64(w[i]*squared(x(i), x(c))))
				sum += try[i]
			}
			if sum < least {
				least, who = sum, c
				copy(best, try)
			}
		}
		copy(near, best)
		out = append(out, x(who)...)
	}
	return lloyd(points, w, out, d, max(1, int(min(100, roundsMost/work))))
}

// heaviest returns the k points of the greatest weight, the first of equals.
func heaviest(points []float64, weights []int64, k, d int) []float64 {
	order := make([]int, len(weights))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	var out []float64
	for _, i := range order[:k] {
		out = append(out, points[i*d:(i+1)*d]...)
	}
	return out
}

// lloyd moves centroids over weighted points until nothing changes, at most
// rounds times.
func lloyd(points, w, at []float64, d, rounds int) []float64 {
	n, k := len(w), len(at)/d
	tiles := make([]float64, f64.Tiles(n)*f64.Lanes*d)
	for i := range n {
		for j := range d {
			tiles[(i/f64.Lanes*d+j)*f64.Lanes+i%f64.Lanes] = points[i*d+j]
		}
	}
	m := f64.Tiles(n) * f64.Lanes
	best, next, to, was := make([]float64, m), make([]float64, m), make([]int64, m), make([]int64, m)
	for i := range was {
		was[i] = -1
	}
	for range rounds {
		p := newPoints(at, d, 0)
		f64.Nearest(best, next, to, tiles, p.c, p.starts)
		changed := false
		for i := range n {
			changed = changed || to[i] != was[i]
		}
		if !changed {
			break
		}
		copy(was, to)
		sums, mass := make([]float64, k*d), make([]float64, k)
		for i := range n {
			mass[to[i]] += w[i]
			f64.Axpy(sums[int(to[i])*d:][:d], w[i], points[i*d:(i+1)*d])
		}
		moved := append([]float64{}, at...)
		for c, v := range mass {
			for j := 0; j < d && v > 0; j++ {
				moved[c*d+j] = sums[c*d+j] / v
			}
		}
		at = moved
	}
	return at
}

// random is a sequence of random numbers.
type random uint64

func (r *random) uniform() float64 {
	*r += mulA
	return float64(mix(uint64(*r))>>11) * 0x1p-53
}

// draw returns an index with these weights, any if all are 0.
func (r *random) draw(w []float64) int {
	sum := 0.0
	for _, v := range w {
		sum += v
	}
	u, last := float64(r.uniform()*sum), 0
	for i, v := range w {
		if v > 0 {
			if last = i; u < v {
				return i
			}
			u = math.Max(u-v, 0)
		}
	}
	return last
}
