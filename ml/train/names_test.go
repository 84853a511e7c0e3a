package train

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestOtherSystems has options of BigQuery ML, scikit-learn and Keras: each means the same here, or
// is an error that says so; none is ignored.
func TestOtherSystems(t *testing.T) {
	cols := []record.Column{{Name: "x", Type: types.Float8}, {Name: "z", Type: types.Text}, {Name: "w", Type: types.Float8}, {Name: "held", Type: types.Bool},
		{Name: "n", Type: types.Int4}, {Name: "y", Type: types.Float8}}
	const (
		no      = string(pgerr.FeatureNotSupported)
		invalid = string(pgerr.InvalidParameterValue)
	)
	strs := func(s ...string) types.Array {
		a := types.Array{Elem: types.Text}
		for _, x := range s {
			a.Elems = append(a.Elems, x)
		}
		return a
	}
	for _, c := range []struct {
		name, target string
		options      []any
		want         string // family/task and the resulting options, or the code of an error
	}{
		// BigQuery ML
		{"LINEAR_REG", "y", []any{"OPTIMIZE_STRATEGY", "AUTO_STRATEGY", "L1_REG", 0.1, "L2_REG", 0.2, "MAX_ITERATIONS", 7, "EARLY_STOP", true, "MIN_REL_PROGRESS", 0.01}, "linear_regression/regression early_stop l1_reg l2_reg max_iterations min_rel_progress optimizer"},
		{"LINEAR_REG", "", []any{"INPUT_LABEL_COLS", strs("y"), "OPTIMIZE_STRATEGY", "BATCH_GRADIENT_DESCENT", "LEARN_RATE_STRATEGY", "CONSTANT", "LEARN_RATE", 0.1, "FIT_INTERCEPT", false}, "linear_regression/regression fit_intercept label learn_rate learn_rate_strategy optimizer"},
		{"LINEAR_REG", "y", []any{"OPTIMIZE_STRATEGY", "NORMAL_EQUATION", "CALCULATE_P_VALUES", true}, "linear_regression/regression calculate_p_values optimizer"},
		{"LINEAR_REG", "y", []any{"LS_INIT_LEARN_RATE", 0.1}, no},
		{"LINEAR_REG", "y", []any{"CATEGORY_ENCODING_METHOD", "DUMMY_ENCODING"}, no},
		{"LOGISTIC_REG", "n", []any{"AUTO_CLASS_WEIGHTS", true, "DATA_SPLIT_METHOD", "RANDOM", "DATA_SPLIT_EVAL_FRACTION", 0.1, "WARM_START", true}, "logistic_regression/classification class_weights data_split_eval_fraction data_split_method warm_start"},
		{"LOGISTIC_REG", "n", []any{"DATA_SPLIT_METHOD", "CUSTOM", "DATA_SPLIT_COL", "held"}, "logistic_regression/classification data_split_col data_split_method"},
		{"LOGISTIC_REG", "n", []any{"NUM_TRIALS", 10}, "22023"},
		{"LOGISTIC_REG", "n", []any{"DATA_SPLIT_TEST_FRACTION", 0.1}, no},
		{"LOGISTIC_REG", "n", []any{"ENABLE_GLOBAL_EXPLAIN", true}, no},
		{"LOGISTIC_REG", "n", []any{"MODEL_REGISTRY", "VERTEX_AI"}, no},
		{"KMEANS", "", []any{"NUM_CLUSTERS", 4, "KMEANS_INIT_METHOD", "KMEANS++", "DISTANCE_TYPE", "EUCLIDEAN", "STANDARDIZE_FEATURES", true, "MAX_ITERATIONS", 5}, "kmeans/clustering distance_type init max_iterations n_clusters standardize"},
		{"KMEANS", "", []any{"KMEANS_INIT_METHOD", "CUSTOM"}, no},
		{"KMEANS", "", []any{"KMEANS_INIT_COL", "held"}, no},
		{"KMEANS", "", []any{"DISTANCE_TYPE", "COSINE"}, no},
		{"KMEANS", "", []any{"EARLY_STOP", true}, invalid},
		{"PCA", "", []any{"NUM_PRINCIPAL_COMPONENTS", 2, "SCALE_FEATURES", true, "PCA_SOLVER", "RANDOMIZED"}, "pca/decomposition n_components solver standardize"},
		{"BOOSTED_TREE_CLASSIFIER", "y", []any{"MAX_TREE_DEPTH", 4, "LEARN_RATE", 0.1, "SUBSAMPLE", 0.8, "COLSAMPLE_BYTREE", 0.5, "MIN_TREE_CHILD_WEIGHT", 2, "L1_REG", 0.1, "L2_REG", 1.0, "INSTANCE_WEIGHT_COL", "w"}, "gradient_boosted_trees/classification colsample_bytree l1 l2 learn_rate max_depth min_child_weight subsample weight"},
		{"BOOSTED_TREE_REGRESSOR", "n", []any{"MAX_ITERATIONS", 20}, "gradient_boosted_trees/regression n_estimators"},
		{"BOOSTED_TREE_REGRESSOR", "n", []any{"BOOSTER_TYPE", "DART"}, "gradient_boosted_trees/regression booster_type"},
		{"RANDOM_FOREST_CLASSIFIER", "n", []any{"NUM_PARALLEL_TREE", 20, "MAX_TREE_DEPTH", 5}, "random_forest/classification max_depth n_estimators"},
		{"RANDOM_FOREST_REGRESSOR", "n", nil, "random_forest/regression"},
		{"DNN_CLASSIFIER", "y", []any{"HIDDEN_UNITS", types.Array{Elem: types.Int8, Elems: []types.Datum{int64(8), int64(4)}}, "ACTIVATION_FN", "RELU", "BATCH_SIZE", 16, "DROPOUT", 0.1, "OPTIMIZER", "ADAM", "L2_REG", 0.1}, "mlp/classification activation batch_size dropout hidden_units l2_reg optimizer"},
		{"DNN_REGRESSOR", "n", []any{"OPTIMIZER", "FTRL"}, invalid},
		{"DNN_REGRESSOR", "n", []any{"EARLY_STOP", true, "MIN_REL_PROGRESS", 0.1, "LEARN_RATE", 0.01}, "mlp/regression early_stop learn_rate min_rel_progress"},
		{"AUTOENCODER", "", []any{"HIDDEN_UNITS", 4}, "autoencoder/decomposition hidden_units"},
		{"DNN_LINEAR_COMBINED_CLASSIFIER", "n", nil, no},
		// scikit-learn
		{"LinearRegression", "y", []any{"fit_intercept", true, "n_jobs", 4}, no},
		{"LinearRegression", "y", []any{"positive", true}, no},
		{"Ridge", "y", []any{"alpha", 2.0, "solver", "cholesky", "tol", 0.001, "max_iter", 10}, "ridge/regression alpha max_iterations optimizer tolerance"},
		{"Lasso", "y", []any{"alpha", 2.0, "warm_start", true}, "lasso/regression alpha warm_start"},
		{"ElasticNet", "y", []any{"alpha", 2.0, "l1_ratio", 0.3}, "elastic_net/regression alpha l1_ratio"},
		{"HuberRegressor", "y", []any{"epsilon", 1.5}, "huber_regression/regression epsilon"},
		{"QuantileRegressor", "y", []any{"quantile", 0.9, "alpha", 0.0}, "quantile_regression/regression alpha quantile"},
		{"TweedieRegressor", "y", []any{"power", 1.2, "link", "log"}, "tweedie_regression/regression link power"},
		{"LogisticRegression", "n", []any{"penalty", "l2", "C", 0.5, "class_weight", "balanced", "random_state", 3}, "logistic_regression/classification c class_weights penalty seed"},
		{"LogisticRegression", "n", []any{"penalty", "elasticnet", "l1_ratio", 0.5}, "logistic_regression/classification l1_ratio penalty"},
		{"LogisticRegression", "n", []any{"penalty", "elasticnet"}, invalid},
		{"LogisticRegression", "n", []any{"penalty", "none", "C", 1.0}, invalid},
		{"LogisticRegression", "n", []any{"penalty", "l1", "l1_reg", 1.0}, invalid},
		{"LogisticRegression", "n", []any{"solver", "saga"}, invalid},
		{"LogisticRegression", "n", []any{"verbose", 1}, no},
		{"LinearSVC", "n", []any{"penalty", "l2", "loss", "squared_hinge", "C", 1.0}, "linear_svm/classification c loss penalty"},
		{"LinearSVC", "n", []any{"loss", "hinge"}, no},
		{"SVC", "n", nil, no},
		{"KMeans", "", []any{"n_clusters", 3, "init", "k-means++", "n_init", "auto", "tol", 0.0001, "random_state", 1}, "kmeans/clustering init n_clusters seed tolerance"},
		{"KMeans", "", []any{"n_init", 10}, no},
		{"MiniBatchKMeans", "", nil, no},
		{"PCA", "", []any{"n_components", 2, "svd_solver", "full", "whiten", true}, "pca/decomposition n_components solver whiten"},
		{"TruncatedSVD", "", []any{"n_components", 2}, "svd/decomposition n_components"},
		{"RandomForestRegressor", "n", []any{"n_estimators", 10, "max_features", 2, "min_samples_leaf", 3, "bootstrap", false}, "random_forest/regression bootstrap max_features min_samples_leaf n_estimators"},
		{"RandomForestClassifier", "y", []any{"criterion", "entropy"}, invalid},
		{"HistGradientBoostingClassifier", "y", []any{"learning_rate", 0.1, "max_iter", 10, "max_leaf_nodes", 31, "l2_regularization", 1.0, "max_bins", 100, "validation_fraction", 0.1}, "gradient_boosted_trees/classification data_split_eval_fraction l2 learn_rate max_bin max_leaves n_estimators"},
		{"MLPRegressor", "n", []any{"hidden_layer_sizes", 8, "activation", "logistic", "solver", "adam", "alpha", 0.1, "learning_rate_init", 0.1, "early_stopping", true, "n_iter_no_change", 3}, "mlp/regression activation early_stop hidden_units l2_reg learn_rate optimizer patience"},
		{"MLPRegressor", "y", []any{"learning_rate", "adaptive"}, invalid},
		{"XGBClassifier", "y", []any{"eta", 0.1, "reg_lambda", 1.0, "gamma", 0.1}, "gradient_boosted_trees/classification l2 learn_rate min_split_loss"},
		{"DBSCAN", "", nil, no},
		// Keras
		{"mlp", "y", []any{"loss", "mean_absolute_error", "epochs", 3, "batch_size", 32, "validation_split", 0.1, "clipnorm", 1.0, "patience", 2}, "mlp/regression batch_size clip_norm data_split_eval_fraction loss max_iterations patience"},
		{"mlp", "n", []any{"loss", "sparse_categorical_crossentropy", "kernel_initializer", "he_uniform"}, "mlp/classification initializer loss"},
		{"mlp", "y", []any{"optimizer", "rmsprop"}, invalid},
		{"mlp", "y", []any{"activation", "swish"}, invalid},
	} {
		var predict []string
		if c.target != "" {
			predict = []string{c.target}
		}
		for i := range c.options {
			if v, ok := c.options[i].(int); ok {
				c.options[i] = int64(v)
			}
		}
		j, err := NewJob(strings.ToLower(c.name), predict, pairs(c.options...), nil, cols)
		got := ""
		if err != nil {
			got = string(pgerr.From(err).Code)
			if e := pgerr.From(err); e.Hint == "" && e.Detail == "" {
				t.Errorf("%s %v: no hint: %v", c.name, c.options, err)
			}
		} else {
			got = j.Family.Info().Name + "/" + string(j.Plan.Task)
			var names []string
			for _, d := range j.options() {
				if j.Options.Given(d.Names[0]) {
					names = append(names, d.Names[0])
				}
			}
			slices.Sort(names)
			for _, n := range slices.Compact(names) {
				got += " " + n
			}
		}
		if got != c.want {
			t.Errorf("%s %v: %s, not %s (%v)", c.name, c.options, got, c.want, err)
		}
	}
}

// TestNamesAreOfOneOption: no name belongs to two options of an algorithm, or to two algorithms.
func TestNamesAreOfOneOption(t *testing.T) {
	algorithms := map[string]string{}
	for _, f := range families.All {
		i := f.Info()
		for _, n := range append([]string{i.Name}, i.Others()...) {
			if was := algorithms[n]; was != "" {
				t.Errorf("%s is %s and %s", n, was, i.Name)
			}
			algorithms[n] = i.Name
		}
		have := map[string]string{}
		for _, o := range append(append([]*family.Option{}, family.Common...), f.Options()...) {
			for _, n := range o.Names {
				if was := have[n]; was != "" {
					t.Errorf("%s: %s is %s and %s", i.Name, n, was, o.Names[0])
				}
				have[n] = o.Names[0]
			}
		}
	}
}
