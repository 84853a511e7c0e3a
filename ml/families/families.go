package families

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/aft"
	"github.com/tributarydb/tributary/ml/bayes"
	"github.com/tributarydb/tributary/ml/cox"
	"github.com/tributarydb/tributary/ml/decomp"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/forecast"
	"github.com/tributarydb/tributary/ml/imported"
	"github.com/tributarydb/tributary/ml/isolation"
	"github.com/tributarydb/tributary/ml/kmeans"
	"github.com/tributarydb/tributary/ml/linear"
	"github.com/tributarydb/tributary/ml/mixture"
	"github.com/tributarydb/tributary/ml/neighbors"
	"github.com/tributarydb/tributary/ml/net"
	"github.com/tributarydb/tributary/ml/recommend"
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
	aft.Families(),
	bayes.Families(),
	mixture.Families(),
	isolation.Families(),
	neighbors.Families(),
	forecast.Families(),
	recommend.Families(),
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
var planned = []string{"automl_classifier", "automl_regressor", "dnn_linear_combined_classifier", "dnn_linear_combined_regressor",
	"onnx", "tensorflow", "tensorflow_lite", "transform_only", "extra_trees_classifier", "extra_trees_regressor", "complement_nb", "dbscan", "nmf", "svr"}

// Names returns the names of all families.
func Names() (out []string) {
	for _, f := range All {
		out = append(out, f.Info().Name)
	}
	return out
}

// That names the families of which a hint says something, each once.
func That(says func(i *family.Info) string) string {
	var out []string
	for _, f := range All {
		i := f.Info()
		if s := says(&i); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
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
	for _, f := range All {
		for other, write := range f.Info().Instead {
			if _, ok := (&family.Info{Name: other}).Asks(name); ok {
				return nil, "", pgerr.Unsupported("algorithm %q is not supported", name).WithHint("Write USING %s.", write)
			}
		}
	}
	e := pgerr.New(pgerr.InvalidParameterValue, "unrecognized algorithm %q", name)
	if near := family.Nearest(name, names); near != "" {
		return nil, "", e.WithHint("Did you mean %q? %s", near, hint)
	}
	return nil, "", e.WithHint("%s", hint)
}
