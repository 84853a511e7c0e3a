package kmeans

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
type driver struct {
	set    *family.Setup
	k      int // wanted
	init   string
	rounds int
	draws  int // a round of k-means||
	most   int // iterations
	tol    float64
	steps  int       // mini-batches of an epoch, 0 for none
	start  []float64 // centroids that are given, nil for none
	kept   family.Charge

	s    progress
	next *family.Step // the step that Next returned last
}

// progress is the state of a training.
type progress struct {
	Op      uint8
	Grid    grid
	Total   []int64 // of all rows
	Weight  int64
	Squares wide
	Points  []float64 // candidates, then centroids
	From    int       // of the candidates that the step before had not
	Round   int
	Prev    []float64 // centroids of the iteration before
	Sums    []int64   // by cluster
	Weights []int64
	Counts  []float64 // mini-batches: the weight each centroid has seen
	Batch   int
	Epoch0  []float64 // centroids at the epoch's beginning
	Inertia wide      // of the epoch
	Iter    int
	Evals   int
	Moved   bool // the last iteration changed something
	Loss    float64
	Held    float64
	Stopped string
	Metrics []float64 // see names
}

var names = []string{"inertia", "mean_squared_distance", "davies_bouldin_index"}

// NewDriver implements family.Family.
func (kmeans) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	o := s.Options
	d := &driver{set: s, kept: n.Charge(), k: o.Int("n_clusters", 8), init: o.Text("init", initParallel), rounds: o.Int("init_rounds", 2),
		most: o.Int("max_iterations", 300), tol: o.Float("tolerance", 1e-4)}
	if err := d.given(); err != nil {
		return nil, err
	}
	d.draws = int(math.Ceil(float64(o.Float("oversampling_factor", 2) * float64(d.k))))
	if b := o.Int("batch_size", 0); b > 0 {
		d.steps = s.Batches(b).Steps
	}
	if s.Rows < int64(d.k) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%d rows are too few for %d clusters", s.Rows, d.k).At(o.Pos("n_clusters")).
			WithHint("Lower n_clusters, or train on more rows.")
	}
	d.s = progress{Op: opBounds, Loss: family.NoLoss(), Held: family.NoLoss()}
	return d, d.kept.Set(d.bytes())
}

// bytes is the most that the driver holds: candidates, with those of the partial that
// brings the last of them and what reduces them, and a few lists of centroids.
func (d *driver) bytes() int64 {
	candidates := int64(d.k)
	if d.init == initParallel && d.start == nil {
		candidates = int64(1 + d.rounds*d.draws)
	}
	return 8*int64(d.coords()+8)*(2*candidates+8*int64(d.k)) + 32*candidates
}

// given starts from the centroids in the statement, or from those of the model that the
// training continues.
func (d *driver) given() error {
	s, o, name := d.set, d.set.Options, "init"
	if m, ok := s.Start.(*predictor); ok {
		d.start, name = m.at, "warm_start"
	}
	for _, b := range s.Given {
		d.start = append(d.start, rows(b, s.Fitted.OneHot)...)
	}
	if d.start == nil {
		return nil
	}
	k := len(d.start) / max(d.coords(), 1)
	if o.Given("n_clusters") && k != d.k {
		return pgerr.New(pgerr.InvalidParameterValue, "%d clusters cannot begin with %d centroids", d.k, k).At(o.Pos(name)).
			WithHint("Leave n_clusters out, or give as many.")
	}
	d.k = k
	return nil
}

// rows returns the coordinates of a block's rows.
func rows(b *block.Block, oneHot int) []float64 {
	g := newGroup(b.Dense, b.Codes)
	n := b.Dense + oneHot
	out := make([]float64, b.Rows*n)
	for i := range b.Rows {
		g.rows = append(g.rows[:0], i)
		g.load(b)
		at := out[i*n:][:n]
		for j := range b.Dense {
			at[j] = g.x[j*f64.Lanes]
		}
		for j := range b.Codes {
			if slot := g.code[j*f64.Lanes]; slot >= 0 {
				at[b.Dense+int(slot)] = 1
			}
		}
	}
	return out
}

func (d *driver) coords() int { return d.set.Fitted.Params() }

// clusters is the number of clusters.
func (d *driver) clusters() int { return len(d.s.Points) / max(d.coords(), 1) }

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next != nil {
		return d.next
	}
	s := &d.s
	b := &body{Grid: s.Grid, Points: s.Points, Salt: mix(d.set.Seed + uint64(s.Op)<<32 + uint64(s.Round))}
	step := &family.Step{Op: s.Op, Set: family.Train, Body: b}
	switch s.Op {
	case opBounds:
		step.Body, step.Set = nil, family.Train|family.Held
	case opFirst:
		switch {
		case d.start != nil: // nothing is drawn
		case d.init == initRandom:
			b.Draw = d.k
		default:
			b.Draw = 1
		}
		b.Points = make([]float64, d.coords())
	case opDraw:
		b.From, b.Draw = s.From, d.draws
		if d.init == initPlus {
			b.Draw = 1
		}
	case opWeights:
		b.From = s.From
	case opAssign:
		b.Iter, b.Prev = s.Iter, s.Prev
	case opFar:
		for _, w := range s.Weights {
			if w == 0 {
				b.Draw++
			}
		}
	case opBatch:
		step.Batch = &optim.MiniBatch{Epoch: s.Iter, Step: s.Batch, Steps: d.steps}
	case opExact:
		step.Set = family.Train | family.Held
	}
	switch s.Op {
	case opFirst, opAssign, opBatch:
		step.Elements = len(b.Points)
	}
	d.next = step
	return step
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	p, s := m.(*partial), &d.s
	d.next = nil
	s.Evals++
	switch s.Op {
	case opBounds:
		if tooLarge(p.Max) || p.MaxHeld > 1e140 || !(p.MaxWeight > 0) || tooLarge([]float64{p.MaxWeight}) {
			return pgerr.New(pgerr.NumericValueOutOfRange, "values of the features or weights are too large for k-means")
		}
		if d.coords() == 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "the features have no values to tell rows apart")
		}
		far := p.MaxHeld
		for _, v := range d.start {
			far = math.Max(far, math.Abs(v))
		}
		if far > 1e140 {
			return pgerr.New(pgerr.NumericValueOutOfRange, "the centroids to begin with are too far from the rows")
		}
		s.Grid = newGrid(d.set.Rows, p.Max, p.MaxWeight, far, d.set.Fitted.Codes)
		s.Op = opFirst
	case opFirst:
		s.Total, s.Weight, s.Squares = p.Sums, p.Weights[0], p.Inertia[0]
		if d.start != nil {
			s.Points = d.start
			d.begin()
			break
		}
		d.take(&p.Sample)
		if d.init == initRandom || d.clusters() == d.k {
			d.begin()
		} else {
			s.Op = opDraw
		}
	case opDraw:
		d.drawn(&p.Sample)
	case opWeights:
		s.Points = reduce(s.Points, p.Weights, d.k, d.coords(), mix(d.set.Seed^mulB))
		d.begin()
	case opAssign:
		d.assigned(p)
	case opFar:
		d.moveTo(d.means(), p.Sample.Picks)
	case opBatch:
		d.batched(p)
	case opExact:
		d.measure(p)
	}
	return nil
}

// FromRanges implements family.FromRanges.
func (d *driver) FromRanges(r *feature.Ranges) family.Message {
	if d.s.Op != opBounds || d.set.Held > 0 {
		return nil
	}
	p := &partial{MaxWeight: 1}
	for j, low := range r.Low {
		p.Max = append(p.Max, max(-low, r.High[j]))
	}
	return p
}

// take adds the drawn rows to the candidates.
func (d *driver) take(p *sample) {
	d.s.From = d.clusters()
	points := append([]float64{}, d.s.Points...) // the step's body keeps the old ones
	for i := range p.Picks {
		points = append(points, p.Picks[i].coords(d.set.Fitted.OneHot)...)
	}
	d.s.Points = points
}

// drawn ends a pass that drew rows.
func (d *driver) drawn(p *sample) {
	s := &d.s
	d.take(p)
	s.Round++
	n := d.clusters()
	switch last := len(p.Picks) == 0; { // every row is a candidate
	case d.init == initPlus:
		if n == d.k || last {
			d.begin()
		}
	case n <= d.k && last:
		d.begin()
	case s.Round >= d.rounds && n >= d.k || last:
		s.Op = opWeights
	}
}

// begin starts Lloyd's iterations or the mini-batches.
func (d *driver) begin() {
	s, k := &d.s, d.clusters()
	s.From, s.Prev = 0, nil
	s.Sums, s.Weights = make([]int64, k*d.coords()), make([]int64, k)
	s.Op = opAssign
	if d.steps > 0 {
		s.Op, s.Counts, s.Epoch0 = opBatch, make([]float64, k), s.Points
	}
}

// center computes the mean of integer sums.
func (d *driver) center(dst []float64, sums []int64, weight int64) {
	w := float64(weight) / d.s.Grid.Weight * d.s.Grid.Unit
	for j, v := range sums {
		if j < len(d.s.Grid.Col) {
			dst[j] = float64(v) / d.s.Grid.Col[j] / w
		} else {
			dst[j] = float64(v) / float64(weight)
		}
	}
}

// assigned ends an assignment of all rows to centroids.
func (d *driver) assigned(p *partial) {
	s := &d.s
	plus(&s.Sums, p.Sums)
	plus(&s.Weights, p.Weights)
	s.Loss = d.between()
	s.Moved = p.Changed > 0 || s.Prev == nil
	for _, w := range s.Weights {
		if w == 0 {
			s.Op = opFar
			return
		}
	}
	d.moveTo(d.means(), nil)
}

// means returns the means of clusters; empty ones stay where they are.
func (d *driver) means() []float64 {
	s, n := &d.s, d.coords()
	out := append([]float64{}, s.Points...)
	for k, w := range s.Weights {
		if w > 0 {
			d.center(out[k*n:(k+1)*n], s.Sums[k*n:(k+1)*n], w)
		}
	}
	return out
}

// moveTo ends an iteration: the centroids move, those of empty clusters to rows.
func (d *driver) moveTo(points []float64, far []pick) {
	s, n := &d.s, d.coords()
	for k, w := range s.Weights {
		if w == 0 && len(far) > 0 {
			copy(points[k*n:], far[0].coords(d.set.Fitted.OneHot))
			far, s.Moved = far[1:], true
		}
	}
	s.Prev, s.Points = s.Points, points
	s.Iter++
	s.Op = opAssign
	switch moved := squared(s.Prev, s.Points); {
	case !s.Moved || moved <= float64(d.tol*d.variance()):
		s.Stopped, s.Op = "converged", opExact
	case s.Iter >= d.most:
		s.Stopped, s.Op = "max_iterations", opExact
	}
}

// mean is that of all rows.
func (d *driver) mean() []float64 {
	m := make([]float64, d.coords())
	d.center(m, d.s.Total, d.s.Weight)
	return m
}

// spread is the mean of the rows' squared distances from the origin.
func (d *driver) spread() float64 {
	s := &d.s
	w := float64(s.Weight) / s.Grid.Weight
	q := s.Squares.float() / s.Grid.Square / w
	for _, v := range s.Total[len(s.Grid.Col):] { // 0 and 1 are their squares
		q += float64(v) / float64(s.Weight)
	}
	return q
}

// variance is the mean variance of the coordinates.
func (d *driver) variance() float64 {
	m := d.mean()
	return math.Max(0, d.spread()-f64.Dot(m, m)) / float64(d.coords())
}

// between computes the mean squared distance from the clusters' sums alone.
// Squares are taken around the mean of all rows, where less cancels out than
// around the origin.
func (d *driver) between() float64 {
	s, n := &d.s, d.coords()
	m := d.mean()
	q := d.spread() - f64.Dot(m, m)
	at := make([]float64, n)
	for k, w := range s.Weights {
		if w == 0 {
			continue
		}
		d.center(at, s.Sums[k*n:(k+1)*n], w)
		var inner float64 // |c-m|² - 2(c-m)(x-m), c the centroid and x the mean
		for j, c := range s.Points[k*n : (k+1)*n] {
			inner = f64.FMA(c-m[j], float64(c-m[j])-2*(at[j]-m[j]), inner)
		}
		q = f64.FMA(inner, float64(w)/float64(s.Weight), q)
	}
	return math.Max(q, 0)
}

// batched ends a mini-batch: each centroid is the mean of all rows it has seen.
func (d *driver) batched(p *partial) {
	s, n := &d.s, d.coords()
	points := append([]float64{}, s.Points...)
	at := make([]float64, n)
	for k, w := range p.Weights {
		if w == 0 {
			continue
		}
		v := float64(w) / s.Grid.Weight
		s.Counts[k] += v
		d.center(at, p.Sums[k*n:(k+1)*n], w)
		for j := range at {
			points[k*n+j] = f64.FMA(at[j]-points[k*n+j], v/s.Counts[k], points[k*n+j])
		}
	}
	s.Points = points
	s.Inertia.plus(p.Inertia[0])
	if s.Batch++; s.Batch < d.steps {
		return
	}
	s.Loss = s.Inertia.float() / s.Grid.Square / (float64(s.Weight) / s.Grid.Weight)
	moved := squared(s.Epoch0, s.Points)
	s.Batch, s.Inertia, s.Epoch0 = 0, wide{}, s.Points
	s.Iter++
	switch {
	case moved <= float64(d.tol*d.variance()):
		s.Stopped, s.Op = "converged", opExact
	case s.Iter >= d.most:
		s.Stopped, s.Op = "max_iterations", opExact
	}
}

// measure ends the training.
func (d *driver) measure(p *partial) {
	s, n := &d.s, d.coords()
	total := int64(0)
	for _, w := range p.Weights {
		total += w
	}
	inertia := p.Inertia[0].float() / s.Grid.Square
	s.Loss = inertia / (float64(total) / s.Grid.Weight)
	if p.Held > 0 {
		s.Held = p.Inertia[1].float() / s.Grid.Square / (float64(p.Held) / s.Grid.Weight)
	}
	s.Metrics = []float64{inertia, s.Loss, daviesBouldin(s.Points, n, p, &s.Grid)}
	s.Op = numOps
}

// daviesBouldin is the mean over clusters of the worst similarity to another:
// the sum of their mean distances to the centroid over the distance of the
// centroids (Davies and Bouldin, 1979). Empty clusters do not count.
func daviesBouldin(points []float64, n int, p *partial, g *grid) float64 {
	sum, count := 0.0, 0
	width := func(k int) float64 { return p.Dists[k].float() / g.Dist / (float64(p.Weights[k]) / g.Weight) }
	for a, w := range p.Weights {
		if w == 0 {
			continue
		}
		worst := 0.0
		for b, v := range p.Weights {
			if d := squared(points[a*n:(a+1)*n], points[b*n:(b+1)*n]); a != b && v > 0 && d > 0 {
				worst = max(worst, (width(a)+width(b))/math.Sqrt(d))
			}
		}
		sum, count = sum+worst, count+1
	}
	return sum / float64(max(count, 1))
}

// State implements family.Driver.
func (d *driver) State() family.State {
	s := &d.s
	st := family.State{Iteration: s.Iter, TrainLoss: s.Loss, ValidationLoss: s.Held, Done: s.Op == numOps, Converged: s.Stopped == "converged",
		Stopped: s.Stopped, Evals: s.Evals}
	for i, v := range s.Metrics {
		st.Metrics = append(st.Metrics, family.Metric{Name: names[i], Value: v})
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	return newPredictor(d.set.Fitted, d.s.Points), nil
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
	n := d.coords()
	k := len(s.Points) / max(n, 1)
	empty := func(have, want int) bool { return have == 0 || have == want }
	if s.Op == 0 || s.Op > numOps || min(s.From, s.Round, s.Batch, s.Iter, s.Evals) < 0 || len(s.Points) != k*n || !empty(len(s.Prev), k*n) || !empty(len(s.Sums), k*n) ||
		!empty(len(s.Weights), k) || !empty(len(s.Counts), k) || !empty(len(s.Epoch0), k*n) || s.From > k || len(s.Metrics) > len(names) ||
		s.Op > opBounds && len(s.Grid.Col) != d.set.Fitted.Dense || s.Op > opFirst && (len(s.Total) != n || k == 0) ||
		s.Op >= opAssign && s.Op < numOps && len(s.Weights) != k {
		r.Fail()
	}
	if err := r.Done("a training's state"); err != nil {
		return err
	}
	d.s, d.next = s, nil
	return nil
}
