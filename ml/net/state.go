package net

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	s := &d.s
	e.U8(s.op)
	e.F64(s.units.mean)
	e.F64(s.units.dev)
	for _, v := range [][]float32{s.params, s.move.M, s.move.V, s.best} {
		e.F32s(v)
	}
	e.Int(s.move.Steps)
	e.Int(s.step)
	s.sums.encode(e)
	s.state.Encode(e)
	e.F64(s.bestLoss)
	e.Int(s.stale)
	e.F64s(s.metrics)
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	d.s.params = nil // freed before the state's are decoded, since both may be large
	s := progress{move: d.s.move, op: r.U8(), units: units{r.F64(), r.F64()}, params: r.F32s()}
	s.move.M, s.move.V, s.best = r.F32s(), r.F32s(), r.F32s()
	s.move.Steps, s.step, s.sums = r.Int(), r.Int(), decodeSums(r)
	s.state = family.DecodeState(r)
	s.bestLoss, s.stale, s.metrics = r.F64(), r.Int(), r.F64s()
	n := d.net.params()
	if s.op < opMoments || s.op > numOps || len(s.params) != n || !s.move.Fits(n) || len(s.best) != 0 && len(s.best) != n || s.step < 0 || s.step >= d.cut.Steps ||
		s.state.Iteration < 0 || s.stale < 0 || len(s.metrics) > len(metricNames) || !(s.units.dev > 0) {
		r.Fail()
	}
	if err := r.Done("a net's training"); err != nil {
		return err
	}
	d.s, d.next = s, nil
	return nil
}
