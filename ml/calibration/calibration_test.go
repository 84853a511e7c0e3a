package calibration

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// scored are 200 rows of two classes, whose scores are whole steps.
func scored() (y, w []float64, s *family.Scores) {
	s = &family.Scores{Rows: 200, Probs: make([][]float64, 2)}
	for i := range 200 {
		z := float64((i*37)%199-99) / 32
		label := 0.0
		if float64((i*71)%101)/101 < 1/(1+math.Exp(-(0.4*z-0.3))) {
			label = 1
		}
		y, w, s.Probs[1] = append(y, label), append(w, 1), append(s.Probs[1], 1/(1+math.Exp(-z)))
	}
	return y, w, s
}

// TestCurves compares with scikit-learn 1.7: calibration._sigmoid_calibration and IsotonicRegression.
func TestCurves(t *testing.T) {
	var tally Tally
	tally.Add(scored())
	c := tally.Fit(family.Sigmoid)[0]
	if math.Abs(c.Slope+0.37352538382623196) > 1e-5 || math.Abs(c.Offset-0.23942623976656) > 1e-5 {
		t.Errorf("sigmoid %v, %v", c.Slope, c.Offset)
	}
	iso := tally.Fit(family.Isotonic)[0]
	for _, x := range []struct{ z, want float64 }{{-5, 0.125}, {-3.1, 0.125}, {-1, 0.3333333333333333}, {0.01, 0.5}, {0.7, 0.5105263157894736}, {2.3, 0.625}, {9, 1}} {
		if got := iso.at(x.z); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("isotonic at %v: %v, not %v", x.z, got, x.want)
		}
	}
}

// TestRadius: the bounds hold the share that was asked for, of rows in any order and divided in any way; of too few rows
// there are none.
func TestRadius(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var all, a, b Tally
	errors := make([]float64, 999)
	for i := range errors {
		errors[i] = r.NormFloat64() * 3
		s := &family.Scores{Rows: 1, Value: []float64{10}}
		part := &a
		if r.IntN(3) == 0 {
			part = &b
		}
		for _, x := range []*Tally{&all, part} {
			x.Add([]float64{10 + errors[i]}, []float64{1}, s)
		}
	}
	b.Merge(&a)
	radius := all.Radius(0.9)
	within := 0
	for _, e := range errors {
		if math.Abs(e) <= radius {
			within++
		}
	}
	if within < 900 || within > 901 || b.Radius(0.9) != radius {
		t.Errorf("%d of 999 within %v; merged %v", within, radius, b.Radius(0.9))
	}
	if !math.IsInf(all.Radius(0.9999), 1) {
		t.Error("999 rows tell nothing of one in ten thousand")
	}
}

// TestEncoding: tallies and adjustments come back as they were; damaged ones are refused without a panic.
func TestEncoding(t *testing.T) {
	var tally Tally
	tally.Add(scored())
	a := &Adjustment{Curves: tally.Fit(family.Isotonic), Costs: [][]float64{{0, 1}, {5, 0}}}
	encode := func(x interface{ Encode(*canon.E) }) []byte {
		var e canon.E
		x.Encode(&e)
		return e.B
	}
	good := encode(&tally)
	if got := DecodeTally(canon.Read(good)); !reflect.DeepEqual(got, &tally) || !bytes.Equal(encode(got), good) {
		t.Error("a tally comes back as another")
	}
	bytesOf := encode(a)
	if got := Decode(canon.Read(bytesOf)); !reflect.DeepEqual(got, a) || !got.Fits(2) || got.Fits(3) || got.Fits(0) {
		t.Errorf("%+v", got)
	}
	for n := range bytesOf {
		bad := bytes.Clone(bytesOf)
		bad[n] ^= 0xff
		Decode(canon.Read(bad))
		Decode(canon.Read(bytesOf[:n]))
	}
}

// TestClasses: of three classes probabilities add up to 1, and the cheapest is chosen.
func TestClasses(t *testing.T) {
	s := &family.Scores{Rows: 1, Probs: [][]float64{{0.5}, {0.3}, {0.2}}}
	flat := Curve{X: []float64{0}, Y: []float64{0.4}}
	a := &Adjustment{Curves: []Curve{flat, flat, {X: []float64{0}, Y: []float64{0.8}}}, Costs: [][]float64{{0, 1, 1}, {9, 0, 1}, {1, 1, 0}}}
	got := a.Apply(s)
	if p := [3]float64{got.Prob(0, 0), got.Prob(1, 0), got.Prob(2, 0)}; p != [3]float64{0.25, 0.25, 0.5} {
		t.Errorf("probabilities %v", p)
	}
	if s.Class(0) != 0 || got.Class(0) != 2 || got.Classes()[0] != 2 {
		t.Errorf("classes %d and %d", s.Class(0), got.Class(0))
	}
	got.Costs = [][]float64{{0, 0, 9}, {9, 0, 9}, {1, 0, 9}}
	if got.Class(0) != 1 {
		t.Errorf("the cheapest class is not %d", got.Class(0))
	}
}
