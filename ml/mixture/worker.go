package mixture

import (
	"context"
	"math"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker implements family.Worker. While k-means finds the first components it has k-means' worker.
type worker struct {
	set  *family.Setup
	kind kind
	n    int // coordinates

	mu       sync.Mutex
	clusters family.Worker // nil when it is done
	step     *family.Step
	now      *densities // of step
}

// NewWorker implements family.Family.
func (mixture) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	c, err := clustering(s)
	if err != nil {
		return nil, err
	}
	w := &worker{set: s, kind: kindOf(s.Options), n: s.Fitted.Params()}
	w.clusters, err = clusters.NewWorker(c, n)
	return w, err
}

// Close implements family.Worker.
func (w *worker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeClusters()
}

func (w *worker) closeClusters() {
	if w.clusters != nil {
		w.clusters.Close()
	}
	w.clusters = nil
}

// inner returns k-means' worker for its steps.
func (w *worker) inner(s *family.Step) (family.Worker, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clusters == nil {
		return nil, pgerr.Internal("k-means of a Gaussian mixture is over")
	}
	return w.clusters, nil
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	if s.Op < opBounds {
		c, err := w.inner(s)
		if err != nil {
			return 0, 0 // NewPass returns the error
		}
		return c.PassBytes(s)
	}
	if s.Op == opBounds {
		return 0, gram.BoundsBytes(w.n)
	}
	k := s.Body.(*body).count()
	pass = densitiesBytes(w.kind, k, w.n) + scratchBytes(w.n) + 8*f64.FixedStride*int64(k+2)
	if s.Op == opMeasure {
		return pass, 256
	}
	rows, cols := w.kind.sums(w.n, k)
	partial = gram.ProductBytes(rows, cols) / 2
	if w.kind == full {
		partial *= int64(k)
	}
	if w.kind == tied && s.Op == opStart {
		partial += gram.ProductBytes(w.n+1, w.n+1) / 2
	}
	return pass + partial + gram.PackBytes(2*w.n+1) + gram.PackBytes(max(w.n+1, k)), partial
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	if s.Op < opBounds {
		c, err := w.inner(s)
		if err != nil {
			return nil, err
		}
		return c.NewPass(s)
	}
	p := &pass{worker: w, op: s.Op}
	if s.Op > opBounds {
		b, ok := s.Body.(*body)
		if !ok || len(b.Shift) != w.n || b.Model != nil && b.Model.kind != w.kind {
			return nil, pgerr.Internal("a step of a Gaussian mixture has no body that fits")
		}
		p.body, p.k = b, b.count()
		if p.q, ok = w.densities(s, b); !ok {
			return nil, pgerr.Internal("a step of a Gaussian mixture has components without a density")
		}
		p.s, p.z, p.norm = newScratch(w.n), make([]float64, p.k*f64.FixedStride), make([]float64, f64.FixedStride)
		if s.Op == opStart {
			for k := range p.k {
				c := b.Centers[k*w.n:][:w.n]
				p.start = append(p.start, -0.5*f64.Dot(c, c))
			}
		}
		if s.Op != opMeasure {
			rows, cols := w.kind.sums(w.n, p.k)
			products := 1
			if w.kind == full {
				products = p.k
			}
			for range products {
				p.products = append(p.products, gram.NewProduct(rows, cols, w.kind == full))
			}
			p.a, p.b = gram.NewPack(2*w.n+1), gram.NewPack(max(w.n+1, p.k))
			if w.kind == tied && s.Op == opStart {
				p.all = gram.NewProduct(w.n+1, w.n+1, true)
			}
		}
	}
	p.reset()
	return p, nil
}

// densities are those of a step, which the first pass makes; nil for opStart.
func (w *worker) densities(s *family.Step, b *body) (*densities, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeClusters()
	if w.step == s {
		return w.now, true
	}
	var q *densities
	if b.Model != nil {
		var ok bool
		if q, ok = b.Model.densities(); !ok {
			return nil, false
		}
	}
	w.step, w.now = s, q
	return q, true
}

// pass implements family.Pass.
type pass struct {
	*worker
	op   uint8
	body *body
	k    int
	q    *densities
	out  *partial

	products []*gram.Product
	all      *gram.Product
	a, b     []float64 // packs
	z        []float64 // by component: what rows are of it, f64.FixedStride apart
	norm     []float64
	start    []float64 // opStart: of the centers
	s        *scratch
}

func (p *pass) reset() {
	p.out = &partial{}
	if p.op == opBounds {
		p.out.Bounds = gram.NewBounds(p.set.Fitted.Dense)
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	if p.op == opBounds {
		o.Bounds.Fold()
	}
	for _, q := range p.products {
		o.Sums = append(o.Sums, q.Take())
	}
	if p.all != nil {
		o.Products = p.all.Take()
	}
	p.reset()
	return o
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	to := min((r.To+f64.Lanes-1)&^(f64.Lanes-1), b.Padded())
	for i := r.From; i < to; i += f64.FixedRows {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := min(f64.FixedRows, to-i)
		switch p.op {
		case opBounds:
			p.out.Bounds.Add(b, i, n)
		case opMeasure:
			p.expect(b, i, n, r.Held)
		default:
			if p.op == opStart {
				p.assign(b, i, n)
			} else {
				p.expect(b, i, n, false)
			}
			p.add(b, i, n)
		}
	}
	return nil
}

// assign has each row be of the component whose center is nearest.
func (p *pass) assign(b *block.Block, from, n int) {
	b.MarginsOf(p.z, f64.FixedStride, from, n, p.body.Centers, p.start)
	for r := range n {
		best := 0
		for k := 1; k < p.k; k++ {
			if p.z[k*f64.FixedStride+r] > p.z[best*f64.FixedStride+r] {
				best = k
			}
		}
		for k := range p.k {
			p.z[k*f64.FixedStride+r] = 0
		}
		p.z[best*f64.FixedStride+r] = 1
	}
}

// worst bounds a row's log-likelihood times its weight in the sums.
const worst = 1 << 32

// expect computes what share each component has of rows, and adds their likelihood.
func (p *pass) expect(b *block.Block, from, n int, held bool) {
	p.q.logs(p.z, p.s, b, from, n)
	p.q.total(p.z, p.norm, p.s, n)
	set, loss := 0, int64(0)
	if held {
		set = 1
	}
	if from+n <= b.Rows && b.Unit() && p.body.Unit == 1 {
		for _, v := range p.norm[:n] {
			loss += int64(math.RoundToEven(math.Max(-worst/f64.FixedRows, math.Min(v, worst/f64.FixedRows)) / lossUnit))
		}
		p.out.Loss[set].Add(loss)
		p.out.Weight[set].Add(int64(n) << 30)
		return
	}
	for r, v := range p.norm[:n] {
		if w := b.W[from+r] * p.body.Unit; w > 0 && from+r < b.Rows {
			p.out.Loss[set].Add(int64(math.RoundToEven(math.Max(-worst/f64.FixedRows, math.Min(float64(w*v), worst/f64.FixedRows)) / lossUnit)))
			p.out.Weight[set].Add(int64(math.RoundToEven(math.Min(w, worst) / lossUnit)))
		}
	}
}

// add adds the products of n rows by the shares of components.
func (p *pass) add(b *block.Block, from, n int) {
	c := &p.body.Columns
	c.Pack(p.a, b, from, n)
	if from+n > b.Rows || !b.Unit() || c.Unit != 1 {
		for r, w := range b.W[from : from+n] {
			by := math.Max(0, w*c.Unit)
			if from+r >= b.Rows {
				by = 0
			}
			p.norm[r] = by
			for k := range p.k {
				p.z[k*f64.FixedStride+r] *= by
			}
		}
	} else {
		for r := range n {
			p.norm[r] = 1
		}
	}
	switch p.kind {
	case full:
		for k, q := range p.products {
			gram.ScaleRows(p.b, p.a, p.z[k*f64.FixedStride:][:n], p.n+1)
			q.Add(p.b, p.a, n, nil)
		}
		return
	case diagonal, spherical:
		squares := p.a[(p.n+1)*f64.FixedStride:]
		for j := range p.n {
			to := squares[j*f64.FixedStride:][:n]
			for r, v := range p.a[j*f64.FixedStride:][:n] {
				to[r] = f64.Fix(float64(v * v))
			}
		}
	}
	if p.all != nil {
		gram.ScaleRows(p.b, p.a, p.norm[:n], p.n+1)
		p.all.Add(p.b, p.a, n, nil)
	}
	for k := range p.k {
		to := p.b[k*f64.FixedStride:][:n]
		for r, v := range p.z[k*f64.FixedStride:][:n] {
			if to[r] = 0; v > 0 {
				to[r] = f64.Fix(float64(0.5 * v))
			}
		}
	}
	p.products[0].Add(p.a, p.b, n, nil)
}
