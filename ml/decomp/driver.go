package decomp

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// auto takes full up to this many features, and beyond where the components are
// not few: more than this share of the features.
const (
	fullMost = 2048
	few      = 4
)

// driver implements family.Driver, for all solvers.
type driver struct {
	set    *family.Setup
	center bool
	whiten bool
	solver string
	d, k   int     // columns and components
	share  float64 // of the variance, which tells the number of components; 0: k does
	follow int     // directions that randomized follows
	passes int     // of randomized
	kept   family.Charge

	s    progress
	near *spectrum // of s.rough; nil until it is wanted
	next *family.Step
}

// progress is the state of a training.
type progress struct {
	op    uint8
	done  bool
	pass  int
	scale body // with the directions of randomized
	steps int
	model predictor

	// Of davidson.
	rough []float64 // the approximate Gram matrix, n×n; nil when davidson is not at work
	basis []float64 // the directions so far, and the Gram matrix times them (image)
	image []float64
	left  float64 // the residual after the pass before
}

// NewDriver implements family.Family.
func (f decomp) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	o := s.Options
	d := &driver{set: s, kept: n.Charge(), center: f.center, whiten: o.Bool("whiten", false), solver: o.Text("solver", auto), d: s.Fitted.Params()}
	if d.d == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the features have no values to find components of")
	}
	most := int(min(int64(d.d), s.Rows))
	if d.k = o.Int("n_components", most); d.k == 0 {
		d.k, d.share = most, o.Float("n_components", 1)
	}
	if d.k > most {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "n_components is %d, but there are only %d", d.k, most).At(o.Pos("n_components")).
			WithDetail("There are at most as many components as encoded features, %d, and as rows, %d.", d.d, s.Rows)
	}
	if d.solver == auto {
		switch d.solver = full; {
		case d.share > 0:
		case d.d > fullMost && d.k < d.d/few:
			d.solver = randomized
		case d.d >= davidsonLeast && d.d <= fullMost && d.guarded() <= d.d/davidsonShare && s.Rows >= davidsonRows*int64(d.d):
			d.solver = davidson
		}
	}
	if d.solver == davidson && !d.mayDavidson() {
		d.solver = full
	}
	if err := fit(o, d.solver); err != nil {
		return nil, err
	}
	d.follow, d.passes = min(most, d.k+o.Int("n_oversamples", 10)), 1+o.Int("power_iterations", 5)
	if d.solver == davidson {
		d.follow = d.guarded()
	}
	d.s.op = opBounds
	if d.solver == tsqr {
		d.s.op = opQR
	}
	return d, d.kept.Set(d.bytes())
}

// bytes is the most that the driver holds: a square of the columns, the components
// as they are found and kept, and of randomized the directions before and after a
// pass.
func (d *driver) bytes() int64 {
	n, k := int64(d.d+1), int64(d.k)
	held := 4*k*n + 8*n
	switch d.solver {
	case full:
		held += n * n
	case davidson: // two squares, and one of full after them; directions before and after all passes
		held += 3*n*n + 2*n*(int64(d.follow)+davidsonPasses*k) + 4*k*n
	case tsqr: // its rows become the components
		held += 2 * n * n
	case randomized:
		l := int64(d.follow)
		held += 4*l*n + 2*l*l
	}
	return 8 * held
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next == nil {
		d.next = &family.Step{Op: d.s.op, Set: family.Train}
		if d.s.op == opGram || d.s.op == opApply || d.s.op == opCoarse {
			b := d.s.scale
			d.next.Body = &b
			if d.next.Elements = d.d * (d.d + 1) / 2; d.s.op == opApply {
				d.next.Elements = d.d * len(b.QScale)
			}
		}
	}
	return d.next
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	p := m.(*partial)
	d.next = nil
	d.s.steps++
	switch d.s.op {
	case opBounds:
		if err := d.bounded(p); err != nil {
			return err
		}
		switch d.s.op = opGram; {
		case d.solver == randomized:
			d.s.op = opApply
			d.aim(normal(d.set.Seed, d.follow, d.d))
		case d.solver == davidson && p.Bounds.MaxWeight == 1:
			d.s.op = opCoarse
		}
		return nil
	case opCoarse:
		d.coarse(p)
	case opGram:
		d.gram(p)
	case opQR:
		if err := d.triangle(p); err != nil {
			return err
		}
	case opApply:
		if d.solver == davidson {
			d.refine(p)
		} else {
			d.applied(p)
		}
	}
	if d.s.done && !finite(d.s.model.comp, d.s.model.variance, d.s.model.mean) {
		return errRange()
	}
	return nil
}

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(r *feature.Ranges) family.Message {
	if d.s.op != opBounds {
		return nil
	}
	return &partial{Bounds: gram.BoundsOf(r)}
}

func errRange() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features or weights are too large to find components")
}

// bounded chooses the shift and scale of each column.
func (d *driver) bounded(p *partial) error {
	b, ok := &d.s.scale, false
	if b.Columns, ok = gram.Fit(p.Bounds, d.d-d.set.Fitted.Dense, d.center); !ok {
		return errRange()
	}
	b.Square = gram.Half(d.reach(nil))
	return nil
}

// reach bounds the magnitude of rows' projections on q or, where q is nil, of
// their squared lengths.
func (d *driver) reach(q []float64) float64 {
	sum := 0.0
	for j, s := range d.s.scale.Scale {
		h := 0.5 / s
		if q == nil {
			sum += float64(h * h)
		} else {
			sum += float64(math.Abs(q[j]) * h)
		}
	}
	return sum * (1 + 0x1p-20)
}

// entry returns a sum of products as a float; scales is the product of its two columns' scales.
func (d *driver) entry(p *partial, at int, scales float64) float64 {
	return p.Sums.At(at, scales) / d.s.scale.Unit
}

// ddof is the divisor of the variance: n - 1 where rows are centred, as in
// scikit-learn's PCA, else n, as in its TruncatedSVD.
func (d *driver) ddof(weight float64) float64 {
	if d.center && weight > 1 {
		return weight - 1
	}
	return weight
}

// gram finds components by the Gram matrix.
func (d *driver) gram(p *partial) {
	n, s := d.d, &d.s.scale
	g := make([]float64, n*n)
	sum := make([]float64, n)
	at := 0
	for i := range n {
		for j := i; j < n; j++ {
			g[i*n+j] = d.entry(p, at, s.Scale[i]*s.Scale[j])
			at++
		}
		sum[i] = d.entry(p, at, s.Scale[i]*0.5)
		at++
	}
	weight := d.entry(p, at, 0.25)
	div := d.ddof(weight)
	trace := 0.0
	for i := range n {
		for j := i; j < n; j++ {
			v := g[i*n+j]
			if d.center {
				v = f64.FMA(-sum[i], sum[j]/weight, v)
			}
			v /= div
			g[i*n+j], g[j*n+i] = v, v
		}
		trace += g[i*n+i]
	}
	values, vectors := eigen(g, n, d.k)
	d.finish(weight, trace, sum, values, vectors)
}

// triangle finds components by R of [1 X].
func (d *driver) triangle(p *partial) error {
	n := d.d + 1
	if len(p.R) != n*n || p.R[0] == 0 || !finite(p.R) {
		return errRange()
	}
	weight := float64(p.R[0] * p.R[0])
	sum := make([]float64, d.d)
	for j := range sum {
		sum[j] = float64(p.R[1+j] * p.R[0])
	}
	var rows [][]float64
	total := 0.0
	first := 0
	if d.center {
		first = 1
	}
	for i := first; i < n; i++ {
		r := append([]float64{}, p.R[i*n+1:(i+1)*n]...)
		total += f64.Dot(r, r)
		rows = append(rows, r)
	}
	values, vectors := rightSingular(rows)
	div := d.ddof(weight)
	values, vectors = values[:min(d.k, len(values))], vectors[:min(d.k, len(values))]
	for i, v := range values {
		values[i] = float64(v*v) / div
	}
	d.finish(weight, total/div, sum, values, orthonormal(vectors, d.d))
	return nil
}

// aim sets the directions of the next pass, and the scales of their fixed-point sums.
func (d *driver) aim(q [][]float64) {
	s := &d.s.scale
	s.Q, s.QScale = nil, nil
	for _, v := range q {
		s.Q = append(s.Q, v...)
		s.QScale = append(s.QScale, gram.Half(d.reach(v)))
	}
}

// made is the result of a pass with directions: the Gram matrix times each, the
// number of rows, the sums of the shifted columns, and the sum of all eigenvalues.
type made struct {
	z             [][]float64
	weight, total float64
	sum           []float64
}

// times decodes the result of a pass with directions.
func (d *driver) times(p *partial) made {
	s, n, l := &d.s.scale, d.d, len(d.s.scale.QScale)
	at := func(i, k int) float64 {
		scale := 0.5
		if i < n {
			scale = s.Scale[i]
		}
		switch {
		case k < l:
			scale *= s.QScale[k]
		case k == l:
			scale *= 0.5
		default:
			scale *= s.Square
		}
		return d.entry(p, i*(l+2)+k, scale)
	}
	weight, total := at(n, l), at(n, l+1)
	sum := make([]float64, n)
	for i := range sum {
		sum[i] = at(i, l)
	}
	div := d.ddof(weight)
	z := make([][]float64, l)
	for k := range z {
		z[k] = make([]float64, n)
		for i := range n {
			v := at(i, k)
			if d.center {
				v = f64.FMA(-sum[i], at(n, k)/weight, v)
			}
			z[k][i] = v / div
		}
	}
	if d.center {
		total -= f64.Dot(sum, sum) / weight
	}
	return made{z, weight, total / div, sum}
}

// applied ends a pass of randomized.
func (d *driver) applied(p *partial) {
	s, n, l := &d.s.scale, d.d, d.follow
	m := d.times(p)
	z := m.z
	if d.s.pass++; d.s.pass < d.passes {
		d.aim(orthonormal(z, n))
		return
	}
	// Rayleigh-Ritz: the best eigenvectors in the span of the directions.
	t := make([]float64, l*l)
	for i := range l {
		for k := i; k < l; k++ {
			v := float64(0.5 * (f64.Dot(s.Q[i*n:(i+1)*n], z[k]) + f64.Dot(s.Q[k*n:(k+1)*n], z[i])))
			t[i*l+k], t[k*l+i] = v, v
		}
	}
	values, small := eigen(t, l, d.k)
	vectors := make([][]float64, d.k)
	for i, v := range small {
		vectors[i] = make([]float64, n)
		for k, c := range v {
			f64.Axpy(vectors[i], c, s.Q[k*n:(k+1)*n])
		}
	}
	d.finish(m.weight, m.total, m.sum, values, orthonormal(vectors, n))
}

// orthonormal makes vectors of n numbers orthonormal by the Gram-Schmidt
// process, done twice against rounding. A vector that depends linearly on those
// before is replaced by one that does not.
func orthonormal(v [][]float64, n int) [][]float64 { return extend(nil, v, n) }

// extend appends vectors to orthonormal ones, all of n numbers, as orthonormal does.
func extend(out, v [][]float64, n int) [][]float64 {
	for _, x := range v {
		for unit := 0; ; unit++ {
			size := math.Sqrt(f64.Dot(x, x))
			if size > 0 {
				f64.Scale(x, 1/size)
			}
			for range 2 {
				for _, o := range out {
					f64.Axpy(x, -f64.Dot(x, o), o)
				}
			}
			if left := math.Sqrt(f64.Dot(x, x)); size > 0 && left > 0x1p-40 || unit >= n {
				f64.Scale(x, 1/math.Max(left, 0x1p-500))
				break
			}
			clear(x)
			x[unit] = 1
		}
		for range 2 { // the second time for rounding errors that the scaling magnified
			for _, o := range out {
				f64.Axpy(x, -f64.Dot(x, o), o)
			}
			f64.Scale(x, 1/math.Sqrt(f64.Dot(x, x)))
		}
		out = append(out, x)
	}
	return out
}

// normal returns count vectors of n normal numbers, orthonormal.
func normal(seed uint64, count, n int) [][]float64 {
	q := make([][]float64, count)
	for k := range q {
		q[k] = make([]float64, n)
		for j := range q[k] {
			r := mix(seed ^ mix(uint64(k)<<32|uint64(j)))
			for { // Marsaglia's polar method
				u, v := float64(r>>11)*0x1p-52-1, float64(mix(r)>>11)*0x1p-52-1
				if s := float64(u*u) + float64(v*v); s > 0 && s < 1 {
					q[k][j] = float64(u * math.Sqrt(-2*f64.Log1(s)/s))
					break
				}
				r = mix(r + 1)
			}
		}
	}
	return orthonormal(q, n)
}

// finish makes the model. sum is of the shifted columns; values are the
// components' eigenvalues and total the sum of all, both over ddof.
func (d *driver) finish(weight, total float64, sum, values []float64, vectors [][]float64) {
	m := &d.s.model
	*m = predictor{fitted: d.set.Fitted, dims: dims{d.set.Fitted.Dense, d.set.Fitted.OneHot, d.set.Fitted.Codes}, whiten: d.whiten, k: len(vectors)}
	mean := make([]float64, d.d)
	for j := range mean {
		mean[j] = sum[j] / weight
		if len(d.s.scale.Shift) > 0 {
			mean[j] += d.s.scale.Shift[j]
		}
	}
	if !d.center { // of svd: the variance of the projections, as scikit-learn computes it
		total -= f64.Dot(mean, mean)
	}
	left, explained := total, 0.0
	for i, v := range vectors {
		value := math.Max(values[i], 0)
		positive(v)
		m.comp = append(m.comp, v...)
		m.singular = append(m.singular, math.Sqrt(float64(value*d.ddof(weight))))
		if !d.center {
			c := f64.Dot(mean, v)
			value = math.Max(value-float64(c*c), 0)
		}
		ratio := 0.0
		if total > 0 {
			ratio = value / total
		}
		left -= value
		m.variance, m.ratio = append(m.variance, value), append(m.ratio, ratio)
		if explained += ratio; d.share > 0 && explained > d.share {
			m.k = i + 1
			break
		}
	}
	if d.center {
		m.mean = mean
	}
	m.loss = math.Max(left, 0)
	m.prepare()
	d.s.done = true
	d.forget()
}

// positive turns a vector so that its first number of greatest size is positive.
func positive(v []float64) {
	best := 0
	for j, x := range v {
		if math.Abs(x) > math.Abs(v[best]) {
			best = j
		}
	}
	if v[best] < 0 {
		for j := range v {
			v[j] = -v[j]
		}
	}
}

func finite(lists ...[]float64) bool {
	for _, v := range lists {
		for _, x := range v {
			if x-x != 0 {
				return false
			}
		}
	}
	return true
}

// State implements family.Driver.
func (d *driver) State() family.State {
	s := family.State{Iteration: d.s.steps, TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss(), Evals: d.s.steps}
	if d.s.done {
		s.Done, s.Converged, s.Stopped, s.TrainLoss = true, true, "converged", d.s.model.loss
		sum := 0.0
		for _, r := range d.s.model.ratio {
			sum += r
		}
		s.Metrics = []family.Metric{{Name: "total_explained_variance_ratio", Value: sum}}
	}
	return s
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) { return &d.s.model, nil }

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	e.U8(d.s.op)
	e.Bool(d.s.done)
	e.Int(d.s.pass)
	e.Int(d.s.steps)
	d.s.scale.Encode(e)
	if d.s.done {
		d.s.model.Encode(e)
		e.F64(d.s.model.loss)
	}
	if d.s.rough != nil {
		e.F64s(d.s.rough)
		e.F64s(d.s.basis)
		e.F64s(d.s.image)
		e.F64(d.s.left)
	}
	return nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (d *driver) UnmarshalBinary(b []byte) error {
	r := canon.Read(b)
	s := progress{op: r.U8(), done: r.Bool(), pass: r.Int(), steps: r.Int()}
	if m, ok := (decomp{}).DecodeStep(opGram, r).(*body); ok {
		s.scale = *m
	}
	if s.done {
		m, err := decodeModel(d.set.Fitted, r)
		if err != nil {
			return err
		}
		s.model = *m
		s.model.loss = r.F64()
	}
	if d.solver == davidson && r.Left() > 0 {
		s.rough, s.basis, s.image, s.left = r.F64s(), r.F64s(), r.F64s(), r.F64()
		if len(s.rough) != d.d*d.d || len(s.basis) != len(s.image) || len(s.basis)%d.d != 0 || s.pass > 0 && len(s.basis) < d.follow*d.d {
			r.Fail()
		}
	}
	if n := len(s.scale.Shift); s.op == 0 || s.op >= numOps || n != 0 && n != d.d || s.op == opApply && d.solver != davidson && len(s.scale.QScale) != d.follow ||
		(s.op == opCoarse || s.rough != nil) && d.solver != davidson || s.op == opApply && d.solver == davidson && s.rough == nil ||
		(s.op == opGram || s.op == opApply || s.op == opCoarse) && n == 0 || (s.op == opQR) != (d.solver == tsqr) || s.pass < 0 || s.steps < 0 {
		r.Fail()
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.s, d.next, d.near = s, nil, nil
	return nil
}
