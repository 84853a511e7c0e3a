package linear

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
)

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	e.U8(uint8(d.phase))
	e.Str(d.how)
	d.state.Encode(e)
	e.F64s(d.bound)
	d.columns.Encode(e)
	for _, v := range []float64{d.shift, d.factor, d.spread, d.held, d.width, d.cold, d.middle} {
		e.F64(v)
	}
	d.units.Encode(e)
	d.train.encode(e)
	e.Int(d.stage)
	e.Int(d.before)
	e.Bool(d.ended)
	for _, v := range []float64{d.lastTr, d.lastVal, d.bestLoss} {
		e.F64(v)
	}
	e.F64s(d.best)
	e.F64s(d.theta)
	d.inference.encode(e)
	e.Bool(d.opt != nil)
	if d.opt != nil {
		d.opt.Encode(e)
	}
	return nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	p := progress{phase: phase(r.U8())}
	how := r.Str()
	p.state = family.DecodeState(r)
	p.bound, p.columns = r.F64s(), gram.DecodeColumns(r)
	p.shift, p.factor, p.spread, p.held, p.width, p.cold = r.F64(), r.F64(), r.F64(), r.F64(), r.F64(), r.F64()
	p.middle, p.units = r.F64(), optim.DecodeUnits(r)
	p.train, p.stage, p.before, p.ended = decodeMost(r), r.Int(), r.Int(), r.Bool()
	p.lastTr, p.lastVal, p.bestLoss = r.F64(), r.F64(), r.F64()
	p.best, p.theta = r.F64s(), r.F64s()
	p.inference = decodeInference(r)
	n := d.root.size()
	fits := func(v []float64) bool { return v == nil || len(v) == n }
	optimised := r.Bool()
	if p.phase >= numPhases || how != d.how && !(d.how == byGram && how == newton) && !(d.how == byRows && (how == d.primal || d.primal == byGram && how == newton)) || !fits(p.best) || !fits(p.theta) ||
		p.phase != toBound && (len(p.bound) != d.root.dense || len(p.columns.Scale) != d.root.per-1) ||
		!optimised && (p.phase == toTrain || p.phase > toTrain && p.phase != toRows && p.theta == nil) || p.stage < 0 || p.before < 0 || math.IsNaN(p.width) || !p.units.Fits(d.root.per-1) {
		r.Fail()
	}
	var opt []byte
	if optimised {
		opt = r.Take(r.Left())
	}
	if err := r.Done("a training checkpoint"); err != nil {
		return err
	}
	d.progress, d.how, d.next, d.opt = p, how, nil, nil
	if !optimised {
		return nil
	}
	var err error
	if d.opt, err = d.optimizer(make([]float64, n)); err != nil {
		return err
	}
	if err := d.opt.UnmarshalBinary(opt); err != nil {
		return err
	}
	if o, ok := d.opt.(*optim.LBFGS); ok {
		d.first = o.First()
	}
	return nil
}
