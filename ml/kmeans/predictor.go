package kmeans

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor assigns rows to the nearest centroid.
type predictor struct {
	fitted *feature.Fitted
	at     []float64
	p      *points
}

func newPredictor(f *feature.Fitted, at []float64) *predictor {
	return &predictor{f, at, newPoints(at, f.Dense, f.OneHot)}
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.U32(uint32(p.p.k))
	e.F64s(p.at)
}

// Decode implements family.Family.
func (kmeans) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	k := int(d.U32())
	at := d.F64s()
	if n := f.Params(); !d.OK() || k < 1 || n < 1 || len(at)%n != 0 || len(at)/n != k || !finite(at) {
		d.Fail()
		return nil, d.Done("a k-means model")
	}
	return newPredictor(f, at), nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 {
	return 8*int64(len(p.at)) + pointsBytes(p.p.k, p.fitted.Dense, p.fitted.OneHot)
}

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Rows, Label: make([]int32, b.Rows), Extra: [][]float64{make([]float64, b.Rows)}}
	g := newGroup(b.Dense, b.Codes)
	for i := 0; i < b.Rows; i += g.size {
		g.rows = g.rows[:0]
		for r := i; r < min(i+g.size, b.Rows); r++ {
			g.rows = append(g.rows, r)
		}
		g.load(b)
		g.nearest(p.p)
		for q, r := range g.rows {
			s.Label[r], s.Extra[0][r] = int32(g.at[q])+1, math.Sqrt(g.best[q])
		}
	}
	return s
}

// Describe implements family.Describer: centroids has a row for each centroid
// and feature: centroid_id, feature, category (NULL for a number), value. Numbers
// are as the rows had them, before any scaling; the value of a category is the
// share of the cluster's rows that have it.
func (p *predictor) Describe(relation string) (rows [][]types.Datum, ok bool) {
	if relation != "centroids" {
		return nil, false
	}
	slots := p.fitted.Slots()
	for k := range p.p.k {
		for j, s := range slots {
			v := f64.FMA(p.at[k*len(slots)+j], s.Scale, s.Center)
			var cat types.Datum
			name := s.Name
			if s.Category != "" {
				cat, name = s.Category, s.Column
			}
			rows = append(rows, []types.Datum{int64(k + 1), name, cat, v})
		}
	}
	return rows, true
}
