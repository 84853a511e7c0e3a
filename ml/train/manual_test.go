package train

import (
	"slices"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
)

// TestManualOptions keeps the manual's tables of options: those of all algorithms, and a page for each
// group of algorithms.
func TestManualOptions(t *testing.T) {
	manual.Part(t, "docs/reference/training-options.md", "options", family.Markdown(family.Common))
	left := slices.DeleteFunc(families.Names(), func(n string) bool { return n == "fading" }) // which exists in tests only
	for _, page := range []struct {
		name       string
		algorithms []string
	}{
		{"linear", []string{"linear_regression", "ridge", "lasso", "elastic_net", "huber_regression", "quantile_regression",
			"poisson_regression", "gamma_regression", "tweedie_regression", "logistic_regression", "linear_svm"}},
		{"trees", []string{"gradient_boosted_trees", "random_forest"}},
		{"kmeans", []string{"kmeans"}},
		{"components", []string{"pca", "svd"}},
		{"networks", []string{"mlp", "autoencoder"}},
		{"sequences", []string{"lstm", "lstm_autoencoder"}},
		{"survival", []string{"time_to_event", "cox_regression"}},
	} {
		manual.Part(t, "docs/reference/"+page.name+".md", "options", families.Markdown(page.algorithms...))
		left = slices.DeleteFunc(left, func(n string) bool { return slices.Contains(page.algorithms, n) })
	}
	if len(left) > 0 {
		t.Errorf("no page of the manual has %v", left)
	}
}

// TestManualNames keeps the manual's table of names.
func TestManualNames(t *testing.T) {
	manual.Part(t, "docs/reference/option-names.md", "names", families.NamesMarkdown(family.Common))
}
