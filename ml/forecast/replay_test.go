package forecast

import (
	"context"
	"math"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestExpect: within the series the value is expected by the step before, and behind it by the model; a model fitted to the same
// rows expects the same.
func TestExpect(t *testing.T) {
	var y []float64
	for i := range 40 {
		y = append(y, 20+float64(i%4)*5+float64(i*7919%5))
	}
	times := make([]int64, len(y)+2)
	values := append(append([]float64{}, y...), math.NaN(), 50)
	for i := range times {
		times[i] = int64(i)
	}
	for _, c := range []struct {
		m       *method
		options []family.Arg
		none    int // of the first steps
	}{{seasonalNaive, nil, 4}, {smoothing, []family.Arg{{Name: "model", Value: "ANA"}}, 0}, {autoregressive, []family.Arg{{Name: "non_seasonal_order", Value: "(1,0,0)"}, {Name: "seasonal_order", Value: "(0,1,0)"}}, 4}} {
		o, err := family.Read(c.options, c.m.options)
		if err != nil {
			t.Fatal(err)
		}
		s := &series{Y: y, Last: 39, Every: step{N: 1}}
		f, err := fitNow(context.Background(), c.m, s, 4, o)
		if err != nil {
			t.Fatal(err)
		}
		p := f.result()
		p.Last, p.Every, p.N, p.time = s.Last, s.Every, int64(len(y)), record.Column{Name: "t", Type: types.Int8}
		mean, sd, err := p.Expect(context.Background(), &family.SeriesRows{Times: times, Values: values, Options: c.options}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var squares float64
		for i, v := range y {
			if (i < c.none) != math.IsNaN(mean[i]) || (i < c.none) != math.IsNaN(sd[i]) {
				t.Fatalf("%s, step %d: %v ± %v", p.Form, i, mean[i], sd[i])
			}
			if i >= c.none {
				squares += (v - mean[i]) * (v - mean[i])
			}
		}
		if got := squares / float64(len(y)-c.none); math.Abs(got/p.MSE-1) > 1e-6 {
			t.Errorf("%s: mean squares %v, not %v", p.Form, got, p.MSE)
		}
		at := 0
		if err := p.ahead(2, func(m, v float64) error {
			if mean[40+at] != m || sd[40+at] != math.Sqrt(v) {
				t.Errorf("%s: %v ± %v, not %v ± %v", p.Form, mean[40+at], sd[40+at], m, math.Sqrt(v))
			}
			at++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if mean, _, err = p.Expect(context.Background(), &family.SeriesRows{Times: times[39:]}, 1); err != nil || !math.IsNaN(mean[0]) || math.IsNaN(mean[1]) || !math.IsNaN(mean[2]) {
			t.Errorf("%s, one step: %v, %v", p.Form, mean, err)
		}
	}
}

// TestBacktest: the sums are those of forecasts from earlier times, by hand.
func TestBacktest(t *testing.T) {
	p := &forecaster{Form: naiveForm, Period: 1, Season: []float64{0}, Every: step{N: 1}, time: record.Column{Name: "t", Type: types.Int8}}
	r := &family.SeriesRows{Times: []int64{1, 2, 3, 4, 5}, Values: []float64{1, 2, 4, 4, 0}}
	// Folds from 3 and 4: the forecasts are 4 for 4 and 4 for 0; changes were on average 1.5, then 1, their mean squares 2.5 and 5/3.
	got, err := p.Backtest(context.Background(), r, family.Folds{Horizon: 1, Folds: 4, Step: 1, Confidence: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	// Of the fold from 2: 2 for 4, changes of 1; from 1 there is nothing to fit.
	want := []float64{sumFolds: 3, sumPoints: 3, sumError: 6, sumSquare: 20, sumShare: 0.5, sumShares: 2, sumBoth: 4.0/6 + 2, sumScaled: 2 + 4, sumScaleds: 3, sumCovered: 1}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("sum %d: %v, not %v", i, got[i], want[i])
		}
	}
	// A step without a row is filled, and not measured.
	r = &family.SeriesRows{Times: []int64{1, 2, 3, 5}, Values: []float64{1, 2, 4, 0}, Options: []family.Arg{{Name: "fill_gaps", Value: "previous"}, {Name: "weight", Value: "w"}}}
	if got, err := p.Backtest(context.Background(), r, family.Folds{Horizon: 2, Folds: 1, Step: 1, Confidence: 0.9}); err != nil || got[sumPoints] != 1 || got[sumError] != 4 {
		t.Errorf("with a gap: %v, %v", got, err)
	}
	r.Options = nil
	if _, err := p.Backtest(context.Background(), r, family.Folds{Horizon: 2, Folds: 1, Step: 1, Confidence: 0.9}); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("a gap: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Backtest(ctx, &family.SeriesRows{Times: []int64{1, 2, 3}, Values: []float64{1, 2, 4}}, family.Folds{Horizon: 1, Folds: 1, Step: 1, Confidence: 0.9}); err == nil {
		t.Error("a cancelled backtest ends well")
	}
}
