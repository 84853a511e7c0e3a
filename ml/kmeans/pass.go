package kmeans

import (
	"context"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
)

// pass processes the rows of blocks in groups, each step by a method of its
// own.
type pass struct {
	w     *worker
	op    uint8
	p     *places
	whole *group // whole tiles, which are quick to load
	loose *group // single rows
	g     *group // the one being processed
	out   *partial
	seen  int64 // see worker
	held  int64
	work  func(b *block.Block, st *state, held bool)
	begin []float64 // scratch: the numbers rows are drawn by
	x32   []float32 // scratch: tiles
	minus []int64   // scratch: what is taken from no point
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	dense, codes, oneHot := w.shape()
	p := &pass{w: w, op: s.Op, p: w.places(s), whole: newGroup(dense, codes), loose: newGroup(dense, codes)}
	p.begin, p.minus = make([]float64, p.whole.size), make([]int64, dense+oneHot)
	switch s.Op {
	case opFirst:
		p.work = p.first
	case opDraw:
		p.work = p.draw
	case opWeights:
		p.work = p.weights
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
	dense, _, oneHot := p.w.shape()
	d, o := dense+oneHot, &partial{}
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
	case opWeights:
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

// keeps reports whether a step uses state of rows.
func keeps(op uint8) bool { return op == opDraw || op == opWeights || op == opAssign }

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	if p.op == opBounds {
		p.bounds(r, b)
		return nil
	}
	var st *state
	if keeps(p.op) && !r.Held {
		st = p.w.rows(r, b)
	}
	to := min(r.To, b.Rows)
	flush := func(g *group, more int) {
		if n := len(g.rows); n > 0 && n+more > g.size {
			p.g = g
			g.load(b)
			p.work(b, st, r.Held)
			g.rows, g.old = g.rows[:0], g.old[:0]
		}
	}
	old := none
	if p.p.prev != nil {
		old = unknown
	}
	known := p.op == opAssign && st != nil && p.p.prev != nil
	quick := known && p.p.quick != nil
	for i := r.From; i < to; i += f64.Lanes {
		if n := quickTiles * f64.Lanes; quick && i+n <= to && p.quickly(st, i) {
			flush(p.whole, n)
			flush(p.loose, n)
			p.stay(b, st, i)
			i += n - f64.Lanes
			flush(p.whole, f64.Lanes)
			flush(p.loose, f64.Lanes)
			continue
		}
		if i&0x3fff == 0 && ctx.Err() != nil {
			break // a leaf that was begun is finished, so that its rows' state is consistent
		}
		if known && int(st.stamp[i/f64.Lanes]) == p.p.body.Iter-1 {
			if n := min(i+f64.Lanes, to); p.p.plain || st.gap[i/f64.Lanes] == unmarked {
				p.addTile(st, i, n)
			} else {
				p.hold(st, i, n)
			}
		} else {
			p.take(b, i, min(i+f64.Lanes, to), old)
		}
		flush(p.whole, f64.Lanes)
		flush(p.loose, f64.Lanes)
	}
	flush(p.whole, p.whole.size)
	flush(p.loose, p.loose.size)
	p.w.seen.Add(p.seen)
	p.w.held.Add(p.held)
	p.seen, p.held = 0, 0
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// take adds the rows of a tile that have weight to a group.
func (p *pass) take(b *block.Block, tile, to int, old int32) {
	g := p.whole
	if to-tile < f64.Lanes {
		g = p.loose
	}
	if !b.Unit() && !allPositive(b.W[tile:to]) {
		g = p.loose
	}
	if g == p.whole {
		for i := range f64.Lanes {
			g.rows, g.old = append(g.rows, tile+i), append(g.old, old)
		}
		return
	}
	for i := tile; i < to; i++ {
		if b.W[i] > 0 {
			g.rows, g.old = append(g.rows, i), append(g.old, old)
		}
	}
}

// even reports whether the group is whole tiles of rows of weight 1 without one-hot columns,
// whose sums need no multiplication.
func (p *pass) even(b *block.Block) bool {
	return p.g == p.whole && p.g.codes == 0 && p.p.body.Grid.Unit == 1 && b.Unit()
}

// bounds records the greatest magnitudes in rows of positive weight: of each
// column or, of held-out rows, of all columns together. The padding rows of the
// last tile have weight 0.
func (p *pass) bounds(r family.Rows, b *block.Block) {
	o := gram.NewBounds(b.Dense)
	for i, to := r.From, min((r.To+f64.Lanes-1)&^(f64.Lanes-1), b.Padded()); i < to; i += f64.FixedRows {
		o.Add(b, i, min(f64.FixedRows, to-i))
	}
	o.Fold()
	if !r.Held {
		p.out.MaxWeight = max(p.out.MaxWeight, o.MaxWeight)
	}
	for j, low := range o.Low {
		if low > o.High[j] { // no row has weight
			continue
		}
		if v := max(-low, o.High[j]); r.Held {
			p.out.MaxHeld = max(p.out.MaxHeld, v)
		} else {
			p.out.Max[j] = max(p.out.Max[j], v)
		}
	}
}

// add adds row i of the group to the sums of point to, and takes it from those of
// point from, unless that is negative.
func (p *pass) add(b *block.Block, i, to, from int) {
	g, grid := p.g, &p.p.body.Grid
	_, _, oneHot := p.w.shape()
	d := g.dense + oneHot
	w := b.W[g.rows[i]]
	share, n := w*grid.Unit, exact.Whole(w*grid.Weight)
	plus := p.out.Sums[to*d : (to+1)*d]
	p.out.Weights[to] += n
	minus := p.minus
	if from >= 0 {
		minus = p.out.Sums[from*d : (from+1)*d]
		p.out.Weights[from] -= n
	}
	tile, l := i&^(f64.Lanes-1), i&(f64.Lanes-1)
	x := g.row(i)
	if from < 0 && share == 1 && g.codes == 0 {
		plus = plus[:len(grid.Col)]
		for j, s := range grid.Col {
			plus[j] += exact.Whole(x[j*f64.Lanes] * s)
		}
		return
	}
	plus1, minus1 := plus[:len(grid.Col)], minus[:len(grid.Col)]
	for j, s := range grid.Col {
		v := exact.Whole(x[j*f64.Lanes] * s)
		if share != 1 {
			v = exact.Whole(share * float64(v))
		}
		plus1[j] += v
		minus1[j] -= v
	}
	for j := range g.codes {
		if c := g.code[tile*g.codes+j*f64.Lanes+l]; c >= 0 {
			plus[g.dense+int(c)] += n
			minus[g.dense+int(c)] -= n
		}
	}
}

// first sums all rows up, and their squares, and draws by their number alone, if
// any are to be drawn.
func (p *pass) first(b *block.Block, _ *state, _ bool) {
	g, body := p.g, p.p.body
	if body.Draw > 0 {
		g.chances(body.Salt, p.begin)
	}
	if p.even(b) {
		n, squares := len(g.rows), int64(0)
		f64.AddWhole(p.out.Sums, g.x[:n*g.dense], body.Grid.Col)
		p.out.Weights[0] += int64(n) * exact.Whole(body.Grid.Weight)
		g.nearest(p.p.all) // the distance to the origin, which is the only point
		for _, z := range g.best[:n] {
			squares += exact.Whole(z * body.Grid.Square)
		}
		p.out.Inertia[0].add(squares)
		for i := 0; i < n && body.Draw > 0; i++ {
			p.out.Sample.offer(p.begin[i], g, i)
		}
		return
	}
	for i, r := range g.rows {
		p.add(b, i, 0, -1)
		z := 0.0
		for j, x := 0, g.row(i); j < g.dense; j++ {
			z = f64.FMA(x[j*f64.Lanes], x[j*f64.Lanes], z)
		}
		p.out.Inertia[0].add(exact.Whole(float64(z*b.W[r]) * body.Grid.Square))
		if body.Draw > 0 {
			p.out.Sample.offer(p.begin[i], g, i)
		}
	}
}
