package model

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// rising is a predictor of windows. Class: is the last row of a window above the first; vector:
// both; distance: their distance.
type rising struct{}

func (rising) Encode(*canon.E) {}
func (rising) Bytes() int64    { return 0 }
func (rising) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Units(), Probs: make([][]float64, 2), Extra: make([][]float64, 1)}
	for k := range s.Rows {
		first, last := b.Value(int(b.Windows[k]), 0), b.Value(b.Last(k), 0)
		p := 0.25
		if last > first {
			p = 0.75
		}
		s.Probs[0], s.Probs[1] = append(s.Probs[0], 1-p), append(s.Probs[1], p)
		s.Extra[0] = append(s.Extra[0], last-first)
	}
	return s
}

// TestScoresOfWindows scores partitions, one of them too short: the last row of a window has its
// score, in every output form.
func TestScoresOfWindows(t *testing.T) {
	m := linear("logistic_regression", types.Int4, []string{"\x00\x00\x00\x00", "\x01\x00\x00\x00"}, 1, 0)
	m.Fitted.Cols[0] = feature.FitCol{Column: m.Fitted.Cols[0].Column, Encoder: feature.Plain}
	m.Outputs = append(m.Outputs, family.Output{Name: "rise", Type: types.Float8})
	m.Windows = &Windows{PartitionBy: []record.Column{{Name: "k", Type: types.Text}}, OrderBy: []record.Column{{Name: "at", Type: types.Int8}}, Length: 3, Stride: 2}
	back, err := Decode(m.Encode())
	if err != nil || fmt.Sprint(back.Windows) != fmt.Sprint(m.Windows) || !bytes.Equal(back.Encode(), m.Encode()) {
		t.Fatalf("%+v: %v", back, err)
	}
	good := m.Encode()
	for n := range good {
		if _, err := Decode(good[:n]); err == nil {
			t.Fatalf("a model cut at %d was read", n)
		}
	}
	m.Predictor = rising{}
	s, err := NewScorer(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{[]float64{1, 5, 3, 0, 2, 9}, "[(null) (null) 1 (null) 0 (null)] [(null) (null) 2 (null) -1 (null)] [(null) (null) 0.75 (null) 0.25 (null)] [(null) (null) [0.25 0.75] (null) [0.75 0.25] (null)]"},
		{[]float64{1, 5}, "[(null) (null)] [(null) (null)] [(null) (null)] [(null) (null)]"},
	} {
		r, err := s.Score([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Float64, c.x, nil)}, len(c.x), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Positive()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Column(0), r.Column(1), p, r.Probabilities()); got != c.want {
			t.Errorf("scores %s, want %s", got, c.want)
		}
		if r.Column(0).DataType().ID() != arrow.INT32 {
			t.Errorf("classes come as %s", r.Column(0).DataType())
		}
	}
}
