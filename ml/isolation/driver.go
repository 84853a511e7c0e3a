package isolation

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	set     *family.Setup
	samples int // of each tree
	pool    int // rows that are drawn
	trees   int
	share   float64 // the contamination, 0 for auto
	bits    [2]int  // of hashes, at first and in all
	charge  family.Charge
	s       progress
	next    *family.Step
}

// progress is the state of a training.
type progress struct {
	Op     uint8
	Weight float64 // of the grid
	Draws  []place
	Steps  int
	Model  *model
}

// place is where on the line a row is drawn: in the range of hashes that begin with Prefix, so far from its beginning.
type place struct{ Prefix, Offset int64 }

// NewDriver implements family.Family.
func (forest) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	o := s.Options
	if s.Fitted.Dense+s.Fitted.Codes == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the features have no values to tell rows apart")
	}
	rows := s.Counted
	if s.Weight >= float64(rows) && s.Weight < 1<<53 { // a row of weight 2 is two
		rows = int64(math.RoundToEven(s.Weight))
	}
	if rows < 2 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "an isolation forest needs two rows to part")
	}
	samples := o.Float("max_samples", 256)
	if samples < 1 {
		samples = math.Min(math.Max(2, math.Floor(float64(samples*float64(rows)))), mostSamples)
	}
	d := &driver{set: s, samples: int(min(int64(samples), rows)), trees: o.Int("n_estimators", 100), share: o.Float("contamination", 0), charge: n.Charge()}
	d.pool = int(min(rows, int64(max(pool, 2*d.samples))))
	all := min(max(bits.Len64(uint64(rows))-2, 0), firstBits+moreBits)
	d.bits = [2]int{min(all, firstBits), all}
	d.s.Op = opMost
	row := int64(8*s.Fitted.Dense + 4*s.Fitted.Codes + 112)
	nodes := int64(2 * d.samples)
	return d, d.charge.Set(8<<firstBits + 16*int64(d.pool)<<(all-d.bits[0]) + 4*row*int64(d.pool) + 16*int64(d.pool) + int64(d.trees)*nodes*40 + 8*scoreBins)
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next != nil {
		return d.next
	}
	d.next = &family.Step{Op: d.s.Op, Set: family.Train}
	if d.s.Op == opMost {
		return d.next
	}
	b := &body{Salt: mix(d.set.Seed + golden), Weight: d.s.Weight, Bits: d.bits[0]}
	switch d.s.Op {
	case opRefine:
		b.More = d.bits[1] - d.bits[0]
		b.Prefixes = d.prefixes()
	case opDraw:
		b.Bits, b.Prefixes = d.bits[1], d.prefixes()
	case opScore:
		b.Model = d.s.Model
	}
	d.next.Body = b
	return d.next
}

// prefixes are the ranges in which something is drawn.
func (d *driver) prefixes() (out []int64) {
	for i, p := range d.s.Draws {
		if i == 0 || p.Prefix != out[len(out)-1] {
			out = append(out, p.Prefix)
		}
	}
	return out
}

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(*feature.Ranges) family.Message {
	if d.s.Op != opMost {
		return nil
	}
	return &partial{MaxWeight: 1}
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	p := m.(*partial)
	d.next = nil
	d.s.Steps++
	switch d.s.Op {
	case opMost:
		if !(p.MaxWeight > 0 && p.MaxWeight < 1e140) {
			return pgerr.New(pgerr.NumericValueOutOfRange, "weights are too large for an isolation forest")
		}
		room := min(61-bits.Len64(uint64(d.set.Rows)), exact.WholeBits)
		d.s.Weight, d.s.Op = exact.Power(room-exact.Exponent(p.MaxWeight)), opWeigh
	case opWeigh:
		if len(p.Counts) != 1<<d.bits[0] {
			return pgerr.Internal("the weights of an isolation forest do not fit")
		}
		d.spread(p.Counts)
		if d.s.Op = opDraw; d.bits[1] > d.bits[0] {
			d.s.Op = opRefine
		}
	case opRefine:
		more := d.bits[1] - d.bits[0]
		if len(p.Counts) != len(d.prefixes())<<more {
			return pgerr.Internal("the weights of an isolation forest do not fit")
		}
		d.refine(p.Counts, more)
		d.s.Op = opDraw
	case opDraw:
		if len(p.Rows) == 0 {
			return pgerr.Internal("the rows of an isolation forest are missing")
		}
		d.grow(p.Rows)
		if d.s.Op = numOps; d.share > 0 {
			d.s.Op = opScore
		}
	case opScore:
		d.cut(p.Counts)
		d.s.Op = numOps
	}
	return nil
}

// spread lays the draws at equal distances along the line.
func (d *driver) spread(counts []int64) {
	total := int64(0)
	for _, w := range counts {
		total += w
	}
	r := random(d.set.Seed ^ golden)
	begin, step := r.next()>>32, uint64(d.pool)<<32 // a share of the first distance
	d.s.Draws = make([]place, 0, d.pool)
	k, before := 0, int64(0)
	for i := range d.pool {
		hi, lo := bits.Mul64(uint64(i)<<32|begin, uint64(total))
		q, _ := bits.Div64(hi, lo, step)
		for ; k < len(counts)-1 && int64(q) >= before+counts[k]; k++ {
			before += counts[k]
		}
		d.s.Draws = append(d.s.Draws, place{int64(k), int64(q) - before})
	}
}

// refine moves the draws to parts of their ranges.
func (d *driver) refine(counts []int64, more int) {
	at := -1
	last := int64(-1)
	for i, p := range d.s.Draws {
		if p.Prefix != last {
			at, last = at+1, p.Prefix
		}
		parts := counts[at<<more:][:1<<more]
		part := int64(0)
		for int(part) < len(parts)-1 && p.Offset >= parts[part] {
			p.Offset -= parts[part]
			part++
		}
		d.s.Draws[i] = place{p.Prefix<<more + part, p.Offset}
	}
}

// drawn are the rows that are drawn, and how often.
func (d *driver) drawn(rows []row) (drawn []row) {
	at, last := 0, -1
	for i := 0; i < len(d.s.Draws); i++ {
		p := d.s.Draws[i]
		for at < len(rows) && int64(rows[at].Hash>>1>>(63-d.bits[1])) < p.Prefix {
			at++
		}
		k, left := at, p.Offset
		for k+1 < len(rows) && int64(rows[k+1].Hash>>1>>(63-d.bits[1])) == p.Prefix && left >= rows[k].Weight {
			left -= rows[k].Weight
			k++
		}
		if k != last {
			drawn, last = append(drawn, rows[k]), k
		}
		drawn[len(drawn)-1].Times++
	}
	return drawn
}

// grow grows the trees on the rows that are drawn.
func (d *driver) grow(rows []row) {
	g := newGrower(d.drawn(rows), d.set.Fitted.Dense, d.set.Fitted.Codes, d.samples)
	m := &model{Samples: d.samples, Threshold: math.Nextafter(0.5, 1)}
	for t := range d.trees {
		m.Trees = append(m.Trees, g.grow(mix(d.set.Seed^mix(uint64(t)+golden))))
	}
	d.s.Model, d.s.Draws = m, nil
}

// cut chooses the threshold by the distribution of scores.
func (d *driver) cut(counts []int64) {
	total := 0.0
	for _, w := range counts {
		total += float64(w)
	}
	above := 0.0
	k := len(counts)
	for k > 0 && above+float64(counts[k-1]) <= float64(d.share*total) {
		k--
		above += float64(counts[k])
	}
	d.s.Model.Threshold = float64(k) / scoreBins
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss(), Done: d.s.Op == numOps, Evals: d.s.Steps}
	if st.Done {
		st.Iteration, st.Converged, st.Stopped = 1, true, "converged"
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	return newPredictor(d.set.Fitted, d.s.Model), nil
}

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	canon.Put(e, &d.s)
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	s := *canon.Get[progress](r)
	drawing := s.Op == opRefine || s.Op == opDraw
	if s.Op == 0 || s.Op > numOps || s.Steps < 0 || drawing != (len(s.Draws) == d.pool) || !drawing && len(s.Draws) > 0 ||
		(s.Model != nil) != (s.Op >= opScore) || s.Model != nil && !s.Model.valid(d.set.Fitted.Dense, d.set.Fitted.Codes) {
		r.Fail()
	}
	for i, p := range s.Draws {
		if p.Offset < 0 || p.Prefix < 0 || p.Prefix >= 1<<d.bits[1] || s.Op == opRefine && p.Prefix >= 1<<d.bits[0] || i > 0 && p.Prefix < s.Draws[i-1].Prefix {
			r.Fail()
		}
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.s, d.next = s, nil
	return nil
}
