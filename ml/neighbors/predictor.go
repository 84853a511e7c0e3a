package neighbors

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// sorted returns rows in the order of their contents, copies of a row as one.
func (r *rows) sorted(dense, codes int) *rows {
	order := make([]int32, len(r.Y))
	for i := range order {
		order[i] = int32(i)
	}
	same := func(a, b int32) int {
		i, k := int(a), int(b)
		if c := slices.Compare(r.X[i*dense:(i+1)*dense], r.X[k*dense:(k+1)*dense]); c != 0 {
			return c
		}
		if c := slices.Compare(r.Code[i*codes:(i+1)*codes], r.Code[k*codes:(k+1)*codes]); c != 0 {
			return c
		}
		return cmp.Compare(r.Y[i], r.Y[k])
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := same(a, b); c != 0 {
			return c
		}
		return cmp.Compare(r.W[a], r.W[b]) // so that sums of weights have an order
	})
	out := &rows{X: make([]float64, 0, len(r.X)), Code: make([]int32, 0, len(r.Code)), Y: make([]float64, 0, len(r.Y)), W: make([]float64, 0, len(r.W))}
	for at, i := range order {
		if at > 0 && same(order[at-1], i) == 0 {
			out.W[len(out.W)-1] += r.W[i]
			continue
		}
		k := int(i)
		out.X, out.Code = append(out.X, r.X[k*dense:(k+1)*dense]...), append(out.Code, r.Code[k*codes:(k+1)*codes]...)
		out.Y, out.W = append(out.Y, r.Y[k]), append(out.W, r.W[k])
	}
	return out
}

// predictor finds the nearest of the training rows.
type predictor struct {
	f          *feature.Fitted
	class      bool
	search     bool // there is no target
	id         int  // the code that names rows, which is no coordinate; -1 for none
	metric     metric
	byDistance bool
	k          int
	alike      bool // a row is one, whatever it weighs
	rows

	center []float64 // euclidean: the mean of the rows, around which products lose less
	w      []float64 // of the numbers of rows, what scores are products with; nil for manhattan
	start  []float64 // what is added to them
	length []float64 // cosine: of rows
}

// prepare computes what scores are made of. The nearest rows have the greatest scores: x·y - ‖y‖²/2, or x·y/‖y‖.
func (p *predictor) prepare() {
	d, codes := p.f.Dense, p.f.Codes
	n := len(p.Y)
	if p.center = make([]float64, d); p.metric == euclidean {
		for i := range n {
			f64.Axpy(p.center, 1/float64(n), p.X[i*d:(i+1)*d])
		}
	}
	p.start = make([]float64, n)
	if p.metric == manhattan {
		return
	}
	p.w, p.length = slices.Clone(p.X), make([]float64, n)
	for i := range n {
		w := p.w[i*d : (i+1)*d]
		f64.Axpy(w, -1, p.center)
		q := f64.Dot(w, w)
		for c, s := range p.Code[i*codes : (i+1)*codes] {
			if s >= 0 && c != p.id {
				q++
			}
		}
		if p.metric == euclidean {
			p.start[i] = -0.5 * q
		} else if p.length[i] = math.Sqrt(q); q > 0 {
			f64.Scale(w, 1/p.length[i])
		}
	}
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.Bool(p.class)
	e.U8(uint8(p.metric))
	e.Bool(p.byDistance)
	e.U32(uint32(p.k))
	e.F64s(p.X)
	e.U32(uint32(len(p.Code)))
	for _, c := range p.Code {
		e.U32(uint32(c))
	}
	e.F64s(p.Y)
	e.F64s(p.W)
	if p.search {
		e.U8(uint8(p.id + 1))
	}
}

// Decode implements family.Family.
func (neighbors) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p, err := decode(f, d)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func decode(f *feature.Fitted, d *canon.D) (*predictor, error) {
	p := &predictor{f: f, search: f.Label.Name == "", id: -1, class: d.Bool(), metric: metric(d.U8()), byDistance: d.Bool(), k: int(d.U32())}
	p.X = d.F64s()
	for range d.Count(4) {
		p.Code = append(p.Code, int32(d.U32()))
	}
	p.Y, p.W = d.F64s(), d.F64s()
	if p.search {
		p.id = int(d.U8()) - 1
	}
	if p.id >= f.Codes || p.id >= 0 && p.column() < 0 {
		d.Fail()
		return nil, d.Done("a model of nearest neighbors")
	}
	if p.metric >= numMetrics || p.k < 1 || len(p.Y) == 0 || !p.fits(f.Dense, f.Codes) || p.class != (len(f.Keys) > 0) {
		d.Fail()
	}
	for i, w := range p.W {
		if y := p.Y; !(w > 0) || w-w != 0 || i < len(y) && (y[i]-y[i] != 0 || p.class && (y[i] != math.Trunc(y[i]) || y[i] < 0 || y[i] >= float64(len(f.Keys)))) {
			d.Fail()
		}
	}
	for _, x := range p.X {
		if x-x != 0 {
			d.Fail()
		}
	}
	if !d.OK() {
		return nil, d.Done("a model of nearest neighbors")
	}
	p.prepare()
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 {
	return 8*int64(len(p.X)+len(p.w)+len(p.Y)+len(p.W)+len(p.start)+len(p.length)) + 4*int64(len(p.Code)) + 512
}

// Rows that are predicted at once, and those that they are compared with at once: their scores fit the nearest
// caches.
const (
	asked = 64
	known = 128
)

// Scratch implements family.ScratchPredictor.
func (p *predictor) Scratch() int64 {
	return 8*(asked*known+2*asked*int64(p.f.Dense)) + asked*(16*int64(min(p.k, len(p.Y)))+64)
}

// nearest are the nearest rows so far, the nearest first, of a weight of at least k where there are as many.
type nearest struct {
	score []float64
	at    []int32
	mass  float64
	least float64 // what a score must be above, NaN for none
}

// weight is how many rows of the training row i is.
func (p *predictor) weight(i int32) float64 {
	if p.alike {
		return 1
	}
	return p.W[i]
}

// offer adds a row that is not known to be too far.
func (p *predictor) offer(q *nearest, score float64, i int32) {
	if score != score { // of an infinite number
		if score = -math.MaxFloat64; score <= q.least {
			return
		}
	}
	to, _ := slices.BinarySearchFunc(q.score, score, func(a, b float64) int { // after equals, which come before
		if a >= b {
			return -1
		}
		return 1
	})
	q.score, q.at = slices.Insert(q.score, to, score), slices.Insert(q.at, to, i)
	q.mass += p.weight(i)
	for last := len(q.at) - 1; last > 0 && q.mass-p.weight(q.at[last]) >= float64(p.k); last-- {
		q.mass -= p.weight(q.at[last])
		q.score, q.at = q.score[:last], q.at[:last]
	}
	if q.mass >= float64(p.k) {
		q.least = q.score[len(q.score)-1]
	}
}

// finder finds the nearest rows of some rows of a block, on one goroutine.
type finder struct {
	p    *predictor
	x, z []float64 // tiles of numbers, and scores by row of the model
	near [asked]nearest
}

func newFinder(p *predictor) *finder {
	return &finder{p: p, x: make([]float64, asked*p.f.Dense), z: make([]float64, asked*known)}
}

// find sets near of rows of a block, at most asked from a tile on.
func (g *finder) find(b *block.Block, from int) []nearest {
	p, d := g.p, g.p.f.Dense
	n := min(asked, b.Padded()-from)
	x := g.x[:n*d]
	if b.X32 != nil {
		f64.Widen(x, b.X32[from*d:(from+n)*d])
	} else {
		copy(x, b.X64[from*d:(from+n)*d])
	}
	for i := range x {
		x[i] -= p.center[i/f64.Lanes%d]
	}
	for r := range n {
		g.near[r] = nearest{score: g.near[r].score[:0], at: g.near[r].at[:0], least: math.NaN()}
	}
	for first := 0; first < len(p.Y); first += known {
		rows := min(known, len(p.Y)-first)
		z := g.z[:rows*asked]
		for k := range rows {
			to := z[k*asked:][:n]
			for r := range to {
				to[r] = p.start[first+k]
			}
		}
		if p.metric == manhattan {
			for k := range rows {
				away(z[k*asked:][:n], x, p.X[(first+k)*d:][:d])
			}
		} else {
			f64.MarginsOf(z, asked, n, x, p.w[first*d:(first+rows)*d], d)
		}
		if p.f.Codes > 0 {
			for k := range rows {
				g.codes(z[k*asked:][:n], b, from, first+k)
			}
		}
		for k := range rows {
			for r, v := range z[k*asked:][:n] {
				if !(v <= g.near[r].least) {
					p.offer(&g.near[r], v, int32(first+k))
				}
			}
		}
	}
	return g.near[:min(n, b.Rows-from)]
}

// away takes from z how far rows are from one by the metric manhattan.
func away(z, x, y []float64) {
	d := len(y)
	for i := 0; i < len(z); i += f64.Lanes {
		t := (*[f64.Lanes]float64)(z[i:])
		for j, v := range y {
			for l, u := range x[i*d+j*f64.Lanes:][:f64.Lanes] {
				t[l] -= math.Abs(u - v)
			}
		}
	}
}

// codes adds to z what categories add to the scores of rows with row i of the model.
func (g *finder) codes(z []float64, b *block.Block, from, i int) {
	p := g.p
	by := 1.0
	if p.metric == cosine && p.length[i] > 0 {
		by = 1 / p.length[i]
	}
	for c, s := range p.Code[i*b.Codes : (i+1)*b.Codes] {
		if c == p.id {
			continue
		}
		for r := range z {
			switch own := b.CodeAt(from+r, c); {
			case p.metric == manhattan:
				z[r] -= apart(own, s)
			case own == s && s >= 0:
				z[r] += by
			}
		}
	}
}

// apart is in how many slots two codes differ.
func apart(a, b int32) (n float64) {
	if a == b {
		return 0
	}
	for _, c := range [2]int32{a, b} {
		if c >= 0 {
			n++
		}
	}
	return n
}

// distance is that of row r of a block from row i of the model, by its definition.
func (p *predictor) distance(b *block.Block, r, i int) float64 {
	x, code := p.X[i*b.Dense:(i+1)*b.Dense], p.Code[i*b.Codes:(i+1)*b.Codes]
	if p.metric == cosine {
		return p.cosineDistance(x, code, b, r)
	}
	sum := 0.0
	for j, y := range x {
		if v := b.Value(r, j) - y; p.metric == euclidean {
			sum = f64.FMA(v, v, sum)
		} else {
			sum += math.Abs(v)
		}
	}
	for j, y := range code {
		if j != p.id {
			sum += apart(b.CodeAt(r, j), y)
		}
	}
	if p.metric == euclidean {
		return math.Sqrt(sum)
	}
	return sum
}

// cosineDistance is half the squared distance of the rows brought to length 1, which is the same as 1 less their
// cosine, and loses no digits of small ones.
func (p *predictor) cosineDistance(x []float64, code []int32, b *block.Block, r int) float64 {
	own, other := 0.0, 0.0
	for j, y := range x {
		v := b.Value(r, j)
		own, other = f64.FMA(v, v, own), f64.FMA(y, y, other)
	}
	for j, y := range code {
		if j != p.id {
			own, other = own+apart(b.CodeAt(r, j), -1), other+apart(y, -1)
		}
	}
	if own == 0 || other == 0 {
		return 1
	}
	own, other = math.Sqrt(own), math.Sqrt(other)
	sum := 0.0
	add := func(v, y float64) {
		u := v/own - y/other
		sum = f64.FMA(u, u, sum)
	}
	for j, y := range x {
		add(b.Value(r, j), y)
	}
	for j, y := range code {
		if j == p.id {
			continue
		}
		if v := b.CodeAt(r, j); v == y {
			add(apart(v, -1), apart(y, -1))
		} else {
			add(apart(v, -1), 0)
			add(0, apart(y, -1))
		}
	}
	return 0.5 * sum
}

// neighbor is a near row of the model.
type neighbor struct {
	at       int32
	distance float64
	weight   float64 // of it, as far as it is among the nearest
}

// near are the nearest rows of row r of a block, the nearest first.
func (p *predictor) near(out []neighbor, b *block.Block, r int, q *nearest) []neighbor {
	for _, i := range q.at {
		d := p.distance(b, r, int(i))
		if d != d {
			d = math.Inf(1)
		}
		out = append(out, neighbor{at: i, distance: d})
	}
	slices.SortFunc(out, func(a, b neighbor) int {
		if c := cmp.Compare(a.distance, b.distance); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	left := float64(p.k)
	for i := range out {
		out[i].weight = math.Min(left, p.weight(out[i].at))
		left -= out[i].weight
	}
	return out
}

// votes changes the weights of neighbors into what they count.
func (p *predictor) votes(list []neighbor) {
	if !p.byDistance || math.IsInf(list[0].distance, 1) {
		return
	}
	same := list[0].distance == 0
	for i := range list {
		switch n := &list[i]; {
		case !same:
			n.weight /= n.distance
		case n.distance > 0:
			n.weight = 0
		}
	}
}

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	out := &family.Scores{Rows: b.Rows}
	if p.search {
		out.Value = p.Rank(b, family.RankNearest, 1).Score
		return out
	}
	if !p.class {
		out.Value = make([]float64, b.Rows)
	}
	for range p.f.Keys {
		out.Probs = append(out.Probs, make([]float64, b.Rows))
	}
	g := newFinder(p)
	var list []neighbor
	for from := 0; from < b.Rows; from += asked {
		for r, q := range g.find(b, from) {
			list = p.near(list[:0], b, from+r, &q)
			p.votes(list)
			all := 0.0
			for _, n := range list {
				all += n.weight
			}
			for _, n := range list {
				if share := n.weight / all; p.class {
					out.Probs[int(p.Y[n.at])][from+r] += share
				} else {
					out.Value[from+r] += float64(share * p.Y[n.at])
				}
			}
		}
	}
	return out
}

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	return nil, pgerr.Unsupported("models of nearest neighbors can be written in the format json only")
}

// Interfaces.
var (
	_ family.ScratchPredictor = (*predictor)(nil)
	_ family.Described        = (*predictor)(nil)
	_ family.Ranker           = (*predictor)(nil)
)
