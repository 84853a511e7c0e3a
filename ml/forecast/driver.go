package forecast

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fit fits a series in turns. A turn is a part of the work after which a training may be cancelled.
type fit interface {
	// turn does some work and reports whether that was all.
	turn() (done bool, err error)
	// result returns what was learnt, once all is done.
	result() *forecaster
	encode(e *canon.E)
	decode(d *canon.D)
}

// driver implements family.Driver.
type driver struct {
	method *method
	set    *family.Setup
	charge family.Charge
	state  family.State
	series *series // nil before the rows are collected
	fit    fit
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.series == nil {
		return &family.Step{Op: opCollect, Set: family.Train}
	}
	return &family.Step{Op: opTurn, Set: family.Train, Kept: true}
}

// What fitting a series needs: of a step, itself and the states of a pass there and back; of a step of a season, the
// steps and gradients that an optimiser remembers.
const (
	workBytes   = 10 * 8
	periodBytes = 8 * (optim.HistoryVectors + 8)
)

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.state.Evals++
	if d.series == nil {
		p, ok := m.(*pairs)
		if !ok {
			return pgerr.Internal("a partial of a series is %T", m)
		}
		row := int64(width(d.set.Fitted)) * regressorBytes
		s, err := d.clock().seriesOf(p, gapsOf(d.set.Options), func(steps int64) error { return d.charge.Set((pairBytes+row)*int64(len(p.Times)) + (8+row)*steps) })
		if err != nil {
			return err
		}
		d.series = s
		if err := d.begin(); err != nil {
			return err
		}
	}
	done, err := d.fit.turn()
	if err != nil || !done {
		return err
	}
	f := d.fit.result()
	d.state.Iteration, d.state.Done, d.state.Converged, d.state.Stopped, d.state.TrainLoss = 1, true, true, "converged", f.MSE
	return nil
}

func (d *driver) clock() clock {
	for _, c := range d.set.Fitted.Cols {
		if strings.EqualFold(c.Name, d.set.Plan.Time) {
			return clock{c.Column}
		}
	}
	return clock{d.set.Fitted.Cols[0].Column}
}

// gapsOf is what stands in gaps, "" where they are an error.
func gapsOf(o *family.Values) string {
	if g := o.Text(gapsOption, "none"); g != "none" {
		return g
	}
	return ""
}

func (d *driver) begin() (err error) {
	m := d.set.Options.Int(periodsOption, 0)
	if m == 0 {
		m = d.clock().period(d.series)
	}
	n, row := int64(len(d.series.Y)), int64(width(d.set.Fitted))*regressorBytes
	if err := d.charge.Set((max(d.method.workBytes, workBytes)+8*row)*n + periodBytes*int64(m)); err != nil {
		return err
	}
	d.fit, err = d.method.begin(d.series, m, d.set.Options)
	return err
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := d.state
	if st.Done {
		st.Metrics = d.fit.result().metrics()
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	f := d.fit.result()
	f.of(d.set.Fitted, d.clock().Name)
	f.Last, f.Every, f.N = d.series.Last, d.series.Every, int64(len(d.series.Y))
	f.Horizon = int64(d.set.Options.Int(horizonOption, 0))
	return f, nil
}

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	d.state.Encode(e)
	e.Bool(d.series != nil)
	if d.series != nil {
		canon.Put(e, d.series)
		for _, x := range d.series.x {
			e.F64s(x)
		}
		d.fit.encode(e)
	}
	return nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	state := family.DecodeState(r)
	d.series, d.fit = nil, nil
	if r.Bool() {
		s := canon.Get[series](r)
		if len(s.Y) < 2 || len(s.Y) > mostSteps || s.Every.N < 1 || !finite(s.Y) || state.Done {
			r.Fail()
			return r.Done("a training checkpoint")
		}
		for range width(d.set.Fitted) {
			x := r.F64s()
			if len(x) != len(s.Y) || !finite(x) {
				r.Fail()
				return r.Done("a training checkpoint")
			}
			s.x = append(s.x, x)
		}
		d.series = s
		if err := d.begin(); err != nil {
			return err
		}
		d.fit.decode(r)
	}
	d.state = state
	return r.Done("a training checkpoint")
}

func finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x - x) {
			return false
		}
	}
	return true
}
