package families

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/family/familytest"
)

// wide returns rows of many columns: numbers, and categories.
func wide(numbers, categories int) *familytest.Data {
	r := rand.New(rand.NewPCG(4, 4))
	d := &familytest.Data{Cats: []int{categories}, Seed: 3}
	for i := range 600 {
		row := make([]float64, numbers)
		for j := range row {
			row[j] = r.NormFloat64()
		}
		d.X, d.Code = append(d.X, row), append(d.Code, []int32{int32(r.IntN(categories))})
		d.Y = append(d.Y, math.Abs(row[0])+float64(i%3)+0.1)
		d.Key = append(d.Key, i/20)
	}
	return d
}

// long returns a series.
func long(steps int) *familytest.Data {
	d := &familytest.Data{}
	for i := range steps {
		d.X, d.Y = append(d.X, []float64{float64(i)}), append(d.Y, float64(i%7)+math.Sqrt(float64(i)))
	}
	return d
}

// rated returns ratings by users of items.
func rated(n, users, items int) *familytest.Data {
	r := rand.New(rand.NewPCG(5, 5))
	d := &familytest.Data{Cats: []int{users, items}}
	for range n {
		d.X, d.Code, d.Y = append(d.X, nil), append(d.Code, []int32{int32(r.IntN(users)), int32(r.IntN(items))}), append(d.Y, float64(r.IntN(5)+1))
	}
	return d
}

// TestDriversChargeTheirMemory: every driver charges the memory that it uses, for models of many
// parameters too.
func TestDriversChargeTheirMemory(t *testing.T) {
	classes := func(d *familytest.Data) *familytest.Data {
		for i, y := range d.Y {
			d.Y[i] = float64(int(y) & 1)
		}
		d.Classes = 2
		return d
	}
	none := func(d *familytest.Data) *familytest.Data {
		d.Y = nil
		return d
	}
	numbers := func(d *familytest.Data) *familytest.Data {
		d.Cats, d.Code = nil, nil
		return d
	}
	for _, c := range []struct {
		family  string
		d       *familytest.Data
		options []any
	}{
		{"linear_regression", wide(400, 2), nil},
		{"ridge", wide(3, 30000), []any{"optimizer", "lbfgs", "max_iterations", 14}},
		{"lasso", wide(400, 2), []any{"alpha", 0.1}},
		{"elastic_net", wide(3, 30000), []any{"alpha", 0.01, "optimizer", "lbfgs", "max_iterations", 14}},
		{"huber_regression", wide(3, 30000), []any{"max_iterations", 5}},
		{"quantile_regression", wide(3, 30000), []any{"max_iterations", 5}},
		{"poisson_regression", wide(200, 2), nil},
		{"gamma_regression", wide(200, 2), []any{"optimizer", "newton", "calculate_p_values", true}},
		{"tweedie_regression", wide(3, 30000), []any{"optimizer", "gd", "max_iterations", 3}},
		{"logistic_regression", classes(wide(3, 30000)), []any{"optimizer", "adam", "max_iterations", 2}},
		{"logistic_regression", classes(wide(3, 30000)), []any{"optimizer", "newton_cg", "max_iterations", 2}},
		{"linear_svm", classes(wide(3, 30000)), []any{"max_iterations", 5}},
		{"gradient_boosted_trees", wide(200, 2), []any{"n_estimators", 5}},
		{"gradient_boosted_trees", wide(3, 30000), []any{"n_estimators", 5}},
		{"random_forest", wide(200, 2), []any{"n_estimators", 5}},
		{"kmeans", none(wide(500, 2)), []any{"n_clusters", 100, "max_iterations", 3}},
		{"pca", none(wide(500, 2)), []any{"solver", "full"}},
		{"pca", numbers(none(wide(500, 2))), []any{"solver", "davidson", "n_components", 3}},
		{"svd", none(wide(500, 2)), []any{"solver", "randomized", "n_components", 50}},
		{"pca", none(wide(200, 2)), []any{"solver", "tsqr"}},
		{"mlp", wide(3, 30000), []any{"hidden_units", 8, "epochs", 2}},
		{"autoencoder", none(wide(500, 2)), []any{"hidden_units", 300, "epochs", 2}},
		{"lstm", wide(300, 2), []any{"units", 100, "window", 10, "order_by", "o", "epochs", 2}},
		{"lstm_autoencoder", none(wide(300, 2)), []any{"units", 100, "window", 10, "order_by", "o", "epochs", 2}},
		{"exponential_smoothing", long(100000), []any{"order_by", "x0", "model", "AAN"}},
		{"arima", long(100000), []any{"order_by", "x0", "non_seasonal_order", "(1,0,1)"}},
		{"seasonal_naive", long(100000), []any{"order_by", "x0", "seasonal_periods", 7}},
		{"time_to_event", wide(3, 30000), []any{"max_iterations", 12}},
		{"time_to_event", wide(3, 30000), []any{"method", "hazard", "hidden_units", 3, "max_iterations", 12}},
		{"naive_bayes", classes(wide(200, 2)), nil},
		{"naive_bayes", classes(wide(3, 30000)), nil},
		{"gaussian_mixture", none(wide(60, 2)), []any{"n_components", 4, "max_iterations", 2}},
		{"gaussian_mixture", none(wide(200, 2)), []any{"n_components", 3, "max_iterations", 2, "covariance_type", "tied"}},
		{"gaussian_mixture", none(wide(500, 2)), []any{"n_components", 50, "max_iterations", 2, "covariance_type", "diagonal"}},
		{"isolation_forest", none(wide(500, 2)), nil},
		{"isolation_forest", none(wide(3, 30000)), []any{"contamination", 0.1, "n_estimators", 1000}},
		{"nearest_neighbors", wide(500, 2), nil},
		{"matrix_factorization", rated(100000, 3000, 2000), []any{"user_col", "c0", "item_col", "c1", "max_iterations", 2}},
		{"matrix_factorization", rated(20000, 20000, 2000), []any{"user_col", "c0", "item_col", "c1", "max_iterations", 2, "feedback_type", "implicit"}},
		{"nearest_neighbors", classes(wide(3, 30000)), []any{"metric", "cosine"}},
	} {
		t.Run(fmt.Sprint(c.family, c.options), func(t *testing.T) {
			f, _, err := Find(c.family)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := familytest.Train(t, f, c.d, familytest.Spread{Nodes: 1, Threads: 1, Charged: true}, c.options...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestPartialsStaySparse: the partial of a mini-batch over very many categories is no longer than
// its rows.
func TestPartialsStaySparse(t *testing.T) {
	for _, c := range []struct {
		family  string
		options []any
	}{
		{"linear_regression", []any{"optimizer", "sgd", "batch_size", 16, "max_iterations", 1}},
		{"mlp", []any{"hidden_units", 4, "embedding", 4, "batch_size", 16, "epochs", 1}},
	} {
		f, _, err := Find(c.family)
		if err != nil {
			t.Fatal(err)
		}
		got, err := familytest.Train(t, f, wide(3, 30000), familytest.Spread{Nodes: 2, Threads: 1, Bytes: true}, c.options...)
		if err != nil {
			t.Fatal(err)
		}
		if got.Sent == 0 || got.Sent > 4096 {
			t.Errorf("%s: a partial of %d bytes", c.family, got.Sent)
		}
	}
}
