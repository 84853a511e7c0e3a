package neighbors

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
)

// identity is the code of a column that names rows, -1 for none.
func identity(f *feature.Fitted, name string) int {
	code := 0
	for i := range f.Cols {
		if f.Cols[i].Name == name {
			return code
		}
		code += f.Cols[i].Codes()
	}
	return -1
}

// column is the feature of the code that names rows, -1 where it is none by itself.
func (p *predictor) column() int {
	code := 0
	for i := range p.f.Cols {
		if code == p.id && p.f.Cols[i].Encoder == feature.OneHot {
			return i
		}
		code += p.f.Cols[i].Codes()
	}
	return -1
}

// Rank implements family.Ranker: the nearest rows, with their distances.
func (p *predictor) Rank(b *block.Block, _ family.RankBy, k int) *family.Ranked {
	q := *p
	q.k, q.alike = k, true
	out := &family.Ranked{Column: -1}
	first := int32(0)
	if p.id >= 0 {
		out.Column = p.column()
		for _, n := range p.f.CodeSlots()[:p.id] {
			first += int32(n)
		}
	}
	g := newFinder(&q)
	var list []neighbor
	for from := 0; from < b.Rows; from += asked {
		for r, near := range g.find(b, from) {
			list = q.near(list[:0], b, from+r, &near)
			for _, n := range list {
				number := n.at
				if p.id >= 0 {
					number = p.Code[int(n.at)*p.f.Codes+p.id] - first
				}
				out.Number, out.Score = append(out.Number, number), append(out.Score, n.distance)
			}
			out.End()
		}
	}
	return out
}

// Most implements family.Ranker.
func (p *predictor) Most() int { return len(p.Y) }

// Places implements family.Ranker: rows are of no user.
func (p *predictor) Places(b *block.Block) (places, of []float64) {
	none := slices.Repeat([]float64{math.NaN()}, b.Rows)
	return none, none
}
