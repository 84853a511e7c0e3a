package kmeans

import (
	"math"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
)

// worker is a node's part.
type worker struct {
	set  *family.Setup
	node *family.Node

	mu    sync.Mutex
	state map[int]*state // by leaf; nil where there was no memory
	used  int64
	step  *family.Step
	now   *places // of step
}

// state is what is known of a leaf's rows.
//
//	while drawing    near: the nearest point, mark: the square of its distance
//	Lloyd            near: the cluster, mark: bounds on the distance to its
//	                 centroid and to every other
type state struct {
	stamp []int32 // by tile: the step that left it; see drawn
	near  []int32
	mark  []uint64
}

const stateBytes = 12 // a row, and 4 a tile

// drawn is the stamp of no points; the next ones are of as many points. Stamps
// below are of Lloyd's iterations.
const drawn = 1 << 24

// places is what all passes of a step share.
type places struct {
	body   *body
	all    *points
	fresh  *points // from body.From on
	prev   *points
	motion []motion // opAssign, by centroid
	slack  float64
}

// motion is how a centroid moved and lies.
type motion struct {
	drift  float64 // how far it moved, at most
	others float64 // how far another moved, at most
	apart  float64 // how far the next one is, at least
}

// NewWorker implements family.Family.
func (kmeans) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return &worker{set: s, node: n, state: map[int]*state{}}, nil
}

func (w *worker) shape() (dense, codes, ones int) {
	f := w.set.Fitted
	return f.Dense, f.Codes, f.Ones
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) int64 {
	dense, codes, ones := w.shape()
	b, _ := s.Body.(*body)
	if b == nil {
		return int64(dense) * 16
	}
	d := dense + ones
	k := len(b.Points) / max(d, 1)
	n := 3*pointsBytes(k, dense, ones) + 3*groupBytes(k, dense, codes) + 8*int64(k+3)*int64(d+8)
	return n + int64(b.Draw)*int64(8*dense+4*codes+96)
}

// Close implements family.Worker.
func (w *worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used > 0 {
		_ = w.node.Grow(-w.used) // giving back cannot fail
	}
	w.used, w.state = 0, nil
}

// rows gives the state of a block's rows, or nil where there is no memory for
// it: then the pass computes what it would have known.
func (w *worker) rows(r family.Rows, b *dataset.Block) *state {
	w.mu.Lock()
	defer w.mu.Unlock()
	st, ok := w.state[r.Leaf]
	if ok {
		return st
	}
	n := b.Padded()
	need := int64(n)*stateBytes + int64(n/f64.Lanes)*4
	if w.node.Grow(need) == nil {
		w.used += need
		st = &state{stamp: make([]int32, n/f64.Lanes), near: make([]int32, n), mark: make([]uint64, n)}
		for i := range st.stamp {
			st.stamp[i] = -1
		}
		for i := range st.near {
			st.near[i] = none // stays so for rows of no weight
		}
	}
	w.state[r.Leaf] = st
	return st
}

// places gives what the passes of a step share.
func (w *worker) places(s *family.Step) *places {
	b, _ := s.Body.(*body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == s && w.now != nil {
		return w.now
	}
	dense, codes, ones := w.shape()
	p := &places{body: b, slack: slack(codes, ones)}
	if b != nil {
		p.all = newPoints(b.Points, dense, ones)
		p.fresh = p.all
		if b.From > 0 {
			p.fresh = newPoints(b.Points[b.From*(dense+ones):], dense, ones)
		}
		if len(b.Prev) > 0 {
			p.prev = newPoints(b.Prev, dense, ones)
			p.measure(dense + ones)
		}
	}
	w.step, w.now = s, p
	return p
}

// apartMost is the number of centroids up to which the distances between all of
// them are computed.
const apartMost = 512

// over makes what was computed an upper bound, under a lower one.
func over(v float64) float64  { return v * (1 + 0x1p-30) }
func under(v float64) float64 { return v * (1 - 0x1p-30) }

// measure computes how centroids moved and lie.
func (p *places) measure(d int) {
	k := p.all.k
	p.motion = make([]motion, k)
	at := func(v []float64, i int) []float64 { return v[i*d : (i+1)*d] }
	first, second, who := 0.0, 0.0, -1
	for i := range k {
		v := over(math.Sqrt(squared(at(p.body.Points, i), at(p.body.Prev, i))))
		p.motion[i].drift = v
		if v > first {
			first, second, who = v, first, i
		} else {
			second = max(second, v)
		}
	}
	for i := range k {
		if p.motion[i].others = first; i == who {
			p.motion[i].others = second
		}
	}
	if k > apartMost {
		return
	}
	for i := range k {
		p.motion[i].apart = inf()
	}
	for i := range k {
		for j := range i {
			v := under(math.Sqrt(squared(at(p.body.Points, i), at(p.body.Points, j))))
			p.motion[i].apart, p.motion[j].apart = min(p.motion[i].apart, v), min(p.motion[j].apart, v)
		}
	}
}

// mark keeps an upper and a lower bound, rounded outwards.
func mark(up, low float64) uint64 {
	if up *= 1 + 0x1p-22; up < 1e-37 {
		up = 1e-37
	}
	if low *= 1 - 0x1p-22; low < 1e-37 {
		low = 0
	} else if low > math.MaxFloat32 {
		low = math.MaxFloat32
	}
	return uint64(math.Float32bits(float32(up)))<<32 | uint64(math.Float32bits(float32(low)))
}

func bounds(m uint64) (up, low float64) {
	return float64(math.Float32frombits(uint32(m >> 32))), float64(math.Float32frombits(uint32(m)))
}
