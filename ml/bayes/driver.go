package bayes

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	set  *family.Setup
	kind kind
	s    progress
	p    *predictor // once it is done
	next *family.Step
}

// progress is the state of a training.
type progress struct {
	Op    uint8
	Grid  grid
	Steps int
}

// NewDriver implements family.Family.
func (bayes) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	k, err := kindOf(s)
	if err != nil {
		return nil, err
	}
	d := &driver{set: s, kind: k, s: progress{Op: opBounds}}
	charge := n.Charge()
	return d, charge.Set(2 * sumsBytes(int64(s.Classes()), int64(s.Fitted.Dense), int64(s.Fitted.OneHot)))
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next == nil {
		d.next = &family.Step{Op: d.s.Op, Set: family.Train}
		if d.s.Op == opSums {
			d.next.Body = &body{d.s.Grid}
		}
	}
	return d.next
}

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(r *feature.Ranges) family.Message {
	if d.s.Op != opBounds {
		return nil
	}
	return &partial{Low: r.Low, High: r.High, MaxWeight: 1}
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) (err error) {
	p := m.(*partial)
	d.next = nil
	d.s.Steps++
	if d.s.Op == opSums {
		d.p, err = d.fit(p)
		return err
	}
	if d.kind == multinomial {
		for j, low := range p.Low {
			if low < 0 {
				name := d.set.Fitted.Slots()[j].Name
				return pgerr.New(pgerr.InvalidParameterValue, "column %q has negative numbers, which are no counts", name).OnColumn(name).
					WithHint("Of numbers of any sign the model is gaussian.")
			}
		}
	}
	var ok bool
	if d.s.Grid, ok = newGrid(d.kind, d.set.Rows, p); !ok {
		return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features or weights are too large for naive Bayes")
	}
	d.s.Op = opSums
	return nil
}

// fit makes the model of the sums.
func (d *driver) fit(p *partial) (*predictor, error) {
	f, g, classes := d.set.Fitted, &d.s.Grid, d.set.Classes()
	if len(p.Weights) != classes || len(p.Sums) != classes*f.Dense || len(p.Slots) != classes*f.OneHot ||
		d.kind == mixed && len(p.Squares) != len(p.Sums) || len(p.Missing) != 0 && len(p.Missing) != len(p.Sums) {
		return nil, pgerr.Internal("the sums of naive Bayes do not fit")
	}
	out := &predictor{f: f, kind: d.kind}
	all := 0.0
	for _, w := range p.Weights {
		all += float64(w) / g.Weight
	}
	for _, w := range p.Weights {
		out.prior = append(out.prior, f64.Log1(float64(w)/g.Weight/all))
	}
	a := d.set.Options.Float("alpha", 1)
	switch d.kind {
	case mixed:
		if err := d.gaussian(out, p); err != nil {
			return nil, err
		}
		for c := range classes {
			at := p.Slots[c*f.OneHot:][:f.OneHot]
			for _, n := range f.CodeSlots() {
				sum := 0.0
				for _, w := range at[:n] {
					sum += float64(w) / g.Weight
				}
				for _, w := range at[:n] {
					out.slots = append(out.slots, f64.Log1((float64(w)/g.Weight+a)/(sum+float64(a*float64(n)))))
				}
				at = at[n:]
			}
		}
	case multinomial:
		for c := range classes {
			counts, sum := make([]float64, 0, f.Params()), 0.0
			for j, s := range p.Sums[c*f.Dense:][:f.Dense] {
				counts = append(counts, float64(s)/g.Scale[j]/g.Unit)
			}
			for _, w := range p.Slots[c*f.OneHot:][:f.OneHot] {
				counts = append(counts, float64(w)/g.Weight)
			}
			for _, t := range termsOf(f) {
				for s := t.from; s < t.to; s++ {
					counts[f.Dense+s] *= t.scale
				}
			}
			for _, v := range counts {
				sum += v
			}
			for j, v := range counts {
				counts[j] = f64.Log1((v + a) / (sum + float64(a*float64(len(counts)))))
			}
			out.first, out.slots = append(out.first, counts[:f.Dense]...), append(out.slots, counts[f.Dense:]...)
		}
	case bernoulli:
		two := func(yes, of int64) (is, not float64) {
			n := float64(of)/g.Weight + float64(2*a)
			return f64.Log1((float64(yes)/g.Weight + a) / n), f64.Log1((float64(of-yes)/g.Weight + a) / n)
		}
		for c, w := range p.Weights {
			for j := range f.Dense {
				is, not := two(p.Sums[c*f.Dense+j], w-p.missing(c*f.Dense+j))
				out.first, out.second = append(out.first, is), append(out.second, not)
			}
			for _, s := range p.Slots[c*f.OneHot:][:f.OneHot] {
				is, not := two(s, w)
				out.slots, out.nots = append(out.slots, is), append(out.nots, not)
			}
		}
	}
	out.prepare()
	return out, nil
}

// missing is the weight of rows without a number, by class and dense column.
func (p *partial) missing(at int) int64 {
	if len(p.Missing) == 0 {
		return 0
	}
	return p.Missing[at]
}

// gaussian computes means and variances.
func (d *driver) gaussian(out *predictor, p *partial) error {
	f, g := d.set.Fitted, &d.s.Grid
	means, variances, most := make([]float64, f.Dense), make([]float64, f.Dense), 0.0
	for j := range means {
		var s1, n int64
		var s2 exact.Wide
		for c, w := range p.Weights {
			at := c*f.Dense + j
			s1, n = s1+p.Sums[at], n+w-p.missing(at)
			s2.Plus(p.Squares[at])
		}
		means[j], variances[j] = g.moments(j, s1, s2, n)
		most = math.Max(most, variances[j])
	}
	more := float64(d.set.Options.Float("var_smoothing", 1e-9) * most)
	for c, w := range p.Weights {
		for j := range means {
			at := c*f.Dense + j
			m, v := means[j], variances[j] // of a class without a number the feature says nothing
			if n := w - p.missing(at); n > 0 {
				m, v = g.moments(j, p.Sums[at], p.Squares[at], n)
			}
			if v += more; v == 0 && variances[j] > 0 {
				name := f.Slots()[j].Name
				return pgerr.New(pgerr.InvalidParameterValue, "column %q is the same in all rows of class %q", name, feature.KeyText(f.Label.Type, f.Keys[c])).
					OnColumn(name).WithHint("A density needs a variance: raise var_smoothing.")
			}
			if !(v < math.Inf(1)) {
				return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features are too large for naive Bayes")
			}
			out.first, out.second = append(out.first, m), append(out.second, v)
		}
	}
	return nil
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss(), Evals: d.s.Steps}
	if d.p != nil {
		st.Iteration, st.Done, st.Converged, st.Stopped = 1, true, true, "converged"
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) { return d.p, nil }

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	canon.Put(e, &d.s)
	e.Bool(d.p != nil)
	if d.p != nil {
		d.p.Encode(e)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) (err error) {
	r := canon.Read(b)
	s := *canon.Get[progress](r)
	if s.Op == 0 || s.Op >= numOps || s.Steps < 0 || s.Op == opSums && (len(s.Grid.Shift) != d.set.Fitted.Dense || len(s.Grid.Scale) != d.set.Fitted.Dense) {
		r.Fail()
	}
	var p *predictor
	if r.Bool() {
		if p, err = decode(d.set.Fitted, r); err != nil {
			return err
		}
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.s, d.p, d.next = s, p, nil
	return nil
}
