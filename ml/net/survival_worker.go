package net

import (
	"context"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/kernel/pairs"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opTimes      uint8 = iota + 1 // when events happened; no body
	opRisks                       // cox: sums over rows at risk
	opSlopes                      // cox: the gradient by the hazards
	opHazards                     // hazard: loss and gradient
	opHazardLoss                  // hazard: the loss alone
	opPairs                       // durations beside risks
)

// survivalRequest is the body of all steps but opTimes. times are those of events,
// or the ends of intervals.
type survivalRequest struct {
	Params          []float32
	Times           []float64
	Cumulative, Own scaledSums // see timeline.likelihood
	Every           uint64     // opPairs: one row in so many
}

// Encode implements family.Message.
func (r *survivalRequest) Encode(e *canon.E) { canon.Put(e, r) }

// slopes are sums over rows of weights, losses and gradients. They are in
// float64, since L-BFGS iterates until the gradient is near 0, where float32
// sums are rounding errors.
type slopes struct {
	Weight, Loss float64
	Grad         canon.Sparse64
}

// Encode implements family.Message.
func (s *slopes) Encode(e *canon.E) { canon.Put(e, s) }

func (s *slopes) merge(o *slopes) *slopes {
	s.Weight += o.Weight
	s.Loss += o.Loss
	f64.Add(s.Grad, o.Grad)
	return s
}

// concordanceRows is a partial of opPairs: all rows, since the index is exact.
type concordanceRows struct{ Rows []pairs.WeightedSurvival }

// Encode implements family.Message.
func (p *concordanceRows) Encode(e *canon.E) { canon.Put(e, p) }

// survivalWorker implements family.Worker; it has no state.
type survivalWorker struct {
	s      *family.Setup
	hazard bool
	spec   *spec
	held   family.Charge // for the driver
}

// NewWorker implements family.Family.
func (survival) NewWorker(s *family.Setup, node *family.Node) (family.Worker, error) {
	w := &survivalWorker{s: s, hazard: s.Options.Text("method", methodCox) == methodHazard, spec: survivalSpec(s.Options), held: node.Charge()}
	if !node.Root {
		return w, nil
	}
	// Two timelines, the hazards of one, and an optimiser with a history.
	outputs := 1
	if w.hazard {
		if ends := s.Options.Floats("intervals", []float64{0, 10}); ends[0] > 0 {
			outputs = len(ends)
		} else {
			outputs = int(ends[1])
		}
	}
	return w, w.held.Set(14*8*min(s.Rows+s.Held, maxTimes) + 32*8*int64(w.spec.build(s.Fitted, outputs).params()))
}

func (w *survivalWorker) net(r *survivalRequest) *net {
	return w.spec.build(w.s.Fitted, survivalOutputs(w.hazard, r.Times))
}

// PassBytes implements family.Worker.
func (w *survivalWorker) PassBytes(s *family.Step) (pass, partial int64) {
	r, ok := s.Body.(*survivalRequest)
	if !ok {
		return 0, 16 << 15 // events of a leaf: time and weight
	}
	n := w.net(r)
	pass, partial = newFeed(n, false).bytes()+4*int64(n.params()), 8*int64(n.params())
	switch s.Op {
	case opRisks:
		partial = 4 * 8 * int64(len(r.Times)+1)
	case opPairs:
		partial = 24 << 15 // rows of a leaf
	}
	return pass, partial
}

// NewPass implements family.Worker.
func (w *survivalWorker) NewPass(s *family.Step) (family.Pass, error) {
	if s.Op == opTimes {
		p := &timesPass{signed: w.s.Options.Given(family.Event.Names[0])}
		if inUnits(w.s) {
			p.sums = make([]float64, 1+2*w.s.Fitted.Dense)
		}
		return p, nil
	}
	r, ok := s.Body.(*survivalRequest)
	if !ok {
		return nil, pgerr.Internal("a step of a model of times is without its body")
	}
	n := w.net(r)
	if len(r.Params) != n.params() || s.Op == opSlopes && (!r.Cumulative.fits(len(r.Times)+1) || !r.Own.fits(len(r.Times)+1)) {
		return nil, pgerr.Internal("a step of a model of times is without its parameters")
	}
	p := &survivalPass{op: s.Op, w: w, r: r, net: n, feed: newFeed(n, false), seed: w.s.Seed}
	p.feed.begin()
	switch s.Op {
	case opSlopes, opHazards:
		p.grad = make([]float32, n.params())
	case opRisks:
		p.all.V, p.events.V = make([]float64, len(r.Times)+1), make([]float64, len(r.Times)+1)
		p.seen = make([]bool, len(r.Times)+1)
	}
	return p, nil
}

// Close implements family.Worker.
func (w *survivalWorker) Close() { _ = w.held.Set(0) }

// timesPass finds the times of events.
type timesPass struct {
	signed         bool // a duration's sign says whether the event happened
	times, weights []float64
	sums           []float64 // see timeline; nil where they are not wanted
}

// Add implements family.Pass.
func (p *timesPass) Add(_ context.Context, r family.Rows, b *block.Block) error {
	for i := r.From; i < min(r.To, b.Rows); i++ {
		y := b.Y[i]
		if !p.signed && y < 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "a duration must not be negative")
		}
		if p.sums != nil && b.W[i] > 0 {
			p.sum(b, i)
		}
		if w := b.W[i]; w > 0 && !math.Signbit(y) {
			p.times, p.weights = append(p.times, y), append(p.weights, w)
		}
	}
	return nil
}

// sum adds row i to the sums.
func (p *timesPass) sum(b *block.Block, i int) {
	w := b.W[i]
	p.sums[0] += w
	for j := range b.Dense {
		x := b.Value(i, j)
		p.sums[1+2*j] += float64(w * x)
		p.sums[2+2*j] += float64(float64(w*x) * x)
	}
}

// Partial implements family.Pass.
func (p *timesPass) Partial() family.Message {
	t := &timeline{Sums: slices.Clone(p.sums)}
	clear(p.sums)
	t.add(p.times, p.weights)
	p.times, p.weights = p.times[:0], p.weights[:0]
	return t
}

// survivalPass implements family.Pass for the other steps.
type survivalPass struct {
	op   uint8
	w    *survivalWorker
	r    *survivalRequest
	net  *net
	feed *feed
	seed uint64

	grad        []float32 // of a micro-batch
	sum         *slopes
	risks       risks
	all, events scaledSums // by times seen
	seen        []bool
	touched     []int64
	pairs       *concordanceRows
}

// Add implements family.Pass.
func (p *survivalPass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	p.begin()
	for from, to := r.From, min(r.To, b.Rows); from < to; from += microRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(microRows, to-from)
		z := p.net.forward(p.r.Params, p.feed.load(b, from, n), p.feed.tape)
		y, w := b.Y[from:from+n], b.W[from:from+n]
		switch p.op {
		case opRisks:
			p.addRisks(z, y, w)
		case opPairs:
			for i := range n {
				if w[i] != 0 && hash(p.seed, uint64(r.Leaf), uint64(from+i))%max(p.r.Every, 1) == 0 {
					p.pairs.Rows = append(p.pairs.Rows, pairs.WeightedSurvival{Time: math.Abs(y[i]), Event: !math.Signbit(y[i]), Risk: riskOf(z.sample(i, nil), p.w.hazard), Weight: w[i]})
				}
			}
		default:
			p.addSlopes(z, y, w)
		}
	}
	return nil
}

func (p *survivalPass) begin() {
	if p.sum == nil {
		p.sum, p.pairs = &slopes{}, &concordanceRows{}
		if p.grad != nil {
			p.sum.Grad = make([]float64, len(p.grad))
		}
	}
}

func (p *survivalPass) addRisks(z *tensor, y, w []float64) {
	for i, v := range y {
		k := seen(p.r.Times, math.Abs(v))
		score := float64(z.v[i])
		p.risks.Weight += w[i]
		if w[i] == 0 {
			continue
		}
		risk := expScaled(score).times(w[i])
		if !p.seen[k] {
			p.seen[k], p.touched = true, append(p.touched, int64(k))
		}
		p.all.set(k, p.all.get(k).plus(risk))
		if !math.Signbit(v) {
			p.events.set(k, p.events.get(k).plus(risk))
			p.risks.Scores += float64(w[i] * score)
		}
	}
}

func (p *survivalPass) addSlopes(z *tensor, y, w []float64) {
	var dz *tensor
	if p.grad != nil {
		dz = p.feed.tape.tensor(z.n, z.shape)
	}
	var row, slope []float32 // of a row
	for i, v := range y {
		p.sum.Weight += w[i]
		if p.op != opSlopes {
			row = z.sample(i, row)
			if dz == nil {
				p.sum.Loss += hazardLoss(row, p.r.Times, v, w[i], nil)
				continue
			}
			slope = dz.sample(i, slope)
			p.sum.Loss += hazardLoss(row, p.r.Times, v, w[i], slope)
			dz.put(i, slope)
			continue
		}
		k := seen(p.r.Times, math.Abs(v))
		hazard, event := p.r.Cumulative.get(k), 0.0
		if !math.Signbit(v) {
			hazard, event = hazard.plus(p.r.Own.get(k).times(-1)), 1
		}
		risk := expScaled(float64(z.v[i]))
		expected := scaled{float64(risk.v * hazard.v), risk.e + hazard.e}.at(0)
		dz.v[i] = float32(w[i] * (expected - event))
	}
	if dz == nil {
		return
	}
	clear(p.grad)
	p.net.backward(p.r.Params, p.grad, dz, p.feed.tape)
	for i, g := range p.grad {
		p.sum.Grad[i] += float64(g)
	}
}

// Partial implements family.Pass.
func (p *survivalPass) Partial() family.Message {
	p.begin()
	sum, pr := p.sum, p.pairs
	p.sum, p.pairs = nil, nil
	switch p.op {
	case opPairs:
		return pr
	case opRisks:
		r := p.risks
		slices.Sort(p.touched)
		for _, k := range p.touched {
			r.push(k, p.all.get(int(k)), p.events.get(int(k)))
			p.all.set(int(k), scaled{})
			p.events.set(int(k), scaled{})
			p.seen[k] = false
		}
		p.risks, p.touched = risks{}, p.touched[:0]
		return &r
	}
	return sum
}

// riskOf is the risk score of a row that the concordance ranks by: the log of
// its relative hazard, or the cumulative hazard at the last interval's end.
func riskOf(z []float32, hazard bool) float64 {
	if !hazard {
		return float64(z[0])
	}
	sum := 0.0
	for _, v := range z {
		sum += f64.LogLoss1(-float64(v))
	}
	return sum
}

// Slice implements family.Sliced.
func (s *slopes) Slice(from, to int) family.Message {
	out := &slopes{Grad: family.Cut(s.Grad, from, to)}
	if from == 0 {
		out.Weight, out.Loss = s.Weight, s.Loss
	}
	return out
}

// Join implements family.Sliced.
func (s *slopes) Join(list []family.Message) (family.Message, error) {
	grad, err := family.Join(list, func(s *slopes) []float64 { return s.Grad })
	return &slopes{s.Weight, s.Loss, grad}, err
}
