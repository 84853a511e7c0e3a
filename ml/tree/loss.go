package tree

import (
	"math"
	"strconv"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// loss is what boosting minimises. What trees are grown by is its gradients and curvatures; it
// says how large these are, and what else becomes of them.
type loss struct {
	objective.Objective
	square bool     // gradients are residuals; twice the loss is reported, as by other families
	flat   bool     // curvatures are 1 a row
	open   bool     // gradients and curvatures are not of the size that the targets give
	rank   *ranking // of rows that are ranked; nil for others
	power  float64
	meaning
	// By output: the leaves' values are these quantiles of their rows' residuals, as LightGBM
	// has it, since gradients that are all alike say nothing of how far to go.
	renewed []float64
}

const (
	objectiveOption = "objective"
	alphaOption     = "quantile_alpha"
	deltaOption     = "huber_delta"
	powerOption     = "tweedie_variance_power"
)

// lossOptions are the options of boosting that choose the loss.
var lossOptions = []*family.Option{
	{Names: []string{objectiveOption, "loss"}, Type: "text", Default: "`squared_error` for numbers, `log_loss` for classes",
		Doc: "The loss. Of numbers `squared_error`; `absolute_error`; `huber`; `quantile`; with the link log `poisson` for counts, `gamma` for amounts, `tweedie` for amounts of which many are 0. Of degrees of relevance, 0 and up, `lambdarank` with `query_id`. Names of XGBoost, LightGBM and scikit-learn do too.",
		Read: family.Word("squared_error|reg:squarederror|reg:linear|regression|regression_l2|l2|mean_squared_error|mse|least_squares|ls",
			"absolute_error|reg:absoluteerror|regression_l1|l1|mean_absolute_error|mae|lad|least_absolute_deviation",
			"huber", "quantile|reg:quantileerror", "poisson|count:poisson", "gamma|reg:gamma", "tweedie|reg:tweedie", lambdarank+"|rank:ndcg",
			"log_loss|binary:logistic|binary|logistic|cross_entropy|binary_crossentropy|categorical_crossentropy|multi:softprob|multi:softmax|multiclass|softmax|deviance")},
	{Names: []string{alphaOption, "quantile", "quantiles"}, Type: "number or list", Default: "0.5",
		Doc: "Which quantiles `objective = 'quantile'` learns, ascending. A prediction is that next to the median, and `ml.predict` has a column for each of several.", Read: readQuantiles},
	{Names: []string{deltaOption, "huber_slope"}, Type: "number", Default: "1", Doc: "Errors beyond it count linearly to `objective = 'huber'`.", Read: family.Positive},
	{Names: []string{powerOption, "power"}, Type: "number", Default: "1.5",
		Doc: "The variance of `objective = 'tweedie'` grows as the mean to this power: nearer to 1 as counts, nearer to 2 as amounts.", Read: family.Interval("(1, 2)")},
}

// readQuantiles reads one quantile or a list.
func readQuantiles(v family.Value) (any, error) {
	list := []types.Datum{v.Value}
	if a, ok := v.Value.(types.Array); ok {
		list = a.Elems
	}
	one := family.Interval("(0, 1)")
	out := []float64{}
	for _, d := range list {
		f, err := one(family.Value{Arg: family.Arg{Name: v.Name, Value: d, Pos: v.Pos}})
		if err != nil || len(out) > 0 && f.(float64) <= out[len(out)-1] || len(out) == mostQuantiles {
			return nil, v.Bad("a number between 0 and 1, or an ascending list of them")
		}
		out = append(out, f.(float64))
	}
	if len(out) == 0 {
		return nil, v.Bad("a number between 0 and 1, or an ascending list of them")
	}
	return out, nil
}

// mostQuantiles bounds the outputs of a model of quantiles.
const mostQuantiles = 100

// poissonStep is what curvatures of counts are multiplied by, so that steps stay short (XGBoost's
// and LightGBM's max_delta_step of 0.7).
const poissonStep = 0.7

// newLoss makes the loss that the options and the number of classes say.
func newLoss(o *family.Values, classes int) loss {
	switch {
	case classes > 2:
		return loss{Objective: objective.Softmax{K: classes}}
	case classes == 2:
		return loss{Objective: objective.Logistic{}}
	}
	switch o.Text(objectiveOption, "") {
	case "absolute_error":
		return loss{Objective: objective.Absolute{}, flat: true, renewed: []float64{0.5}}
	case "quantile":
		taus := o.Floats(alphaOption, []float64{0.5})
		l := loss{Objective: objective.Pinball{Taus: taus}, flat: true, renewed: taus}
		if len(taus) > 1 {
			l.taus = taus
		}
		return l
	case "huber":
		return loss{Objective: objective.Bounded{Delta: o.Float(deltaOption, 1)}, flat: true}
	case "poisson":
		return logLoss(1)
	case "gamma":
		return logLoss(2)
	case lambdarank:
		r := newRanking(o)
		return loss{Objective: r, open: true, rank: r}
	case "tweedie":
		return logLoss(o.Float(powerOption, 1.5))
	}
	return loss{Objective: objective.Squared{}, square: true, flat: true}
}

func logLoss(power float64) loss {
	l := observed{Tweedie: objective.Tweedie{Power: power}, step: 1}
	if power == 1 {
		l.step = f64.Exp1(poissonStep)
	}
	return loss{Objective: l, open: true, power: power, meaning: meaning{log: true}}
}

// observed is Tweedie's loss with the second derivatives that the rows have, instead of those
// that they are expected to have: where the mean is far off the expected ones of Gamma's would
// be many times too small.
type observed struct {
	objective.Tweedie
	step float64
}

// Pass implements objective.Objective.
func (o observed) Pass(z, h, l, y, w []float64) {
	o.Tweedie.Pass(z, h, l, y, w)
	q := 1 - o.Power
	for i, g := range z { // g = μ^(2-p) - y·μ^(1-p), and h was the former
		h[i] = float64(o.step * (h[i] + float64(q*g)))
	}
}

// planLoss checks the options of the loss and says what a request asks for.
func planLoss(r *family.Request) (task family.Task, more []family.Output, err error) {
	o := r.Options
	word := o.Text(objectiveOption, "")
	err = o.Fit(
		family.Unfit{Option: alphaOption, Why: "It is for objective quantile.", If: word != "quantile"},
		family.Unfit{Option: deltaOption, Why: "It is for objective huber.", If: word != "huber"},
		family.Unfit{Option: powerOption, Why: "It is for objective tweedie.", If: word != "tweedie"},
		family.Unfit{Option: family.QueryID.Names[0], Why: "It is for objective lambdarank.", If: word != lambdarank},
		family.Unfit{Option: truncationOption, Why: "It is for objective lambdarank.", If: word != lambdarank},
		family.Unfit{Option: normOption, Why: "It is for objective lambdarank.", If: word != lambdarank},
		family.Unfit{Option: placesOption, Why: "It is for objective lambdarank.", If: word != lambdarank},
		family.Unfit{Option: monotoneOption, Why: "Leaves of objective " + word + " are quantiles of their rows, which a split does not bound.", If: word == "quantile" || word == "absolute_error"},
		family.Unfit{Option: "l1", Why: "Leaves of objective " + word + " are quantiles of their rows, which no penalty shrinks.", If: word == "quantile" || word == "absolute_error"},
	)
	if err != nil || word == "" {
		return r.Task, nil, err
	}
	if task = family.Regression; word == "log_loss" {
		task = family.Classification
	}
	if r.Task != "" && r.Task != task {
		return "", nil, pgerr.New(pgerr.InvalidParameterValue, "option %q does not fit here", objectiveOption).At(o.Pos(objectiveOption)).
			WithDetail("Objective %s is for %s, and the name of the algorithm asks for %s.", word, task, r.Task)
	}
	if word == lambdarank && r.Target != nil && !r.Target.Type.IsNumber() {
		return "", nil, pgerr.New(pgerr.DatatypeMismatch, "objective lambdarank needs a target of numbers, and column %q is none", r.Target.Name).OnColumn(r.Target.Name).
			WithHint("Labels are degrees of relevance: whole numbers from 0, not relevant, to %d.", metric.MostRelevant)
	}
	if taus := o.Floats(alphaOption, nil); len(taus) > 1 {
		for _, tau := range taus {
			more = append(more, family.Output{Name: "quantile_" + tauText(tau), Type: types.Float8})
		}
	}
	return task, more, nil
}

func tauText(tau float64) string { return strconv.FormatFloat(tau, 'f', -1, 64) }

// unit is the unit of losses, about the greatest, of targets that are spread so far.
func (l *loss) unit(spread float64) float64 {
	switch o := l.Objective.(type) {
	case objective.Squared:
		return spread * spread
	case objective.Bounded:
		return spread * min(spread, o.Delta)
	}
	return spread
}

// mostGradient is about the greatest gradient and curvature of targets from low to high at the
// margin from which boosting begins.
func (l *loss) mostGradient(base, low, high float64) float64 {
	var z, h, y, w, unused [f64.Lanes]float64
	for i := range z {
		z[i], y[i], w[i] = base, high, 1
	}
	y[0] = low
	l.Pass(z[:], h[:], unused[:], y[:], w[:])
	return slack * max(math.Abs(z[0])+h[0], math.Abs(z[1])+h[1])
}

// size is what beyond needs of a row's gradient and curvature.
func (l *loss) size(g, h float64) float64 {
	if l.open {
		return math.Abs(g) + h
	}
	return math.Abs(g)
}

// follows reports whether the bound of gradients follows from round to round.
func (l *loss) follows() bool { return l.open && l.rank == nil }

// slack is how many times the sum of a row's gradient and curvature may be below each term of
// them: a difference of two exponentials may be small while they are large.
const slack = 8

// beyond is the bound of gradients and curvatures once margins have changed by at most by, of
// those that were at most so large: each exponential grows by e^by at most.
func beyond(most, by float64) float64 { return float64(slack*most) * f64.Exp1(min(by, 700)) }

// check returns an error for targets outside of the loss's domain.
func (l *loss) check(label string, low, high float64) error {
	if o, ok := l.Objective.(observed); ok {
		return o.Check(label, "objective "+o.Name(), low, high)
	}
	return nil
}

// meaning says what margins are, for predictions: nothing more of the usual losses.
type meaning struct {
	log  bool
	taus []float64 // several quantiles, an output each; nil for one
	// The dense column that is added to margins, counted from 1; 0 for none.
	offset int
}

// middle is the output that stands for the others: of quantiles the one next to the median.
func (m meaning) middle() int {
	best := 0
	for k, tau := range m.taus {
		if math.Abs(tau-0.5) < math.Abs(m.taus[best]-0.5) {
			best = k
		}
	}
	return best
}

// encode writes it, where there is something to say, at the end of a model.
func (m meaning) encode(e *canon.E) {
	if m.log || m.taus != nil || m.offset > 0 {
		e.Bool(m.log)
		e.F64s(m.taus)
		e.Int(m.offset)
	}
}

func decodeMeaning(d *canon.D, dense int) (m meaning) {
	if d.Left() > 0 {
		m.log, m.taus, m.offset = d.Bool(), d.F64s(), d.Int()
	}
	if m.offset < 0 || m.offset > dense {
		d.Fail()
	}
	for k, tau := range m.taus {
		if !(tau > 0 && tau < 1) || k > 0 && tau <= m.taus[k-1] || m.log {
			d.Fail()
		}
	}
	return m
}

// link makes predictions of margins, output by output, in place.
func (m meaning) link(margins [][]float64, n, classes int) *family.Scores {
	s := &family.Scores{Rows: n}
	switch {
	case m.log:
		objective.Tweedie{}.Link(margins[0], n)
		s.Value = margins[0]
	case m.taus != nil:
		s.Value, s.Extra = margins[m.middle()], margins
	case classes == 0:
		s.Value = margins[0]
	case classes == 2:
		sigmoid(margins[0])
		s.Probs = [][]float64{nil, margins[0]}
	default:
		softmax(margins)
		s.Probs = margins
	}
	return s
}
