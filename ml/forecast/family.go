package forecast

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// method is how a family fits a series and continues it.
type method struct {
	info    family.Info
	options []*family.Option
	// begin starts to fit a series with seasons of so many steps.
	begin func(s *series, period int, o *family.Values) (fit, error)
	// check checks the family's own options against each other; nil for none.
	check      func(o *family.Values) error
	regressors bool  // other columns than the time add to the value
	workBytes  int64 // that fitting needs a step
}

// Info implements family.Family.
func (m *method) Info() family.Info { return m.info }

// Names of options.
const (
	periodsOption = "seasonal_periods"
	horizonOption = "horizon"
	gapsOption    = "fill_gaps"
)

// shared are the options of all families here.
var shared = []*family.Option{
	family.OrderBy,
	family.SeriesID,
	{Names: []string{periodsOption, "season_length", "sp"}, Type: "integer", Default: "of hours 24, days 7, months 12, quarters 4, else 1; 1 of less than two seasons",
		Doc: "How many steps a season has; 1 for no season.", Read: family.Integer(1, mostPeriod)},
	{Names: []string{horizonOption}, Type: "integer", Default: "a season, or 10 without one", Doc: "How many steps `ml.forecast` continues the series where it is not told.", Read: family.Integer(1, mostHorizon)},
	{Names: []string{gapsOption}, Type: "text", Default: "`none`: they are an error",
		Doc: "What stands in steps that have no row: `linear`, between the neighbours; `previous`, the value before; `zero`.", Read: family.Word("none", gapsLinear+"|interpolate", gapsPrevious+"|ffill", gapsZero)},
	{Names: []string{"data_frequency", "freq"}, Type: "text", Doc: "Not supported: the step is that of the times, as of AUTO_FREQUENCY. Leave it out."},
}

// Options implements family.Family.
func (m *method) Options() []*family.Option { return m.options }

// Plan implements family.Family.
func (m *method) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	names := o.Texts(family.OrderBy.Names[0], nil)
	if len(names) != 1 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "a series needs one column of times").At(o.Pos(family.OrderBy.Names[0])).
			WithHint("Name it: order_by = 'day'.")
	}
	const why = "A series is fitted as a whole, each of its steps counting alike."
	var unfit []family.Unfit
	for _, name := range []string{"weight", "data_split_eval_fraction", "data_split_col", "cross_validation", "standardize", "max_categories", "precision", "nan_as_null"} {
		unfit = append(unfit, family.Unfit{Option: name, Why: why, If: true})
	}
	unfit = append(unfit, family.Unfit{Option: "data_split_method", Why: why, If: o.Text("data_split_method", "no_split") != "no_split"})
	if err := o.Fit(unfit...); err != nil {
		return nil, err
	}
	if m.check != nil {
		if err := m.check(o); err != nil {
			return nil, err
		}
	}
	p, err := family.Regress(r, family.Plan{Scope: family.ByNode, KeepMissing: true, Time: names[0], Regressors: m.regressors})
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(names[0], r.Target.Name) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "column %q cannot be both target and %s", r.Target.Name, family.OrderBy.Names[0]).At(o.Pos(family.OrderBy.Names[0]))
	}
	p.Task = family.Forecasting
	return p, nil
}

// NewDriver implements family.Family.
func (m *method) NewDriver(s *family.Setup, n *family.Node) (family.Driver, error) {
	if n := width(s.Fitted); n > mostRegressors {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a series has %d regressors, and at most %d are possible", n, mostRegressors).
			WithHint("A category of a text is one of them.")
	}
	return &driver{method: m, set: s, charge: n.Charge(), state: family.State{TrainLoss: family.NoLoss(), ValidationLoss: family.NoLoss()}}, nil
}

// NewWorker implements family.Family.
func (m *method) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{rows: s.Rows, time: timePlace(s), width: width(s.Fitted)}, nil
}

// DecodeStep implements family.Family.
func (m *method) DecodeStep(_ uint8, d *canon.D) family.Message {
	d.Fail() // steps have no body
	return &pairs{}
}

// DecodePartial implements family.Family.
func (m *method) DecodePartial(_ uint8, d *canon.D) family.Message {
	p := canon.Get[pairs](d)
	if d.Left() > 0 {
		p.x = d.F64s()
	}
	if n := len(p.Times); n != len(p.Values) || n == 0 && len(p.x) > 0 || n > 0 && len(p.x)%n != 0 {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (m *method) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	a, ok := left.(*pairs)
	b, ok2 := right.(*pairs)
	if !ok || !ok2 {
		return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	return a.merge(b)
}

// Decode implements family.Family.
func (m *method) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p := decodeForecaster(d)
	if len(f.Cols) == 0 {
		d.Fail()
	}
	if !d.OK() {
		return nil, d.Done("a forecasting model")
	}
	time := f.Cols[0].Name
	for _, c := range f.Cols {
		if c.Encoder == feature.Instant {
			time = c.Name
		}
	}
	if p.of(f, time); p.regressors() && len(p.arima.Weights) != width(f) {
		d.Fail()
		return nil, d.Done("a forecasting model")
	}
	return p, nil
}

// mostRegressors is how many parameters of regressors a series may have.
const mostRegressors = 500

// width is how many parameters of regressors there are: all but that of the time.
func width(f *feature.Fitted) int { return f.Params() - 1 }

// timePlace is the parameter that is the time.
func timePlace(s *family.Setup) int {
	return slices.IndexFunc(s.Fitted.Slots(), func(x feature.Slot) bool { return strings.EqualFold(x.Column, s.Plan.Time) })
}
