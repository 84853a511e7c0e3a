package linear

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
)

// pass implements family.Pass; its scratch space does not grow with the rows.
type pass struct {
	p      *problem
	sums   *sync.Pool // of vectors of partials that have been freed
	op     uint8
	r      *request
	counts bool     // weights are summed
	out    *partial // nil before the first rows

	obj     objective.Objective
	z, h, l []float64
	lanes   []float64 // by output with weights and dense column
	added   int       // rows in lanes
	over    bool      // a value exceeded its bound: the sums are invalid

	product *gram.Product
	a, b    []float64 // packs
	share   []float64

	sorted  *sorted // nil where blocks are read by rows
	span    span
	spans   *sync.Pool // of the memory of spans
	pending []span     // whose factors are not in the sums yet
}

// products allocates for the products of n columns.
func (a *pass) products(n int) {
	a.product = gram.NewProduct(n, n, true)
	a.a, a.b, a.share = gram.NewPack(n), gram.NewPack(n), make([]float64, f64.FixedRows)
}

// sum returns the partial that rows are added to.
func (a *pass) sum() *partial {
	if a.out != nil {
		return a.out
	}
	a.out, a.over = &partial{}, false
	switch a.op {
	case opBounds:
		a.out.bounds = &bounds{gram.NewBounds(a.p.dense), math.Inf(1), math.Inf(-1)}
	case opEvaluate:
		a.out.spent = a.sums
		if v, ok := a.sums.Get().(*[]int64); ok {
			clear(*v)
			a.out.Sums = gram.Sums{Low: *v}
		} else {
			a.out.Sums = gram.NewSums(a.p.size() + 1)
		}
		if a.r.Need&errorsNeed != 0 {
			a.out.Pearson = &exact.Sum{}
		}
	}
	return a.out
}

// Partial implements family.Pass.
func (a *pass) Partial() family.Message {
	o := a.sum()
	if a.op == opBounds {
		o.Bounds.Fold()
		o.YLow, o.YHigh = o.YLow+0, o.YHigh+0
	}
	if a.op == opEvaluate {
		a.addPending()
		a.take()
	}
	if a.product != nil {
		o.Hess = a.product.Take()
	}
	a.out = nil
	return o
}

// Add implements family.Pass.
func (a *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	a.sum()
	if a.op == opEvaluate {
		by, err := a.sorted.get(r, b)
		if by != nil {
			return a.bySlot(ctx, b, by)
		}
		if err != nil {
			return err
		}
	}
	for at := r.From; at < r.To; at += block.ChunkRows {
		if at&(1<<14-1) == 0 {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
		}
		n := min(block.ChunkRows, r.To-at)
		switch a.op {
		case opBounds:
			a.bounds(b, at, n)
		case opGram:
			a.gram(b, at, n)
		case opRows:
			a.out.Rows = rowsOf(a.out.Rows, b, at, n)
		default:
			a.evaluate(b, at, n)
		}
	}
	return nil
}

func (a *pass) bounds(b *block.Block, at, n int) {
	a.out.Bounds.Add(b, at, n)
	o, w, y := a.out.bounds, b.W[at:at+n], b.Y[at:at+n]
	if n%f64.Lanes == 0 && !slices.ContainsFunc(w, func(w float64) bool { return !(w > 0) }) {
		var low, high [f64.Lanes]float64
		for l := range low {
			low[l], high[l] = o.YLow, o.YHigh
		}
		f64.ColumnBounds(low[:], high[:], y, 1)
		o.YLow, o.YHigh = slices.Min(low[:]), slices.Max(high[:])
		return
	}
	for i, y := range y {
		if w[i] > 0 {
			o.YLow, o.YHigh = min(o.YLow, y), max(o.YHigh, y)
		}
	}
}

// gram adds the products of the columns, of ones and of the target.
func (a *pass) gram(b *block.Block, at, n int) {
	a.r.Columns.Pack(a.a, b, at, n)
	f64.FixedPack(a.a[a.p.per*f64.FixedStride:], b.Y[at:at+n], []float64{a.r.Shift}, []float64{a.r.Factor})
	right := a.a
	if plain, whole := a.r.Columns.Shares(a.share, b, at, n); !whole {
		if !plain {
			right = a.b
		}
		gram.ScaleRows(right, a.a, a.share[:n], a.p.per+1)
	}
	a.product.Add(a.a, right, n, b.Ahead(at+n, n))
}

// evaluate adds losses and derivatives at θ.
func (a *pass) evaluate(b *block.Block, at, n int) {
	p, r, o := a.p, a.r, a.out
	y, w := b.Y[at:at+n], b.W[at:at+n]
	if a.counts {
		a.count(w)
	}
	z, h, l := a.z[:p.outputs*n], a.h[:p.outputs*n], a.l[:n]
	for k := range p.slopes {
		a.margins(z[k*n:][:n], b, at, k)
	}
	for k := p.slopes; k < p.outputs; k++ {
		v := r.Theta[p.slopes*p.per+k-p.slopes]
		for i := range z[k*n:][:n] {
			z[k*n+i] = v
		}
	}
	a.obj.Pass(z, h, l, y, w)
	if r.Need&optim.Hessian != 0 {
		a.hessian(b, at, z, h)
	}
	most, greatest := r.Resid, &o.Resid
	if r.Need&optim.Product != 0 {
		most, greatest = r.Bend, &o.Bend
		b.Margins(l, at, r.Along[:p.per-1], r.Along[p.per-1])
		for i, v := range l {
			z[i] = float64(h[i] * v)
		}
	}
	if a.span.by == nil {
		a.room(n)
	}
	if r.Need&optim.Loss != 0 {
		sum, top := f64.FixAll(l, gram.Half(r.Loss))
		o.Sums.Low[p.size()] += sum
		if top > o.Loss {
			o.Loss = top
			a.over = a.over || top > r.Loss
		}
	}
	if a.lanes == nil {
		return
	}
	if a.added+n > f64.FixedLanes {
		a.take()
	}
	a.added += n
	scale := gram.Half(most)
	for k := range p.outputs {
		zk := z[k*n:][:n]
		sum, top := f64.FixAll(zk, scale)
		if top > *greatest {
			*greatest = top
			a.over = a.over || top > most
		}
		if a.over {
			continue
		}
		if k >= p.slopes {
			o.Sums.Low[p.slopes*p.per+k-p.slopes] += sum
			continue
		}
		o.Sums.Low[k*p.per+p.per-1] += sum
		a.gradient(zk, b, at, k)
	}
}

// take empties the accumulators.
func (a *pass) take() {
	p := a.p
	if a.lanes != nil {
		for k := range p.slopes {
			f64.Take(a.out.Sums.Low[k*p.per:], a.lanes[k*p.dense*f64.Lanes:], a.r.Bound)
		}
	}
	a.added = 0
}

// count adds weights.
func (a *pass) count(w []float64) {
	for _, v := range w {
		switch v {
		case 0:
		case 1:
			a.out.Units++
		default:
			a.out.Weight.Add(v)
		}
	}
}

// hessian adds second derivatives h, and Pearson's statistic.
func (a *pass) hessian(b *block.Block, at int, z, h []float64) {
	o, r := a.out, a.r
	unit := 2 * gram.Half(r.Curv)
	for i, v := range h {
		if v != v {
			v = math.Inf(1)
		}
		o.Curv = math.Max(o.Curv, v)
		a.share[i] = float64(v * unit)
	}
	if o.Pearson != nil {
		for i, v := range h {
			if v > 0 {
				o.Pearson.Add(float64(z[i]*z[i]) / v)
			}
		}
	}
	if a.over = a.over || o.Curv > r.Curv; a.over {
		return
	}
	n := len(h)
	r.Columns.Pack(a.a, b, at, n)
	gram.ScaleRows(a.b, a.a, a.share[:n], a.p.per)
	a.product.Add(a.a, a.b, n, b.Ahead(at+n, n))
}
