package family

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// ClassWeight is what a row of a class counts.
type ClassWeight struct {
	Class  string // as text
	Weight float64
}

// ClassWeights are those that the option of that name gives by class; nil where it
// gives none.
func (o *Values) ClassWeights() (out []ClassWeight) {
	list := o.Texts("class_weights", nil)
	for i := 0; i+1 < len(list); i += 2 {
		w, _ := strconv.ParseFloat(list[i+1], 64) // as readClassWeights wrote it
		out = append(out, ClassWeight{list[i], w})
	}
	return out
}

// readClassWeights reads true for balanced weights, or classes and their weights
// in turn.
func readClassWeights(v Value) (any, error) {
	bad := func() (any, error) {
		return nil, v.Bad("balanced, none, or a weight above 0 for each class: '{\"yes\": 5, \"no\": 1}' or [('yes', 5), ('no', 1)]")
	}
	switch v.Word() {
	case "balanced", "auto":
		return true, nil
	case "none":
		return false, nil
	}
	if b, err := Boolean(v); err == nil {
		return b, nil
	}
	var out []string
	seen := map[string]bool{}
	put := func(class string, weight any) bool {
		f, num := feature.Float(weight)
		if !num || f-f != 0 || f <= 0 || seen[class] {
			return false
		}
		seen[class] = true
		out = append(out, class, strconv.FormatFloat(f, 'g', -1, 64))
		return true
	}
	switch x := v.Value.(type) {
	case string:
		d := json.NewDecoder(strings.NewReader(x))
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return bad()
		}
		for d.More() {
			class, err := d.Token()
			name, ok := class.(string)
			if err != nil || !ok {
				return bad()
			}
			if weight, err := d.Token(); err != nil || !put(name, weight) {
				return bad()
			}
		}
		if _, err := d.Token(); err != nil {
			return bad()
		}
		if _, err := d.Token(); err != io.EOF {
			return bad()
		}
	case types.Array:
		for _, e := range x.Elems {
			pair, ok := e.(types.Array)
			if !ok || len(pair.Elems) != 2 {
				return bad()
			}
			class, ok := v.classText(pair.Elems[0])
			if !ok || !put(class, pair.Elems[1]) {
				return bad()
			}
		}
	}
	if out == nil {
		return bad()
	}
	return out, nil
}

// classText is a class as a model's list of classes has it.
func (v Value) classText(d types.Datum) (string, bool) {
	switch x := d.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case number.Decimal:
		return x.String(), true
	}
	return "", false
}
