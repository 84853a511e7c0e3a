package recommend

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	*sides
	set     *family.Setup
	charge  family.Charge
	state   family.State
	vectors [2][]float32 // of users and of items
	total   totals
	seen    []byte   // what each user has rated: see pack
	ratings *ratings // nil before they are collected, and of a driver that continues
	dealt   bool     // workers have them
	tokens  []uint64 // of the workers that solve; none are known: each solves all
	ends    [2][]int32
	op      uint8 // the step that solves next
	next    *family.Step
}

// NewDriver implements family.Family.
func (factorization) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	of, err := sidesOf(s)
	if err != nil {
		return nil, err
	}
	if s.Rows > mostRatings {
		return nil, errTooMany()
	}
	d := &driver{sides: of, set: s, charge: n.Charge(), op: opUsers, state: family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}}
	if err := d.hold(0); err != nil {
		return nil, err
	}
	k := d.width()
	d.vectors = [2][]float32{make([]float32, d.users*k), make([]float32, d.items*k)}
	d.guess(d.vectors[1])
	return d, nil
}

// hold charges the vectors of both sides, new ones beside them, and so many bytes more.
func (d *driver) hold(more int64) error {
	return d.charge.Set(8*int64(d.width())*int64(d.users+d.items) + int64(len(d.seen)) + more)
}

// guess sets vectors to begin from: random ones of a length of about 1, without intercepts.
func (d *driver) guess(v []float32) {
	limit := math.Sqrt(3 / float64(d.factors))
	at, key := 0, mix(d.set.Seed+golden)
	for from := 0; from < len(v); from += d.width() {
		for j := range d.factors {
			at++
			u := float64(mix(key+uint64(at)*golden)>>11) * 0x1p-53
			v[from+j] = float32(float64(limit * (u + u - 1)))
		}
	}
}

const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next != nil {
		return d.next
	}
	if d.ratings == nil {
		d.next = &family.Step{Op: opCollect, Set: family.Train}
		return d.next
	}
	own := int(d.op - opUsers)
	s := &solveStep{Fixed: d.vectors[1-own], Mean: d.total.Mean, Shares: d.shares()}
	if !d.dealt {
		s.Ratings, s.Begin = d.ratings, d.vectors[own]
	}
	d.next = &family.Step{Op: d.op, Set: family.Train, Kept: true, Body: s}
	return d.next
}

// shares says who solves what.
func (d *driver) shares() []share {
	if len(d.tokens) == 0 || len(d.tokens) != len(d.ends[0]) {
		return []share{{Users: int32(d.users), Items: int32(d.items)}}
	}
	out := make([]share, len(d.tokens))
	for i, t := range d.tokens {
		out[i] = share{Token: t, Users: d.ends[0][i], Items: d.ends[1][i]}
	}
	return out
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.next = nil
	switch m := m.(type) {
	case *pairs:
		return d.collected(m)
	case *solved:
		return d.solved(m)
	}
	return pgerr.Internal("a partial of a factorization is %T", m)
}

// collected makes ratings of the rows.
func (d *driver) collected(p *pairs) error {
	n := len(p.User)
	for i := range p.User { // bytes of other nodes
		if u, k := p.User[i], p.Item[i]; u < 0 || int(u) >= d.users || k < 0 || int(k) >= d.items {
			return pgerr.New(pgerr.DataCorrupted, "a rating of a factorization is of a user or an item that there is not")
		}
	}
	rows, size := int64(n)*(pairBytes+8), ratingsBytes(n, max(d.users, d.items), true)
	if p.Weight != nil {
		rows += weightBytes * int64(n)
	}
	if err := d.hold(rows + size); err != nil {
		return err
	}
	r, total, err := ratingsOf(p, d.sides, d.set.Options.Float(alphaOption, defaultAlpha))
	if err != nil {
		return err
	}
	d.ratings, d.total, d.seen = r, *total, r.pack()
	d.share(p.Tokens)
	return d.hold(size)
}

// share has the workers with these tokens solve ranges of about as many ratings.
func (d *driver) share(tokens []uint64) {
	slices.Sort(tokens)
	if d.tokens = slices.Compact(tokens); len(d.tokens) == 0 {
		return
	}
	items := &ratings{Start: make([]int32, d.items+1), Other: d.ratings.Other}
	countUp(items.Start, items.Other)
	d.ends = [2][]int32{d.ratings.cuts(len(d.tokens)), items.cuts(len(d.tokens))}
}

// solved takes the vectors of one side.
func (d *driver) solved(m *solved) error {
	own, k := int(d.op-opUsers), d.width()
	n := len(d.vectors[own]) / k
	var all []float32
	if len(m.Parts) == 1 && len(m.Parts[0].Vectors) == n*k {
		all = m.Parts[0].Vectors
	} else {
		all = make([]float32, n*k)
	}
	have, losses, there := 0, make([]float64, n), make([]bool, n)
	for _, p := range m.Parts {
		of, from := len(p.Vectors)/k, int(p.From)
		if from < 0 || from+of > n || len(p.Vectors) != of*k || len(p.Losses) != 0 && len(p.Losses) != of {
			return pgerr.New(pgerr.DataCorrupted, "vectors of a factorization do not fit it")
		}
		copy(all[from*k:], p.Vectors)
		copy(losses[from:], p.Losses)
		for i := range of {
			if !there[from+i] { // of several workers that have solved it the answers are the same
				there[from+i] = true
				have++
			}
		}
	}
	if have != n {
		return pgerr.Internal("%d of %d vectors of a factorization were computed", have, n)
	}
	if d.dealt = true; len(d.tokens) == 0 {
		d.share(m.Tokens)
	}
	for _, x := range all {
		if x-x != 0 {
			return pgerr.New(pgerr.NumericValueOutOfRange, "the vectors of a factorization are too large").WithHint("Raise l2_reg, or scale the target.")
		}
	}
	d.state.Evals++
	d.vectors[own] = all
	if d.op == opUsers {
		d.op = opItems
		return nil
	}
	d.op = opUsers
	d.ended(losses)
	return nil
}

// ended ends an iteration.
func (d *driver) ended(losses []float64) {
	sum := 0.0
	if !d.implicit {
		sum = d.total.Within
	}
	for _, x := range losses {
		sum += x
	}
	o, s := d.set.Options, &d.state
	was := s.TrainLoss
	s.TrainLoss = max(sum/d.total.Weight, 0)
	s.Iteration++
	switch {
	case math.Abs(was-s.TrainLoss) <= float64(o.Float("tolerance", defaultTolerance)*was):
		s.Done, s.Converged, s.Stopped = true, true, "converged"
	case s.Iteration >= d.set.Plan.MaxIterations:
		s.Done, s.Stopped = true, "max_iterations"
	}
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := d.state
	if st.Done && d.implicit {
		st.Metrics = []family.Metric{{Name: "mean_squared_error", Value: st.TrainLoss}}
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	p := &predictor{sides: d.sides, fitted: d.set.Fitted, mean: d.total.Mean, of: d.vectors, seen: d.seen}
	if !p.prepare() {
		return nil, pgerr.Internal("a factorization has no model")
	}
	return p, nil
}

// Encode implements family.Driver: with the ratings, unless workers have had them for a step, so that a training that is
// continued after each step goes on.
func (d *driver) Encode(e *canon.E) error {
	d.state.Encode(e)
	e.U8(d.op)
	e.F32s(d.vectors[0])
	e.F32s(d.vectors[1])
	with := d.ratings != nil && !d.dealt
	e.Bool(with)
	if with {
		canon.Put(e, d.ratings)
		canon.Put(e, &d.total)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	state, op := family.DecodeState(r), r.U8()
	vectors := [2][]float32{r.F32s(), r.F32s()}
	var of *ratings
	var total totals
	if r.Bool() {
		of, total = canon.Get[ratings](r), *canon.Get[totals](r)
	}
	if op != opUsers && op != opItems || !d.fits(vectors[0], vectors[1]) || state.Done || of != nil && !of.fit(d.users, d.items) {
		r.Fail()
	}
	if err := r.Done("a training checkpoint"); err != nil {
		return err
	}
	d.state, d.op, d.vectors, d.next, d.tokens, d.dealt = state, op, vectors, nil, nil, false
	if d.ratings = of; of != nil {
		d.total, d.seen = total, of.pack()
		return d.hold(ratingsBytes(len(of.Other), d.users, true))
	}
	return nil
}
