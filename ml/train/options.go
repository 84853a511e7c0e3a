package train

import (
	"fmt"
	"math"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Optimizer names an optimiser.
type Optimizer uint8

// The optimisers.
const (
	AutoOptimizer Optimizer = iota
	LBFGS
	Newton
	GradientDescent
	SGD
	Momentum
	Adam
)

var optimizerNames = []struct {
	name string
	o    Optimizer
}{
	{"auto", AutoOptimizer}, {"auto_strategy", AutoOptimizer}, {"lbfgs", LBFGS}, {"newton", Newton}, {"irls", Newton}, {"normal_equation", Newton},
	{"gd", GradientDescent}, {"batch_gradient_descent", GradientDescent}, {"sgd", SGD}, {"momentum", Momentum}, {"adam", Adam},
}

// String is the optimiser's plainest name.
func (o Optimizer) String() string {
	name := ""
	for _, n := range optimizerNames {
		if n.o == o && name == "" {
			name = n.name
		}
	}
	return name
}

func (o Optimizer) stochastic() bool { return o >= SGD }

// Split says which rows are held out for validation.
type Split uint8

// The splits.
const (
	NoSplit Split = iota
	RandomSplit
	AutoSplit
)

// Precision is how features are kept.
type Precision uint8

// The precisions.
const (
	AutoPrecision Precision = iota
	Float32
	Float64
)

// Options are what a TRAIN statement asks for. Parse makes them; the zero value
// is not usable.
type Options struct {
	Algorithm       model.Kind // 0: not given
	Label           string     // "": not given
	WeightColumn    string
	Optimizer       Optimizer
	MaxIterations   int
	Tolerance       float64 // NaN: the optimiser's default
	LearnRate       float64 // 0: the optimiser's default
	ConstantRate    bool
	BatchSize       int
	L2              float64 // NaN: not given; C or Alpha may be
	C, Alpha        float64
	EarlyStop       bool
	MinRelProgress  float64
	Split           Split
	EvalFraction    float64
	Balanced        bool // class weights
	Standardize     bool
	Intercept       bool
	Seed            uint64
	CheckpointEvery int
	Precision       Precision

	earlyStopGiven, progressGiven, splitGiven, fractionGiven bool
}

// Arg is an option as the statement has it: a literal, or a word as a string.
type Arg struct {
	Name  string
	Value types.Datum
	Pos   int
}

func defaults() Options {
	return Options{MaxIterations: 0, Tolerance: math.NaN(), L2: math.NaN(), C: math.NaN(), Alpha: math.NaN(), MinRelProgress: 0.01, EvalFraction: 0.2,
		Standardize: true, Intercept: true, CheckpointEvery: 10, BatchSize: 1024}
}

// Parse reads options. Unknown ones are an error (22023) that lists those there
// are; known ones that cannot be done are 0A000.
func Parse(args []Arg) (*Options, error) {
	o := defaults()
	given := map[*optionDef]string{}
	for _, a := range args {
		d := findOption(a.Name)
		if d == nil {
			return nil, errUnknown(a)
		}
		if first, twice := given[d]; twice {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q is given twice", d.names[0]).At(a.Pos).
				WithDetail("It was given as %q and as %q.", first, a.Name)
		}
		given[d] = a.Name
		if d.set == nil {
			return nil, pgerr.Unsupported("option %q is not supported", a.Name).At(a.Pos).WithHint("%s", optionHint())
		}
		if err := d.set(&o, value{a}); err != nil {
			return nil, err
		}
	}
	return &o, o.settle()
}

// settle checks options against each other.
func (o *Options) settle() error {
	n := 0
	for _, v := range []float64{o.L2, o.C, o.Alpha} {
		if v == v {
			n++
		}
	}
	if n > 1 {
		return pgerr.New(pgerr.InvalidParameterValue, "only one of the options l2_reg, c and alpha can be given").
			WithDetail("They all set the strength of the same penalty.")
	}
	if o.progressGiven && !o.earlyStopGiven {
		o.EarlyStop = true
	}
	if o.fractionGiven && !o.splitGiven {
		o.Split = RandomSplit
	}
	return nil
}

// ForAlgorithm checks and completes the options once the algorithm is known.
func (o *Options) ForAlgorithm(k model.Kind) error {
	if o.Algorithm != 0 && o.Algorithm != k {
		return pgerr.New(pgerr.InvalidParameterValue, "the statement names two algorithms: %s and %s", k, o.Algorithm)
	}
	o.Algorithm = k
	if k == model.LinearRegression && o.Balanced {
		return pgerr.New(pgerr.InvalidParameterValue, "class weights need a classifier")
	}
	if k == model.LinearRegression && o.C == o.C || k == model.LogisticRegression && o.Alpha == o.Alpha {
		return pgerr.New(pgerr.InvalidParameterValue, "option c is for logistic_regression, option alpha for linear_regression").
			WithHint("l2_reg is for both.")
	}
	return nil
}

// l2 gives the penalty on the mean loss for a total weight.
func (o *Options) l2(weight float64) float64 {
	switch {
	case o.C == o.C:
		return 1 / float64(o.C*weight)
	case o.Alpha == o.Alpha:
		return o.Alpha / weight
	case o.L2 == o.L2:
		return o.L2
	}
	return 0
}

// holdout gives the share of rows held out of so many.
func (o *Options) holdout(rows int64) float64 {
	switch o.Split {
	case RandomSplit:
		return o.EvalFraction
	case AutoSplit: // as BigQuery ML has it
		switch {
		case rows < 500:
			return 0
		case rows <= 50000:
			return 0.2
		}
		return 10000 / float64(rows)
	}
	return 0
}

// Encode gives the canonical bytes, which tell trainings apart.
func (o *Options) Encode(e *canon.E) {
	e.U8(uint8(o.Algorithm))
	e.Str(o.Label)
	e.Str(o.WeightColumn)
	e.U8(uint8(o.Optimizer))
	e.Int(o.MaxIterations)
	e.F64(o.Tolerance)
	e.F64(o.LearnRate)
	e.Bool(o.ConstantRate)
	e.Int(o.BatchSize)
	for _, v := range []float64{o.L2, o.C, o.Alpha} {
		e.F64(v)
	}
	e.Bool(o.EarlyStop)
	e.F64(o.MinRelProgress)
	e.U8(uint8(o.Split))
	e.F64(o.EvalFraction)
	e.Bool(o.Balanced)
	e.Bool(o.Standardize)
	e.Bool(o.Intercept)
	e.U64(o.Seed)
	e.Int(o.CheckpointEvery)
	e.U8(uint8(o.Precision))
}

func decodeOptions(d *canon.D) *Options {
	o := &Options{Algorithm: model.Kind(d.U8()), Label: d.Str(), WeightColumn: d.Str(), Optimizer: Optimizer(d.U8()), MaxIterations: d.Int(),
		Tolerance: d.F64(), LearnRate: d.F64(), ConstantRate: d.Bool(), BatchSize: d.Int(), L2: d.F64(), C: d.F64(), Alpha: d.F64(),
		EarlyStop: d.Bool(), MinRelProgress: d.F64(), Split: Split(d.U8()), EvalFraction: d.F64(), Balanced: d.Bool(), Standardize: d.Bool(),
		Intercept: d.Bool(), Seed: d.U64(), CheckpointEvery: d.Int(), Precision: Precision(d.U8())}
	if o.Optimizer > Adam || o.Split > AutoSplit || o.Precision > Float64 {
		d.Fail()
	}
	return o
}

// value reads an option's value with the errors that it deserves.
type value struct{ Arg }

func (v value) bad(want string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option %q: %s", v.Name, v.text()).At(v.Pos).WithHint("It must be %s.", want)
}

func (v value) text() string {
	switch x := v.Value.(type) {
	case nil:
		return "NULL"
	case string:
		return fmt.Sprintf("%q", x)
	case types.Decimal:
		return x.String()
	case types.Array:
		return "an array"
	}
	return fmt.Sprint(v.Value)
}

func (v value) number(want string, ok func(float64) bool) (float64, error) {
	f, isNum := feature.Float(v.Value)
	if !isNum || f-f != 0 || !ok(f) {
		return 0, v.bad(want)
	}
	return f, nil
}

func (v value) integer(want string, lo, hi int64) (int64, error) {
	f, isNum := feature.Float(v.Value)
	if !isNum || f != math.Trunc(f) || f < float64(lo) || f > float64(hi) {
		return 0, v.bad(want)
	}
	return int64(f), nil
}

func (v value) boolean() (bool, error) {
	switch x := v.Value.(type) {
	case bool:
		return x, nil
	case string:
		switch strings.ToLower(x) {
		case "true", "on", "yes":
			return true, nil
		case "false", "off", "no":
			return false, nil
		}
	}
	return false, v.bad("true or false")
}

func (v value) word() string { s, _ := v.Value.(string); return strings.ToLower(s) }

// name reads a column's name, alone or as an array of one.
func (v value) name() (string, error) {
	x := v.Value
	if a, ok := x.(types.Array); ok {
		if len(a.Elems) != 1 {
			return "", pgerr.Unsupported("models with more than one target column are not supported").At(v.Pos)
		}
		x = a.Elems[0]
	}
	s, ok := x.(string)
	if !ok || s == "" {
		return "", v.bad("the name of a column")
	}
	return s, nil
}
