package imported

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// predictor evaluates a shape.
type predictor struct {
	f *feature.Fitted
	s shape.Shape
}

// New makes the predictor of a shape over what the encoders make; XX001 where it does not fit them.
func New(f *feature.Fitted, s shape.Shape) (family.Predictor, error) {
	bad := func() error { return pgerr.New(pgerr.DataCorrupted, "an imported model does not fit its columns") }
	p := &predictor{f, s}
	outputs, link := 1, shape.Identity
	switch s := s.(type) {
	case *shape.Linear:
		if outputs, link = s.Outputs, s.Link; outputs < 1 || len(s.Weights) != outputs*f.Params() || len(s.Intercepts) != outputs || !link.Valid() {
			return nil, bad()
		}
		if k := len(f.Keys); !fits(link, outputs, k) {
			return nil, bad()
		}
		return &explainedLinear{p, s}, nil
	case *shape.Trees:
		if outputs, link = s.Outputs, s.Link; !s.Valid(f.Dense, f.Codes) || !fits(link, outputs, len(f.Keys)) {
			return nil, bad()
		}
		return &explainedTrees{p, s}, nil
	case *graph.Graph:
		if s.Classes != len(f.Keys) {
			return nil, bad()
		}
		program, err := graph.Compile(s, f.Dense, f.CodeSlots())
		if err != nil {
			return nil, err
		}
		return &ofGraph{p, program}, nil
	}
	return nil, bad()
}

// fits reports whether so many margins make predictions of so many classes, 0 for a number.
func fits(l shape.Link, outputs, classes int) bool {
	switch {
	case !l.Classes():
		return classes == 0 && outputs == 1
	case outputs == 1:
		return classes == 2 && (l == shape.Logistic || l == shape.Share)
	}
	return outputs == classes && l != shape.Logistic
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) { encodeShape(e, p.s) }

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 { return p.s.Bytes() + 1024 }

// Shape implements family.Described.
func (p *predictor) Shape() (shape.Shape, error) { return p.s, nil }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	z, link := p.margins(b)
	link.Apply(z)
	return scores(z, b.Rows, len(p.f.Keys))
}

// scores are those of numbers or probabilities by output.
func scores(z [][]float64, rows, classes int) *family.Scores {
	s := &family.Scores{Rows: rows}
	switch {
	case classes == 0:
		s.Value = z[0]
	case len(z) == 1:
		s.Probs = [][]float64{nil, z[0]}
	default:
		s.Probs = z
	}
	return s
}

// margins returns the margins, output by output.
func (p *predictor) margins(b *block.Block) ([][]float64, shape.Link) {
	outputs, link := 1, shape.Identity
	switch s := p.s.(type) {
	case *shape.Linear:
		outputs, link = s.Outputs, s.Link
	case *shape.Trees:
		outputs, link = s.Outputs, s.Link
	}
	out := make([][]float64, outputs)
	for k := range out {
		out[k] = make([]float64, b.Rows)
	}
	z := make([]float64, outputs)
	p.each(b, func(i int, r shape.Row) {
		switch s := p.s.(type) {
		case *shape.Linear:
			linear(p.f, s, r, z)
		case *shape.Trees:
			s.Margins(r, z)
		}
		for k := range out {
			out[k][i] = z[k]
		}
	})
	return out, link
}

// linear computes a row's margins.
func linear(f *feature.Fitted, s *shape.Linear, r shape.Row, z []float64) {
	per := f.Params()
	sizes := f.CodeSlots()
	for k := range z {
		w := s.Weights[k*per:][:per]
		v := s.Intercepts[k]
		for j, x := range r.X {
			v += float64(w[j] * x)
		}
		at := f.Dense
		for j, slot := range r.Slots {
			if slot >= 0 {
				v += w[at+slot]
			}
			at += sizes[j]
		}
		z[k] = v
	}
}

// each calls f with each row; the row is valid during the call.
func (p *predictor) each(b *block.Block, f func(i int, r shape.Row)) {
	r := shape.Row{X: make([]float64, b.Dense), Slots: make([]int, b.Codes)}
	sizes := p.f.CodeSlots()
	for i := range b.Rows {
		for j := range r.X {
			r.X[j] = b.Value(i, j)
		}
		first := 0
		for j := range r.Slots {
			r.Slots[j] = -1
			if c := int(b.CodeAt(i, j)); c >= 0 {
				r.Slots[j] = c - first
			}
			first += sizes[j]
		}
		f(i, r)
	}
}

// players returns the input columns, and for each number and code the column that it is of.
func (p *predictor) players() (names []string, of []int) {
	slots, at := p.f.Slots(), p.f.Dense
	add := func(column string) {
		k := slices.Index(names, column)
		if k < 0 {
			k = len(names)
			names = append(names, column)
		}
		of = append(of, k)
	}
	for _, s := range slots[:at] {
		add(s.Column)
	}
	for _, n := range p.f.CodeSlots() {
		if n == 0 {
			add("")
			continue
		}
		add(slots[at].Column)
		at += n
	}
	return names, of
}

// explainedTrees is a predictor of trees: it can be explained, and tells what splits.
type explainedTrees struct {
	*predictor
	s *shape.Trees
}

// Explain implements family.Explainer by TreeSHAP, as the family of trees does.
func (p *explainedTrees) Explain(b *block.Block, scores *family.Scores) *family.Explanation {
	names, of := p.players()
	z, _ := p.margins(b)
	e := explanation(b.Rows, names)
	share := 1.0
	if p.s.Mean {
		share = 1 / float64(len(p.s.Trees))
	}
	means := slices.Clone(p.s.Base)
	eachTree := func(f func(t *shape.Tree, output, offset int)) {
		for i := range p.s.Trees {
			t := &p.s.Trees[i]
			if p.s.Width == 1 {
				f(t, t.Output, 0)
				continue
			}
			for k := range p.s.Width {
				f(t, k, k)
			}
		}
	}
	eachTree(func(t *shape.Tree, output, offset int) { means[output] += share * t.Expected(p.s.Width, offset) })
	phi := make([]float64, len(names))
	p.each(b, func(i int, r shape.Row) {
		k := 0
		if p.s.Outputs > 1 {
			k = scores.Class(i)
		}
		clear(phi)
		eachTree(func(t *shape.Tree, output, offset int) {
			if output == k {
				t.Shapley(r, p.s.Width, offset, of, phi)
			}
		})
		e.Baseline[i], e.Prediction[i] = means[k], z[k][i]
		for f, v := range phi {
			e.Parts[f][i] = v * share
		}
	})
	return e
}

// Describe implements family.Describer: feature_importance as of the family of trees.
func (p *explainedTrees) Describe(relation string) ([][]types.Datum, bool) {
	if relation != "feature_importance" {
		return nil, false
	}
	names, of := p.players()
	count, gain, cover := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	for _, t := range p.s.Trees {
		for _, n := range t.Nodes {
			if n.Feature != shape.Leaf {
				k := of[n.Feature]
				count[k]++
				gain[k] += n.Gain
				cover[k] += n.Cover
			}
		}
	}
	var rows [][]types.Datum
	for k, n := range names {
		by := max(count[k], 1)
		rows = append(rows, []types.Datum{n, count[k], gain[k] / by, cover[k] / by})
	}
	slices.SortStableFunc(rows, func(a, b []types.Datum) int {
		return cmp.Or(cmp.Compare(b[2].(float64), a[2].(float64)), cmp.Compare(b[1].(float64), a[1].(float64)))
	})
	return rows, true
}

func explanation(rows int, names []string) *family.Explanation {
	e := &family.Explanation{Baseline: make([]float64, rows), Prediction: make([]float64, rows), Features: names, Parts: make([][]float64, len(names))}
	for k := range e.Parts {
		e.Parts[k] = make([]float64, rows)
	}
	return e
}

// explainedLinear is a predictor with weights.
type explainedLinear struct {
	*predictor
	s *shape.Linear
}

// Explain implements family.Explainer: the baseline is the intercept, and a column's part its weights
// times its encoded numbers.
func (p *explainedLinear) Explain(b *block.Block, scores *family.Scores) *family.Explanation {
	names, of := p.players()
	z, _ := p.margins(b)
	e := explanation(b.Rows, names)
	per, sizes := p.f.Params(), p.f.CodeSlots()
	p.each(b, func(i int, r shape.Row) {
		k := 0
		if p.s.Outputs > 1 {
			k = scores.Class(i)
		}
		w := p.s.Weights[k*per:][:per]
		e.Baseline[i], e.Prediction[i] = p.s.Intercepts[k], z[k][i]
		for j, x := range r.X {
			e.Parts[of[j]][i] += float64(w[j] * x)
		}
		at := len(r.X)
		for j, slot := range r.Slots {
			if slot >= 0 {
				e.Parts[of[len(r.X)+j]][i] += w[at+slot]
			}
			at += sizes[j]
		}
	})
	return e
}

// Describe implements family.Describer: weights, original_weights and feature_importance as of linear
// models.
func (p *explainedLinear) Describe(relation string) ([][]types.Datum, bool) {
	slots := p.f.Slots()
	var out [][]types.Datum
	switch relation {
	case "weights", "original_weights":
		for k := range p.s.Outputs {
			var class types.Datum
			if p.s.Outputs > 1 {
				class = feature.KeyText(p.f.Label.Type, p.f.Keys[k])
			}
			base := p.s.Intercepts[k]
			for j, s := range slots {
				w := p.s.Weights[k*len(slots)+j]
				if relation == "original_weights" {
					w /= s.Scale
					base -= float64(w * s.Center)
				}
				out = append(out, []types.Datum{class, s.Name, w, nil, nil, nil, nil, nil})
			}
			out = append(out, []types.Datum{class, "(intercept)", base, nil, nil, nil, nil, nil})
		}
		return out, true
	case "feature_importance":
		names, _ := p.players()
		sum := make([]float64, len(names))
		for i, w := range p.s.Weights {
			sum[slices.Index(names, slots[i%len(slots)].Column)] += math.Abs(w)
		}
		for k, n := range names {
			out = append(out, []types.Datum{n, sum[k], nil, nil})
		}
		slices.SortStableFunc(out, func(a, b []types.Datum) int { return cmp.Compare(b[1].(float64), a[1].(float64)) })
		return out, true
	}
	return nil, false
}
