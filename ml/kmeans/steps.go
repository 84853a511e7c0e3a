package kmeans

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
)

// reach sets best and at of a group's rows to the nearest of all points: from
// the state where it is of the points before body.From, else from all points.
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
func (p *pass) draw(_ *dataset.Block, st *state, _ bool) {
	g := p.g
	p.reach(st)
	g.chances(p.p.body.Salt, p.begin)
	for i, u := range p.begin[:len(g.rows)] {
		d := g.best[i]
		// -log u is at least 1-u, which settles most rows.
		if d == 0 || (1-u) > p.out.Sample.worst()*d*(1+0x1p-40) {
			continue
		}
		p.out.Sample.offer(-f64.Log1(u)/d, g, i)
	}
}

// weigh adds up the weight of the rows nearest to each point.
func (p *pass) weigh(b *dataset.Block, st *state, _ bool) {
	p.reach(st)
	for i, r := range p.g.rows {
		p.out.Weights[p.g.at[i]] += whole(b.W[r] * p.p.body.Grid.Weight)
	}
}

// hold tells which rows of a tile stay where they are for certain, and takes the
// others into a group; all rows, where that is quicker.
func (p *pass) hold(st *state, tile, to int) {
	s := p.p
	near, marks := st.near[tile:to], st.mark[tile:to]
	var move [f64.Lanes]int
	n, all := 0, len(near) == f64.Lanes
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
			marks[i] = mark(u, l)
			continue
		}
		move[n] = i
		n++
	}
	st.stamp[tile/f64.Lanes] = int32(s.body.Iter)
	if n >= f64.Lanes/2 && all {
		g := p.whole
		for i, a := range near {
			g.rows, g.old = append(g.rows, tile+i), append(g.old, a)
		}
		return
	}
	g := p.loose
	for _, i := range move[:n] {
		g.rows, g.old = append(g.rows, tile+i), append(g.old, near[i])
	}
}

// assign finds the nearest centroid of a group's rows and books those that
// moved.
func (p *pass) assign(b *dataset.Block, st *state, _ bool) {
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
	for i, r := range g.rows {
		a, old := int32(g.at[i]), g.old[i]
		if a != old {
			p.out.Changed++
			p.add(b, i, int(a), int(old))
		}
		if st != nil {
			st.near[r] = a
			low := g.next[i] - s.slack
			if !(low > 0) {
				low = 0
			}
			st.mark[r] = mark(over(math.Sqrt(g.best[i]+s.slack)), under(math.Sqrt(low)))
			st.stamp[r/f64.Lanes] = int32(s.body.Iter)
		}
	}
}

// far keeps the rows that are farthest from their centroid.
func (p *pass) far(_ *dataset.Block, _ *state, _ bool) {
	g := p.g
	g.nearest(p.p.all)
	for i := range g.rows {
		if g.best[i] > 0 {
			p.out.Sample.offer(-g.best[i], g, i)
		}
	}
}

// batch sums a mini-batch's clusters up.
func (p *pass) batch(b *dataset.Block, _ *state, _ bool) {
	g := p.g
	g.nearest(p.p.all)
	for i, r := range g.rows {
		p.add(b, i, int(g.at[i]), -1)
		p.out.Inertia[0].add(whole(float64(g.best[i]*b.W[r]) * p.p.body.Grid.Square))
	}
}

// exact adds distances up.
func (p *pass) exact(b *dataset.Block, _ *state, held bool) {
	g, grid := p.g, &p.p.body.Grid
	g.nearest(p.p.all)
	for i, r := range g.rows {
		w := b.W[r]
		sq := whole(float64(g.best[i]*w) * grid.Square)
		n := whole(w * grid.Weight)
		if held {
			p.out.Inertia[1].add(sq)
			p.out.Held += n
			continue
		}
		p.out.Inertia[0].add(sq)
		p.out.Weights[g.at[i]] += n
		p.out.Dists[g.at[i]].add(whole(float64(math.Sqrt(g.best[i])*w) * grid.Dist))
	}
}
