package mixture

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	set  *family.Setup
	kind kind
	n    int // coordinates
	most int // iterations
	tol  float64
	reg  float64
	kept family.Charge

	clusters family.Driver // which finds the first components, nil when it is done
	model    *components   // nil before there is one
	s        progress
	next     *family.Step
}

// progress is the state of a training.
type progress struct {
	Op       uint8
	Columns  gram.Columns
	Centers  []float64 // opStart
	Products []float64 // tied: the mean products of coordinates, as factors
	Iter     int
	Evals    int
	Mean     float64 // log-likelihood before the last iteration
	Held     float64 // likewise of the rows that are held out
	Stopped  string
}

// NewDriver implements family.Family.
func (mixture) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	o := s.Options
	d := &driver{set: s, kind: kindOf(o), n: s.Fitted.Params(), most: o.Int("max_iterations", 100), tol: o.Float("tolerance", 1e-3), reg: o.Float("reg_covar", 1e-6), kept: n.Charge()}
	k := o.Int("n_components", defaultComponents)
	if d.n == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the features have no values to tell rows apart")
	}
	if s.Rows < int64(k) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%d rows are too few for %d components", s.Rows, k).At(o.Pos("n_components")).
			WithHint("Lower n_components, or train on more rows.")
	}
	if err := d.kept.Set(d.bytes(k)); err != nil {
		return nil, err
	}
	c, err := clustering(s)
	if err != nil {
		return nil, err
	}
	if d.clusters, err = clusters.NewDriver(c, n); err != nil {
		return nil, err
	}
	d.s = progress{Op: opBounds, Mean: math.Inf(-1), Held: family.NoLoss()}
	return d, nil
}

// bytes is the most that the driver holds: the components before and after an iteration and what their densities
// take, and the sums that they are made of.
func (d *driver) bytes(k int) int64 {
	rows, cols := d.kind.sums(d.n, k)
	sums := 8 * int64(rows) * int64(cols)
	if d.kind == full {
		sums *= int64(k)
	}
	return 3*densitiesBytes(d.kind, k, d.n) + 2*sums + 24*int64(d.n+1)*int64(d.n+1)
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next != nil {
		return d.next
	}
	if d.clustering() {
		return d.clusters.Next()
	}
	d.next = &family.Step{Op: d.s.Op, Set: family.Train}
	switch d.s.Op {
	case opBounds:
		return d.next
	case opMeasure:
		d.next.Set |= family.Held
	}
	d.next.Body = &body{Columns: d.s.Columns, Centers: d.s.Centers, Model: d.model}
	return d.next
}

// clustering reports whether k-means is at work.
func (d *driver) clustering() bool { return d.clusters != nil && d.s.Op == opStart }

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(r *feature.Ranges) family.Message {
	if d.clustering() {
		return d.clusters.(family.FromRanges).FromRanges(r)
	}
	if d.s.Op != opBounds {
		return nil
	}
	return &partial{Bounds: gram.BoundsOf(r)}
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.s.Evals++
	if d.clustering() {
		if err := d.clusters.Tell(m); err != nil || !d.clusters.State().Done {
			return err
		}
		p, err := d.clusters.Predictor()
		if err != nil {
			return err
		}
		s, err := p.(family.Described).Shape()
		if err != nil {
			return err
		}
		d.s.Centers, d.clusters = s.(*shape.Centroids).At, nil
		return nil
	}
	p := m.(*partial)
	d.next = nil
	switch d.s.Op {
	case opBounds:
		var ok bool
		if d.s.Columns, ok = gram.Fit(p.Bounds, d.set.Fitted.OneHot, true); !ok {
			return errRange()
		}
		d.s.Op = opStart
	case opStart:
		if d.kind == tied {
			d.s.Products = d.products(&p.Products)
		}
		d.s.Centers, d.s.Op = nil, opExpect
		return d.maximise(p)
	case opExpect:
		before := d.s.Mean
		d.s.Mean = p.mean(0)
		d.s.Iter++
		if err := d.maximise(p); err != nil {
			return err
		}
		switch {
		case math.Abs(d.s.Mean-before) < d.tol || d.s.Mean == before:
			d.s.Stopped, d.s.Op = "converged", opMeasure
		case d.s.Iter >= d.most:
			d.s.Stopped, d.s.Op = "max_iterations", opMeasure
		}
	case opMeasure:
		d.s.Mean, d.s.Op = p.mean(0), numOps
		if d.set.Held > 0 {
			d.s.Held = p.mean(1)
		}
	}
	return nil
}

// mean is the mean log-likelihood of a set of rows.
func (p *partial) mean(set int) float64 { return p.Loss[set].Float() / p.Weight[set].Float() }

// products are the mean products of all rows' coordinates, as factors, row by row.
func (d *driver) products(s *gram.Sums) []float64 {
	n := d.n
	out := make([]float64, n*n)
	all := 4 * s.At(len(s.Low)-1, 1)
	at := 0
	for i := range n {
		for j := i; j < n; j++ {
			out[i*n+j] = s.At(at+j-i, 1) / all
			out[j*n+i] = out[i*n+j]
		}
		at += n + 1 - i
	}
	return out
}

// maximise makes the components of the sums of rows. Those that have no rows go.
func (d *driver) maximise(p *partial) error {
	n, c := d.n, &d.s.Columns
	m := &components{kind: d.kind, n: n}
	var shared []float64 // tied: Σ share·mean·meanᵀ, as factors
	count := len(p.Sums)
	if d.kind != full && count == 1 {
		rows := n + 1
		if d.kind != tied {
			rows += n
		}
		count = len(p.Sums[0].Low) / rows
	}
	mean := make([]float64, n)
	var masses []float64
	all := 0.0
	for k := range count {
		mass := 0.0
		if d.kind == full {
			mass = 4 * p.Sums[k].At(len(p.Sums[k].Low)-1, 1)
		} else {
			mass = 4 * p.Sums[0].At(n*count+k, 1)
		}
		masses = append(masses, mass)
		all += mass
	}
	if d.kind == tied {
		shared = slices.Clone(d.s.Products)
	}
	for k, mass := range masses {
		if !(mass > 0) {
			continue
		}
		m.k++
		m.weights = append(m.weights, mass/all)
		for j := range n {
			if d.kind == full {
				mean[j] = 2 * p.Sums[k].At(upper(n+1, j, n), 1) / mass
			} else {
				mean[j] = 2 * p.Sums[0].At(j*count+k, 1) / mass
			}
			m.means = append(m.means, c.Shift[j]+mean[j]/c.Scale[j])
		}
		variance := func(j int) float64 { // as the rows have it
			v := 2*p.Sums[0].At((n+1+j)*count+k, 1)/mass - float64(mean[j]*mean[j])
			return math.Max(v, 0)/c.Scale[j]/c.Scale[j] + d.reg
		}
		switch d.kind {
		case full:
			v := make([]float64, n*n)
			for i := range n {
				for j := i; j < n; j++ {
					v[i*n+j] = (p.Sums[k].At(upper(n+1, i, j), 1)/mass - float64(mean[i]*mean[j])) / c.Scale[i] / c.Scale[j]
					v[j*n+i] = v[i*n+j]
				}
				v[i*n+i] = math.Max(v[i*n+i], 0) + d.reg
			}
			m.covariances = append(m.covariances, v...)
		case tied:
			for i := range n {
				f64.Axpy(shared[i*n:][:n], -float64(mass/all)*mean[i], mean)
			}
		case diagonal:
			for j := range n {
				m.covariances = append(m.covariances, variance(j))
			}
		case spherical:
			sum := 0.0
			for j := range n {
				sum += variance(j)
			}
			m.covariances = append(m.covariances, sum/float64(n))
		}
	}
	if d.kind == tied {
		for i := range n {
			for j := range n {
				shared[i*n+j] = shared[i*n+j] / c.Scale[i] / c.Scale[j]
			}
			shared[i*n+i] = math.Max(shared[i*n+i], 0) + d.reg
		}
		m.covariances = shared
	}
	for _, v := range [][]float64{m.means, m.covariances} {
		for _, x := range v {
			if x-x != 0 {
				return errRange()
			}
		}
	}
	if _, ok := m.densities(); !ok {
		return pgerr.New(pgerr.InvalidParameterValue, "a component of the mixture has collapsed: its covariance is singular").
			WithHint("Raise reg_covar, lower n_components, or leave out columns that others determine.")
	}
	d.model = m
	return nil
}

// upper is the place of row i and column j of n, in an upper triangle row by row.
func upper(n, i, j int) int { return i*n - i*(i-1)/2 + j - i }

// State implements family.Driver.
func (d *driver) State() family.State {
	s := &d.s
	st := family.State{Iteration: s.Iter, TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss(), Done: s.Op == numOps, Converged: s.Stopped == "converged", Stopped: s.Stopped, Evals: s.Evals}
	if !math.IsInf(s.Mean, -1) {
		by := scaling(d.set.Fitted)
		st.TrainLoss, st.ValidationLoss = -(s.Mean - by), -(s.Held - by)
	}
	if st.Done {
		w := d.set.Weight
		both, free := -2*float64(-st.TrainLoss*w), float64(d.model.free())
		st.Metrics = []family.Metric{{Name: "log_likelihood", Value: -st.TrainLoss}, {Name: "aic", Value: both + 2*free}, {Name: "bic", Value: both + float64(free*f64.Log1(w))}}
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	p, ok := newPredictor(d.set.Fitted, d.model)
	if !ok {
		return nil, errRange()
	}
	return p, nil
}

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	canon.Put(e, &d.s)
	e.Bool(d.model != nil)
	if d.model != nil {
		d.model.Encode(e)
	}
	e.Bool(d.clusters != nil)
	if d.clusters != nil {
		return d.clusters.Encode(e)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	s := *canon.Get[progress](r)
	var m *components
	if r.Bool() {
		if m = decodeComponents(r); m.n != d.n || m.kind != d.kind {
			r.Fail()
		}
	}
	clusters := r.Bool()
	rest := r.Take(r.Left())
	if s.Op < opBounds || s.Op > numOps || s.Iter < 0 || s.Evals < 0 || len(s.Columns.Shift) != len(s.Columns.Scale) || len(s.Centers)%d.n != 0 ||
		s.Op > opBounds && len(s.Columns.Shift) != d.n || s.Op > opStart && m == nil || d.kind == tied && s.Op > opStart && len(s.Products) != d.n*d.n ||
		clusters != (s.Op == opBounds || s.Op == opStart && len(s.Centers) == 0) || !clusters && len(rest) > 0 {
		r.Fail()
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	if m != nil {
		if _, ok := m.densities(); !ok {
			return pgerr.New(pgerr.DataCorrupted, "a training's state has components without a density")
		}
	}
	if clusters {
		if err := d.clusters.UnmarshalBinary(rest); err != nil {
			return err
		}
	} else {
		d.clusters = nil
	}
	d.s, d.model, d.next = s, m, nil
	return nil
}
