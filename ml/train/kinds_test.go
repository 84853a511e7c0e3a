package train

import (
	"bytes"
	"testing"

	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// TestFeaturesOfOneKind trains every family on features that are all of one kind, for each kind,
// with rows held out and without: blocks may have no dense columns, or no categories. What a model tells of
// itself is asked for too.
func TestFeaturesOfOneKind(t *testing.T) {
	word := func(i int) any { return string(rune('a' + i)) }
	flag := func(i int) any { return i%2 == 0 }
	number := func(i int) any { return float64(i) }
	kinds := []struct {
		name string
		t    types.Type
		of   func(i int) any
		null bool
	}{
		{"text", types.Text, word, false}, {"text with NULLs", types.Text, word, true},
		{"boolean", types.Bool, flag, false}, {"boolean with NULLs", types.Bool, flag, true},
		{"float8", types.Float8, number, false}, {"float8 with NULLs", types.Float8, number, true},
		{"float4", types.Float4, func(i int) any { return float32(i) }, false},
		{"integer", types.Int4, func(i int) any { return int32(i) }, true},
	}
	for _, f := range families.All {
		if f.Info().Task == family.Forecasting { // whose times are the only feature
			continue
		}
		name := f.Info().Name
		var options []any
		target := "y"
		switch name {
		case "logistic_regression", "linear_svm":
			target = "k"
		case "kmeans":
			target, options = "", []any{"n_clusters", int64(3), "max_iterations", int64(3)}
		case "gaussian_mixture":
			target, options = "", []any{"max_iterations", int64(3)}
		case "isolation_forest":
			target, options = "", []any{"n_estimators", int64(3)}
		case "pca", "svd":
			target, options = "", []any{"n_components", int64(1)}
		case "autoencoder":
			target, options = "", []any{"epochs", int64(1)}
		case "mlp":
			options = []any{"epochs", int64(1)}
		case "lstm", "lstm_autoencoder":
			options = []any{"epochs", int64(1), "units", int64(3), "window", int64(4), "order_by", "i", "partition_by", "p"}
			if name == "lstm_autoencoder" {
				target = ""
			}
		case "gradient_boosted_trees", "random_forest":
			options = []any{"n_estimators", int64(2)}
		case "matrix_factorization":
			options = []any{"user_col", "a", "item_col", "b"}
		}
		for _, kind := range kinds {
			if kind.null && f.Info().Task == family.Recommendation { // a rating is of somebody, and of something
				continue
			}
			tb := &table{cols: []record.Column{{Name: "a", Type: kind.t}, {Name: "b", Type: kind.t}}}
			if target != "" {
				tb.cols = append(tb.cols, record.Column{Name: target, Type: map[string]types.Type{"y": types.Float8, "k": types.Int4}[target]})
			}
			if len(options) > 4 {
				tb.cols = append(tb.cols, record.Column{Name: "i", Type: types.Int4}, record.Column{Name: "p", Type: types.Int4})
			}
			for i := range 300 {
				row := []any{kind.of(i % 5), kind.of(i * 7 % 11 % 4)}
				if kind.null && i%6 == 0 {
					row[0] = nil
				}
				switch target {
				case "y":
					row = append(row, float64(i%5+1))
				case "k":
					row = append(row, int32(i%5%2))
				}
				if len(options) > 4 {
					row = append(row, int32(i), int32(i/20))
				}
				tb.rows = append(tb.rows, row)
			}
			for _, held := range [][]any{nil, {"eval_fraction", 0.2}} {
				var predict []string
				if target != "" {
					predict = []string{target}
				}
				job, err := NewJob(name, predict, pairs(append(append([]any{}, options...), held...)...), nil, tb.cols)
				if err != nil {
					t.Fatal(name, err)
				}
				var want *Result
				for _, s := range []setup{{workers: 1, threads: 1}, {workers: 2, threads: 2, shuffle: 1}} {
					got, err := trainTable(t, job, tb, s, Input{})
					if err != nil {
						t.Fatalf("%s of %s, %v: %v", name, kind.name, held, err)
					}
					if want == nil {
						want = got
					} else if !bytes.Equal(got.Model.Encode(), want.Model.Encode()) {
						t.Errorf("%s of %s, %v: another model on two workers", name, kind.name, held)
					}
				}
				if d, ok := want.Model.Predictor.(family.Describer); ok {
					for _, relation := range []string{"weights", "original_weights", "feature_importance", "centroids", "components", "explained_variance_ratio"} {
						d.Describe(relation)
					}
				}
			}
		}
	}
}
