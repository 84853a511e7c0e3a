package kmeans

import (
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// reach sets best and at of a group's rows to the nearest of all points. Where
// the rows' state has the nearest of the points before body.From, only the
// points from there on are compared.
func (p *pass) reach(st *state) {
	g, from := p.g, p.p.body.From
	known := st != nil && from > 0
	for _, r := range g.rows {
		known = known && int(st.stamp[r/f64.Lanes]) == drawn+from
	}
	if known {
		if p.p.fresh.k > 0 {
			g.nearest(p.p.fresh)
		} else {
			for i := range g.rows {
				g.best[i] = inf()
			}
		}
		for i, r := range g.rows {
			if d := math.Float64frombits(st.mark[r]); d <= g.best[i] { // the lowest of equals
				g.best[i], g.at[i] = d, int64(st.near[r])
			} else {
				g.at[i] += int64(from)
			}
		}
	} else {
		g.nearest(p.p.all)
	}
	if st == nil {
		return
	}
	for i, r := range g.rows {
		st.near[r], st.mark[r] = int32(g.at[i]), math.Float64bits(g.best[i])
	}
	for _, r := range g.rows {
		st.stamp[r/f64.Lanes] = int32(drawn + p.p.all.k)
	}
}

// draw draws rows with the squares of their distances as weights.
func (p *pass) draw(_ *block.Block, st *state, _ bool) {
	g := p.g
	p.reach(st)
	g.chances(p.p.body.Salt, p.begin)
	for i, u := range p.begin[:len(g.rows)] {
		d := g.best[i]
		// -log u is at least 1-u, which decides most rows.
		if d == 0 || (1-u) > p.out.Sample.worst()*d*(1+0x1p-40) {
			continue
		}
		p.out.Sample.offer(-f64.Log1(u)/d, g, i)
	}
}

// weights sums the weight of the rows nearest to each point.
func (p *pass) weights(b *block.Block, st *state, _ bool) {
	p.reach(st)
	for i, r := range p.g.rows {
		p.out.Weights[p.g.at[i]] += exact.Whole(b.W[r] * p.p.body.Grid.Weight)
	}
}

// quickTiles is how many tiles are processed at once in float32.
const quickTiles = 4

// quickly reports whether stay can handle the tiles from row on.
func (p *pass) quickly(st *state, row int) bool {
	t := row / f64.Lanes
	for q := range quickTiles {
		if !st.full[t+q] || int(st.stamp[t+q]) != p.p.body.Iter-1 {
			return false
		}
	}
	return true
}

// stay adds to a group those rows of some tiles that distances in float32, with
// the bound on their error, do not show to stay in their cluster.
func (p *pass) stay(b *block.Block, st *state, row int) {
	const n = quickTiles * f64.Lanes
	x := b.X32
	if x != nil {
		x = x[row*b.Dense : (row+n)*b.Dense]
	} else {
		if p.x32 == nil {
			p.x32 = make([]float32, n*b.Dense)
		}
		x = p.x32
		f64.Narrow(x, b.X64[row*b.Dense:(row+n)*b.Dense])
	}
	var doubt [quickTiles]uint8
	near := st.near[row : row+n]
	f64.Stays(doubt[:], x, near, p.p.quick)
	p.seen += n
	for q, d := range doubt {
		t := row/f64.Lanes + q
		st.stamp[t], st.gap[t] = int32(p.p.body.Iter), unmarked
		count := bits.OnesCount8(d)
		p.held += int64(f64.Lanes - count)
		if count >= f64.Lanes/2 {
			p.addTile(st, t*f64.Lanes, (t+1)*f64.Lanes)
			continue
		}
		for ; d != 0; d &= d - 1 {
			i := q*f64.Lanes + bits.TrailingZeros8(d)
			p.loose.rows, p.loose.old = append(p.loose.rows, row+i), append(p.loose.old, near[i])
		}
	}
}

// addTile adds the rows of a tile to a group.
func (p *pass) addTile(st *state, tile, to int) {
	near := st.near[tile:to]
	g := p.whole
	if len(near) < f64.Lanes || slices.Contains(near, none) {
		g = p.loose
	}
	for i, a := range near {
		if a != none {
			g.rows, g.old = append(g.rows, tile+i), append(g.old, a)
		}
	}
}

// hold finds which rows of a tile certainly stay in their cluster by their
// bounds, and adds the others to a group; all rows, where that is quicker.
func (p *pass) hold(st *state, tile, to int) {
	s, t := p.p, tile/f64.Lanes
	near, marks := st.near[tile:to], st.mark[tile:to]
	st.stamp[t] = int32(s.body.Iter)
	p.seen += f64.Lanes
	if st.gap[t]-s.total > s.margin {
		p.held += f64.Lanes
		return
	}
	var move [f64.Lanes]int
	n, all, gap := 0, len(near) == f64.Lanes, inf()
	for i, a := range near {
		if a == none {
			all = false
			continue
		}
		m := &s.motion[a]
		u, l := bounds(marks[i])
		u, l = u+m.drift, l-m.others
		if v := m.apart - u; v > l {
			l = v
		}
		if l > 0 && l*l*(1-0x1p-30) > float64(u*u*(1+0x1p-30))+s.slack {
			if l-u < gap {
				gap = l - u
			}
			continue
		}
		move[n] = i
		n++
	}
	p.held += int64(f64.Lanes - n)
	if n == 0 {
		st.gap[t] = gap + s.total
		return
	}
	st.gap[t] = 0
	if n >= f64.Lanes/2 && all {
		p.addTile(st, tile, to)
		return
	}
	for _, i := range move[:n] {
		p.loose.rows, p.loose.old = append(p.loose.rows, tile+i), append(p.loose.old, near[i])
	}
}

// assign finds the nearest centroid of a group's rows, and updates the sums by
// those that moved.
func (p *pass) assign(b *block.Block, st *state, _ bool) {
	s, g := p.p, p.g
	if slices.Contains(g.old, unknown) {
		g.nearest(s.prev)
		for i := range g.rows {
			if g.old[i] == unknown {
				g.old[i] = int32(g.at[i])
			}
		}
	}
	g.nearest(s.all)
	for i, old := range g.old {
		if a := int32(g.at[i]); a != old {
			p.out.Changed++
			p.add(b, i, int(a), int(old))
		}
	}
	if st == nil {
		return
	}
	gap := 0.0
	if s.plain {
		gap = unmarked
	}
	for i, r := range g.rows {
		a := g.at[i]
		st.near[r] = int32(a)
		st.stamp[r/f64.Lanes], st.gap[r/f64.Lanes] = int32(s.body.Iter), gap
		if s.plain {
			continue
		}
		m := &s.motion[a]
		low := g.next[i] - s.slack
		if !(low > 0) {
			low = 0
		}
		st.mark[r] = mark(over(math.Sqrt(g.best[i]+s.slack))-m.drift, under(math.Sqrt(low))+m.others)
	}
}

// far keeps the rows that are farthest from their centroid.
func (p *pass) far(_ *block.Block, _ *state, _ bool) {
	g := p.g
	g.nearest(p.p.all)
	for i := range g.rows {
		if g.best[i] > 0 {
			p.out.Sample.offer(-g.best[i], g, i)
		}
	}
}

// batch sums the rows of a mini-batch by cluster.
func (p *pass) batch(b *block.Block, _ *state, _ bool) {
	g := p.g
	g.nearest(p.p.all)
	for i, r := range g.rows {
		p.add(b, i, int(g.at[i]), -1)
		p.out.Inertia[0].add(exact.Whole(float64(g.best[i]*b.W[r]) * p.p.body.Grid.Square))
	}
}

// exact sums the rows' distances.
func (p *pass) exact(b *block.Block, _ *state, held bool) {
	g, grid := p.g, &p.p.body.Grid
	g.nearest(p.p.all)
	if !held && p.even(b) {
		squares, n := int64(0), exact.Whole(grid.Weight)
		for i, z := range g.best[:len(g.rows)] {
			at := g.at[i]
			squares += exact.Whole(z * grid.Square)
			p.out.Weights[at] += n
			p.out.Dists[at].add(exact.Whole(math.Sqrt(z) * grid.Dist))
		}
		p.out.Inertia[0].add(squares)
		return
	}
	for i, r := range g.rows {
		w := b.W[r]
		sq := exact.Whole(float64(g.best[i]*w) * grid.Square)
		n := exact.Whole(w * grid.Weight)
		if held {
			p.out.Inertia[1].add(sq)
			p.out.Held += n
			continue
		}
		p.out.Inertia[0].add(sq)
		p.out.Weights[g.at[i]] += n
		p.out.Dists[g.at[i]].add(exact.Whole(float64(math.Sqrt(g.best[i])*w) * grid.Dist))
	}
}
