package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
)

// trained are a model of each family, and of what trains in ways of its own: what follows TRAIN MODEL name USING.
var trained = map[string]string{
	"linear_regression":      "linear_regression predict y as select x, z, k, y from r",
	"ridge":                  "ridge predict y with (alpha = 0.5) as select x, z, k, y from r",
	"lasso":                  "lasso predict y with (alpha = 0.01) as select x, z, k, y from r",
	"elastic_net":            "elastic_net predict y with (alpha = 0.01) as select x, z, k, y from r",
	"huber_regression":       "huber_regression predict y as select x, z, k, y from r",
	"quantile_regression":    "quantile_regression predict y as select x, z, y from r",
	"poisson_regression":     "poisson_regression predict y as select x, z, y from r",
	"gamma_regression":       "gamma_regression predict y as select x, z, y from r",
	"tweedie_regression":     "tweedie_regression predict y as select x, z, y from r",
	"logistic_regression":    "logistic_regression predict late as select x, z, k, late from r",
	"linear_svm":             "linear_svm predict late as select x, z, late from r",
	"gradient_boosted_trees": "gradient_boosted_trees predict y with (n_estimators = 3) as select x, z, k, y from r",
	"random_forest":          "random_forest predict late with (n_estimators = 5, max_depth = 4) as select x, z, late from r",
	"kmeans":                 "kmeans with (n_clusters = 3) as select x, z from r",
	"pca":                    "pca with (n_components = 1) as select x, z, y from r",
	"svd":                    "svd with (n_components = 2) as select x, z, y from r",
	"mlp":                    "mlp predict late with (hidden_units = [4], epochs = 3) as select x, z, k, late from r",
	"autoencoder":            "autoencoder with (hidden_units = [2], epochs = 3) as select x, z, y from r",
	"lstm":                   "lstm predict y with (units = 3, window = 5, order_by = day, epochs = 2) as select day, x, y from r",
	"lstm_autoencoder":       "lstm_autoencoder with (units = 3, window = 5, order_by = day, epochs = 2) as select day, x from r",
	"time_to_event":          "time_to_event predict y with (event = late, epochs = 2) as select x, z, late, y from r",
	"cox_regression":         "cox_regression predict y with (event = late) as select x, z, late, y from r",
	"aft":                    "aft predict y with (event = late) as select x, z, late, y from r",
	"naive_bayes":            "naive_bayes predict late as select x, z, k, late from r",
	"gaussian_mixture":       "gaussian_mixture with (n_components = 2) as select x, y from r",
	"isolation_forest":       "isolation_forest with (n_estimators = 10) as select x, z, y from r",
	"nearest_neighbors":      "nearest_neighbors predict y as select x, z, y from r",
	"seasonal_naive":         "seasonal_naive predict y with (order_by = day, seasonal_periods = 7) as select day, y from r",
	"exponential_smoothing":  "exponential_smoothing predict y with (order_by = day, seasonal_periods = 7) as select day, y from r where id < 100",
	"arima":                  "arima predict y with (order_by = day, seasonal_periods = 1) as select day, y, x from r where id < 100",
	"matrix_factorization":   "matrix_factorization predict y with (user_col = u, item_col = k, num_factors = 3) as select u, k, y from r",

	"of a search":         "ridge predict y with (alpha = hparam_candidates([0.1, 1, 10]), hparam_tuning_algorithm = 'grid') as select x, z, y from r",
	"of groups":           "exponential_smoothing predict y group by g with (order_by = day, model = 'AAN') as select g, day, y from r",
	"by ml.knn_imputer":   "linear_regression predict y transform (ml.knn_imputer((x, z))) as select x, z, y from r",
	"by ml.iterative":     "linear_regression predict y transform (ml.iterative_imputer((x, z))) as select x, z, y from r",
	"by ml.tf_idf":        "logistic_regression predict late transform (ml.tf_idf(k || ' and ' || u) over () as words) as select k, u, late from r",
	"by ml.target_encode": "linear_regression predict y transform (ml.target_encode(k), x) as select k, x, y from r",
	"calibrated":          "naive_bayes predict late with (calibration = 'isotonic') as select x, late from r",
}

// ofRow are the columns of row i of the table r.
const ofRow = `i as id, date '2024-01-01' + i as day, ((i * 37) % 101) / 10.0::float8 as x, case when i % 9 > 0 then ((i * 53) % 17 + (i * 37) % 5)::float8 end as z,
	(array['tea', 'milk', 'rice', 'beans', 'salt'])[i * 7 % 5 + 1] as k, 'u' || i % 30 as u, ((i * 37) % 101) / 5.0::float8 + (i * 53) % 7 + i % 7 + 1 as y,
	((i * 37) % 101 + (i * 53) % 29) > 60 as late, i % 3 as g`

// TestEveryFamilyIsProven: models of each family are the same on any number of nodes, of rows that were loaded in another order. VERIFY MODEL
// proves them, after a restore on another number of nodes too, and says why not when one row is another one.
func TestEveryFamilyIsProven(t *testing.T) {
	for _, name := range families.Names() {
		if trained[name] == "" {
			t.Errorf("the family %s has no training here", name)
		}
	}
	load := func(c *client, parts int) {
		c.must("create table r with (retention = '0') as select " + ofRow + " from generate_series(1, 0) i")
		if parts == 1 {
			c.must("insert into r select " + ofRow + " from generate_series(1, 300) i")
			return
		}
		for k := range parts {
			c.must(fmt.Sprintf("insert into r select %s from generate_series(300, 1, -1) i where i %% %d = %d", ofRow, parts, k))
		}
	}
	verified := func(c *client, name, want string) {
		t.Helper()
		got := c.must("select verified, trained_over, changed_tables, reason from ml.verify_model('" + name + "')")
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, not %s", name, got, want)
		}
	}
	dir := filepath.Join(t.TempDir(), "b")
	first := map[string]string{}
	for _, n := range []int{1, 3, 5} {
		nodes := start(t, n, fewInline)
		c := connect(t, nodes[n-1], spread)
		load(c, n)
		for name, statement := range trained {
			c.must(`train model "` + name + `" using ` + statement)
			hash := c.one("select sha256 from ml.models where name = '" + name + "'")
			if n == 1 {
				first[name] = hash
			} else if hash != first[name] {
				t.Errorf("%s: %d nodes make another model than one", name, n)
			}
			if n == 3 {
				verified(c, `"`+name+`"`, "t|snapshot|{}|NULL")
			}
		}
		if read := strings.Join(c.must("explain analyze train model everywhere using ridge predict y as select x, y from r"), "\n"); strings.Count(read, "Node n") != n || strings.Contains(read, "read 0,") {
			t.Errorf("not all of %d nodes read rows: %s", n, read)
		}
		for i := len(nodes) - 1; i > 0; i-- {
			_ = nodes[i].Close()
		}
		if n == 1 {
			c.must("backup to '" + dir + "'")
		}
	}

	c := connect(t, start(t, 2, fewInline)[0], spread)
	c.must("restore table r from '" + dir + "'")
	for name := range trained {
		c.must(`restore model "` + name + `" from '` + dir + "'")
		verified(c, `"`+name+`"`, `t|current rows|{"public.r has been written since"}|NULL`)
	}
	c.must("update r set x = 77, z = 66, k = 'honey', u = 'nobody', y = y + 55, late = not late where id = 42")
	for name := range trained {
		verified(c, `"`+name+`"`, `f|current rows|{"public.r has been written since"}|the rows that it was trained on are kept no longer, and tables have changed since`)
	}
}
