package tree

import (
	"math"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// driver implements family.Driver.
//
//	sketch ─▶ bin ─▶ round ─▶ grow … grow ─▶ round ─▶ … ─▶ round (scores only)
//
// Where leaves' values are quantiles, steps that search these come before each round.
// A round of a forest grows some trees at a time and needs no scores.
type driver struct {
	node  *family.Node
	p     *problem
	phase uint8 // the op of the next step; 0 at the end
	fresh bool  // workers have no state: the step must have the ground and recovery
	step  *family.Step
	g     *ground
	s     *searcher
	seen  *sketch // in phase opMeans

	base   []float64
	spread float64
	low    float64 // the least target, before the first round
	bound  float64 // of gradients of the round
	total  int64   // rows to train on
	trees  []tree  // finished
	update []tree  // the last round's, in workers' numbering

	round    *round // the current round
	growers  []*grower
	search   *search // of quantiles, in phase opRenew
	kept     int
	spare    sync.Pool // of *[]int64
	idle     []*subtreeGrower
	charged  family.Charge
	stored   int64   // bytes of the trees counted so far
	counted  int     // how many trees stored is of
	splits   []split // of the current step
	builds   []build
	takes    []take
	residual float64

	state    family.State
	best     float64 // loss of the held out rows
	bestAt   int     // rounds
	bestLoss float64 // of the rows to train on, then
	// Of ranked rows: the mean average precision, now and then.
	precision, bestPrecision float64
	finished                 bool // no more trees
	drop                     bool // the scores include trees that the model does not have

	from   *model // that the training goes on from, until it has begun
	before int    // trees of that

	// Of dart: the rounds that the current round leaves out, what the trees of the last one's changed by, and by
	// round what its trees were multiplied by.
	left    []int
	changes []tree
	weights []float64

	measure bool // the next round only measures the scores to begin with
}

func newDriver(p *problem, n *family.Node) *driver {
	p.limits = limitsOf(n.Memory)
	return &driver{p: p, node: n, charged: n.Charge(), phase: opSketch, best: math.Inf(1),
		state: family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}}
}

// sets are those with scores.
func (d *driver) sets() family.Set {
	if d.p.held && !d.p.forest {
		return family.Train | family.Held
	}
	return family.Train
}

// Next implements family.Driver.
func (d *driver) Next() *family.Step {
	if d.step != nil {
		return d.step
	}
	s := &family.Step{Op: d.phase, Set: family.Train}
	if d.phase == opMeans {
		s.Body = scale(1 / math.Ldexp(1, exponent(d.bound)))
		d.step = s
		return s
	}
	b := &body{}
	if d.phase == opBin || d.fresh {
		b.Ground = d.g
	}
	switch d.phase {
	case opSketch, opSketchAll:
		d.step = s
		return s
	case opBin:
		s.Set = d.sets()
	case opRound:
		s.Set = d.sets()
		b.Round = d.begin()
		for _, t := range d.growers {
			d.builds = append(d.builds, t.build(0))
		}
		if d.fresh {
			b.Recovery = &recovery{Past: d.past()}
			b.Round.Update, b.Round.Changes = nil, nil
		}
	case opGrow:
		if d.fresh {
			s.Set, b.Recovery = d.sets(), d.recovery()
		}
		b.Splits, s.Kept = d.splits, !d.fresh
	case opRenew:
		if d.fresh {
			s.Set, b.Recovery = d.sets(), d.recovery()
		}
		b.Renew = d.search.next(d.p.limits.step)
		s.Elements = renewBins * len(b.Renew.Asked)
	}
	b.Builds, b.Takes = d.builds, d.takes
	for _, bd := range b.Builds {
		s.Elements += d.length(bd)
	}
	s.Body = b
	d.step = s
	return s
}

// recovery is what workers without state need in the middle of a round, or before the first.
func (d *driver) recovery() *recovery {
	r := &recovery{Past: d.past(), Round: d.round}
	for _, t := range d.growers {
		r.Splits = append(r.Splits, t.done...)
	}
	return r
}

// past are the trees whose values the scores sum, none for a forest.
func (d *driver) past() []tree {
	if d.p.forest {
		return nil
	}
	return d.trees
}

// begin makes the next round: its trees, or none where only the scores are
// needed.
func (d *driver) begin() *round {
	bound := d.leaveOut()
	r := &round{First: len(d.trees), Base: d.base, Bound: bound, Spread: d.spread, Update: d.update, Changes: d.changes, Left: d.taken()}
	d.growers, d.builds, d.takes = nil, nil, nil
	if d.finished || d.measure {
		r.Stale = d.drop
		return r
	}
	r.Trees = d.p.together
	if d.p.forest {
		r.Trees = min(r.Trees, d.p.trees-r.First)
	}
	k := d.p.packing(d.g, bound)
	d.s = &searcher{p: d.p, b: d.g.bins, gUnit: d.g.unit / k.gUnit, hUnit: d.g.unit / k.hUnit, votes: d.p.votes()}
	if d.p.votes() {
		d.s.hUnit = d.g.unit / draw
	}
	d.kept = 0
	for t := range r.Trees {
		number := r.First + t
		d.growers = append(d.growers, newGrower(d.p, d.g, d.s, t, number, d.total, &d.kept, &d.spare, d.base[0]))
	}
	d.round = &round{First: r.First, Trees: r.Trees, Base: r.Base, Bound: r.Bound, Spread: r.Spread, Left: r.Left}
	return r
}

// Tell implements family.Driver.
func (d *driver) Tell(m family.Message) error {
	op := d.phase
	d.step, d.fresh = nil, false
	switch op {
	case opSketch, opSketchAll:
		return d.sketched(m.(*sketch))
	case opMeans:
		d.g, d.seen, d.phase = newGround(d.p, d.seen, m.(means), d.from), nil, opBin
	case opBin:
		d.phase = opRound
		return d.labelled(m.(*labels))
	case opRound:
		g := m.(*grown)
		d.state.Evals++
		d.scored(g)
		if d.p.open && !(d.residual < tooLarge) {
			return errDiverged()
		}
		if d.measure {
			d.measure = false
			switch {
			case d.p.square:
				d.bound = d.residual
			case d.p.follows():
				d.bound = beyond(d.residual, 0)
			}
		}
		if d.phase == 0 || len(d.growers) == 0 {
			return nil
		}
		if err := d.take(g, nil); err != nil {
			return err
		}
		return d.plan()
	case opGrow:
		for i, s := range d.splits {
			d.growers[s.Tree].counted(s.Node, m.(*grown).Rows[2*i], m.(*grown).Rows[2*i+1])
		}
		parents := map[[2]int32]int32{}
		for _, s := range d.splits {
			parents[[2]int32{s.Tree, s.Left}], parents[[2]int32{s.Tree, s.Left + 1}] = s.Node, s.Node
			t := d.growers[s.Tree]
			t.done = append(t.done, s)
		}
		if err := d.take(m.(*grown), parents); err != nil {
			return err
		}
		if err := d.growSubtrees(m.(*grown)); err != nil {
			return err
		}
		return d.plan()
	case opRenew:
		if err := d.search.tell(m.(*grown).Hist); err != nil || !d.search.done() {
			return err
		}
		return d.renewed()
	}
	return nil
}

// tooLarge is a target whose square is not far from the greatest number there is.
const tooLarge = 1e140

// sketched handles the sketch of the rows.
func (d *driver) sketched(s *sketch) error {
	if !(s.wMax > 0) {
		return pgerr.New(pgerr.InvalidParameterValue, "no row to train on has a weight above zero")
	}
	if !(max(s.yMax, -s.yMin, s.wMax) < tooLarge) {
		return pgerr.New(pgerr.NumericValueOutOfRange, "values of the target or the weights are too large to train on")
	}
	s.sample.compact(s.dense)
	if d.phase == opSketch && s.sample.cut && len(s.sample.hash) < s.sample.size {
		d.phase = opSketchAll
		return nil
	}
	if err := d.charge(0, 0); err != nil {
		return err
	}
	if !d.p.forest {
		if err := d.p.check(d.p.fitted.Label.Name, s.yMin, s.yMax); err != nil {
			return err
		}
	}
	d.low = s.yMin
	d.bound = max(s.yMax, -s.yMin) // until the mean is computed
	d.spread = s.yMax - s.yMin
	if d.p.meansLen() > 0 {
		d.seen, d.phase = s, opMeans
		return nil
	}
	d.g, d.phase = newGround(d.p, s, nil, d.from), opBin
	return nil
}

// exponent returns the least e so that 2^e is above v.
func exponent(v float64) int { _, e := math.Frexp(v); return e }

// labelled handles the sums of labels: the initial scores are the constants of
// least loss.
func (d *driver) labelled(l *labels) error {
	total := int64(0)
	for _, w := range l.Weight {
		total += w
	}
	d.total = total
	d.base = make([]float64, d.p.outputs)
	share := func(k int) float64 { return max(float64(l.Weight[k]), 0.5) / float64(total) }
	switch {
	case d.p.rank != nil:
		d.bound, d.spread = d.p.rank.bound(), 0.5
	case d.p.open:
		high := d.bound
		d.base[0] = d.p.logMean(d.g, l, total)
		d.bound = max(d.p.mostGradient(d.base[0]+d.g.low, d.low, high), d.p.mostGradient(d.base[0]+d.g.high, d.low, high))
		if d.spread = f64.Exp1(float64((2 - d.p.power) * f64.Log1(high))); !(d.bound < tooLarge && d.spread > 0) {
			return errDiverged()
		}
	case d.p.renewed != nil:
		d.bound = 1
		d.renew(nil)
	case d.p.classes == 0 && !d.p.square:
		d.base[0], d.bound = l.Y.float()/d.g.yUnit/float64(total), d.p.Objective.(objective.Bounded).Delta
	case d.p.classes == 0:
		d.base[0] = l.Y.float() / d.g.yUnit / float64(total)
		d.spread += d.g.high - d.g.low
		d.bound = d.spread // labels lie within the mean and this
	case d.p.forest:
	case d.p.classes == 2:
		d.base[0] = f64.Log1(share(1)) - f64.Log1(share(0))
	default:
		for k := range d.base {
			d.base[k] = f64.Log1(share(k))
		}
	}
	if d.p.classes > 0 {
		d.spread, d.bound = 1, 1
	}
	_, exp := math.Frexp(d.spread)
	d.spread = math.Ldexp(1, exp)
	d.residual = d.bound
	if d.from != nil {
		d.goOn()
	}
	return nil
}

// goOn continues from a model: its trees are those of a training that was interrupted, but for
// its bound of gradients, which is measured.
func (d *driver) goOn() {
	d.base, d.trees = d.from.base, d.from.treesIn(d.g.bins)
	d.before, d.from, d.search = len(d.trees), nil, nil
	d.fresh, d.measure, d.phase = true, true, opRound
}

func errDiverged() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "the training diverged: predictions left what numbers can hold").WithHint("A lower learn_rate, or a higher l2, makes shorter steps.")
}

// scored handles the losses after a round.
func (d *driver) scored(g *grown) {
	if d.p.forest {
		return
	}
	loss := func(set int) float64 {
		if g.Weight[set] == 0 {
			return family.NoLoss()
		}
		mean := g.Loss[set].float() / lossUnits * d.p.unit(d.spread) / float64(g.Weight[set])
		if d.p.square { // whose objective is half the square
			mean *= 2
		}
		return mean
	}
	if d.drop {
		d.end()
		return
	}
	d.state.TrainLoss, d.state.ValidationLoss = loss(0), loss(1)
	if set := 0; d.p.rank != nil {
		if d.p.held {
			set = 1
		}
		d.precision = precise(g.Precision[set], g.Weight[set])
	}
	rounds := len(d.trees) / d.p.outputs
	d.state.Iteration = rounds
	if v := d.state.ValidationLoss; v < d.best {
		d.best, d.bestAt, d.bestLoss, d.bestPrecision = v, rounds, d.state.TrainLoss, d.precision
	}
	d.residual = g.Residual
	if d.p.patience > 0 && d.p.held && !d.finished && rounds-d.bestAt >= d.p.patience {
		d.finished, d.state.Converged, d.state.Stopped = true, true, "early_stopping_rounds"
	}
	if d.finished {
		d.update, d.growers = nil, nil // the trees of this round are not grown
		if d.drop = d.p.patience > 0 && d.p.held && d.bestAt < rounds; !d.drop {
			d.end()
		}
	}
}

// end ends the training.
func (d *driver) end() {
	d.phase, d.state.Done = 0, true
	if d.drop {
		d.state.TrainLoss, d.state.ValidationLoss, d.precision = d.bestLoss, d.best, d.bestPrecision
	}
	if d.state.Stopped == "" { // n_estimators are grown, unless early stopping keeps fewer
		d.state.Stopped, d.state.Converged = "n_estimators", d.p.patience == 0
	}
}

// length is the number of integers of a requested histogram.
func (d *driver) length(b build) int {
	n := width(d.g, b.Cols) * d.p.channels
	if b.Wide {
		n *= 2
	}
	return n
}

// take passes histograms to the growers that requested them.
func (d *driver) take(g *grown, parents map[[2]int32]int32) error {
	at := 0
	var looks []look
	var aparts []func()
	for _, b := range d.builds {
		n := d.length(b)
		if at+n > len(g.Hist) {
			return errShape()
		}
		parent := int32(-1)
		if p, ok := parents[[2]int32{b.Tree, b.Node}]; ok {
			parent = p
		}
		l, apart := d.growers[b.Tree].built(b, parent, g.Hist[at:at+n:at+n], nil)
		looks, aparts = append(looks, l...), append(aparts, apart)
		at += n
	}
	err := d.node.Each(len(aparts), func() func(int) error {
		return func(i int) error { aparts[i](); return nil }
	})
	if err != nil {
		return err
	}
	err = d.node.Each(len(looks), func() func(int) error {
		s := d.s.alone()
		return func(i int) error { looks[i].find(s); return nil }
	})
	if err != nil {
		return err
	}
	for i := range looks {
		looks[i].keep()
	}
	g.free()
	return nil
}

// plan finds the nodes to split next, and ends the round if there are none.
func (d *driver) plan() error {
	d.splits, d.builds, d.takes = nil, nil, nil
	size, taken, lim := 0, int64(0), d.p.limits
	for _, t := range d.growers {
		for more := true; more && size < lim.step; {
			more = false
			for _, i := range t.open() {
				if size >= lim.step {
					break
				}
				if n := &t.nodes[i]; t.small(n) {
					if bytes := n.rows * rowBytes(d.p, d.g); taken == 0 || taken+bytes <= lim.taken {
						taken += bytes
						d.takes = append(d.takes, take{t.no, i, n.rows})
					}
					continue
				}
				s, builds, work := t.expand(i)
				if !work {
					more = true // the walk may go on
					continue
				}
				d.splits, d.builds = append(d.splits, s), append(d.builds, builds...)
				for _, b := range builds {
					size += width(d.g, b.Cols) * d.p.channels
				}
			}
			more = more && len(d.splits) == 0
		}
	}
	if len(d.splits)+len(d.takes) > 0 {
		d.phase = opGrow
		return d.charge(size, taken)
	}
	if d.p.renewed != nil && !d.p.forest {
		d.renew(d.growers)
		return d.charge(renewBins*len(d.search.Leaves), 0)
	}
	return d.endRound(func(t *grower) func(i int32) []float64 { return t.leafValues })
}

// endRound ends a round: values has the values of a node of a tree.
func (d *driver) endRound(values func(t *grower) func(i int32) []float64) error {
	d.update = nil
	greatest, most := 0.0, 0.0
	if t := d.p.dart; t != nil {
		grown, dropped := t.shares(len(d.left), d.p.rate)
		greatest = d.normalized(dropped)
		d.weights = append(d.weights, grown)
		values = d.shared(values, grown)
	}
	for _, t := range d.growers {
		wide, slim := t.finish(values(t))
		d.update, d.trees = append(d.update, wide), append(d.trees, slim)
		most = max(most, slim.greatest())
	}
	greatest += most
	d.growers = nil
	d.phase = opRound
	switch {
	case d.p.forest:
	case d.p.square:
		d.bound = d.residual + greatest
	case d.p.follows():
		if d.bound = beyond(d.residual, greatest); !(d.bound < tooLarge) {
			return errDiverged()
		}
	}
	d.finished = len(d.trees) >= d.before+d.p.trees*d.p.perRound()
	if d.p.forest {
		d.update = nil
		if d.state.Iteration = len(d.trees); d.finished {
			d.end()
		}
	}
	return d.charge(0, 0)
}

// charge charges the memory of the driver: bins, trees, kept histograms, and what a
// step with so many bins of histograms and so many bytes of rows adds: the unpacked
// sums of each histogram and its sibling's, and the order of the rows.
func (d *driver) charge(bins int, rows int64) error {
	n := 8*int64(d.kept+4*bins) + 2*rows + d.p.groundBytes()
	for ; d.counted < len(d.trees); d.counted++ {
		d.stored += d.trees[d.counted].bytes()
	}
	n += d.stored
	for _, t := range d.growers {
		n += int64(len(t.nodes)) * growNodeBytes
	}
	return d.charged.Set(n)
}

// perRound is the number of trees that an n_estimators of 1 makes.
func (p *problem) perRound() int {
	if p.forest {
		return 1
	}
	return p.outputs
}

// State implements family.Driver.
func (d *driver) State() family.State {
	s := d.state
	s.Metrics = d.measured()
	return s
}

// Predictor implements family.Driver.
func (d *driver) Predictor() (family.Predictor, error) {
	trees := d.trees
	if d.p.patience > 0 && d.p.held {
		trees = trees[:d.bestAt*d.p.outputs]
	}
	return newModel(d.p, d.g.bins, d.base, trees), nil
}
