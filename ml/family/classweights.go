package family

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// ClassWeight is the weight of a class's rows.
type ClassWeight struct {
	Target string // whose class it is, "" where the statement does not say
	Class  string // as text
	Weight float64
	// Balanced, instead of a class, asks for weights that make all classes of the target
	// count the same.
	Balanced bool
}

// ClassWeights returns the weights of the option class_weights by class; nil if there
// are none.
func (o *Values) ClassWeights() (out []ClassWeight) {
	list := o.Texts("class_weights", nil)
	for ; len(list) >= 3; list = list[3:] {
		w, err := strconv.ParseFloat(list[2], 64) // as readClassWeights wrote it
		out = append(out, ClassWeight{list[0], list[1], w, err != nil})
	}
	return out
}

// HasClassWeights reports whether the option asks for any.
func (o *Values) HasClassWeights() bool {
	return o.Bool("class_weights", false) || o.ClassWeights() != nil || o.Given(PositiveWeight)
}

// PositiveWeight is the option that weighs the second of two classes.
const PositiveWeight = "scale_pos_weight"

const balanced = "balanced" // among weights, of a target

// readClassWeights reads true for balanced weights, or targets, classes and their weights
// in turn.
func readClassWeights(v Value) (any, error) {
	bad := func() (any, error) {
		return nil, v.Bad("balanced, none, or a weight above 0 for each class: '{\"yes\": 5, \"no\": 1}' or [('yes', 5), ('no', 1)], of several targets by target")
	}
	switch v.Word() {
	case balanced, "auto":
		return true, nil
	case "none":
		return false, nil
	}
	if b, err := Boolean(v); err == nil {
		return b, nil
	}
	var out []string
	type place struct{ target, class string }
	seen := map[place]bool{}
	var put func(target, class string, weight any) bool
	put = func(target, class string, weight any) bool {
		if seen[place{target, class}] {
			return false
		}
		seen[place{target, class}] = true
		if target == "" {
			switch x := weight.(type) {
			case []pair:
				return v.eachWeight(x, func(of string, w any) bool { return put(class, of, w) })
			case string:
				out = append(out, class, "", balanced)
				return strings.EqualFold(x, balanced)
			}
		}
		f, num := types.Float(weight)
		out = append(out, target, class, strconv.FormatFloat(f, 'g', -1, 64))
		return num && f-f == 0 && f > 0
	}
	var weights any = v.Value
	if x, ok := weights.(string); ok {
		var err error
		if weights, err = readObject(x); err != nil {
			return bad()
		}
	}
	if !v.eachWeight(weights, func(class string, w any) bool { return put("", class, w) }) || out == nil {
		return bad()
	}
	return out, nil
}

// pair is a member of an object.
type pair struct {
	name  string
	value any
}

// eachWeight calls f with the members of an object or a list of pairs, in order, until
// f returns false.
func (v Value) eachWeight(weights any, f func(name string, value any) bool) bool {
	switch x := weights.(type) {
	case []pair:
		for _, p := range x {
			if !f(p.name, p.value) {
				return false
			}
		}
		return len(x) > 0
	case types.Array:
		for _, e := range x.Elems {
			two, ok := e.(types.Array)
			if !ok || len(two.Elems) != 2 {
				return false
			}
			if name, ok := v.classText(two.Elems[0]); !ok || !f(name, two.Elems[1]) {
				return false
			}
		}
		return len(x.Elems) > 0
	}
	return false
}

// readObject reads a JSON object of texts, numbers and other objects, which keeps its order.
func readObject(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	v, err := readMember(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errObject
	}
	return v, nil
}

var errObject = errors.New("this is no object of texts and numbers")

func readMember(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
	case json.Delim('['):
		return nil, errObject
	default:
		return t, nil
	}
	list := []pair{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := readMember(d)
		if err != nil {
			return nil, err
		}
		list = append(list, pair{name.(string), value}) // a JSON key is a string
	}
	_, err = d.Token()
	return list, err
}

// classText returns a class in the text form of a model's list of classes.
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
