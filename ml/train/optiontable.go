package train

import (
	"fmt"
	"strings"

	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// optionDef is a row of the table of options, from which the manual is printed
// too (OptionsMarkdown). set nil means known, but not supported.
type optionDef struct {
	names []string // the first is the one errors use, the others are synonyms
	typ   string
	def   string // the default, in words
	doc   string
	set   func(o *Options, v value) error
}

// optionTable is every option there is. BigQuery ML's and scikit-learn's names
// are synonyms where they mean the same.
var optionTable = []*optionDef{
	{[]string{"model_type", "algorithm"}, "text", "", "The algorithm: `linear_regression` (`linear_reg`) or `logistic_regression` (`logistic_reg`). `USING` says the same.",
		func(o *Options, v value) (err error) {
			o.Algorithm, err = Algorithm(v.word())
			if e, ok := err.(*pgerr.Error); ok {
				return e.At(v.Pos)
			}
			return err
		}},
	{[]string{"label", "target", "target_column", "input_label_cols"}, "column", "the column `label`", "What is predicted. `PREDICT` says the same.",
		func(o *Options, v value) (err error) { o.Label, err = v.name(); return }},
	{[]string{"weight", "weight_column", "instance_weight_col", "sample_weight"}, "column", "every row counts 1", "The column that says how much a row counts. It is not a feature.",
		func(o *Options, v value) (err error) { o.WeightColumn, err = v.name(); return }},
	{[]string{"optimizer", "optimize_strategy", "solver"}, "text", "`newton` for linear_regression of at most 2048 parameters, else `lbfgs`",
		"How the loss is minimised: `lbfgs`, `newton` (`irls`, `normal_equation`), `gd` (`batch_gradient_descent`), or by mini-batches `sgd`, `momentum`, `adam`.",
		func(o *Options, v value) error {
			var names []string
			for _, n := range optimizerNames {
				if n.name == v.word() {
					o.Optimizer = n.o
					return nil
				}
				names = append(names, n.name)
			}
			return v.bad("one of " + strings.Join(names, ", "))
		}},
	{[]string{"max_iterations", "max_iter", "epochs"}, "integer", "100; 20 for mini-batches", "The most iterations; with mini-batches an iteration is a pass over the rows.",
		func(o *Options, v value) error {
			n, err := v.integer("an integer from 1 to 1000000", 1, 1e6)
			o.MaxIterations = int(n)
			return err
		}},
	{[]string{"tolerance", "tol"}, "number", "1e-6; 0 for mini-batches", "Training ends when the gradient is this much shorter than the first one.",
		func(o *Options, v value) (err error) {
			o.Tolerance, err = v.number("a number from 0 to 1", func(f float64) bool { return f >= 0 && f < 1 })
			return
		}},
	{[]string{"learn_rate", "learning_rate", "eta"}, "number", "line search for `gd`; 0.01 for `sgd` and `momentum`, 0.001 for `adam`",
		"The length of a step along the gradient.",
		func(o *Options, v value) (err error) {
			o.LearnRate, err = v.number("a number above 0", func(f float64) bool { return f > 0 })
			return
		}},
	{[]string{"learn_rate_strategy"}, "text", "`line_search` unless learn_rate is given", "`line_search` or `constant`, for `gd`.",
		func(o *Options, v value) error {
			switch v.word() {
			case "constant":
				o.ConstantRate = true
			case "line_search":
			default:
				return v.bad("line_search or constant")
			}
			return nil
		}},
	{[]string{"batch_size"}, "integer", "1024", "The rows of a mini-batch, for `sgd`, `momentum` and `adam`.",
		func(o *Options, v value) error {
			n, err := v.integer("an integer from 1 to 1000000000", 1, 1e9)
			o.BatchSize = int(n)
			return err
		}},
	{[]string{"l2_reg", "l2"}, "number", "0", "The penalty l2_reg/2·‖weights‖² on the mean loss. The intercept is not penalised.",
		func(o *Options, v value) (err error) {
			o.L2, err = v.number("a number not below 0", func(f float64) bool { return f >= 0 })
			return
		}},
	{[]string{"c"}, "number", "", "scikit-learn's way to say it for logistic_regression: C·Σ loss + ½‖weights‖² is minimised.",
		func(o *Options, v value) (err error) {
			o.C, err = v.number("a number above 0", func(f float64) bool { return f > 0 })
			return
		}},
	{[]string{"alpha"}, "number", "", "scikit-learn's way to say it for linear_regression (ridge): Σ (y-ŷ)² + alpha·‖weights‖² is minimised.",
		func(o *Options, v value) (err error) {
			o.Alpha, err = v.number("a number not below 0", func(f float64) bool { return f >= 0 })
			return
		}},
	{[]string{"l1_reg", "l1"}, "number", "0", "Not supported yet, except as 0.",
		func(o *Options, v value) error {
			f, err := v.number("a number not below 0", func(f float64) bool { return f >= 0 })
			if err == nil && f > 0 {
				return pgerr.Unsupported("option %q is not supported", v.Name).At(v.Pos).WithHint("Use l2_reg.")
			}
			return err
		}},
	{[]string{"early_stop"}, "boolean", "false, true if min_rel_progress is given", "End when an iteration lowers the loss (of the held out rows, if there are any) by less than min_rel_progress of it.",
		func(o *Options, v value) (err error) { o.EarlyStop, err = v.boolean(); o.earlyStopGiven = true; return }},
	{[]string{"min_rel_progress"}, "number", "0.01", "See early_stop.",
		func(o *Options, v value) (err error) {
			o.MinRelProgress, err = v.number("a number not below 0", func(f float64) bool { return f >= 0 })
			o.progressGiven = true
			return
		}},
	{[]string{"data_split_method"}, "text", "`no_split`, `random` if data_split_eval_fraction is given",
		"Which rows are held out for validation: `no_split`; `random`; `auto_split`, which is none of less than 500 rows, a fifth of at most 50000, else 10000 rows.",
		func(o *Options, v value) error {
			o.splitGiven = true
			switch v.word() {
			case "no_split":
				o.Split = NoSplit
			case "random":
				o.Split = RandomSplit
			case "auto_split":
				o.Split = AutoSplit
			case "seq", "custom":
				return pgerr.Unsupported("data_split_method %q is not supported", v.word()).At(v.Pos)
			default:
				return v.bad("no_split, random or auto_split")
			}
			return nil
		}},
	{[]string{"data_split_eval_fraction", "eval_fraction", "validation_fraction", "test_size"}, "number", "0.2", "The share of rows that `random` holds out.",
		func(o *Options, v value) (err error) {
			o.EvalFraction, err = v.number("a number between 0 and 1", func(f float64) bool { return f > 0 && f < 1 })
			o.fractionGiven = true
			return
		}},
	{[]string{"data_split_col"}, "column", "", "Not supported yet.", nil},
	{[]string{"class_weights", "class_weight", "auto_class_weights"}, "text or boolean", "none", "`balanced` (or true): rows of rare classes count more, so that all classes count the same.",
		func(o *Options, v value) error {
			switch v.word() {
			case "balanced", "auto":
				o.Balanced = true
				return nil
			case "none":
				return nil
			}
			b, err := v.boolean()
			if err != nil {
				return v.bad("balanced or none")
			}
			o.Balanced = b
			return nil
		}},
	{[]string{"standardize", "standardize_features"}, "boolean", "true", "Bring number columns to mean 0 and standard deviation 1 first. Predictions take the columns as they are.",
		func(o *Options, v value) (err error) { o.Standardize, err = v.boolean(); return }},
	{[]string{"fit_intercept"}, "boolean", "true", "Learn an intercept.",
		func(o *Options, v value) (err error) { o.Intercept, err = v.boolean(); return }},
	{[]string{"seed", "random_state"}, "integer", "0", "Chooses the holdout and the order of mini-batches.",
		func(o *Options, v value) error {
			n, err := v.integer("an integer not below 0", 0, 1<<53)
			o.Seed = uint64(n)
			return err
		}},
	{[]string{"checkpoint_every"}, "integer", "10", "Iterations between checkpoints; 0 for none.",
		func(o *Options, v value) error {
			n, err := v.integer("an integer from 0 to 1000000", 0, 1e6)
			o.CheckpointEvery = int(n)
			return err
		}},
	{[]string{"precision"}, "text", "`float32` where that holds every feature exactly, else `float64`", "How features are kept while training: `float32` or `float64`. Sums are always float64.",
		func(o *Options, v value) error {
			switch v.word() {
			case "float32", "single", "float4":
				o.Precision = Float32
			case "float64", "double", "float8":
				o.Precision = Float64
			case "auto":
			default:
				return v.bad("float32 or float64")
			}
			return nil
		}},
	{[]string{"warm_start"}, "boolean", "", "Not supported yet.", nil},
	{[]string{"calculate_p_values"}, "boolean", "", "Not supported yet.", nil},
	{[]string{"category_encoding_method"}, "text", "", "Not supported yet: text columns are one-hot encoded.", nil},
	{[]string{"ls_init_learn_rate"}, "number", "", "Not supported yet.", nil},
	{[]string{"enable_global_explain"}, "boolean", "", "Not supported yet.", nil},
	{[]string{"num_trials"}, "integer", "", "Not supported yet.", nil},
	{[]string{"max_parallel_trials"}, "integer", "", "Not supported yet.", nil},
	{[]string{"penalty"}, "text", "", "Not supported yet; l2_reg says how strong the penalty is.", nil},
	{[]string{"n_jobs"}, "integer", "", "Not supported: all threads of all nodes train.", nil},
}

func findOption(name string) *optionDef {
	name = strings.ToLower(name)
	for _, d := range optionTable {
		for _, n := range d.names {
			if n == name {
				return d
			}
		}
	}
	return nil
}

func optionHint() string {
	var names []string
	for _, d := range optionTable {
		if d.set != nil {
			names = append(names, d.names[0])
		}
	}
	return "Options are " + strings.Join(names, ", ") + "."
}

func errUnknown(a Arg) error {
	return pgerr.New(pgerr.InvalidParameterValue, "unrecognized training option %q", a.Name).At(a.Pos).WithHint("%s", optionHint())
}

// OptionsMarkdown is the manual's table of options.
func OptionsMarkdown() string {
	var b strings.Builder
	b.WriteString("| option | type | default | meaning |\n|---|---|---|---|\n")
	for _, d := range optionTable {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.Join(d.names, "`, `"), d.typ, d.def, d.doc)
	}
	return b.String()
}

// algorithms by name. Kind 0 means known, but not supported.
var algorithms = []struct {
	name string
	kind model.Kind
}{
	{"linear_regression", model.LinearRegression}, {"linear_reg", model.LinearRegression},
	{"logistic_regression", model.LogisticRegression}, {"logistic_reg", model.LogisticRegression},
	{"boosted_tree_classifier", 0}, {"boosted_tree_regressor", 0}, {"random_forest_classifier", 0}, {"random_forest_regressor", 0},
	{"dnn_classifier", 0}, {"dnn_regressor", 0}, {"autoencoder", 0}, {"kmeans", 0}, {"pca", 0}, {"matrix_factorization", 0}, {"arima_plus", 0},
}

// Algorithm finds an algorithm by name: 22023 for an unknown one, 0A000 for one
// that is known but not there.
func Algorithm(name string) (model.Kind, error) {
	name = strings.ToLower(name)
	for _, a := range algorithms {
		if a.name != name {
			continue
		}
		if a.kind == 0 {
			return 0, pgerr.Unsupported("algorithm %q is not supported", name).WithHint("Algorithms are linear_regression, logistic_regression.")
		}
		return a.kind, nil
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "unrecognized algorithm %q", name).WithHint("Algorithms are linear_regression, logistic_regression.")
}
