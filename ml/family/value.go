package family

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Value checks an option's value and reports errors for it.
type Value struct{ Arg }

// Bad returns the error for a value other than want, which says in words what is
// expected.
func (v Value) Bad(want string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option %q: %s", v.Name, v.text()).At(v.Pos).WithHint("It must be %s.", want)
}

func (v Value) text() string {
	switch x := v.Value.(type) {
	case nil:
		return "NULL"
	case string:
		return fmt.Sprintf("%q", x)
	case number.Decimal:
		return x.String()
	case types.Array:
		return "an array"
	}
	return fmt.Sprint(v.Value)
}

// Word returns a value that is a word, in lower case.
func (v Value) Word() string { s, _ := v.Value.(string); return strings.ToLower(s) }

// Number returns a reader of a finite number for which ok returns true; want says so in
// words.
func Number(want string, ok func(float64) bool) func(Value) (any, error) {
	return func(v Value) (any, error) {
		f, num := feature.Float(v.Value)
		if !num || f-f != 0 || !ok(f) {
			return nil, v.Bad(want)
		}
		return f, nil
	}
}

// Readers of numbers.
var (
	NotNegative = Number("a number not below 0", func(f float64) bool { return f >= 0 })
	Positive    = Number("a number above 0", func(f float64) bool { return f > 0 })
	Fraction    = Number("a number above 0 and at most 1", func(f float64) bool { return f > 0 && f <= 1 })
)

// Integer returns a reader of an integer in [lo, hi].
func Integer(lo, hi int64) func(Value) (any, error) {
	want := fmt.Sprintf("an integer from %d to %d", lo, hi)
	return Number(want, func(f float64) bool { return f == math.Trunc(f) && f >= float64(lo) && f <= float64(hi) })
}

// Boolean reads true or false.
func Boolean(v Value) (any, error) {
	switch x := v.Value.(type) {
	case bool:
		return x, nil
	case string:
		switch strings.ToLower(x) {
		case "true", "on", "yes":
			return true, nil
		case "false", "off", "no":
			return false, nil
		}
	}
	return nil, v.Bad("true or false")
}

// Word returns a reader of one of these words. A word may have synonyms, after the one
// that Values stores: "lbfgs", or "gd|batch_gradient_descent".
func Word(words ...string) func(Value) (any, error) {
	return func(v Value) (any, error) {
		var names []string
		for _, w := range words {
			all := strings.Split(w, "|")
			if slices.Contains(all, v.Word()) {
				return all[0], nil
			}
			names = append(names, all...)
		}
		return nil, v.Bad("one of " + strings.Join(names, ", "))
	}
}

// Integers returns a reader of a list of integers, or a single one.
func Integers(lo, hi int64) func(Value) (any, error) {
	want := fmt.Sprintf("a list of integers from %d to %d", lo, hi)
	return func(v Value) (any, error) {
		list := []types.Datum{v.Value}
		if a, ok := v.Value.(types.Array); ok {
			list = a.Elems
		}
		out := []float64{}
		for _, d := range list {
			f, num := feature.Float(d)
			if !num || f != math.Trunc(f) || f < float64(lo) || f > float64(hi) {
				return nil, v.Bad(want)
			}
			out = append(out, f)
		}
		return out, nil
	}
}

// IntegersByName is like Integers, but also accepts names with an integer each, which
// are stored as alternating texts: '{"x0": 1, "x3": -1}' or [('x0', 1), ('x3', -1)]. A
// list may be a text in parentheses, as in XGBoost.
func IntegersByName(lo, hi int64) func(Value) (any, error) {
	integers := Integers(lo, hi)
	want := fmt.Sprintf("a list of integers from %d to %d, or of columns with one each", lo, hi)
	list := func(v Value) (any, error) {
		out, err := integers(v)
		if err != nil {
			return nil, v.Bad(want)
		}
		return out, nil
	}
	return func(v Value) (any, error) {
		var named any = v.Value
		if x, ok := named.(string); ok {
			if inner, ok := strings.CutPrefix(strings.TrimSpace(x), "("); ok {
				a := types.Array{Elem: types.Int8}
				for _, n := range strings.Split(strings.TrimSuffix(inner, ")"), ",") {
					i, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
					if err != nil {
						return list(v)
					}
					a.Elems = append(a.Elems, i)
				}
				v.Value = a
				return list(v)
			}
			if o, err := readObject(x); err == nil {
				named = o
			}
		}
		out, seen := []string{}, map[string]bool{}
		if v.eachWeight(named, func(name string, value any) bool {
			if _, err := list(Value{Arg{Value: value}}); err != nil || seen[name] {
				return false
			}
			seen[name] = true
			f, _ := feature.Float(value)
			out = append(out, name, strconv.FormatInt(int64(f), 10))
			return true
		}) {
			return out, nil
		}
		return list(v)
	}
}

// ColumnName reads a column's name, alone or as an array of one.
func ColumnName(v Value) (any, error) {
	x := v.Value
	if a, ok := x.(types.Array); ok {
		if len(a.Elems) != 1 {
			return nil, pgerr.Unsupported("models with more than one target column are not supported").At(v.Pos)
		}
		x = a.Elems[0]
	}
	s, ok := x.(string)
	if !ok || s == "" {
		return nil, v.Bad("the name of a column")
	}
	return s, nil
}

// columnNames reads the names of columns, one alone or an array.
func columnNames(v Value) (any, error) {
	list := []types.Datum{v.Value}
	if a, ok := v.Value.(types.Array); ok {
		list = a.Elems
	}
	var out []string
	for _, d := range list {
		s, ok := d.(string)
		if !ok || s == "" {
			return nil, v.Bad("the name of a column, or an array of names")
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, v.Bad("the name of a column, or an array of names")
	}
	return out, nil
}
