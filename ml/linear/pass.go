package linear

import (
	"context"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
)

// Pass is the scratch space of one goroutine's evaluations. What it holds does
// not depend on the rows.
type Pass struct {
	obj    objective.Objective
	dense  int
	ones   int
	z, h   []float64
	lanes  []float64 // by output: dense columns × lanes
	acc    []f64.Acc
	gram   *f64.Gram
	weight [f64.Lanes]float64
}

// NewPass makes the scratch space for blocks of dense columns and ones slots.
func NewPass(obj objective.Objective, dense, ones int) *Pass {
	k := obj.Outputs()
	return &Pass{obj: obj, dense: dense, ones: ones, z: make([]float64, k*dataset.ChunkRows), h: make([]float64, k*dataset.ChunkRows),
		lanes: make([]float64, k*dense*f64.Lanes), acc: make([]f64.Acc, k)}
}

// VectorLen is the length of a partial's vector.
func VectorLen(outputs, params int, need optim.Need) int {
	n := outputs * (params + 1)
	if need&optim.Hessian != 0 {
		return n + (params+1)*(params+1)
	}
	return n
}

// Bytes is the memory of a Pass and of the partial it fills.
func Bytes(outputs, dense, ones int, need optim.Need) int64 {
	n := int64(outputs)*int64(dense*f64.Lanes+2*dataset.ChunkRows) + int64(VectorLen(outputs, dense+ones, need))
	if need&optim.Hessian != 0 {
		n += f64.GramBytes(dense) / 8
	}
	return n * 8
}

// Run gives the sums over rows [from, to) of a block at theta; from and to are
// multiples of f64.Lanes, of ChunkRows for a Hessian, which is given for one
// output only. An empty range gives zeros of the right length.
func (p *Pass) Run(ctx context.Context, b *dataset.Block, theta []float64, need optim.Need, from, to int) (*reduce.Sums, error) {
	outs, per := len(p.acc), p.dense+p.ones+1
	s := &reduce.Sums{Vec: make([]float64, VectorLen(outs, p.dense+p.ones, need))}
	clear(p.lanes)
	clear(p.acc)
	p.weight = [f64.Lanes]float64{}
	hess := s.Vec[outs*per:]
	if len(hess) > 0 && p.gram == nil {
		p.gram = f64.NewGram(p.dense)
	}
	var hlanes, hones []float64 // the intercept's column of the Hessian
	if len(hess) > 0 {
		hlanes, hones = make([]float64, p.dense*f64.Lanes), make([]float64, p.ones)
	}
	for at := from; at < to; at += dataset.ChunkRows {
		if at&(1<<14-1) == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		n := min(dataset.ChunkRows, to-at)
		y, w := b.Y[at:at+n], b.W[at:at+n]
		for i := 0; i < n; i += f64.Lanes {
			for l, v := range w[i : i+f64.Lanes] {
				p.weight[l] += v
			}
		}
		z, h := p.z[:outs*n], p.h[:outs*n]
		for k := range outs {
			th := theta[k*per:][:per]
			b.Margins(z[k*n:][:n], at, th[:per-1], th[per-1])
		}
		p.obj.Pass(z, h, y, w, p.acc)
		if need&(optim.Grad|optim.Hessian) != 0 {
			for k := range outs {
				b.AddGrad(p.lanes[k*p.dense*f64.Lanes:][:p.dense*f64.Lanes], s.Vec[k*per+p.dense:][:p.ones], at, z[k*n:][:n])
			}
		}
		if len(hess) > 0 {
			b.AddGram(p.gram, hess, per, at, h[:n])
			b.AddGrad(hlanes, hones, at, h[:n])
		}
	}
	s.Rows = int64(max(min(to, b.Rows)-from, 0))
	s.Weight = f64.Fold(&p.weight)
	s.Loss = f64.Fold(&p.acc[0].Loss)
	for k := range outs {
		g := s.Vec[k*per:][:per]
		f64.FoldAll(g[:p.dense], p.lanes[k*p.dense*f64.Lanes:])
		g[per-1] = f64.Fold(&p.acc[k].Resid)
	}
	if len(hess) > 0 {
		col := make([]float64, p.dense)
		f64.FoldAll(col, hlanes)
		for j, v := range append(col, hones...) {
			hess[j*per+per-1] = v
		}
		hess[per*per-1] = f64.Fold(&p.acc[0].Curv)
	}
	return s, nil
}
