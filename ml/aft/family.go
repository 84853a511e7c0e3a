package aft

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type aft struct{}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{aft{}} }

// Info implements family.Family.
func (aft) Info() family.Info {
	return family.Info{Name: "aft", Synonyms: []string{"aft_regression", "aft_survival_regression", "accelerated_failure_time", "survival_regression"}, Task: family.TimeToEvent,
		Doc: "Accelerated failure time by Newton's method, with standard errors: Weibull, log-normal or log-logistic durations. The target is the duration."}
}

const (
	distributionOption = "distribution"
	quantilesOption    = "quantiles"
)

var aftOptions = []*family.Option{
	family.Event,
	{Names: []string{distributionOption, "aft_loss_distribution"}, Type: "text", Default: "`weibull`", Doc: "How durations of equal rows are distributed: `weibull`, `lognormal` or `loglogistic`. XGBoost's names `extreme`, `normal` and `logistic` are taken too.",
		Read: family.Word(weibull+"|extreme", lognormal+"|normal|log_normal", loglogistic+"|logistic|log_logistic")},
	{Fixed: true, Names: []string{quantilesOption, "quantile_probabilities"}, Type: "list", Default: "0.1, 0.9", Doc: "`ml.predict` shows the times by which these shares have had the event.", Read: readShares},
	family.MaxIterations("50", "The most steps of Newton's method."),
	family.Tolerance("1e-10", "Training ends when a step would lower the loss by less than this share of it."),
	family.L2,
}

// mostQuantiles is how many a model shows at most.
const mostQuantiles = 100

// readShares reads numbers between 0 and 1, alone or as a list.
func readShares(v family.Value) (any, error) {
	list := []types.Datum{v.Value}
	if a, ok := v.Value.(types.Array); ok {
		list = a.Elems
	}
	var out []float64
	for _, e := range list {
		x, ok := types.Float(e)
		if !ok || !(x > 0 && x < 1) {
			out = nil
			break
		}
		out = append(out, x)
	}
	if len(out) == 0 || len(out) > mostQuantiles {
		return nil, v.Bad("numbers between 0 and 1")
	}
	return out, nil
}

// Options implements family.Family.
func (aft) Options() []*family.Option { return aftOptions }

// Plan implements family.Family.
func (aft) Plan(r *family.Request) (*family.Plan, error) {
	p, err := family.Regress(r, family.Plan{Scope: family.ByLeaf, Standardize: true, Categories: 1 << 10, Grain: 1 << 12, MaxIterations: r.Options.Int("max_iterations", 50)})
	if err != nil {
		return nil, err
	}
	p.Task = family.TimeToEvent
	p.Outputs = append(p.Outputs, family.Output{Name: "predicted_" + r.Target.Name + "_mean", Type: types.Float8})
	seen := map[string]bool{}
	for _, q := range shares(r.Options) {
		name := fmt.Sprintf("predicted_%s_p%s", r.Target.Name, strings.ReplaceAll(strconv.FormatFloat(q*100, 'g', 10, 64), ".", "_"))
		if seen[name] {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q has %v twice", quantilesOption, q).At(r.Options.Pos(quantilesOption))
		}
		seen[name] = true
		p.Outputs = append(p.Outputs, family.Output{Name: name, Type: types.Float8})
	}
	return p, nil
}

func shares(o *family.Values) []float64 { return o.Floats(quantilesOption, []float64{0.1, 0.9}) }

// problem is derived from the setup alone. The parameters are those of the features, the intercept, all divided by
// the scale, and the inverse of the scale.
type problem struct {
	dist       *distribution
	dense, n   int // number columns; features' parameters
	l2, weight float64
}

// size is the number of parameters.
func (p *problem) size() int { return p.n + 2 }

func newProblem(s *family.Setup) *problem {
	return &problem{dist: find(s.Options.Text(distributionOption, weibull)), dense: s.Fitted.Dense, n: s.Fitted.Params(), l2: s.Options.Float("l2_reg", 0), weight: s.Weight}
}

// columns calls f with the features of row i of a block that are not 0.
func (p *problem) columns(b *block.Block, i int, f func(j int, x float64)) {
	for j := range p.dense {
		if x := b.Value(i, j); x != 0 {
			f(j, x)
		}
	}
	for k := range b.Codes {
		if c := b.CodeAt(i, k); c >= 0 {
			if j := p.dense + int(c); j < p.n {
				f(j, 1)
			}
		}
	}
}

// NewDriver implements family.Family.
func (aft) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) { return newDriver(s, n) }

// NewWorker implements family.Family.
func (aft) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{newProblem(s)}, nil
}

// DecodeStep implements family.Family.
func (aft) DecodeStep(op uint8, d *canon.D) family.Message {
	if op > opNewton {
		d.Fail()
	}
	return canon.Get[point](d)
}

// DecodePartial implements family.Family.
func (aft) DecodePartial(op uint8, d *canon.D) family.Message {
	if op > opNewton {
		d.Fail()
	}
	return canon.Get[sums](d)
}

// Merge implements family.Family.
func (aft) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	a, ok := left.(*sums)
	b, same := right.(*sums)
	if !ok || !same || len(a.V) != len(b.V) {
		return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	f64.Add(a.V, b.V)
	return a, nil
}
