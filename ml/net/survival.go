package net

import (
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// survival is the family of models of the time to an event. A net, without hidden
// layers a linear one, computes the log of a row's relative hazard (Cox 1972), or that
// event's log-odds in each of some intervals, given that it did not happen before
// (Gensheimer and Narasimhan 2019).
type survival struct{}

// The methods, and the treatments of ties.
const (
	methodCox    = "cox"
	methodHazard = "hazard"
	tiesEfron    = "efron"
	tiesBreslow  = "breslow"
)

const (
	maxTimes     = 1 << 20 // distinct times of events
	maxIntervals = 1000
)

// Info implements family.Family.
func (survival) Info() family.Info {
	return family.Info{Name: "time_to_event", Synonyms: []string{"survival"}, Task: family.TimeToEvent,
		Doc: "Survival analysis: how soon an event happens, learnt from rows of which some were observed only for a time without the event. The target is the duration."}
}

var survivalOptions = []*family.Option{
	family.Event,
	{Names: []string{"method"}, Type: "text", Default: "`cox`",
		Doc: "`cox`: proportional hazards by the partial likelihood, over all rows at risk. `hazard`: the probability of the event in each interval.", Read: family.Word(methodCox, methodHazard)},
	{Names: []string{"ties"}, Type: "text", Default: "`efron`; `breslow` of rows with weights",
		Doc: "How events at the same time count in `cox`: `efron` or `breslow`.", Read: family.Word(tiesEfron, tiesBreslow)},
	{Names: []string{"intervals"}, Type: "integer or numbers", Default: "10",
		Doc: "The intervals of `hazard`: how many, between quantiles of the times of events, or where they end.", Read: readIntervals},
	{Names: []string{"optimizer", "solver", "optimize_strategy"}, Type: "text", Default: "`lbfgs`", Doc: "How the loss is minimised: `lbfgs`, or by mini-batches `sgd`, `momentum`, `adam`; in `cox` a mini-batch has all rows.",
		Read: family.Word("lbfgs", "adam", "sgd", "momentum")},
	family.LearnRate("0.01; 0.001 for `adam`", "The length of a step along the gradient, for mini-batches."),
	family.MaxIterations("100", "The most iterations; with mini-batches an iteration is a pass over the rows."),
	family.Tolerance("1e-5; 0 for mini-batches", "Training ends when the gradient is this much shorter than the first one."),
	{Names: family.BatchSize.Names, Type: "integer", Default: "1024", Doc: "The rows of a mini-batch of `hazard`.", Read: family.BatchSize.Read},
}

// readIntervals reads a number n of intervals, kept as {0, n}, or their ends.
func readIntervals(v family.Value) (any, error) {
	const want = "an integer from 1 to 1000, or a list of at most as many ascending numbers above 0"
	a, list := v.Value.(types.Array)
	if !list {
		n, err := family.Integer(1, maxIntervals)(v)
		if err != nil {
			return nil, v.Bad(want)
		}
		return []float64{0, n.(float64)}, nil
	}
	var ends []float64
	for _, d := range a.Elems {
		f, ok := types.Float(d)
		if !ok {
			return nil, v.Bad(want)
		}
		ends = append(ends, f)
	}
	if !validEnds(ends) {
		return nil, v.Bad(want)
	}
	return ends, nil
}

// validEnds reports whether these may be the ends of intervals.
func validEnds(ends []float64) bool {
	last := 0.0
	for _, e := range ends {
		if !(e > last) || e-e != 0 {
			return false
		}
		last = e
	}
	return len(ends) > 0 && len(ends) <= maxIntervals
}

// Options implements family.Family.
func (survival) Options() []*family.Option {
	out := append(hiddenOptions("none: a linear model", "The units of each hidden layer."), survivalOptions...)
	for _, name := range []string{"activation", "layer_norm", "embedding", "l2_reg"} {
		out = append(out, family.Find(options, name))
	}
	return out
}

// Plan implements family.Family.
func (survival) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	method, mini := o.Text("method", methodCox), o.Text("optimizer", "lbfgs") != "lbfgs"
	for _, c := range []struct {
		option, why string
		bad         bool
	}{
		{"intervals", "It is for the method hazard.", method != methodHazard},
		{"ties", "It is for the method cox.", method != methodCox},
		{"batch_size", "It is for the method hazard: cox compares each event with all rows at risk.", method != methodHazard},
		{"batch_size", "It is for the optimizers sgd, momentum and adam.", !mini},
		{"learn_rate", "It is for the optimizers sgd, momentum and adam.", !mini},
	} {
		if c.bad && o.Given(c.option) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q does not fit here", c.option).At(o.Pos(c.option)).WithDetail("%s", c.why)
		}
	}
	if o.Text("ties", "") == tiesEfron && o.Given("weight") {
		return nil, pgerr.Unsupported("ties of rows with weights cannot be counted by efron").At(o.Pos("ties")).WithHint("Use breslow.")
	}
	p, err := family.Regress(r, family.Plan{Scope: family.ByLeaf, Standardize: true, Narrow: true, Categories: 1 << 13, Grain: 16 * microRows, Silence: true, MaxIterations: o.Int("max_iterations", 100)})
	if err != nil {
		return nil, err
	}
	p.Task, p.Outputs = family.TimeToEvent, []family.Output{{Name: "risk", Type: types.Float8}}
	return p, nil
}

// efron returns how ties count.
func efron(o *family.Values) bool {
	def := tiesEfron
	if o.Given("weight") {
		def = tiesBreslow
	}
	return o.Text("ties", def) == tiesEfron
}

// survivalSpec is the net of some options.
func survivalSpec(o *family.Values) *spec {
	s := &spec{activation: o.Text("activation", relu), layerNorm: o.Bool("layer_norm", false), embedding: o.Int("embedding", 0), loss: lossMSE, delta: 1}
	for _, n := range o.Floats("hidden_units", nil) {
		s.hidden = append(s.hidden, int(n))
	}
	return s
}

// DecodeStep implements family.Family.
func (survival) DecodeStep(op uint8, d *canon.D) family.Message {
	if op < opRisks || op > opPairs {
		d.Fail()
	}
	return canon.Get[survivalRequest](d)
}

// DecodePartial implements family.Family.
func (survival) DecodePartial(op uint8, d *canon.D) family.Message {
	switch op {
	case opTimes:
		return decodeTimeline(d)
	case opRisks:
		return decodeRisks(d)
	case opSlopes, opHazards, opHazardLoss:
		return canon.Get[slopes](d)
	case opPairs:
		return canon.Get[concordanceRows](d)
	}
	d.Fail()
	return &slopes{}
}

// Merge implements family.Family.
func (survival) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	switch a := left.(type) {
	case *timeline:
		if b, ok := right.(*timeline); ok {
			return a.merge(b)
		}
	case *risks:
		if b, ok := right.(*risks); ok {
			return a.merge(b), nil
		}
	case *slopes:
		if b, ok := right.(*slopes); ok && len(a.Grad) == len(b.Grad) {
			return a.merge(b), nil
		}
	case *concordanceRows:
		if b, ok := right.(*concordanceRows); ok {
			a.Rows = append(a.Rows, b.Rows...)
			return a, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
}

// Decode implements family.Family.
func (survival) Decode(fit *feature.Fitted, d *canon.D) (family.Predictor, error) {
	hazard, sp := d.Bool(), decodeSpec(d)
	times, base, params := d.F64s(), d.F64s(), d.F32s()
	bad := !d.OK() || sp.loss != lossMSE
	if hazard {
		bad = bad || !validEnds(times) || base != nil
	} else {
		bad = bad || len(times) == 0 || len(times) > maxTimes || len(base) != len(times) || !slices.IsSorted(times) || !slices.IsSorted(base) || !(base[0] >= 0) || !(times[0] >= 0)
	}
	for _, v := range slices.Concat(times, base) {
		bad = bad || v-v != 0
	}
	for _, v := range params {
		bad = bad || v-v != 0
	}
	if bad {
		d.Fail()
		return nil, d.Done("a model of times")
	}
	n := sp.build(fit, survivalOutputs(hazard, times))
	if n.params() != len(params) {
		d.Fail()
		return nil, d.Done("a model of times")
	}
	return newSurvivalPredictor(n, sp, fit, hazard, times, base, params), nil
}

// survivalOutputs returns how many numbers the net computes for a row.
func survivalOutputs(hazard bool, ends []float64) int {
	if hazard {
		return len(ends)
	}
	return 1
}
