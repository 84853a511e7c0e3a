package family

import "github.com/tributarydb/tributary/sql/types"

// Options that all families share. The engine reads them; families need not.
var Common = []*Option{
	{Fixed: true, Names: []string{"model_type", "algorithm"}, Type: "text", Doc: "The algorithm. `USING` says the same.", Read: func(v Value) (any, error) {
		if v.Word() == "" {
			return nil, v.Bad("the name of an algorithm")
		}
		return v.Word(), nil
	}},
	{Names: []string{"label", "target", "target_column", "input_label_cols", "time_series_data_col", "rating_col"}, Type: "column", Default: "the column `label`",
		Doc: "What is predicted, or a list of it. `PREDICT` says the same.", Read: columnNames},
	{Names: []string{"weight", "weight_column", "instance_weight_col", "sample_weight"}, Type: "column", Default: "every row counts 1",
		Doc: "The column that says how much a row counts. It is not a feature.", Read: ColumnName},
	{Fixed: true, Names: []string{"data_split_method"}, Type: "text", Default: "`no_split`; `random` if data_split_eval_fraction is given; with data_split_col `custom` if that is boolean, else `seq`",
		Doc:  "Which rows are held out for validation. `no_split`: none. `random`: a share drawn by the seed. `auto_split`: none of less than 500 rows, a fifth of up to 50000, else 10000 rows. `custom` and `seq`: see data_split_col.",
		Read: Word("no_split", "random", "auto_split", "custom", "seq|sequential")},
	{Fixed: true, Names: []string{"data_split_eval_fraction", "eval_fraction", "validation_fraction", "validation_split", "test_size"}, Type: "number", Default: "0.2",
		Doc: "The share of rows that `random` and `seq` hold out.", Read: Interval("(0, 1)")},
	{Names: []string{"data_split_col"}, Type: "column",
		Doc:  "The column that says which rows are held out. If it is boolean (`custom`), those where it is true or NULL. Else (`seq`) those with its largest values, and those where it is NULL. It is not a feature.",
		Read: ColumnName},
	{Names: []string{"class_weights", "class_weight", "auto_class_weights"}, Type: "text, boolean or list", Default: "none",
		Doc:  "How much a row of each class counts. `balanced` (or true): rows of rare classes count more, so that all classes count the same. Or a number for each class, 1 where it is not named: `'{\"yes\": 5, \"no\": 1}'` or `[('yes', 5), ('no', 1)]`. Of several targets it is named by target: `'{\"late\": {\"yes\": 5}, \"mood\": \"balanced\"}'`. Metrics are without these weights.",
		Read: readClassWeights},
	{Names: []string{PositiveWeight}, Type: "number", Default: "1",
		Doc: "How much a row of the second of two classes counts, beside 1 for the first, as XGBoost and LightGBM have it; class_weights says the same by name.", Read: Positive},
	{Names: []string{"standardize", "standardize_features", "scale_features"}, Type: "boolean", Default: "true where the algorithm minds scales",
		Doc: "Bring number columns to mean 0 and standard deviation 1 first. Predictions take the columns as they are.", Read: Boolean},
	{Names: []string{"max_categories"}, Type: "integer", Default: "65536 for trees, 16384 for `mlp` and `lstm`, 8192 for linear models and `time_to_event`, else 1000",
		Doc:  "How many categories of a text column are told apart at most: the most frequent ones. Those beyond the first 1000 must occur twice. The others share up to 256 slots by a hash, and so do categories that are new at prediction. A WARNING says what share of the rows has such a category. TRANSFORM comes first.",
		Read: Integer(1, 1e6)},
	{Fixed: true, Names: []string{"nan_as_null", "missing"}, Type: "boolean or text", Default: "false",
		Doc: "Take NaN in features for NULL in training; `missing = 'nan'` says the same. Without it NaN is an error there. Predictions always take it so. Within an array such an element is the mean of the others'.", Read: func(v Value) (any, error) {
			switch v.Word() {
			case "nan":
				return true, nil
			case "null":
				return false, nil
			}
			return Boolean(v)
		}},
	{Names: []string{"seed", "random_state"}, Type: "integer", Default: "0", Doc: "Chooses the holdout, the order of mini-batches and whatever else is drawn.", Read: Integer(0, 1<<53)},
	{Fixed: true, Names: []string{"checkpoint_every"}, Type: "integer", Default: "10", Doc: "Iterations between checkpoints, which ten seconds of work are followed by too; 0 for none.", Read: Integer(0, 1e6)},
	{Names: []string{"precision"}, Type: "text", Default: "`float32` where that holds every feature exactly, else `float64`",
		Doc: "How features are kept while training: `float32` or `float64`. Sums are always float64.", Read: Word("auto", "float32|single|float4", "float64|double|float8")},
	{Fixed: true, Names: []string{"reduction"}, Type: "text", Default: "`tree`",
		Doc:  "How several nodes work together. `tree`: parameters go down a tree of nodes, and sums go up. `gather`, to compare: one node sends parameters to each of the others and is sent every partial sum. The model is the same.",
		Read: Word("tree", "gather")},
	{Fixed: true, Names: []string{"cross_validation", "cv_folds", "cv"}, Type: "integer", Default: "none",
		Doc:  "The number of folds, at least 2. For each fold a model of the others is measured on it, and the metrics are the means, with standard deviations. The model itself is of all rows. See [Cross-validation](#cross-validation).",
		Read: Integer(2, 1000)},
	{Fixed: true, Names: []string{Calibration, "calibration_method"}, Type: "text", Default: "`none`",
		Doc:  "Make probabilities as often right as they say, by rows that were not trained on: `sigmoid` (Platt) or `isotonic`. See [calibration](#calibration-costs-and-intervals).",
		Read: Word("none", Sigmoid, Isotonic)},
	{Fixed: true, Names: []string{CostMatrix, "class_costs"}, Type: "text or list", Default: "every mistake costs the same",
		Doc:  "What a mistake costs, by true and predicted class: `'{\"fraud\": {\"fine\": 50}}'`, or by true class: `'{\"fraud\": 50}'`; 1 where it is not said. The class of the least expected cost is predicted.",
		Read: readCosts},
	{Fixed: true, Names: []string{PredictionInterval, "prediction_interval_level"}, Type: "number", Default: "none",
		Doc:  "The share of rows whose number lies within the bounds that `ml.predict` shows, such as 0.9: conformal intervals, by rows that were not trained on. See [intervals](#calibration-costs-and-intervals).",
		Read: Interval("(0, 1)")},
	{Names: []string{"grouping_cols", "partition_columns"}, Type: "column or list", Default: "one model of all rows",
		Doc: "The columns for each of whose values there is a model of its own. `GROUP BY` says the same. They are not features. See [one model a group](../howto/one-model-per-group.md).", Read: groupColumns},
	{Names: []string{"unknown_group"}, Type: "text", Default: "`null`",
		Doc: "What is predicted for a group that has no model: `null`, `error`, or by a model of all rows, `pooled`.", Read: Word("null", "error", "pooled")},
	{Names: []string{"category_encoding_method"}, Type: "text", Doc: "Not supported yet: text columns are one-hot encoded."},
	{Names: []string{"enable_global_explain"}, Type: "boolean", Doc: "Not supported yet."},
	{Names: []string{"num_trials", "n_trials"}, Type: "integer", Default: "10 for each option that is searched, at most 100; all of a grid", Fixed: true,
		Doc: "How many settings a [search](search.md) tries at most.", Read: Integer(1, MaxTrials)},
	{Names: []string{"hparam_tuning_algorithm"}, Type: "text", Default: "`random`", Fixed: true,
		Doc:  "How a search chooses: `random`; `grid`, all combinations; `halving`, which trains all a little and goes on with the best; `tpe`, which learns from the trials before.",
		Read: Word("random|random_search", "grid|grid_search", "halving|successive_halving", "tpe|vizier_default|bayesian")},
	{Names: []string{"hparam_tuning_objective", "hparam_tuning_objectives", "scoring"}, Type: "text", Default: "`roc_auc` of two classes, `log_loss` of more, `r2_score` of numbers; else what the family measures first, or its loss", Fixed: true,
		Doc: "The metric by which a search calls a trial the best.", Read: oneName},
	{Names: []string{"max_parallel_trials"}, Type: "integer", Default: "1", Fixed: true,
		Doc: "How many trials run side by side: see [what trials share](search.md#what-trials-share). `tpe` chooses so many before it knows how one of them ends, with other algorithms the trials are the same.", Read: Integer(1, 100)},
	{Names: []string{"keep_trials"}, Type: "boolean", Default: "false", Fixed: true,
		Doc: "Keep the models of the other trials too, as further versions: see [kept trials](search.md#kept-trials).", Read: Boolean},
	{Names: []string{"hparam_tuning_scope"}, Type: "text", Default: "`group`", Fixed: true,
		Doc: "Of a search with GROUP BY: `group`, each group has its own best trial; `all`, one trial is the best for all groups. See [searches of groups](search.md#searches-of-groups).", Read: Word("group", "all")},
	{Names: []string{"data_split_test_fraction"}, Type: "number", Doc: "Not supported: `ml.evaluate` measures on other rows."},
	{Names: []string{"kms_key_name", "model_registry", "vertex_ai_model_id", "vertex_ai_model_version_aliases"}, Type: "text", Doc: "Not supported: they are BigQuery's own."},
	{Names: []string{"verbose"}, Type: "", Doc: "Not supported: notices and `ml.training_history` tell how a training goes."},
	{Names: []string{"n_jobs"}, Type: "integer", Doc: "Not supported: all threads of all nodes train."},
}

// MaxTrials is how many trials a search may have: each is a row of the catalog.
const MaxTrials = 1000

// MaxKept is how many of them may be kept as versions: until the search ends their models are in the memory of
// one node, and in each of its checkpoints.
const MaxKept = 100

// oneName reads a name, alone or as a list of one, as in BigQuery ML.
func oneName(v Value) (any, error) {
	if a, ok := v.Value.(types.Array); ok && len(a.Elems) == 1 {
		v.Value = a.Elems[0]
	}
	if v.Word() == "" {
		return nil, v.Bad("the name of a metric")
	}
	return v.Word(), nil
}

// Options that several families share.
var (
	L2 = &Option{Names: []string{"l2_reg", "l2", "reg_lambda", "lambda", "lambda_l2", "l2_regularization"}, Type: "number", Default: "0",
		Doc: "The penalty l2_reg/2·‖weights‖² on the mean loss. The intercept is not penalised.", Read: NotNegative}
	L1 = &Option{Names: []string{"l1_reg", "l1", "reg_alpha", "lambda_l1", "l1_regularization"}, Type: "number", Default: "0",
		Doc: "The penalty l1_reg·|weights| on the mean loss. The intercept is not penalised.", Read: NotNegative}
	BatchSize = &Option{Names: []string{"batch_size"}, Type: "integer", Default: "1024", Doc: "The rows of a mini-batch, at least 8.", Read: Integer(1, 1e9)}
	// WarmStart requests Setup.Start.
	WarmStart = &Option{Fixed: true, Names: []string{"warm_start"}, Type: "boolean", Default: "false",
		Doc: "Go on from the model that is replaced or retrained, with its encoders: see [warm start](train.md#warm-start).", Read: Boolean}
	// Event makes labels durations: see block.Block.
	Event = &Option{Names: []string{"event", "event_column", "event_observed"}, Type: "column", Default: "it happened in every row",
		Doc: "The column, boolean or of 0 and 1, that says whether the event happened at the end of the duration, or the row was only observed until then. It is not a feature.", Read: ColumnName}
	EarlyStop = &Option{Names: []string{"early_stop"}, Type: "boolean", Default: "false, true if min_rel_progress is given",
		Doc: "End when an iteration lowers the loss (of the held out rows, if there are any) by less than min_rel_progress of it. The best iteration is kept.", Read: Boolean}
	MinRelProgress = &Option{Names: []string{"min_rel_progress"}, Type: "number", Default: "0.01", Doc: "See early_stop.", Read: NotNegative}
)

// MaxIterations returns the option max_iterations with a family's default.
func MaxIterations(def, doc string) *Option {
	return &Option{Names: []string{"max_iterations", "max_iter", "epochs"}, Type: "integer", Default: def, Doc: doc, Read: Integer(1, 1e6)}
}

// Tolerance returns the option tolerance.
func Tolerance(def, doc string) *Option {
	return &Option{Names: []string{"tolerance", "tol"}, Type: "number", Default: def, Doc: doc,
		Read: Interval("[0, 1)")}
}

// LearnRate returns the option for the learning rate.
func LearnRate(def, doc string) *Option {
	return &Option{Names: []string{"learn_rate", "learning_rate", "eta", "learning_rate_init", "eta0"}, Type: "number", Default: def, Doc: doc, Read: Positive}
}
