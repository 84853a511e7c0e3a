package isolation

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// predictor scores rows by a forest.
type predictor struct {
	f *feature.Fitted
	m *model
}

func newPredictor(f *feature.Fitted, m *model) *predictor { return &predictor{f, m} }

// Decode implements family.Family.
func (forest) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	m := decodeModel(d)
	if !d.OK() || !m.valid(f.Dense, f.Codes) {
		d.Fail()
		return nil, d.Done("an isolation forest")
	}
	return newPredictor(f, m), nil
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) { p.m.encode(e) }

// Bytes implements family.Predictor.
func (p *predictor) Bytes() (n int64) {
	for i := range p.m.Trees {
		n += 32*int64(len(p.m.Trees[i].Nodes)) + 64
	}
	return n + 256
}

// scoreRows is how many rows a scorer takes at once, so that a tree is used for many of them.
const scoreRows = 256

// scorer scores rows on one goroutine.
type scorer struct {
	m      *model
	inv    float64 // -ln 2 over the trees' number and mean depth
	width  int
	x      []float64 // numbers and slots, tile by tile
	scores []float64
}

func scorerBytes(dense, codes int) int64 { return 8 * scoreRows * int64(dense+codes+1) }

func newScorer(m *model, dense, codes int) *scorer {
	const ln2 = 0.6931471805599453
	return &scorer{m: m, inv: -ln2 / float64(float64(len(m.Trees))*meanDepth(m.Samples)), width: dense + codes,
		x: make([]float64, scoreRows*(dense+codes)), scores: make([]float64, scoreRows)}
}

// score returns the scores of rows of a block, at most scoreRows from a tile on, good until the next call.
func (s *scorer) score(b *block.Block, from int) []float64 {
	to := min(from+scoreRows, b.Padded())
	n := to - from
	d := b.Dense
	for i := 0; i < n; i += f64.Lanes {
		t := s.x[i*s.width:][:f64.Lanes*s.width]
		if b.X32 != nil {
			f64.Widen(t[:d*f64.Lanes], b.X32[(from+i)*d:][:d*f64.Lanes])
		} else {
			copy(t[:d*f64.Lanes], b.X64[(from+i)*d:][:d*f64.Lanes])
		}
		for k, v := range b.Code[(from+i)*b.Codes:][:b.Codes*f64.Lanes] {
			t[d*f64.Lanes+k] = float64(v)
		}
	}
	sum := s.scores[:n]
	clear(sum)
	for i := range s.m.Trees {
		t := &s.m.Trees[i]
		nodes := t.Nodes
		for r := 0; r < n; r += f64.Lanes {
			// Eight rows at once, and without branches that a row decides: steps of rows wait for each other's memory alone.
			x, at := s.x[r*s.width:][:f64.Lanes*s.width], [f64.Lanes]int32{}
			for range t.Depth {
				for l := range at {
					q := &nodes[at[l]]
					v, second := x[int(q.Feature)*f64.Lanes+l], int32(0)
					if v > q.Low {
						second = 1
					}
					if t.Codes && v > q.High {
						second = 0
					}
					at[l] = q.First + second
				}
			}
			for l, k := range at {
				sum[r+l] += nodes[k].Length
			}
		}
	}
	for i, v := range sum {
		sum[i] = f64.Exp1(v * s.inv)
	}
	return sum
}

// Scratch implements family.ScratchPredictor.
func (p *predictor) Scratch() int64 { return scorerBytes(p.f.Dense, p.f.Codes) }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	out := &family.Scores{Rows: b.Rows, Label: make([]int32, b.Rows), Extra: [][]float64{make([]float64, 0, b.Padded())}}
	s := newScorer(p.m, p.f.Dense, p.f.Codes)
	for from := 0; from < b.Padded(); from += scoreRows {
		out.Extra[0] = append(out.Extra[0], s.score(b, from)...)
	}
	out.Extra[0] = out.Extra[0][:b.Rows]
	for i, v := range out.Extra[0] {
		if v >= p.m.Threshold {
			out.Label[i] = 1
		}
	}
	return out
}

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) {
	return nil, pgerr.Unsupported("isolation forests can be written in the format json only")
}

// Interfaces.
var (
	_ family.ScratchPredictor = (*predictor)(nil)
	_ family.Described        = (*predictor)(nil)
)
