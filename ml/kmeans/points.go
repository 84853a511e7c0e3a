package kmeans

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// points are centroids or candidates in the layout from which distances are
// computed. The square of the distance of a row is, in this order: the sum of
// squares of the point's slots, for each of the row's slots 1 - 2·(the point's),
// and the squared differences of the dense columns.
type points struct {
	k, dense int
	c        *f64.Centers
	starts   []float64 // of a tile without slots
	slots    []float64 // by slot and point: 1 - 2·coordinate
}

// pointsBytes is the memory of newPoints.
func pointsBytes(k, dense, oneHot int) int64 {
	return f64.CentersBytes(k, dense) + 8*int64(k+4)*int64(oneHot+f64.Lanes)
}

// newPoints reads k points of dense+oneHot coordinates each.
func newPoints(at []float64, dense, oneHot int) *points {
	d := dense + oneHot
	k := len(at) / d
	p := &points{k: k, dense: dense, c: f64.NewCenters(k, dense)}
	pad := p.c.Padded()
	p.starts, p.slots = p.c.Starts(), make([]float64, oneHot*pad)
	for i := range k {
		c := at[i*d : (i+1)*d]
		p.c.Set(i, c[:dense])
		base := 0.0
		for s, v := range c[dense:] {
			base = f64.FMA(v, v, base)
			p.slots[s*pad+i] = 1 - 2*v
		}
		for l := range f64.Lanes {
			p.starts[i*f64.Lanes+l] = base
		}
	}
	return p
}

// slack bounds the absolute error of a squared distance, by the terms of slots,
// which may cancel out.
func slack(codes, oneHot int) float64 {
	return 0x1p-48 * float64(codes) * float64(codes+2) * float64(min(oneHot, 1<<20)+4)
}

// group is a batch of rows of a block whose nearest points are computed together.
type group struct {
	size  int     // how many rows it has room for
	rows  []int   // of the block
	old   []int32 // opAssign: their clusters of the iteration before
	x     []float64
	code  []int32 // of the rows, tile by tile as in blocks
	z     []float64
	dense int
	codes int
	best  []float64
	next  []float64 // squared distance to the second nearest
	at    []int64
}

// groupRows is the number of rows whose coordinates fit the first-level cache,
// at least quickTiles tiles.
func groupRows(dense int) int {
	return f64.Lanes * max(quickTiles, min(8, 256/max(dense, 1)))
}

func groupBytes(k, dense, codes int) int64 {
	n := int64(groupRows(dense) + f64.Lanes)
	z := int64(0)
	if codes > 0 {
		z = int64(k+4) * 8
	}
	return n * (int64(8*dense+4*codes+32) + z)
}

func newGroup(dense, codes int) *group {
	n := groupRows(dense)
	return &group{size: n, dense: dense, codes: codes, x: make([]float64, n*dense), code: make([]int32, n*codes),
		best: make([]float64, n), next: make([]float64, n), at: make([]int64, n)}
}

// row returns row i from its first dense value on, the next of which are f64.Lanes apart;
// nil where all columns are categories.
func (g *group) row(i int) []float64 {
	if g.dense == 0 {
		return nil
	}
	return g.x[i&^(f64.Lanes-1)*g.dense+i&(f64.Lanes-1):]
}

// load copies the rows out of the block. The last tile is padded with copies of
// the last row.
func (g *group) load(b *block.Block) {
	for t := 0; t < len(g.rows); t += f64.Lanes {
		rows := g.rows[t:min(t+f64.Lanes, len(g.rows))]
		x := g.x[t*g.dense:][:g.dense*f64.Lanes]
		first := rows[0]
		if first%f64.Lanes == 0 && len(rows) == f64.Lanes && rows[f64.Lanes-1] == first+f64.Lanes-1 {
			if b.X32 != nil {
				f64.Widen(x, b.X32[first*g.dense:][:len(x)])
			} else {
				copy(x, b.X64[first*g.dense:])
			}
		} else {
			for l := range f64.Lanes {
				r := rows[min(l, len(rows)-1)]
				at := r&^(f64.Lanes-1)*g.dense + r&(f64.Lanes-1)
				if b.X32 != nil {
					for j := l; j < len(x); j, at = j+f64.Lanes, at+f64.Lanes {
						x[j] = float64(b.X32[at])
					}
				} else {
					for j := l; j < len(x); j, at = j+f64.Lanes, at+f64.Lanes {
						x[j] = b.X64[at]
					}
				}
			}
		}
		for l := 0; l < f64.Lanes && g.codes > 0; l++ {
			r := rows[min(l, len(rows)-1)]
			at := r&^(f64.Lanes-1)*g.codes + r&(f64.Lanes-1)
			for j := range g.codes {
				g.code[(t*g.codes)+j*f64.Lanes+l] = b.Code[at+j*f64.Lanes]
			}
		}
	}
}

// nearest sets best, next and at of the rows that were loaded.
func (g *group) nearest(p *points) {
	n := f64.Tiles(len(g.rows)) * f64.Lanes
	z := p.starts
	if g.codes > 0 {
		tile := len(p.starts)
		if len(g.z) < n/f64.Lanes*tile {
			g.z = make([]float64, g.size/f64.Lanes*tile)
		}
		z = g.z[:n/f64.Lanes*tile]
		for t := 0; t < n; t += f64.Lanes {
			zt := z[t/f64.Lanes*tile:][:tile]
			copy(zt, p.starts)
			for i, slot := range g.code[t*g.codes:][:g.codes*f64.Lanes] {
				if slot < 0 {
					continue
				}
				l := i % f64.Lanes
				for k, v := range p.slots[int(slot)*p.c.Padded():][:p.k] {
					zt[k*f64.Lanes+l] += v
				}
			}
		}
	}
	f64.Nearest(g.best[:n], g.next[:n], g.at[:n], g.x[:n*g.dense], p.c, z)
	if g.codes > 0 {
		for i := range n { // rounding errors of slots
			g.best[i], g.next[i] = max(g.best[i], 0), max(g.next[i], 0)
		}
	}
}

// squared is the square of the distance of two points.
func squared(a, b []float64) float64 {
	z := 0.0
	for j, v := range a {
		z = f64.FMA(v-b[j], v-b[j], z)
	}
	return z
}

func inf() float64 { return math.Inf(1) }
