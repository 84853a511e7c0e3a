package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
)

// TestManualOptions keeps the manual's tables of options: those of all algorithms, and a page for each
// group of algorithms.
func TestManualOptions(t *testing.T) {
	manual.Part(t, "docs/reference/training-options.md", "options", optionTable(family.Common))
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
		{"survival", []string{"time_to_event", "cox_regression", "aft"}},
		{"naive-bayes", []string{"naive_bayes"}},
		{"gaussian-mixture", []string{"gaussian_mixture"}},
		{"isolation-forest", []string{"isolation_forest"}},
		{"nearest-neighbors", []string{"nearest_neighbors"}},
		{"matrix-factorization", []string{"matrix_factorization"}},
		{"forecasting", []string{"seasonal_naive", "exponential_smoothing", "arima"}},
	} {
		manual.Part(t, "docs/reference/"+page.name+".md", "options", optionTables(page.algorithms...))
		left = slices.DeleteFunc(left, func(n string) bool { return slices.Contains(page.algorithms, n) })
	}
	if len(left) > 0 {
		t.Errorf("no page of the manual has %v", left)
	}
}

// TestManualNames keeps the manual's table of names.
func TestManualNames(t *testing.T) {
	manual.Part(t, "docs/reference/option-names.md", "names", nameTable(family.Common))
}

// optionTable returns a table of options for the manual.
func optionTable(defs []*family.Option) string {
	var b strings.Builder
	b.WriteString("| option | type | default | meaning |\n|---|---|---|---|\n")
	for _, d := range defs {
		b.WriteString(optionLine(d) + "\n")
	}
	return b.String()
}

// optionTables returns the manual's tables of algorithms that share a page: what they are, and their
// options. What not all of them have says who has it.
func optionTables(names ...string) string {
	type row struct {
		text string
		of   []int // the indexes in families.All
	}
	var b strings.Builder
	var rows []*row
	b.WriteString("| algorithm | what it is | also called |\n|---|---|---|\n")
	for at, f := range families.All {
		i := f.Info()
		if !slices.Contains(names, i.Name) {
			continue
		}
		var others []string
		list := func(before string, names []string) {
			if len(names) > 0 {
				others = append(others, before+"`"+strings.Join(names, "`, `")+"`")
			}
		}
		list("", i.Synonyms)
		list("always classes: ", i.Classifiers)
		list("always numbers: ", i.Regressors)
		b.WriteString("| `" + i.Name + "` | " + i.Doc + " | " + strings.Join(others, "; ") + " |\n")
		last := -1
		var texts []string
		for _, o := range f.Options() {
			texts = append(texts, optionLine(o))
		}
		for _, text := range texts {
			k := slices.IndexFunc(rows, func(r *row) bool { return r.text == text })
			if k < 0 {
				// After what stands before it in the algorithm's own list, and what others have there.
				for k = last + 1; k < len(rows) && !slices.Contains(texts, rows[k].text); k++ {
				}
				rows = slices.Insert(rows, k, &row{text: text})
			}
			rows[k].of = append(rows[k].of, at)
			last = max(last, k)
		}
	}
	if len(names) == 1 {
		b.WriteString("\n| option | type | default | meaning |\n|---|---|---|---|\n")
	} else {
		b.WriteString("\n| option | type | default | meaning | of |\n|---|---|---|---|---|\n")
	}
	for _, r := range rows {
		b.WriteString(r.text)
		if len(names) > 1 {
			b.WriteString(" " + ranges(r.of, len(names)) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// nameTable returns the manual's table of option names, and of the algorithms that
// have each.
func nameTable(common []*family.Option) string {
	of := map[string][]int{} // by all names of an option, the algorithms' indexes in families.All
	var order []string
	take := func(defs []*family.Option, at int) {
		for _, d := range defs {
			if d.Read == nil || len(d.Names) == 1 {
				continue
			}
			names := "`" + d.Names[0] + "` | `" + strings.Join(d.Names[1:], "`, `") + "`"
			if of[names] == nil {
				order = append(order, names)
			}
			of[names] = append(of[names], at)
		}
	}
	take(common, -1)
	for i, f := range families.All {
		take(f.Options(), i)
	}
	var b strings.Builder
	b.WriteString("| option | also called | of |\n|---|---|---|\n")
	for _, names := range order {
		b.WriteString("| " + names + " | " + ranges(of[names], len(families.All)) + " |\n")
	}
	return b.String()
}

// ranges returns the names of algorithms by their indexes in families.All; of so many as there are, "all".
func ranges(at []int, all int) string {
	if at[0] < 0 || len(at) == all {
		return "all"
	}
	var out []string
	for i := 0; i < len(at); {
		j := i
		for j+1 < len(at) && at[j+1] == at[j]+1 {
			j++
		}
		first, last := families.All[at[i]].Info().Name, families.All[at[j]].Info().Name
		switch j - i {
		case 0:
			out = append(out, "`"+first+"`")
		case 1:
			out = append(out, "`"+first+"`", "`"+last+"`")
		default:
			out = append(out, "`"+first+"` to `"+last+"`")
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// optionLine returns an option's line in a table of the manual, without its end.
func optionLine(o *family.Option) string {
	cell := strings.NewReplacer("|", `\|`).Replace // a bar would end the cell, even in code
	return fmt.Sprintf("| `%s` | %s | %s | %s |", strings.Join(o.Names, "`, `"), o.Type, cell(o.Default), cell(o.Doc))
}
