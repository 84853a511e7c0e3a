package cox

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

type cox struct{}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{cox{}} }

// Info implements family.Family.
func (cox) Info() family.Info {
	return family.Info{Name: "cox_regression", Synonyms: []string{"cox", "coxph", "cox_ph", "cox_proportional_hazards"}, Task: family.TimeToEvent,
		Doc: "Cox's proportional hazards by Newton's method, with standard errors, strata and entry times. The target is the duration."}
}

const (
	entryOption  = "entry"
	strataOption = "strata"
	tiesOption   = "ties"
	tiesEfron    = "efron"
	tiesBreslow  = "breslow"
)

var coxOptions = []*family.Option{
	family.Event,
	{Names: []string{entryOption, "start", "entry_column"}, Type: "column", Default: "every row is at risk from the beginning",
		Doc: "The number column that says from when on a row is at risk: the target is when it ends. A subject whose features change has a row for each time between changes. It is not a feature; NULL counts as its mean.", Read: family.ColumnName},
	{Names: []string{strataOption, "stratum"}, Type: "column", Default: "none",
		Doc: "A column, number or text, whose values have a baseline hazard each: a row is compared with those of its stratum only. It is not a feature.", Read: family.ColumnName},
	{Names: []string{tiesOption}, Type: "text", Default: "`efron`; `breslow` of rows with weights", Doc: "How events at the same time count: `efron` or `breslow`.", Read: family.Word(tiesEfron, tiesBreslow)},
	family.MaxIterations("50", "The most steps of Newton's method."),
	family.Tolerance("1e-10", "Training ends when a step would lower the loss by less than this share of it."),
	family.L2,
}

// Options implements family.Family.
func (cox) Options() []*family.Option { return coxOptions }

// Plan implements family.Family.
func (cox) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	if o.Text(tiesOption, "") == tiesEfron && o.Given("weight") {
		return nil, pgerr.Unsupported("ties of rows with weights cannot be counted by efron").At(o.Pos(tiesOption)).WithHint("Use breslow.")
	}
	p, err := family.Regress(r, family.Plan{Scope: family.ByLeaf, Standardize: true, Categories: 1 << 10, Grain: 1 << 12, MaxIterations: o.Int("max_iterations", 50)})
	if err != nil {
		return nil, err
	}
	p.Task, p.Outputs = family.TimeToEvent, []family.Output{{Name: "risk", Type: types.Float8}}
	for _, name := range []string{entryOption, strataOption} {
		column := o.Text(name, "")
		found := column == ""
		for _, c := range r.Columns {
			if !strings.EqualFold(c.Name, column) {
				continue
			}
			switch found = true; {
			case c.Type.IsNumber():
				p.Plain = append(p.Plain, c.Name)
			case name == entryOption:
				return nil, pgerr.New(pgerr.DatatypeMismatch, "entry column %q must be of a numeric type", c.Name).OnColumn(c.Name)
			}
		}
		if !found {
			return nil, pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query, or is no feature", column).At(o.Pos(name))
		}
	}
	return p, nil
}

// problem is derived from the setup alone.
type problem struct {
	efron      bool
	dense, n   int   // number columns; parameters, some of which are of no feature
	first      []int // by code: the parameter of its category 0
	entry      int   // the dense column, -1 for none
	stratum    int   // likewise
	stratumOf  int   // the code of a stratum that is a text, -1 for none
	silent     []bool
	l2, weight float64
}

func newProblem(s *family.Setup) *problem {
	o, f := s.Options, s.Fitted
	p := layout(f, o.Text(entryOption, ""), o.Text(strataOption, ""))
	p.efron, p.l2, p.weight = o.Text(tiesOption, tiesEfron) == tiesEfron && !o.Given("weight"), o.Float("l2_reg", 0), s.Weight
	return p
}

// layout finds the columns.
func layout(f *feature.Fitted, entry, strata string) *problem {
	p := &problem{dense: f.Dense, n: f.Params(), entry: -1, stratum: -1, stratumOf: -1, silent: make([]bool, f.Params())}
	slots, at := f.Slots(), f.Dense
	for j, s := range slots[:f.Dense] {
		if entry != "" && strings.EqualFold(s.Column, entry) {
			p.entry, p.silent[j] = j, true
		}
		if strata != "" && strings.EqualFold(s.Column, strata) {
			p.stratum, p.silent[j] = j, true
		}
	}
	for k, count := range f.CodeSlots() {
		p.first = append(p.first, at)
		for i := range count {
			if strata != "" && strings.EqualFold(slots[at+i].Column, strata) {
				p.stratumOf, p.silent[at+i] = k, true
			}
		}
		at += count
	}
	return p
}

// columns calls f with the features of row i of a block that are not 0.
func (p *problem) columns(b *block.Block, i int, f func(j int, x float64)) {
	for j := range p.dense {
		if x := b.Value(i, j); x != 0 && !p.silent[j] {
			f(j, x)
		}
	}
	for k := range b.Codes {
		if c := b.CodeAt(i, k); c >= 0 && k != p.stratumOf {
			if j := p.dense + int(c); j < p.n && !p.silent[j] {
				f(j, 1)
			}
		}
	}
}

// score is xβ.
func (p *problem) score(b *block.Block, i int, theta []float64) (z float64) {
	p.columns(b, i, func(j int, x float64) { z += float64(theta[j] * x) })
	return z
}

// key is the stratum of a row.
func (p *problem) key(b *block.Block, i int) float64 {
	switch {
	case p.stratum >= 0:
		return b.Value(i, p.stratum)
	case p.stratumOf >= 0:
		return float64(b.CodeAt(i, p.stratumOf))
	}
	return 0
}

// begin is when a row begins to be at risk; ok is false where it is from the beginning.
func (p *problem) begin(b *block.Block, i int) (t float64, ok bool) {
	if p.entry < 0 {
		return 0, false
	}
	return b.Value(i, p.entry), true
}

// NewDriver implements family.Family.
func (cox) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) { return newDriver(s, n) }

// NewWorker implements family.Family.
func (cox) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{p: newProblem(s), rows: s.Rows + s.Held}, nil
}

// DecodeStep implements family.Family.
func (cox) DecodeStep(op uint8, d *canon.D) family.Message {
	if op < opRisks || op > opPairs {
		d.Fail()
	}
	return canon.Get[request](d)
}

// DecodePartial implements family.Family.
func (cox) DecodePartial(op uint8, d *canon.D) family.Message {
	switch op {
	case opTimes:
		return canon.Get[events](d)
	case opRisks, opCurvature:
		return canon.Get[sums](d)
	case opPairs:
		return canon.Get[durations](d)
	}
	d.Fail()
	return &sums{}
}

// Merge implements family.Family.
func (cox) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	switch a := left.(type) {
	case *events:
		if b, ok := right.(*events); ok {
			return a.merge(b)
		}
	case *sums:
		if b, ok := right.(*sums); ok && len(a.V) == len(b.V) {
			for i, v := range b.V {
				a.V[i] += v
			}
			return a, nil
		}
	case *durations:
		if b, ok := right.(*durations); ok {
			a.Rows = append(a.Rows, b.Rows...)
			return a, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
}

// exponent is the greatest score, so that no sum of e^score is infinite.
const exponent = 600

func risk(z float64) float64 { return math.Min(math.Max(z, -exponent), exponent) }
