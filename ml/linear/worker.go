package linear

import (
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// worker implements family.Worker. Its only state between steps is memory for reuse,
// and blocks sorted by slot.
type worker struct {
	p      *problem
	rows   int64     // to train on
	sums   sync.Pool // of *[]int64, a partial's sums
	spans  sync.Pool // of *[]float64, a span's factors
	sorted *sorted   // nil where there are few one-hot features
}

// NewWorker implements family.Family.
func (g *glm) NewWorker(s *family.Setup, n *family.Node) (family.Worker, error) {
	w := &worker{p: g.problem(s), rows: s.Rows}
	if w.p.oneHot >= manySlots && !s.Fitted.Sparse() {
		w.sorted = &sorted{node: n, of: map[family.Rows]*block.BySlot{}}
	}
	return w, nil
}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	p := w.p
	switch s.Op {
	case opBounds:
		return 0, gram.BoundsBytes(p.dense)
	case opRows:
		return 0, 16 * min(w.rows, mostRows) * int64(p.width())
	case opGram:
		return gram.ProductBytes(p.per+1, p.per+1)/2 + 2*gram.PackBytes(p.per+1), gram.ProductBytes(p.per+1, p.per+1) / 2
	}
	pass = 8*(int64(p.slopes*p.dense*f64.Lanes)+int64((2*p.outputs+2)*block.ChunkRows)) + p.spanBytes()
	partial = 16 * int64(p.size()+1)
	if s.Body.(*request).Need&optim.Hessian != 0 {
		product := gram.ProductBytes(p.per, p.per) / 2
		pass, partial = pass+product+2*gram.PackBytes(p.per), partial+product
	}
	return pass, partial
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := w.p
	a := &pass{p: p, sums: &w.sums, op: s.Op, counts: s.Set&family.Held != 0 || s.Batch != nil, sorted: w.sorted, spans: &w.spans}
	switch s.Op {
	case opGram, opEvaluate:
		a.r = s.Body.(*request)
	}
	switch s.Op {
	case opGram:
		if len(a.r.Columns.Scale) != p.per-1 {
			return nil, pgerr.Internal("a training task has %d columns", len(a.r.Columns.Scale))
		}
		a.products(p.per + 1)
	case opEvaluate:
		if len(a.r.Theta) != p.size() || len(a.r.Bound) != p.dense {
			return nil, pgerr.Internal("a training task has %d parameters", len(a.r.Theta))
		}
		a.obj = p.objective(a.r.Width)
		a.z, a.h = make([]float64, p.outputs*block.ChunkRows), make([]float64, p.outputs*block.ChunkRows)
		a.l = make([]float64, block.ChunkRows)
		if a.r.Need&optim.Product != 0 && (p.outputs > 1 || len(a.r.Along) != p.size()) {
			return nil, pgerr.Internal("a training task asks for a product of %d parameters", len(a.r.Along))
		}
		if a.r.Need&(optim.Grad|optim.Hessian|optim.Product) != 0 {
			a.lanes = make([]float64, p.slopes*p.dense*f64.Lanes)
			for k := range p.slopes {
				f64.Starts(a.lanes[k*p.dense*f64.Lanes:], a.r.Bound)
			}
		}
		if a.r.Need&optim.Hessian != 0 {
			if p.outputs > 1 || len(a.r.Columns.Scale) != p.per-1 {
				return nil, pgerr.Internal("a training task asks for a Hessian of %d outputs", p.outputs)
			}
			a.products(p.per)
		}
	}
	return a, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}
