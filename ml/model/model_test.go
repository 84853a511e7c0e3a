package model

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/calibration"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// linear is a model of one standardised column x with mean 10 and standard deviation 2.
func linear(algorithm string, label types.Type, keys []string, theta ...float64) *Model {
	m := &Model{Algorithm: algorithm, Task: family.Classification, Outputs: []family.Output{{}}, Fitted: &feature.Fitted{
		Cols: []feature.FitCol{{Column: record.Column{Name: "x", Type: types.Float8}, Encoder: feature.Standard,
			Center: []float64{10}, Scale: []float64{2}, Fill: 10}},
		Label: record.Column{Name: "y", Type: label}, Keys: keys, Dense: 1}}
	if keys == nil {
		m.Task, m.Outputs[0].Type = family.Regression, types.Float8
	}
	f, _, err := families.Find(algorithm)
	if err != nil {
		panic(err)
	}
	var e canon.E
	e.F64s(theta)
	if m.Predictor, err = f.Decode(m.Fitted, canon.Read(e.B)); err != nil {
		panic(err)
	}
	return m
}

func xs(v ...float64) []arrow.Array {
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, v, nil)}
}

func mustScore(t *testing.T, m *Model, cols []arrow.Array) *Scores {
	t.Helper()
	back, err := Decode(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScorer(back)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Score(cols, cols[0].Len(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegressionScores(t *testing.T) {
	m := linear("linear_regression", types.Float8, nil, 3, 1)
	r := mustScore(t, m, xs(10, 12, math.NaN()))
	if got := fmt.Sprint(r.Column(0)); got != "[1 4 1]" {
		t.Errorf("predictions %s", got)
	}
	w, ok := m.Predictor.(family.Describer).Describe("original_weights")
	if got := fmt.Sprint(w); !ok || got != "[[<nil> x 1.5 <nil> <nil> <nil> <nil> <nil>] [<nil> (intercept) -14 <nil> <nil> <nil> <nil> <nil>]]" {
		t.Errorf("weights %s", got)
	}
	if cols := m.Columns(); len(cols) != 1 || cols[0].Name != "predicted_y" || cols[0].Type.OID != types.Float8OID {
		t.Errorf("columns %v", cols)
	}
}

func TestClassesComeBackInTheirType(t *testing.T) {
	for _, c := range []struct {
		typ  types.Type
		keys []string
		want string
	}{
		{types.Text, []string{"no", "yes"}, `["no" "yes"]`},
		{types.Bool, []string{"\x00", "\x01"}, "[false true]"},
		{types.Int2, []string{"\xff\xff", "\x05\x00"}, "[-1 5]"},
		{types.Int4, []string{"\x00\x00\x00\x00", "\x01\x00\x00\x00"}, "[0 1]"},
		{types.Int8, []string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\x07\x00\x00\x00\x00\x00\x00\x00"}, "[0 7]"},
	} {
		r := mustScore(t, linear("logistic_regression", c.typ, c.keys, 2, 0), xs(8, 12))
		got := r.Column(0)
		text := fmt.Sprint(got)
		if d, ok := got.(*array.Dictionary); ok {
			s := batch.StringsOf(d)
			text = fmt.Sprintf("[%q %q]", s.Value(0), s.Value(1))
		} else if got.DataType().ID() != c.typ.Arrow().ID() {
			t.Errorf("predictions of %v are %s", c.typ.OID, got.DataType())
		}
		if text != c.want {
			t.Errorf("predictions %s, want %s", text, c.want)
		}
		if p := r.Probs[1][1]; p != f64.Sigmoid1(2) || r.Prob(0, 1) != 1-p || r.ClassProbs(0)[1] != 1-p {
			t.Errorf("probabilities %v", r.Probs)
		}
	}
}

func TestMultinomialScores(t *testing.T) {
	m := linear("logistic_regression", types.Text, []string{"a", "b", "c"}, -1, 0, 0, 0.5, 1, 0)
	r := mustScore(t, m, xs(6, 10, 14))
	s := batch.StringsOf(r.Column(0))
	if got := s.Value(0) + s.Value(1) + s.Value(2); got != "abc" {
		t.Errorf("predictions %s", got)
	}
	if _, err := r.Positive(); !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Errorf("a single probability of three classes: %v", err)
	}
	l := r.Probabilities().(*array.List)
	if l.Len() != 3 || l.ListValues().Len() != 9 {
		t.Errorf("probabilities %v", l)
	}
}

func TestDamagedModelsAreRefused(t *testing.T) {
	m := linear("logistic_regression", types.Text, []string{"a", "b"}, 1, 2)
	damaged(t, m.Encode())
	m.Adjustment = &calibration.Adjustment{Curves: []calibration.Curve{{X: []float64{-1, 1}, Y: []float64{0.25, 0.5}}}, Costs: [][]float64{{0, 1}, {5, 0}}}
	damaged(t, m.Encode())
	m.Adjustment = &calibration.Adjustment{Interval: true}
	if _, err := Decode(m.Encode()); err == nil {
		t.Error("a classifier with an interval was read")
	}
}

// damaged damages a good model everywhere.
func damaged(t *testing.T, good []byte) {
	t.Helper()
	if m, err := Decode(good); err != nil || !bytes.Equal(m.Encode(), good) {
		t.Fatalf("%v", err)
	}
	for n := range good {
		if _, err := Decode(good[:n]); err == nil {
			t.Fatalf("a model cut at %d was read", n)
		}
		bad := bytes.Clone(good)
		bad[n] ^= 0xff
		if m, err := Decode(bad); err == nil { // a model that is accepted must be able to score
			if _, err := NewScorer(m); err == nil {
				m.Predictor.(family.Describer).Describe("weights")
			}
		}
	}
	good[8] = 99
	if _, err := Decode(good); !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Errorf("another version: %v", err)
	}
}

// TestScoresInReusedMemory: scores that are only valid until the next call have the same values,
// and the next ones reuse their memory.
func TestScoresInReusedMemory(t *testing.T) {
	m := linear("logistic_regression", types.Int4, []string{"\x03\x00\x00\x00", "\x07\x00\x00\x00"}, 0.5, 0)
	s, err := NewScorer(m)
	if err != nil {
		t.Fatal(err)
	}
	var lent vector.Arena
	var at [2]*float64
	for round := range at {
		v := make([]float64, 1000-round)
		for i := range v {
			v[i] = float64((i*37+round)%100) - 50
		}
		lent.Reset()
		var got [2]string
		for k, a := range []*vector.Arena{nil, &lent} {
			r, err := s.Score(xs(v...), len(v), a)
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Positive()
			if err != nil {
				t.Fatal(err)
			}
			got[k] = fmt.Sprint(p, r.Column(0))
			at[round] = &r.Probs[1][0]
		}
		if got[0] != got[1] {
			t.Errorf("round %d: lent memory gives other scores", round)
		}
	}
	if at[0] != at[1] {
		t.Error("the memory was not used again")
	}
}
