package bayes

import (
	"context"
	"math"
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opBounds uint8 = iota + 1 // least and greatest values
	opSums                    // the sums of each class
	numOps
)

// grid converts numbers to integers, so small that sums over all rows fit 64 bits.
type grid struct {
	Shift  []float64 // by dense column: subtracted from values
	Scale  []float64 // then multiplied by, powers of two
	Unit   float64   // weights times this are at most 1: a value counts in a sum with its weight times this
	Weight float64   // weights times this become integers
}

// body is the body of opSums.
type body struct{ Grid grid }

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) { canon.Put(e, b) }

// partial is the partial of all steps.
type partial struct {
	Low, High []float64 // opBounds: by dense column, infinite for none
	MaxWeight float64

	Weights []int64      // opSums: by class
	Missing []int64      // by class and dense column: the weight of rows without a number; empty for none
	Sums    []int64      // by class and dense column: Σ w·x, of bernoulli the weight of rows where x > 0
	Squares []exact.Wide // likewise: Σ w·x², of mixed only
	Slots   []int64      // by class and slot: weight, of terms of multinomial Σ w·x
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) { canon.Put(e, p) }

// DecodeStep implements family.Family.
func (bayes) DecodeStep(op uint8, d *canon.D) family.Message {
	if op != opSums {
		d.Fail()
	}
	return canon.Get[body](d)
}

// DecodePartial implements family.Family.
func (bayes) DecodePartial(op uint8, d *canon.D) family.Message {
	p := canon.Get[partial](d)
	if op == 0 || op >= numOps || len(p.Low) != len(p.High) {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (bayes) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*partial), right.(*partial)
	if len(l.Missing) == 0 {
		l.Missing, r.Missing = r.Missing, nil
	}
	for _, n := range [][2]int{{len(l.Low), len(r.Low)}, {len(l.Weights), len(r.Weights)}, {len(l.Sums), len(r.Sums)}, {len(l.Squares), len(r.Squares)}, {len(l.Slots), len(r.Slots)}} {
		if n[0] != n[1] {
			return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
		}
	}
	for j, v := range r.Low {
		l.Low[j], l.High[j] = min(l.Low[j], v), max(l.High[j], r.High[j])
	}
	l.MaxWeight = max(l.MaxWeight, r.MaxWeight)
	plus(l.Weights, r.Weights)
	plus(l.Missing, r.Missing)
	plus(l.Sums, r.Sums)
	plus(l.Slots, r.Slots)
	for i, v := range r.Squares {
		l.Squares[i].Plus(v)
	}
	return l, nil
}

func plus(to, v []int64) {
	for i, x := range v[:min(len(v), len(to))] {
		to[i] += x
	}
}

// newGrid makes the grid of n rows within bounds.
func newGrid(k kind, n int64, p *partial) (g grid, ok bool) {
	room := min(61-bits.Len64(uint64(n)), exact.WholeBits)
	w := exact.Exponent(p.MaxWeight)
	g.Unit, g.Weight = exact.Power(-w), exact.Power(room-w)
	for j, lo := range p.Low {
		hi, shift := p.High[j], 0.0
		if lo > hi { // no row has a number
			lo, hi = 0, 0
		}
		if !(math.Abs(lo) < 1e140 && math.Abs(hi) < 1e140) {
			return g, false
		}
		if k == mixed {
			shift = lo + float64(0.5*(hi-lo))
		}
		g.Shift = append(g.Shift, shift)
		g.Scale = append(g.Scale, exact.Power(room-exact.Exponent(math.Max(math.Max(math.Abs(hi-shift), math.Abs(lo-shift)), 1e-290))))
	}
	return g, p.MaxWeight > 0 && p.MaxWeight < 1e140
}

// moments returns the mean and the variance of integers with the sums s1 and s2 of themselves and of their
// squares, where the weight of one is in units of g.
func (g *grid) moments(j int, s1 int64, s2 exact.Wide, weight int64) (mean, variance float64) {
	const digits = 320
	num := func(v float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(v) }
	n := num(float64(weight))
	n.Quo(n.Mul(n, num(g.Unit)), num(g.Weight))
	m := new(big.Float).SetPrec(digits).SetInt64(s1)
	m.Quo(m, n)
	q := new(big.Int).Lsh(big.NewInt(s2.Hi), 64)
	v := new(big.Float).SetPrec(digits).SetInt(q.Add(q, new(big.Int).SetUint64(s2.Lo)))
	v.Sub(v.Quo(v, n), new(big.Float).SetPrec(digits).Mul(m, m))
	scale := num(g.Scale[j])
	m.Add(m.Quo(m, scale), num(g.Shift[j]))
	v.Quo(v.Quo(v, scale), scale)
	mean, _ = m.Float64()
	variance, _ = v.Float64()
	return mean, math.Max(variance, 0)
}

// worker implements family.Worker; it has no state.
type worker struct {
	kind kind
	set  *family.Setup
}

// NewWorker implements family.Family.
func (bayes) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	k, err := kindOf(s)
	return &worker{kind: k, set: s}, err
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	f, k := w.set.Fitted, int64(w.set.Classes())
	if s.Op == opBounds {
		return 0, 16 * int64(f.Dense)
	}
	return chunkBytes + 32*k, sumsBytes(k, int64(f.Dense), int64(f.OneHot))
}

// sumsBytes is the size of opSums' partial.
func sumsBytes(classes, dense, slots int64) int64 { return 8 * classes * (1 + 4*dense + slots) }

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{worker: w, op: s.Op}
	if s.Op == opSums {
		b, ok := s.Body.(*body)
		if !ok || len(b.Grid.Shift) != w.set.Fitted.Dense || len(b.Grid.Scale) != w.set.Fitted.Dense {
			return nil, pgerr.Internal("a step of naive Bayes has no body that fits")
		}
		p.grid = &b.Grid
	}
	p.reset()
	return p, nil
}

// pass implements family.Pass.
type pass struct {
	*worker
	op   uint8
	grid *grid
	out  *partial

	rows    chunk
	moments []f64.Moments // by class, of a column of a chunk
}

// chunk is what counts of consecutive rows, whole tiles.
type chunk struct {
	n      int
	class  [f64.MomentRows]int
	small  [f64.MomentRows]uint8 // the same, noClass for a row that does not count
	weight [f64.MomentRows]int64 // 0: the row does not count
	share  [f64.MomentRows]float64
	whole  bool  // all shares are 1, and small has the classes
	one    int64 // the weight of those rows
}

const (
	noClass    = math.MaxUint8
	chunkBytes = f64.MomentRows * (8 + 1 + 8 + 8)
)

func (p *pass) reset() {
	f, k := p.set.Fitted, p.set.Classes()
	p.out = &partial{}
	if p.op == opBounds {
		p.out.Low, p.out.High = make([]float64, f.Dense), make([]float64, f.Dense)
		for j := range p.out.Low {
			p.out.Low[j], p.out.High[j] = math.Inf(1), math.Inf(-1)
		}
		return
	}
	p.moments = make([]f64.Moments, k)
	p.out.Weights, p.out.Sums, p.out.Slots = make([]int64, k), make([]int64, k*f.Dense), make([]int64, k*f.OneHot)
	if p.kind == mixed {
		p.out.Squares = make([]exact.Wide, k*f.Dense)
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	p.reset()
	return o
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	for i := r.From; i < min(r.To, b.Rows); i += f64.MomentRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(f64.MomentRows, r.To-i, b.Rows-i)
		if p.op == opBounds {
			p.bounds(b, i, n)
			continue
		}
		if err := p.take(b, i, n); err != nil {
			return err
		}
		to := i + p.rows.n
		switch {
		case b.Dense == 0:
		case b.X32 != nil:
			numbers(p, b.X32[i*b.Dense:to*b.Dense])
		default:
			numbers(p, b.X64[i*b.Dense:to*b.Dense])
		}
		slots, q := p.set.Fitted.OneHot, &p.rows
		for from := i; from < to && b.Codes > 0; from += f64.Lanes {
			for at, s := range b.Code[from*b.Codes : (from+f64.Lanes)*b.Codes] {
				if l := from - i + at%f64.Lanes; s >= 0 && q.weight[l] != 0 {
					p.out.Slots[q.class[l]*slots+int(s)] += q.weight[l]
				}
			}
		}
		for l := 0; l < n && b.Sparse != nil; l++ {
			p.terms(b, i+l, q.class[l], q.weight[l])
		}
	}
	return nil
}

// take makes n rows from row i on the rows of the pass, and adds their weights.
func (p *pass) take(b *block.Block, i, n int) error {
	q, classes := &p.rows, p.set.Classes()
	q.n, q.whole = f64.Tiles(n)*f64.Lanes, classes <= noClass
	for l := range q.n {
		q.class[l], q.small[l], q.weight[l] = 0, noClass, 0
		if l >= n || !(b.W[i+l] > 0) {
			continue
		}
		w, class := b.W[i+l], int(b.Y[i+l])
		if class < 0 || class >= classes {
			return pgerr.Internal("a row is of no class")
		}
		q.class[l], q.share[l], q.weight[l] = class, w*p.grid.Unit, exact.Whole(w*p.grid.Weight)
		if q.share[l] != 1 {
			q.whole = false
		}
		if q.weight[l] != 0 {
			q.small[l], q.one = uint8(class), q.weight[l]
		}
		p.out.Weights[class] += q.weight[l]
	}
	return nil
}

// terms adds the terms of a row: of bernoulli that they are there, of multinomial how often.
func (p *pass) terms(b *block.Block, i, class int, weight int64) {
	to := p.out.Slots[class*p.set.Fitted.OneHot:][:p.set.Fitted.OneHot]
	from, end := b.Sparse.Start[i], b.Sparse.Start[i+1]
	for k, s := range b.Sparse.Slot[from:end] {
		switch {
		case weight == 0:
			return
		case p.kind == bernoulli:
			to[s] += weight
		default:
			to[s] += exact.Whole(float64(float64(b.W[i]*float64(b.Sparse.Value[from+int64(k)])) * p.grid.Weight))
		}
	}
}

// numbers adds the numbers x of the pass's rows, those of a column at once where all rows have one and count alike.
func numbers[T f64.Elem](p *pass, x []T) {
	g, o, q := p.grid, p.out, &p.rows
	d := len(g.Shift)
	for j, shift := range g.Shift {
		col := x[j*f64.Lanes:]
		if q.whole && p.kind != bernoulli {
			clear(p.moments)
			if f64.ClassMoments(p.moments, col, d, shift, g.Scale[j], q.small[:q.n], p.kind == mixed) {
				for c := range p.moments {
					m := &p.moments[c]
					if o.Sums[c*d+j] += m.Sum; p.kind == mixed {
						hi, lo := m.Squares()
						o.Squares[c*d+j].Plus(exact.Wide{Hi: hi, Lo: lo})
					}
				}
				continue
			}
		}
		if q.whole && p.kind == bernoulli && above(p, col, d, j) {
			continue
		}
		for from := 0; from < q.n; from += f64.Lanes {
			oneByOne(p, col[from*d:][:f64.Lanes], j, from)
		}
	}
}

// above adds the numbers of rows whose number of column j is above 0; all rows that count have one weight. It returns
// false where one of them is NaN.
func above[T f64.Elem](p *pass, x []T, d, j int) (ok bool) {
	q, odd := &p.rows, T(0)
	var n [noClass + 1]int64
	for from := 0; from < q.n; from += f64.Lanes {
		class := q.small[from:][:f64.Lanes]
		for l, v := range x[from*d:][:f64.Lanes] {
			var is int64
			if v > 0 {
				is = 1
			}
			n[class[l]] += is
			odd += v - v
		}
	}
	if odd != 0 { // NaN
		return false
	}
	for c := range p.moments {
		p.out.Sums[c*d+j] += n[c] * q.one
	}
	return true
}

// oneByOne adds the numbers of column j of a tile; rows that do not count have a weight of 0.
func oneByOne[T f64.Elem](p *pass, x []T, j, from int) {
	g, o, q := p.grid, p.out, &p.rows
	d, shift, scale := len(g.Shift), g.Shift[j], g.Scale[j]
	for l, v := range x {
		x, l := float64(v), from+l
		at := q.class[l]*d + j
		switch {
		case q.weight[l] == 0:
		case x != x:
			if o.Missing == nil {
				o.Missing = make([]int64, len(o.Sums))
			}
			o.Missing[at] += q.weight[l]
		case p.kind == bernoulli:
			if x > 0 {
				o.Sums[at] += q.weight[l]
			}
		default:
			n := exact.Whole(float64(x-shift) * scale)
			by := n
			if q.share[l] != 1 {
				by = exact.Whole(q.share[l] * float64(n))
			}
			o.Sums[at] += by
			if p.kind == mixed {
				o.Squares[at].AddProduct(by, n)
			}
		}
	}
}

// bounds takes the rows of a tile that have a weight.
func (p *pass) bounds(b *block.Block, i, n int) {
	o := p.out
	for l := range n {
		w := b.W[i+l]
		if !(w > 0) {
			continue
		}
		o.MaxWeight = max(o.MaxWeight, w)
		for j := range b.Dense {
			v := b.Value(i+l, j) + 0
			if v < o.Low[j] {
				o.Low[j] = v
			}
			if v > o.High[j] {
				o.High[j] = v
			}
		}
	}
}
