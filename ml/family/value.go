package family

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Value checks an option's value and reports errors for it.
type Value struct {
	Arg
	asked *Domain // the reader is only asked for what it accepts
}

// Domain is what an option accepts.
type Domain struct {
	Want     string   // in words
	Words    []string // where it accepts these and no others
	Min, Max float64  // of a number, which may exclude them; infinite for none
}

// Domain asks the reader of an option what it accepts, with a value that none does. Where the
// option is not supported, the domain is empty.
func (d *Option) Domain() Domain {
	a := wordDomain("")
	if d.Read != nil {
		_, _ = d.Read(Value{asked: &a}) // the error says the same
	}
	return a
}

// Bad returns the error for a value other than want, which says in words what is
// expected.
func (v Value) Bad(want string) error {
	return v.outside(wordDomain(want))
}

// outside is Bad for a value that is outside of d. What the last reader says of several holds.
func (v Value) outside(d Domain) error {
	if v.asked != nil {
		*v.asked = d
	}
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for option %q: %s", v.Name, v.text()).At(v.Pos).WithHint("It must be %s.", d.Want)
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

// Number returns a reader of a finite number from lo to hi for which ok returns true; want says so
// in words.
func Number(want string, lo, hi float64, ok func(float64) bool) func(Value) (any, error) {
	return func(v Value) (any, error) {
		f, num := types.Float(v.Value)
		if !num || f-f != 0 || f < lo || f > hi || !ok(f) {
			return nil, v.outside(Domain{Want: want, Min: lo, Max: hi})
		}
		return f, nil
	}
}

// Readers of numbers.
var (
	NotNegative = Interval("[0, inf)")
	Positive    = Interval("(0, inf)")
	Fraction    = Interval("(0, 1]")
)

// Interval returns a reader of a number in an interval in the notation of mathematics: "[0, 1)" is
// from 0 to below 1. It begins with a number, and ends with one or "inf)".
func Interval(text string) func(Value) (any, error) {
	from, to, _ := strings.Cut(text[1:len(text)-1], ", ")
	lo, err := strconv.ParseFloat(from, 64)
	hi, err2 := strconv.ParseFloat(to, 64)
	if err != nil || err2 != nil {
		panic("BUG: interval " + text)
	}
	brackets := text[:1] + text[len(text)-1:]
	want := "a number " + map[string]string{"[]": "from ", "[)": "from ", "(]": "above ", "()": "between "}[brackets] + from +
		map[string]string{"[]": " to ", "[)": " to below ", "(]": " and at most ", "()": " and "}[brackets] + to
	if to == "inf" {
		want = "a number " + map[string]string{"[)": "not below ", "()": "above "}[brackets] + from
	}
	return Number(want, lo, hi, func(f float64) bool { return (f > lo || text[0] == '[') && (f < hi || text[len(text)-1] == ']') })
}

// Integer returns a reader of an integer in [lo, hi].
func Integer(lo, hi int64) func(Value) (any, error) {
	want := fmt.Sprintf("an integer from %d to %d", lo, hi)
	return Number(want, float64(lo), float64(hi), func(f float64) bool { return f == math.Trunc(f) })
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
	return nil, v.outside(wordDomain("true or false", "true", "false"))
}

func wordDomain(want string, words ...string) Domain {
	return Domain{Want: want, Words: words, Min: math.Inf(-1), Max: math.Inf(1)}
}

// Word returns a reader of one of these words. A word may have synonyms, after the one
// that Values stores: "lbfgs", or "gd|batch_gradient_descent".
func Word(words ...string) func(Value) (any, error) {
	return func(v Value) (any, error) {
		var names, first []string
		for _, w := range words {
			all := strings.Split(w, "|")
			if slices.Contains(all, v.Word()) {
				return all[0], nil
			}
			names, first = append(names, all...), append(first, all[0])
		}
		return nil, v.outside(wordDomain("one of "+strings.Join(names, ", "), first...))
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
			f, num := types.Float(d)
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
			if _, err := list(Value{Arg: Arg{Value: value}}); err != nil || seen[name] {
				return false
			}
			seen[name] = true
			f, _ := types.Float(value)
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

// relationName reads the name of a relation.
func relationName(v Value) (any, error) {
	if s, ok := v.Value.(string); ok && s != "" {
		return s, nil
	}
	return nil, v.Bad("the name of a table or view")
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

// groupColumns reads names of columns: a list, or, as MADlib has it, a text with commas.
func groupColumns(v Value) (any, error) {
	text, ok := v.Value.(string)
	if !ok || !strings.Contains(text, ",") {
		return columnNames(v)
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names, nil
}
