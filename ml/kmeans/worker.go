package kmeans

import (
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
)

// worker implements family.Worker.
type worker struct {
	set  *family.Setup
	node *family.Node

	mu    sync.Mutex
	state map[int]*state // by leaf; nil where there was no memory
	used  int64
	step  *family.Step
	now   *places // of step
	way   travel
	seen  atomic.Int64 // rows whose marks were read
	held  atomic.Int64 // and of those, rows that the marks proved to stay
}

// state is kept for a leaf's rows between steps.
//
//	while drawing    near: the nearest point, mark: the square of its distance
//	Lloyd            near: the cluster, mark and gap: see travel
type state struct {
	stamp []int32 // by tile: the step that left it; see drawn
	near  []int32
	mark  []uint64
	gap   []float64 // by tile
	full  []bool    // by tile: all rows have weight
}

const (
	stateBytes = 12 // a row
	tileBytes  = 13
)

// drawn is the stamp of no points; the next ones are of as many points. Stamps
// below are of Lloyd's iterations.
const drawn = 1 << 24

// places is shared by all passes of a step.
type places struct {
	body   *body
	all    *points
	fresh  *points // from body.From on
	prev   *points
	slack  float64
	motion []motion // opAssign, by centroid
	total  float64  // see travel
	margin float64
	plain  bool           // marks are neither read nor written
	quick  *f64.Centers32 // says which rows stay; nil for none
}

// NewWorker implements family.Family.
func (kmeans) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	return &worker{set: s, node: n, state: map[int]*state{}}, nil
}

func (w *worker) shape() (dense, codes, oneHot int) {
	f := w.set.Fitted
	return f.Dense, f.Codes, f.OneHot
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	dense, codes, oneHot := w.shape()
	b, _ := s.Body.(*body)
	if b == nil {
		return 0, int64(dense) * 16
	}
	d := dense + oneHot
	k := len(b.Points) / max(d, 1)
	pass = 3*pointsBytes(k, dense, oneHot) + 3*groupBytes(k, dense, codes)
	return pass, 8*int64(k+3)*int64(d+8) + int64(b.Draw)*int64(8*dense+4*codes+96)
}

// Close implements family.Worker.
func (w *worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used > 0 {
		_ = w.node.Grow(-w.used) // a release cannot fail
	}
	w.used, w.state = 0, nil
}

// rows returns the state of a block's rows, or nil where there is no memory for
// it: then the pass computes what the state would hold.
func (w *worker) rows(r family.Rows, b *block.Block) *state {
	w.mu.Lock()
	defer w.mu.Unlock()
	st, ok := w.state[r.Leaf]
	if ok {
		return st
	}
	n := b.Padded()
	need := int64(n)*stateBytes + int64(n/f64.Lanes)*tileBytes
	if w.node.Grow(need) == nil {
		w.used += need
		st = &state{stamp: make([]int32, n/f64.Lanes), near: make([]int32, n), mark: make([]uint64, n), gap: make([]float64, n/f64.Lanes), full: make([]bool, n/f64.Lanes)}
		for i := range st.stamp {
			st.stamp[i] = -1
		}
		for i := range st.near {
			st.near[i] = none // rows of weight 0 keep none
		}
		for t := range st.full {
			st.full[t] = (t+1)*f64.Lanes <= b.Rows && allPositive(b.W[t*f64.Lanes:(t+1)*f64.Lanes])
		}
	}
	w.state[r.Leaf] = st
	return st
}

func allPositive(w []float64) bool {
	for _, v := range w {
		if !(v > 0) {
			return false
		}
	}
	return true
}

// places returns the places of a step; the first pass makes them.
func (w *worker) places(s *family.Step) *places {
	b, _ := s.Body.(*body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == s && w.now != nil {
		return w.now
	}
	dense, codes, oneHot := w.shape()
	p := &places{body: b, slack: slack(codes, oneHot)}
	if b != nil {
		p.all = newPoints(b.Points, dense, oneHot)
		p.fresh = p.all
		if b.From > 0 {
			p.fresh = newPoints(b.Points[b.From*(dense+oneHot):], dense, oneHot)
		}
		if len(b.Prev) > 0 {
			p.prev = newPoints(b.Prev, dense, oneHot)
		}
		if s.Op == opAssign {
			w.move(p)
		}
	}
	w.step, w.now = s, p
	return p
}
