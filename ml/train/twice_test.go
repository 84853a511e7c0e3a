package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestTwiceIsWeightTwo: for every family rows of weight 2 count like two copies; for families of
// windows it is series that are copied. Sums are rounded once for a row of weight 2 and twice for
// two rows, so models are nearly equal; those of trees are equal.
func TestTwiceIsWeightTwo(t *testing.T) {
	kinds := map[string]types.Type{"b": types.Int4, "k": types.Text, "c": types.Int4, "n": types.Int4, "died": types.Bool, "id": types.Int8}
	var rows []map[string]any
	r := rand.New(rand.NewPCG(11, 3))
	for i := range 800 {
		a, b, k, e := r.NormFloat64(), r.IntN(40), r.IntN(3), r.NormFloat64()
		z := a - float64(b)/20 + []float64{0.5, -0.5, 1}[k] + e
		row := map[string]any{"a": a, "b": int32(b), "k": string(rune('p' + k)), "y": z, "n": int32(max(0, 2*z)), "pos": math.Exp(z / 3), "c": int32(0),
			"days": math.Ceil(20 * r.ExpFloat64() * math.Exp(-a/2)), "died": r.IntN(4) > 0, "id": int64(i / 20), "at": float64(i % 20), "w": 1.0}
		if z > 0 {
			row["c"] = int32(1)
		}
		if i/20%3 == 1 {
			row["w"] = 2.0
		}
		rows = append(rows, row)
	}
	type training struct {
		family, cols, target string
		within               float64 // difference allowed, relative to the greatest score; 0: the same bytes
		args                 []any
	}
	list := []training{
		{"linear_regression", "a b k", "y", 1e-10, nil},
		{"ridge", "a b k", "y", 1e-10, []any{"alpha", 1.0}},
		{"lasso", "a b k", "y", 1e-10, []any{"alpha", 0.01}},
		{"elastic_net", "a b k", "y", 1e-10, []any{"alpha", 0.01}},
		{"huber_regression", "a b", "y", 1e-9, nil},
		{"quantile_regression", "a b", "y", 1e-6, nil},
		{"poisson_regression", "a b k", "n", 1e-10, nil},
		{"gamma_regression", "a b", "pos", 1e-10, nil},
		{"tweedie_regression", "a b", "pos", 1e-10, nil},
		{"logistic_regression", "a b k", "c", 1e-9, []any{"l2_reg", 1e-3}},
		{"linear_svm", "a b", "c", 1e-9, []any{"l2_reg", 1e-3}},
		{"gradient_boosted_trees", "a b k", "c", 0, []any{"n_estimators", int64(5), "max_depth", int64(4)}},
		{"gradient_boosted_trees", "a b k", "y", 0, []any{"n_estimators", int64(5), "max_depth", int64(4)}},
		{"gradient_boosted_trees", "a b k", "n", 0, []any{"objective", "poisson", "offset", "a", "n_estimators", int64(5), "max_depth", int64(4)}},
		{"gradient_boosted_trees", "a b k", "y", 0, []any{"objective", "absolute_error", "n_estimators", int64(5), "max_depth", int64(4)}},
		{"gradient_boosted_trees", "a b k", "c", 0, []any{"booster_type", "dart", "skip_drop", 0.2, "drop_rate", 0.5, "n_estimators", int64(6), "max_depth", int64(4)}},
		{"gradient_boosted_trees", "a b k id", "n", 0, []any{"objective", "lambdarank", "query_id", "id", "n_estimators", int64(5), "max_depth", int64(4)}},
		{"random_forest", "a b k", "c", 0, []any{"n_estimators", int64(3), "max_depth", int64(5)}},
		{"kmeans", "a b", "", 1e-9, []any{"n_clusters", int64(3)}},
		{"pca", "a b k", "", 1e-9, []any{"n_components", int64(2)}},
		{"svd", "a b k", "", 1e-9, []any{"n_components", int64(2)}},
		{"mlp", "a b k", "y", 1e-4, []any{"epochs", int64(3), "hidden_units", int64(4), "batch_size", int64(100000)}},
		{"autoencoder", "a b", "", 1e-4, []any{"epochs", int64(3), "hidden_units", int64(2), "batch_size", int64(100000)}},
		{"lstm", "a b id at", "y", 1e-4, []any{"units", int64(3), "window", int64(5), "order_by", "at", "partition_by", "id", "epochs", int64(2), "batch_size", int64(100000), "optimizer", "sgd"}},
		{"lstm_autoencoder", "a b id at", "", 1e-4, []any{"units", int64(3), "window", int64(5), "order_by", "at", "partition_by", "id", "epochs", int64(2), "batch_size", int64(100000), "optimizer", "sgd"}},
		{"time_to_event", "a b died", "days", 1e-4, []any{"event", "died", "ties", "breslow", "tolerance", 1e-9}},
		{"time_to_event", "a b died", "days", 1e-4, []any{"event", "died", "method", "hazard", "l2_reg", 0.01, "tolerance", 1e-9}},
	}
	list = append(list,
		training{"cox_regression", "a b died", "days", 1e-9, []any{"event", "died", "ties", "breslow"}},
		training{"cox_regression", "a b k died", "days", 1e-9, []any{"event", "died", "ties", "breslow", "strata", "k"}},
		training{"aft", "a b k died", "days", 1e-9, []any{"event", "died"}},
		training{"naive_bayes", "a b k", "c", 1e-9, nil},
		training{"gaussian_mixture", "a b", "", 1e-6, []any{"n_components", int64(3), "standardize", false, "max_iterations", int64(10)}},
		training{"isolation_forest", "a b k", "", 0, []any{"n_estimators", int64(10)}},
		training{"matrix_factorization", "b k", "y", 0, []any{"user_col", "b", "item_col", "k", "num_factors", int64(2)}},
		training{"matrix_factorization", "k b", "n", 0, []any{"user_col", "b", "item_col", "k", "feedback_type", "implicit", "num_factors", int64(2)}},
		training{"nearest_neighbors", "a b k", "c", 0, []any{"standardize", false}},
		training{"nearest_neighbors", "a b k", "y", 0, []any{"standardize", false, "weights", "distance"}})
	for _, f := range families.All {
		if f.Info().Task == family.Forecasting { // a series has one row a time
			continue
		}
		if !slices.ContainsFunc(list, func(c training) bool { return c.family == f.Info().Name }) {
			t.Errorf("say how %s is trained here", f.Info().Name)
		}
	}
	for _, c := range list {
		names := strings.Fields(c.cols + " " + c.target)
		weighted, copied := &table{}, &table{}
		for _, name := range names {
			col := record.Column{Name: name, Type: types.Float8}
			if k, ok := kinds[name]; ok {
				col.Type = k
			}
			copied.cols = append(copied.cols, col)
		}
		weighted.cols = append(slices.Clone(copied.cols), record.Column{Name: "w", Type: types.Float8})
		for _, row := range rows {
			var v []any
			for _, name := range names {
				v = append(v, row[name])
			}
			weighted.rows = append(weighted.rows, append(slices.Clone(v), row["w"]))
			copied.rows = append(copied.rows, v)
			if row["w"] == 2.0 {
				v = slices.Clone(v)
				if i := slices.Index(names, "id"); i >= 0 {
					v[i] = v[i].(int64) + 1000 // a separate series
				}
				copied.rows = append(copied.rows, v)
			}
		}
		t.Run(fmt.Sprint(c.family, c.args), func(t *testing.T) {
			var scores [2][]float64
			var models [2][]byte
			for i, tb := range []*table{weighted, copied} {
				args := c.args
				if i == 0 {
					args = append(slices.Clone(args), "weight", "w")
				}
				var predict []string
				if c.target != "" {
					predict = []string{c.target}
				}
				job, err := NewJob(c.family, predict, pairs(args...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				res, err := trainTable(t, job, tb, setup{workers: 1 + i, threads: 1}, Input{})
				if err != nil {
					t.Fatal(err)
				}
				models[i] = res.Model.Encode()
				s, err := model.NewScorer(res.Model)
				if err != nil {
					t.Fatal(err)
				}
				n := 20 // rows per series
				if s.Model().Windows == nil {
					n = len(weighted.rows)
				}
				some := *copied
				some.cols = nil
				var at []int
				for _, f := range res.Model.Fitted.Cols {
					at = append(at, slices.Index(names, f.Name))
					some.cols = append(some.cols, copied.cols[at[len(at)-1]])
				}
				for _, row := range weighted.rows[:n] {
					var v []any
					for _, k := range at {
						v = append(v, row[k])
					}
					some.rows = append(some.rows, v)
				}
				sc, err := s.Score(some.batch(some.rows).Cols, n, nil)
				if err != nil {
					t.Fatal(err)
				}
				all := slices.Concat(sc.Value, slices.Concat(sc.Probs...), slices.Concat(sc.Extra...), slices.Concat(sc.Vector...))
				for _, l := range sc.Label {
					all = append(all, float64(l))
				}
				scores[i] = all
			}
			if len(scores[0]) == 0 || len(scores[0]) != len(scores[1]) {
				t.Fatalf("%d and %d scores", len(scores[0]), len(scores[1]))
			}
			if c.within == 0 {
				if !slices.Equal(models[0], models[1]) {
					t.Error("the models differ")
				}
				return
			}
			most, off := 0.0, 0.0
			for i, v := range scores[0] {
				most, off = max(most, math.Abs(v)), max(off, math.Abs(v-scores[1][i]))
			}
			if !(off <= c.within*most) {
				t.Errorf("scores of up to %v differ by %v", most, off)
			}
		})
	}
}
