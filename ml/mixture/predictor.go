package mixture

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor finds the most probable component of a row, and its density.
type predictor struct {
	fitted *feature.Fitted
	*components
	q       *densities
	scaling float64
}

func newPredictor(f *feature.Fitted, m *components) (p *predictor, ok bool) {
	p = &predictor{fitted: f, components: m, scaling: scaling(f)}
	p.q, ok = m.densities()
	return p, ok
}

// Decode implements family.Family.
func (mixture) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	m := decodeComponents(d)
	if !d.OK() || m.n != f.Params() {
		d.Fail()
		return nil, d.Done("a Gaussian mixture")
	}
	p, ok := newPredictor(f, m)
	if !ok {
		d.Fail()
		return nil, d.Done("a Gaussian mixture")
	}
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return densitiesBytes(p.kind, p.k, p.n) + 512 }

// Scratch implements family.ScratchPredictor.
func (p *predictor) Scratch() int64 { return scratchBytes(p.n) + 8*f64.FixedStride*int64(p.k+1) }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Rows, Label: make([]int32, b.Rows), Extra: [][]float64{make([]float64, b.Rows)}}
	c, z, norm := newScratch(p.n), make([]float64, p.k*f64.FixedStride), make([]float64, f64.FixedStride)
	for from := 0; from < b.Padded(); from += f64.FixedRows {
		n := min(f64.FixedRows, b.Padded()-from)
		p.q.logs(z, c, b, from, n)
		p.q.total(z, norm, c, n)
		for r := range min(n, b.Rows-from) {
			best := 0
			for k := 1; k < p.k; k++ {
				if z[k*f64.FixedStride+r] > z[best*f64.FixedStride+r] {
					best = k
				}
			}
			s.Label[from+r], s.Extra[0][from+r] = int32(best)+1, norm[r]-p.scaling
		}
	}
	return s
}

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	return nil, pgerr.Unsupported("Gaussian mixtures can be written in the format json only")
}

// Describe implements family.Describer: centroids has a row for each component and feature, like those of
// k-means: the mean, in the column's own units.
func (p *predictor) Describe(relation string) (rows [][]types.Datum, ok bool) {
	if relation != "centroids" {
		return nil, false
	}
	slots := p.fitted.Slots()
	for k := range p.k {
		for j, s := range slots {
			var cat types.Datum
			name := s.Name
			if s.Category != "" {
				cat, name = s.Category, s.Column
			}
			rows = append(rows, []types.Datum{int64(k + 1), name, cat, f64.FMA(p.means[k*p.n+j], s.Scale, s.Center)})
		}
	}
	return rows, true
}

// Interfaces.
var (
	_ family.Describer = (*predictor)(nil)
	_ family.Described = (*predictor)(nil)
)
