package forecast

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// seasonalNaive forecasts the value of the season before.
var seasonalNaive = &method{
	info: family.Info{Name: "seasonal_naive", Synonyms: []string{"snaive", "naive_forecast"}, Task: family.Forecasting,
		Doc: "The forecast is the value one season before. It is what other forecasts have to be better than."},
	options: shared,
	begin:   func(s *series, m int, _ *family.Values) (fit, error) { return &naiveFit{s: s, m: m}, nil },
}

// naiveFit implements fit.
type naiveFit struct {
	s    *series
	m    int
	made *forecaster
}

func (f *naiveFit) turn() (bool, error) {
	y, m := f.s.Y, f.m
	if len(y) <= m {
		return false, pgerr.New(pgerr.InvalidParameterValue, "a series of %d steps is too short for seasons of %d", len(y), m)
	}
	r := &forecaster{Form: naiveForm, Period: int64(m), Season: slices.Clone(y[len(y)-m:])}
	for i, v := range y[m:] {
		e := v - y[i]
		r.MSE += float64(e * e)
		r.MAE += math.Abs(e)
	}
	n := float64(len(y) - m)
	r.MSE, r.MAE = r.MSE/n, r.MAE/n
	r.Sigma2 = r.MSE
	f.made = r
	return true, nil
}

func (f *naiveFit) result() *forecaster { return f.made }

func (f *naiveFit) encode(*canon.E) {}

func (f *naiveFit) decode(*canon.D) {}
