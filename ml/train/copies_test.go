package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// copiesOf says how to train each family so that weights and copies must give the same model: no
// random samples of rows, and all rows in one mini-batch. near is the difference of scores allowed,
// where sums are rounded.
var copiesOf = map[string]struct {
	target string // "": no target
	args   []any
	near   float64
}{
	"linear_regression":      {"y", nil, 1e-9},
	"ridge":                  {"y", []any{"alpha", 3.0}, 1e-9},
	"lasso":                  {"y", []any{"alpha", 0.05}, 1e-6},
	"elastic_net":            {"y", []any{"alpha", 0.05}, 1e-6},
	"huber_regression":       {"y", []any{"alpha", 1.0, "tolerance", 1e-9}, 1e-4},
	"quantile_regression":    {"y", []any{"l2_reg", 0.01}, 1e-3},
	"poisson_regression":     {"n", nil, 1e-6},
	"gamma_regression":       {"pos", nil, 1e-6},
	"tweedie_regression":     {"pos", nil, 1e-6},
	"logistic_regression":    {"c", []any{"c", 2.0, "tolerance", 1e-9}, 1e-6},
	"linear_svm":             {"c", []any{"c", 2.0, "tolerance", 1e-9}, 1e-4},
	"gradient_boosted_trees": {"y", []any{"n_estimators", int64(5), "max_depth", int64(3)}, 1e-6},
	"random_forest":          {"y", []any{"n_estimators", int64(3), "max_depth", int64(4), "bootstrap", false}, 1e-6},
	"kmeans":                 {"", []any{"k", int64(4), "standardize", false}, 1e-6}, // initial centroids are chosen by a hash of all bits of the values, which standardizing changes
	"pca":                    {"", nil, 1e-6},
	"svd":                    {"", nil, 1e-6},
	"mlp":                    {"y", []any{"hidden_units", int64(6), "epochs", int64(5), "batch_size", int64(1e6)}, 1e-3},
	"autoencoder":            {"", []any{"hidden_units", int64(2), "epochs", int64(5), "batch_size", int64(1e6)}, 1e-3},
	"time_to_event":          {"pos", []any{"ties", "breslow"}, 1e-3},
	"cox_regression":         {"pos", []any{"ties", "breslow"}, 1e-9},
	"aft":                    {"pos", nil, 1e-9},
	"naive_bayes":            {"c", nil, 1e-9},
	"gaussian_mixture":       {"", []any{"k", int64(3), "standardize", false, "max_iterations", int64(10)}, 1e-6},
	"isolation_forest":       {"", []any{"contamination", 0.1}, 1e-9},
	"nearest_neighbors":      {"y", []any{"standardize", false}, 1e-9},
}

// TestWeightIsCopies: a row of weight 2 counts like two copies, for every family but those of
// sequences and series: there a copied row makes another sequence.
func TestWeightIsCopies(t *testing.T) {
	cols := []record.Column{{Name: "a", Type: types.Float8}, {Name: "b", Type: types.Float8}, {Name: "k", Type: types.Text}}
	targets := []record.Column{{Name: "y", Type: types.Float8}, {Name: "n", Type: types.Int4}, {Name: "pos", Type: types.Float8}, {Name: "c", Type: types.Int4}}
	r := rand.New(rand.NewPCG(8, 5))
	var weights []int
	var rows, answers [][]any
	for range 400 {
		a, b, k := float64(r.IntN(20)), float64(r.IntN(30))/3, r.IntN(3)
		y := a/4 - b/2 + float64(k) + r.NormFloat64()
		c := int32(0)
		if y > 0 {
			c = 1
		}
		rows = append(rows, []any{a, b, string(rune('p' + k))})
		answers = append(answers, []any{y, int32(math.Max(0, y)), math.Exp(y / 4), c})
		weights = append(weights, 1+r.IntN(2))
	}
	for _, f := range families.All {
		name := f.Info().Name
		switch name {
		case "lstm", "lstm_autoencoder", "fading":
			continue
		}
		if task := f.Info().Task; task == family.Forecasting || task == family.Recommendation { // of the latter TestTwiceIsWeightTwo
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how, ok := copiesOf[name]
			if !ok {
				t.Fatal("say how it is trained")
			}
			target := find(targets, how.target)
			train := func(weighted bool) *model.Scorer {
				tb := &table{cols: append([]record.Column{}, cols...)}
				if target >= 0 {
					tb.cols = append(tb.cols, targets[target])
				}
				if weighted {
					tb.cols = append(tb.cols, record.Column{Name: "w", Type: types.Float8})
				}
				for i, row := range rows {
					row = append([]any{}, row...)
					if target >= 0 {
						row = append(row, answers[i][target])
					}
					if weighted {
						tb.rows = append(tb.rows, append(row, float64(weights[i])))
						continue
					}
					for range weights[i] {
						tb.rows = append(tb.rows, row)
					}
				}
				args := how.args
				if weighted {
					args = append(args[:len(args):len(args)], "weight", "w")
				}
				var predict []string
				if target >= 0 {
					predict = []string{how.target}
				}
				job, err := NewJob(name, predict, pairs(args...), nil, tb.cols)
				if err != nil {
					t.Fatal(err)
				}
				res, err := trainTable(t, job, tb, setup{workers: 2, threads: 1}, Input{})
				if err != nil {
					t.Fatal(err)
				}
				s, err := model.NewScorer(res.Model)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			in := (&table{cols: cols}).batch(rows)
			var got [2]*family.Scores
			for i := range got {
				s, err := train(i == 0).Score(in.Cols, len(rows), nil)
				if err != nil {
					t.Fatal(err)
				}
				got[i] = s.Scores
			}
			numbers := func(s *family.Scores) (out [][]float64) {
				out = append(append(append(out, s.Probs...), s.Vector...), s.Extra...)
				if s.Value != nil {
					out = append(out, s.Value)
				}
				label := make([]float64, len(s.Label))
				for i, v := range s.Label {
					label[i] = float64(v)
				}
				return append(out, label)
			}
			weighted, copied := numbers(got[0]), numbers(got[1])
			for k, list := range weighted {
				for i, v := range list {
					if d := math.Abs(v - copied[k][i]); !(d <= how.near*(1+math.Abs(v))) {
						t.Fatalf("row %d, score %d: %v by weights, %v by copies", i, k, v, copied[k][i])
					}
				}
			}
		})
	}
}
