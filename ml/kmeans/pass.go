package kmeans

import (
	"context"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/family"
)

// pass works the rows of blocks by groups; each step has its own way with a
// group.
type pass struct {
	w     *worker
	op    uint8
	p     *places
	g     *group
	out   *partial
	work  func(b *dataset.Block, st *state, held bool)
	begin []float64 // scratch: the numbers rows are drawn by
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	dense, codes, _ := w.shape()
	p := &pass{w: w, op: s.Op, p: w.places(s), g: newGroup(dense, codes)}
	p.begin = make([]float64, p.g.size)
	switch s.Op {
	case opFirst:
		p.work = p.first
	case opDraw:
		p.work = p.draw
	case opWeigh:
		p.work = p.weigh
	case opAssign:
		p.work = p.assign
	case opFar:
		p.work = p.far
	case opBatch:
		p.work = p.batch
	case opExact:
		p.work = p.exact
	}
	p.reset()
	return p, nil
}

func (p *pass) reset() {
	dense, _, ones := p.w.shape()
	d, o := dense+ones, &partial{}
	p.out = o
	if p.p.body == nil {
		o.Max = make([]float64, dense)
		return
	}
	k := p.p.all.k
	o.Sample.Cap = p.p.body.Draw
	switch p.op {
	case opFirst:
		o.Sums, o.Weights = make([]int64, d), make([]int64, 1)
	case opAssign, opBatch:
		o.Sums, o.Weights = make([]int64, k*d), make([]int64, k)
	case opWeigh:
		o.Weights = make([]int64, k)
	case opExact:
		o.Weights, o.Dists = make([]int64, k), make([]wide, k)
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	p.reset()
	return o
}

// Clusters of the iteration before.
const (
	none    int32 = -1
	unknown int32 = -2
)

// keeps tells whether a step uses state of rows.
func keeps(op uint8) bool { return op == opDraw || op == opWeigh || op == opAssign }

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *dataset.Block) error {
	if p.op == opBounds {
		p.bounds(r, b)
		return nil
	}
	var st *state
	if keeps(p.op) && !r.Held {
		st = p.w.rows(r, b)
	}
	g, to := p.g, min(r.To, b.Rows)
	g.rows, g.old = g.rows[:0], g.old[:0]
	flush := func() {
		if len(g.rows) > 0 {
			g.load(b)
			p.work(b, st, r.Held)
			g.rows, g.old = g.rows[:0], g.old[:0]
		}
	}
	old := none
	if p.p.prev != nil {
		old = unknown
	}
	for i := r.From; i < to; i += f64.Lanes {
		if i&0x3fff == 0 && ctx.Err() != nil {
			flush() // the state of all tiles that were begun is whole
			return context.Cause(ctx)
		}
		if p.op == opAssign && st != nil && p.p.prev != nil && int(st.stamp[i/f64.Lanes]) == p.p.body.Iter-1 {
			p.hold(st, i, min(i+f64.Lanes, to))
		} else {
			for q := i; q < min(i+f64.Lanes, to); q++ {
				if b.W[q] > 0 {
					g.rows, g.old = append(g.rows, q), append(g.old, old)
				}
			}
		}
		if len(g.rows) > g.size-f64.Lanes {
			flush()
		}
	}
	flush()
	return nil
}

func (p *pass) bounds(r family.Rows, b *dataset.Block) {
	d := b.Dense
	for i := r.From; i < min(r.To, b.Rows); i++ {
		if !(b.W[i] > 0) {
			continue
		}
		if !r.Held {
			p.out.MaxWeight = max(p.out.MaxWeight, b.W[i])
		}
		at := i&^(f64.Lanes-1)*d + i&(f64.Lanes-1)
		for j := range d {
			v := 0.0
			if b.X32 != nil {
				v = math.Abs(float64(b.X32[at+j*f64.Lanes]))
			} else {
				v = math.Abs(b.X64[at+j*f64.Lanes])
			}
			if r.Held {
				p.out.MaxHeld = max(p.out.MaxHeld, v)
			} else {
				p.out.Max[j] = max(p.out.Max[j], v)
			}
		}
	}
}

// add adds row i of the group to the sums of a point, times sign.
func (p *pass) add(b *dataset.Block, i, k int, sign int64) {
	g, grid := p.g, &p.p.body.Grid
	_, _, ones := p.w.shape()
	d := g.dense + ones
	sums := p.out.Sums[k*d : (k+1)*d]
	w := b.W[g.rows[i]]
	x := g.x[i&^(f64.Lanes-1)*g.dense+i&(f64.Lanes-1):]
	if share := w * grid.Unit; share == 1 {
		for j, s := range grid.Col {
			sums[j] += sign * whole(x[j*f64.Lanes]*s)
		}
	} else {
		for j, s := range grid.Col {
			sums[j] += sign * whole(share*float64(whole(x[j*f64.Lanes]*s)))
		}
	}
	n := whole(w * grid.Weight)
	p.out.Weights[k] += sign * n
	for j := range g.codes {
		if c := g.code[i&^(f64.Lanes-1)*g.codes+j*f64.Lanes+i&(f64.Lanes-1)]; c >= 0 {
			sums[g.dense+int(c)] += sign * n
		}
	}
}

// first sums all rows up, and their squares, and draws by their number alone.
func (p *pass) first(b *dataset.Block, _ *state, _ bool) {
	g, body := p.g, p.p.body
	g.chances(body.Salt, p.begin)
	for i, r := range g.rows {
		p.add(b, i, 0, 1)
		z := 0.0
		for j, x := 0, g.x[i&^(f64.Lanes-1)*g.dense+i&(f64.Lanes-1):]; j < g.dense; j++ {
			z = f64.FMA(x[j*f64.Lanes], x[j*f64.Lanes], z)
		}
		p.out.Inertia[0].add(whole(float64(z*b.W[r]) * body.Grid.Square))
		p.out.Sample.offer(p.begin[i], g, i)
	}
}
