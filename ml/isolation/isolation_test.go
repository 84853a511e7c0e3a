package isolation

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// crowd are n rows near the origin with a category, of which every hundredth is far away.
func crowd(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: []int{5}, Seed: seed}
	for i := range n {
		x, code := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, int32(r.IntN(2))
		if i%100 == 0 {
			x[0], code = x[0]+8, 4
		}
		d.X, d.Code = append(d.X, x), append(d.Code, []int32{code})
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	weighted := crowd(2, 900)
	for i := range weighted.X {
		weighted.W, weighted.Held = append(weighted.W, []float64{1, 2, 0.5, 0}[i%4]), append(weighted.Held, i%9 == 0)
	}
	for name, c := range map[string]struct {
		d       *familytest.Data
		options []any
	}{
		"auto": {crowd(1, 2000), nil}, "contamination": {crowd(1, 1000), []any{"contamination", 0.05, "n_estimators", 10}},
		"weights": {weighted, []any{"max_samples", 64, "contamination", 0.1, "n_estimators", 20}},
		"share":   {crowd(3, 1000), []any{"max_samples", 0.4, "n_estimators", 5}},
		"many":    {crowd(4, 40000), []any{"n_estimators", 3}},
	} {
		t.Run(name, func(t *testing.T) { familytest.Same(t, forest{}, c.d, c.options...) })
	}
}

// TestWeightTwoIsTheRowTwice: the same bytes.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
	for _, n := range []int{300, 30000} { // all rows are drawn, and a sample of them
		d := crowd(5, n)
		twice := &familytest.Data{Cats: d.Cats, Seed: d.Seed}
		for i := range d.X {
			d.W = append(d.W, float64(1+i%2))
			for range 1 + i%2 {
				twice.X, twice.Code = append(twice.X, d.X[i]), append(twice.Code, d.Code[i])
			}
		}
		var of [][]byte
		for _, d := range []*familytest.Data{d, twice} {
			m, err := familytest.Train(t, forest{}, d, familytest.Spread{}, "n_estimators", 5)
			if err != nil {
				t.Fatal(err)
			}
			of = append(of, m.Bytes)
		}
		if !bytes.Equal(of[0], of[1]) {
			t.Errorf("%d rows: another model of weights than of copies", n)
		}
	}
}

// TestEachRowIsDrawnOnce where the sample is as long as the rows.
func TestEachRowIsDrawnOnce(t *testing.T) {
	d := crowd(6, 3000)
	opts, err := familytest.Options(forest{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := familytest.Train(t, forest{}, d, familytest.Spread{}, "n_estimators", 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Setup.Options = opts
	drv, err := forest{}.NewDriver(m.Setup, familytest.Home)
	if err != nil {
		t.Fatal(err)
	}
	w, b := &worker{m.Setup}, d.All(false)
	for drv.(*driver).s.Op != opDraw {
		p, err := w.NewPass(drv.Next())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(t.Context(), rowsOf(b.Padded()), b); err != nil {
			t.Fatal(err)
		}
		if err := drv.Tell(p.Partial()); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.NewPass(drv.Next())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Add(t.Context(), rowsOf(b.Padded()), b); err != nil {
		t.Fatal(err)
	}
	drawn := drv.(*driver).drawn(p.Partial().(*partial).Rows)
	if len(drawn) != len(d.X) {
		t.Fatalf("%d rows of %d are drawn", len(drawn), len(d.X))
	}
	for _, r := range drawn {
		if r.Times != 1 {
			t.Fatalf("a row is drawn %d times", r.Times)
		}
	}
}

// TestAnomaliesAreFound by numbers, and by a rare category; scores are those of the trees by their definition.
func TestAnomaliesAreFound(t *testing.T) {
	d := crowd(7, 5000)
	m, err := familytest.Train(t, forest{}, d, familytest.Spread{Nodes: 2}, "contamination", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Score(d.All(false))
	found, all := 0, 0
	for i, v := range s.Label {
		all += int(v)
		if i%100 == 0 {
			found += int(v)
		}
	}
	if all > 50 || all < 45 || found < 45 {
		t.Errorf("%d of 50 anomalies are among the %d found", found, all)
	}
	p := m.Predictor.(*predictor)
	for i := range d.X[:200] {
		sum := 0.0
		for _, tr := range p.m.Trees {
			at := 0
			for !tr.Nodes[at].leaf() {
				n := tr.Nodes[at]
				x := float64(d.Code[i][0])
				if n.Feature < 3 {
					x = d.X[i][n.Feature]
				}
				at = int(n.First)
				if x > n.Low && x <= n.High {
					at++
				}
			}
			sum += tr.Nodes[at].Length
		}
		want := math.Exp2(-sum / float64(len(p.m.Trees)) / meanDepth(256))
		if math.Abs(s.Extra[0][i]-want) > 1e-12 {
			t.Fatalf("the score of row %d is %v, want %v", i, s.Extra[0][i], want)
		}
	}
}

// TestCopies: common rows are no anomalies although there are as many others, each of which is rare.
func TestCopies(t *testing.T) {
	d := &familytest.Data{}
	for i := range 4000 {
		x := float64(i % 4)
		if i%400 == 0 {
			x = 20 + float64(i%3)
		}
		d.X = append(d.X, []float64{x})
	}
	m, err := familytest.Train(t, forest{}, d, familytest.Spread{}, "contamination", 0.01)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Score(d.All(false))
	for i, v := range s.Label {
		if (v == 1) != (d.X[i][0] > 10) {
			t.Fatalf("row %v is an anomaly: %v, score %v", d.X[i], v, s.Extra[0][i])
		}
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := crowd(8, 50)
	for _, c := range []struct {
		code    pgerr.Code
		d       *familytest.Data
		options []any
	}{
		{pgerr.InvalidParameterValue, d, []any{"max_samples", 1}},
		{pgerr.InvalidParameterValue, d, []any{"max_samples", "all"}},
		{pgerr.InvalidParameterValue, d, []any{"contamination", 0.6}},
		{pgerr.InvalidParameterValue, d, []any{"n_estimators", 0}},
		{pgerr.InvalidParameterValue, crowd(9, 1), nil},
	} {
		if _, err := familytest.Train(t, forest{}, c.d, familytest.Spread{}, c.options...); pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	for _, v := range []any{"auto", 2, 0.5} {
		if _, err := familytest.Train(t, forest{}, d, familytest.Spread{}, "max_samples", v, "contamination", "auto"); err != nil {
			t.Error(v, err)
		}
	}
}

// TestMeanDepth against the sum of which it is the closed form.
func TestMeanDepth(t *testing.T) {
	if got := fmt.Sprintf("%.3f %.3f %.3f", meanDepth(1), meanDepth(2), meanDepth(256)); got != "0.000 1.000 10.245" {
		t.Error(got)
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, forest{}, crowd(10, 100), 5000, 7, "n_estimators", 2, "max_samples", 8)
}
