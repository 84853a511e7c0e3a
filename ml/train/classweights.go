package train

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// balancedWeights gives each class the weight that makes all classes count the
// same, as scikit-learn has it: W / (classes · W of the class), where W is the
// weight of training rows. A class without any has weight 1.
func balancedWeights(f *feature.Fitted, st *feature.ColStats) []float64 {
	count := make(map[string]float64, len(st.Cats))
	var rows float64
	for _, c := range st.Cats {
		count[c.Key] = c.W.Value()
		rows += count[c.Key]
	}
	w := make([]float64, len(f.Keys))
	for i, k := range f.Keys {
		w[i] = 1
		if n := count[k]; n > 0 {
			w[i] = rows / (float64(len(f.Keys)) * n)
		}
	}
	return w
}

// namedWeights are the weights that the statement gives by class, nil for none. A
// class that it does not name has weight 1.
func namedWeights(f *feature.Fitted, o *family.Values) ([]float64, error) {
	named := o.ClassWeights()
	if named == nil {
		return nil, nil
	}
	classes := make([]string, len(f.Keys))
	w := make([]float64, len(f.Keys))
	for i, k := range f.Keys {
		classes[i], w[i] = feature.KeyText(f.Label.Type, k), 1
	}
	for _, n := range named {
		at := slices.Index(classes, n.Class)
		if at < 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "class_weights names %q, which is no class of column %q", n.Class, f.Label.Name).
				WithDetail("The classes are %s.", strings.Join(classes[:min(len(classes), 20)], ", ")).At(o.Pos("class_weights"))
		}
		w[at] = n.Weight
	}
	return w, nil
}
