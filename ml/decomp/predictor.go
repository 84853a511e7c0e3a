package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor projects rows on the components.
type predictor struct {
	fitted   *feature.Fitted
	dims     dims
	whiten   bool
	k        int
	mean     []float64 // nil for none
	comp     []float64 // one after the other
	variance []float64 // explained, by component
	ratio    []float64 // of the total variance
	singular []float64
	loss     float64 // the variance that is not explained; not part of the model

	w      []float64 // comp, scaled where whitened
	offset []float64
}

// prepare computes the scaled components and the offsets that Score uses.
func (p *predictor) prepare() {
	n := p.dims.cols()
	p.w, p.offset = append([]float64{}, p.comp...), make([]float64, p.k)
	for i := range p.k {
		w := p.w[i*n : (i+1)*n]
		if p.whiten && p.variance[i] > 0 {
			f64.Scale(w, 1/math.Sqrt(p.variance[i]))
		}
		if p.mean != nil {
			p.offset[i] = -f64.Dot(p.mean, w)
		}
	}
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	e.Bool(p.whiten)
	e.U32(uint32(p.k))
	e.F64s(p.mean)
	e.F64s(p.comp)
	e.F64s(p.variance)
	e.F64s(p.ratio)
	e.F64s(p.singular)
}

func decodeModel(f *feature.Fitted, d *canon.D) (*predictor, error) {
	p := &predictor{fitted: f, dims: dims{f.Dense, f.OneHot, f.Codes}, whiten: d.Bool(), k: int(d.U32()), mean: d.F64s(), comp: d.F64s(),
		variance: d.F64s(), ratio: d.F64s(), singular: d.F64s()}
	n := f.Params()
	if !d.OK() || n < 1 || p.k < 1 || len(p.comp)%n != 0 || len(p.comp)/n != p.k || len(p.mean) != 0 && len(p.mean) != n ||
		len(p.variance) != p.k || len(p.ratio) != p.k || len(p.singular) != p.k || !finite(p.mean, p.comp, p.variance, p.ratio, p.singular) {
		d.Fail()
		return nil, d.Done("a model of components")
	}
	p.prepare()
	return p, nil
}

// Decode implements family.Family.
func (f decomp) Decode(fitted *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p, err := decodeModel(fitted, d)
	if err != nil {
		return nil, err
	}
	if f.center != (p.mean != nil) {
		d.Fail()
		return nil, d.Done("a model of components")
	}
	return p, nil
}

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return 16*int64(len(p.comp)) + 8*int64(len(p.mean)+4*p.k) }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	n := p.dims.cols()
	s := &family.Scores{Rows: b.Rows, Vector: make([][]float64, p.k)}
	for i := range s.Vector {
		s.Vector[i] = make([]float64, b.Padded())
	}
	for from := 0; from < b.Padded(); from += block.ChunkRows {
		to := min(from+block.ChunkRows, b.Padded())
		for i, v := range s.Vector {
			b.Margins(v[from:to], from, p.w[i*n:(i+1)*n], p.offset[i])
		}
	}
	for i, v := range s.Vector {
		s.Vector[i] = v[:b.Rows]
	}
	return s
}

// Describe implements family.Describer. components has a row for each component
// and feature: component, feature, category (NULL for a number), loading.
// explained_variance_ratio has one for each component: component,
// explained_variance, explained_variance_ratio, singular_value.
func (p *predictor) Describe(relation string) (rows [][]types.Datum, ok bool) {
	switch relation {
	case "components":
		slots := p.fitted.Slots()
		for i := range p.k {
			for j, s := range slots {
				var cat types.Datum
				name := s.Name
				if s.Category != "" {
					cat, name = s.Category, s.Column
				}
				rows = append(rows, []types.Datum{int64(i + 1), name, cat, p.comp[i*len(slots)+j]})
			}
		}
	case "explained_variance_ratio":
		for i := range p.k {
			rows = append(rows, []types.Datum{int64(i + 1), p.variance[i], p.ratio[i], p.singular[i]})
		}
	default:
		return nil, false
	}
	return rows, true
}
