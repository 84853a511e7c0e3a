package net

import (
	"bytes"
	"math"
	"sync"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver: epochs of mini-batches, each epoch followed by a
// pass over the held-out rows.
type driver struct {
	f    *nets
	set  *family.Setup
	net  *net
	spec *spec
	t    training
	cut  optim.Epoch

	threads int

	s    progress
	next *family.Step
}

// progress is the state of a training.
type progress struct {
	op     uint8
	units  units
	params []float32
	move   optim.Mover[float32]
	step   int  // of the epoch
	sums   sums // of the epoch's mini-batches
	state  family.State
	// Of early stopping.
	bestLoss float64
	best     []float32
	stale    int // epochs without progress
	metrics  []float64
}

// sums are weighted sums over rows: of losses, and of an autoencoder's reconstruction
// errors, where requested.
type sums struct{ weight, loss, squares, absolute float64 }

func (s *sums) add(o sums) {
	s.weight += o.weight
	s.loss += o.loss
	s.squares += o.squares
	s.absolute += o.absolute
}

// mean of one of the sums.
func (s *sums) mean(v float64) float64 {
	if s.weight > 0 {
		return v / s.weight
	}
	return v
}

// metricNames are the metrics of an autoencoder.
var metricNames = []string{"mean_absolute_error", "mean_squared_error"}

// NewDriver implements family.Family.
func (f *nets) NewDriver(s *family.Setup, node *family.Node) (family.Driver, error) {
	n, sp, err := f.net(s)
	if err != nil {
		return nil, err
	}
	d := &driver{f: f, set: s, net: n, spec: sp, t: trainingOf(s), threads: node.Threads}
	d.cut = s.Batches(d.t.batch)
	d.s = progress{op: opLearn, units: units{dev: 1}, params: n.init(s.Seed), bestLoss: math.Inf(1),
		move:  optim.Mover[float32]{Rule: d.t.rule, Constants: d.t.consts},
		state: family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}}
	if s.Plan.Target == family.NumberTarget {
		d.s.op = opMoments
	}
	if m, ok := s.Start.(interface{ plain() *predictor }); ok {
		return d, d.goOn(m.plain())
	}
	return d, nil
}

// goOn starts from a model's parameters and scale of the target, to continue
// its training. The optimiser's moments start from zero.
func (d *driver) goOn(m *predictor) error {
	var was, is canon.E
	m.spec.encode(&was)
	d.spec.encode(&is)
	if !bytes.Equal(was.B, is.B) || len(m.params) != len(d.s.params) {
		return pgerr.New(pgerr.InvalidParameterValue, "a training cannot go on from a model of other layers, or another loss").At(d.set.Options.Pos("warm_start")).
			WithHint("Give the options that it was trained with, or leave warm_start out.")
	}
	copy(d.s.params, m.params)
	d.s.op, d.s.units = opLearn, m.units
	return nil
}

// driverBytes returns the memory of a driver: parameters, the optimiser's moments, and
// the best parameters.
func driverBytes(n *net, s *family.Setup) int64 {
	vectors, t := 1, trainingOf(s)
	switch t.rule {
	case optim.Adam:
		vectors += 2
	case optim.Momentum:
		vectors++
	}
	if t.stop {
		vectors++
	}
	return 4 * int64(vectors) * int64(n.params())
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.next != nil {
		return d.next
	}
	s := &d.s
	step := &family.Step{Op: s.op, Set: family.Train}
	switch s.op {
	case opLearn:
		b := &optim.MiniBatch{Epoch: s.state.Iteration, Step: s.step, Steps: d.cut.Steps}
		if d.t.shuffle {
			b.Step = d.cut.Shuffled(d.set.Seed, b.Epoch, b.Step)
		}
		step.Batch = b
		last := d.t.stop || b.Epoch == d.t.epochs-1
		step.Body = &request{s.params, s.units, hash(d.set.Seed, uint64(s.move.Steps), 1), d.f.self && d.set.Held == 0 && last}
		step.Elements = len(s.params)
	case opLoss:
		step.Set = family.Held
		step.Body = &request{params: s.params, units: s.units, measure: d.f.self}
	}
	d.next = step
	return step
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	d.next = nil
	d.s.state.Evals++
	switch p := m.(type) {
	case *moments:
		return d.measured(p)
	case *partial:
		if d.s.op == opLearn {
			return d.learned(p)
		}
		return d.looked(p)
	}
	return pgerr.Internal("a partial of a net is %T", m)
}

// measured records the target's moments.
func (d *driver) measured(m *moments) error {
	s := &d.s
	s.op = opLearn
	s.units.mean = m.Mean
	if dev := math.Sqrt(m.Squares / m.Weight); dev > 0 {
		s.units.dev = dev
	}
	if s.units.mean-s.units.mean != 0 || s.units.dev-s.units.dev != 0 {
		return pgerr.New(pgerr.NumericValueOutOfRange, "values of the target are too large for a net")
	}
	return nil
}

// learned updates the parameters by the gradient of a mini-batch.
func (d *driver) learned(p *partial) error {
	s := &d.s
	if len(p.grad) != len(s.params) {
		return pgerr.Internal("a net of %d parameters has a gradient of %d", len(s.params), len(p.grad))
	}
	s.sums.add(p.sums)
	if p.weight > 0 { // rows of weight 0 alone change nothing
		if err := d.move(p.grad, p.weight); err != nil {
			return err
		}
	}
	p.free()
	if p.loss-p.loss != 0 {
		return optim.Diverged(s.state.Iteration)
	}
	if s.step++; s.step < d.cut.Steps {
		return nil
	}
	sum := s.sums
	s.state.TrainLoss = d.inUnits(sum.loss / sum.weight)
	s.step, s.sums = 0, sums{}
	if d.set.Held > 0 {
		s.op = opLoss
		return nil
	}
	d.epoch(sum)
	return nil
}

// move divides the summed gradient by the weight, adds the penalty's, clips it by its
// norm (Pascanu, Mikolov and Bengio 2013) and runs the optimiser's step. Weight decay
// is decoupled from the gradient (Loshchilov and Hutter, "Decoupled weight decay
// regularization", 2019). Only the norm for clipping needs all parameters: everything
// else is computed by range of parameters in parallel.
func (d *driver) move(g []float32, weight float64) error {
	s := &d.s
	rate := d.t.rateAt(float64(s.state.Iteration)+float64(s.step)/float64(d.cut.Steps), d.cut.Steps)
	s.move.Begin(len(g))
	step := func(from, to int) error {
		if d.t.decay > 0 {
			d.weights(from, to, func(i int) {
				s.params[i] = float32(float64(s.params[i]) * (1 - float64(rate*d.t.decay)))
			})
		}
		s.move.Part(s.params, g, rate, from, to)
		return nil
	}
	mean := func(from, to int) error {
		by := 1 / weight
		finite := true
		for i, v := range g[from:to] {
			v = float32(float64(v) * by)
			g[from+i] = v
			finite = finite && v-v == 0
		}
		if d.t.l2 > 0 {
			d.weights(from, to, func(i int) {
				g[i] = float32(float64(g[i]) + float64(d.t.l2*float64(s.params[i])))
				finite = finite && g[i]-g[i] == 0
			})
		}
		if !finite {
			return optim.Diverged(s.state.Iteration)
		}
		if d.t.clip > 0 {
			return nil
		}
		return step(from, to)
	}
	err := d.shared(len(g), mean)
	if err != nil || d.t.clip == 0 {
		return err
	}
	var four [4]float64 // four sums, since each addition depends on the one before
	for i, v := range g {
		four[i%4] += float64(float64(v) * float64(v))
	}
	if norm := math.Sqrt((four[0] + four[1]) + (four[2] + four[3])); norm > d.t.clip {
		for i, v := range g {
			g[i] = float32(float64(v) * (d.t.clip / norm))
		}
	}
	return d.shared(len(g), step)
}

// weights visits those of the parameters [from, to) that penalties and weight decay apply to.
func (d *driver) weights(from, to int, f func(i int)) {
	d.net.weights(func(a, b int) {
		for i := max(a, from); i < min(b, to); i++ {
			f(i)
		}
	})
}

// shareFrom is the least number of parameters for which another thread pays.
const shareFrom = 1 << 14

// shared runs do on ranges of n numbers on the node's threads; the result must
// not depend on how they are divided.
func (d *driver) shared(n int, do func(from, to int) error) error {
	parts := min(max(d.threads, 1), max(n/shareFrom, 1))
	errs := make([]error, parts)
	var wg sync.WaitGroup
	part := func(i int) {
		errs[i] = op.Guard("training", func() error { return do(n/parts*i+min(i, n%parts), n/parts*(i+1)+min(i+1, n%parts)) })
	}
	for i := 1; i < parts; i++ {
		wg.Go(func() { part(i) })
	}
	part(0)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// looked records the loss of the held-out rows at the end of an epoch.
func (d *driver) looked(p *partial) error {
	s := &d.s
	if p.loss-p.loss != 0 {
		return optim.Diverged(s.state.Iteration)
	}
	s.state.ValidationLoss = d.inUnits(p.mean(p.loss))
	d.epoch(p.sums)
	return nil
}

// epoch ends an epoch whose model is evaluated by these sums: of held-out rows or,
// as in Keras's fit, of training rows, each with the parameters at the time of its
// mini-batch.
func (d *driver) epoch(of sums) {
	s, t := &d.s, &d.t
	s.state.Iteration++
	s.op = opLearn
	kept := true
	if t.stop {
		loss := s.state.TrainLoss
		if d.set.Held > 0 {
			loss = s.state.ValidationLoss
		}
		s.stale++
		if s.bestLoss-loss > float64(t.least*math.Abs(s.bestLoss)) || math.IsInf(s.bestLoss, 1) {
			s.stale = 0
		}
		if kept = loss < s.bestLoss; kept {
			s.bestLoss, s.best = loss, append(s.best[:0], s.params...)
		}
		if s.stale >= t.patience {
			s.state.Stopped, s.state.Converged = "early_stop", true
		}
	}
	if kept && d.f.self {
		s.metrics = []float64{of.mean(of.absolute), of.mean(of.squares)}
	}
	if s.state.Stopped == "" && s.state.Iteration >= t.epochs {
		s.state.Stopped, s.state.Converged = "max_iterations", true // all of them are wanted
	}
	if s.state.Stopped == "" {
		return
	}
	if s.best != nil {
		s.params, s.best = s.best, nil
	}
	s.op, s.state.Done = numOps, true
}

// inUnits returns a loss in the target's own units.
func (d *driver) inUnits(loss float64) float64 {
	dev := d.s.units.dev
	switch d.spec.loss {
	case lossMSE, lossHuber:
		return float64(loss * float64(dev*dev))
	case lossMAE:
		return float64(loss * dev)
	}
	return loss
}

// State implements family.Driver.
func (d *driver) State() family.State {
	st := d.s.state
	for i, v := range d.s.metrics {
		st.Metrics = append(st.Metrics, family.Metric{Name: metricNames[i], Value: v})
	}
	return st
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	for i, v := range d.s.params {
		if v-v != 0 {
			return nil, optim.Diverged(d.s.state.Iteration)
		}
		d.s.params[i] = v + 0 // no negative zeros in the bytes
	}
	return newPredictor(d.f, d.set.Fitted, d.spec, d.net, d.s.units, d.s.params).known(), nil
}
