package families

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/cox"
	"github.com/tributarydb/tributary/ml/decomp"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/imported"
	"github.com/tributarydb/tributary/ml/kmeans"
	"github.com/tributarydb/tributary/ml/linear"
	"github.com/tributarydb/tributary/ml/net"
	"github.com/tributarydb/tributary/ml/tree"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// All lists the families, in the order of the manual.
var All = slices.Concat(
	linear.Families(),
	tree.Families(),
	kmeans.Families(),
	decomp.Families(),
	net.Families(),
	cox.Families(),
)

// Decoder returns the family that decodes the models of an algorithm: one of All, or that of the models
// that came from elsewhere, which trains none.
func Decoder(name string) (family.Family, error) {
	if name == imported.Name {
		return imported.Family, nil
	}
	f, _, err := Find(name)
	return f, err
}

// planned lists algorithm names of other systems that are not supported.
var planned = []string{"arima_plus", "arima_plus_xreg", "automl_classifier", "automl_regressor", "dnn_linear_combined_classifier", "dnn_linear_combined_regressor",
	"matrix_factorization", "onnx", "tensorflow", "tensorflow_lite", "transform_only",
	"decision_tree_classifier", "decision_tree_regressor", "extra_trees_classifier", "extra_trees_regressor", "gaussian_nb", "k_neighbors_classifier", "k_neighbors_regressor",
	"dbscan", "isolation_forest", "mini_batch_kmeans", "nmf", "sgd_classifier", "sgd_regressor", "svc", "svr"}

// Names returns the names of all families.
func Names() (out []string) {
	for _, f := range All {
		out = append(out, f.Info().Name)
	}
	return out
}

// Find returns a family by its name or a synonym, and the task that the name asks for,
// "" for none. Its error is 22023 for an unknown name, 0A000 for one that is known but
// not supported.
func Find(name string) (family.Family, family.Task, error) {
	hint := "Algorithms are " + strings.Join(Names(), ", ") + "."
	var names []string
	for _, f := range All {
		i := f.Info()
		if task, ok := i.Asks(name); ok {
			return f, task, nil
		}
		names = append(append(names, i.Name), i.Others()...)
	}
	if _, ok := (&family.Info{Synonyms: planned}).Asks(name); ok {
		return nil, "", pgerr.Unsupported("algorithm %q is not supported", name).WithHint("%s", hint)
	}
	e := pgerr.New(pgerr.InvalidParameterValue, "unrecognized algorithm %q", name)
	if near := family.Nearest(name, names); near != "" {
		return nil, "", e.WithHint("Did you mean %q? %s", near, hint)
	}
	return nil, "", e.WithHint("%s", hint)
}

// Markdown returns the manual's tables of algorithms that share a page: what they are, and their
// options. What not all of them have says who has it.
func Markdown(names ...string) string {
	type row struct {
		text string
		of   []int // the indexes in All
	}
	var b strings.Builder
	var rows []*row
	b.WriteString("| algorithm | what it is | also called |\n|---|---|---|\n")
	for at, f := range All {
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
			texts = append(texts, o.Markdown())
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

// NamesMarkdown returns the manual's table of option names, and of the algorithms that
// have each.
func NamesMarkdown(common []*family.Option) string {
	of := map[string][]int{} // by all names of an option, the algorithms' indexes in All
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
	for i, f := range All {
		take(f.Options(), i)
	}
	var b strings.Builder
	b.WriteString("| option | also called | of |\n|---|---|---|\n")
	for _, names := range order {
		b.WriteString("| " + names + " | " + ranges(of[names], len(All)) + " |\n")
	}
	return b.String()
}

// ranges returns the names of algorithms by their indexes in All; of so many as there are, "all".
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
		first, last := All[at[i]].Info().Name, All[at[j]].Info().Name
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
