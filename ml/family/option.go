package family

import (
	"maps"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Option is an option of the statement. The manual's tables are generated from these.
type Option struct {
	// Names: the first one is used in errors and Values, the others are synonyms.
	Names   []string
	Type    string // in words
	Default string // in words
	Doc     string
	// Read checks a value and returns what Values stores: a float64, bool, string,
	// []float64 or []string; nil is as if the option were absent. Read is nil for an
	// option that is known but not supported.
	Read func(v Value) (any, error)
	// Fixed is of an option that is the same in all trials of a search, as those of columns
	// are: what it says is said of the rows, or of the search itself.
	Fixed bool
}

// Searched reports whether trials may differ in the option.
func (o *Option) Searched() bool {
	return o.Read != nil && !o.Fixed && o.Type != "column" && o.Type != "columns"
}

// Arg is an option in the statement: its value is a literal, or a word as a string, or a *Dimension.
type Arg struct {
	Name  string
	Value types.Datum
	Pos   int
}

// Dimension is the value of an option that a search chooses: hparam_range(lo, hi) or
// hparam_candidates([…]). A reader of an option never gets one: each trial has a value
// of it.
type Dimension struct {
	Lo, Hi     types.Datum // of a range
	Log        bool
	Candidates []types.Datum // nil: a range
}

// String names it in errors.
func (d *Dimension) String() string {
	if d.Candidates == nil {
		return "hparam_range"
	}
	return "hparam_candidates"
}

// Values are a statement's options after checking. It is immutable.
type Values struct {
	v   map[string]any
	pos map[string]int
}

// Read checks a statement's options against defs.
func Read(args []Arg, defs []*Option) (*Values, error) {
	o := &Values{v: map[string]any{}, pos: map[string]int{}}
	given := map[*Option]string{}
	for _, a := range args {
		d := Find(defs, a.Name)
		if d == nil {
			return nil, errUnknown(a, defs)
		}
		if first, twice := given[d]; twice {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q is given twice", d.Names[0]).At(a.Pos).
				WithDetail("It was given as %q and as %q.", first, a.Name)
		}
		given[d] = a.Name
		if d.Read == nil {
			e := pgerr.Unsupported("option %q is not supported", a.Name).At(a.Pos).WithHint("%s", hint(defs))
			if _, why, ok := strings.Cut(d.Doc, ": "); ok {
				e = e.WithDetail("%s", strings.ToUpper(why[:1])+why[1:])
			}
			return nil, e
		}
		if dim, ok := a.Value.(*Dimension); ok {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "option %q cannot be searched: %s is for what changes a model", a.Name, dim).At(a.Pos)
		}
		v, err := d.Read(Value{Arg: a})
		if err != nil {
			return nil, err
		}
		if v != nil {
			o.v[d.Names[0]], o.pos[d.Names[0]] = v, a.Pos
		}
	}
	return o, nil
}

// Find returns the option of this name, in any case, or nil.
func Find(defs []*Option, name string) *Option {
	name = strings.ToLower(name)
	for _, d := range defs {
		if slices.Contains(d.Names, name) {
			return d
		}
	}
	return nil
}

func hint(defs []*Option) string {
	var names []string
	for _, d := range defs {
		if d.Read != nil {
			names = append(names, d.Names[0])
		}
	}
	slices.Sort(names)
	return "Options are " + strings.Join(names, ", ") + "."
}

func errUnknown(a Arg, defs []*Option) error {
	var names []string
	for _, d := range defs {
		names = append(names, d.Names...)
	}
	e := pgerr.New(pgerr.InvalidParameterValue, "unrecognized training option %q", a.Name).At(a.Pos)
	if near := Nearest(a.Name, names); near != "" {
		return e.WithHint("Did you mean %q? %s", near, hint(defs))
	}
	return e.WithHint("%s", hint(defs))
}

// Nearest returns the name that s is probably a misspelling of, or "": one within a
// third of the letters, by the Damerau-Levenshtein distance.
func Nearest(s string, names []string) string {
	s = strings.ToLower(s)
	best, at := (len(s)+2)/3+1, ""
	for _, n := range names {
		if d := distance(s, n); d < best {
			best, at = d, n
		}
	}
	return at
}

func distance(a, b string) int {
	d := make([][]int, len(a)+1) // d[i][j]: distance of the first i and j bytes
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// Given reports whether the statement has an option.
func (o *Values) Given(name string) bool { _, ok := o.v[name]; return ok }

// Unfit says that an option has no effect beside the others, and why.
type Unfit struct {
	Option, Why string
	If          bool
}

// Fit returns 22023 for the first of these options that is given without effect: an
// option is never ignored.
func (o *Values) Fit(list ...Unfit) error {
	for _, u := range list {
		if u.If && o.Given(u.Option) {
			return pgerr.New(pgerr.InvalidParameterValue, "option %q does not fit here", u.Option).At(o.Pos(u.Option)).WithDetail("%s", u.Why)
		}
	}
	return nil
}

// Pos returns the position of an option in the statement, 0 where it has none or the
// training resumes from its record.
func (o *Values) Pos(name string) int { return o.pos[name] }

// Float, Int, Bool, Text, Floats and Texts return an option's value, or def where it is
// absent.
func (o *Values) Float(name string, def float64) float64 { return of(o, name, def) }

// Int is Float for an integer.
func (o *Values) Int(name string, def int) int { return int(of(o, name, float64(def))) }

// Bool: see Float.
func (o *Values) Bool(name string, def bool) bool { return of(o, name, def) }

// Text: see Float.
func (o *Values) Text(name, def string) string { return of(o, name, def) }

// Floats: see Float. It must not be changed.
func (o *Values) Floats(name string, def []float64) []float64 { return of(o, name, def) }

// Texts: see Float. It must not be changed.
func (o *Values) Texts(name string, def []string) []string { return of(o, name, def) }

func of[T any](o *Values, name string, def T) T {
	if v, ok := o.v[name].(T); ok {
		return v
	}
	return def
}

// Encode writes the canonical bytes, which distinguish trainings.
func (o *Values) Encode(e *canon.E) {
	names := make([]string, 0, len(o.v))
	for n := range o.v {
		names = append(names, n)
	}
	slices.Sort(names)
	e.U32(uint32(len(names)))
	for _, n := range names {
		e.Str(n)
		switch v := o.v[n].(type) {
		case float64:
			e.U8(1)
			e.F64(v)
		case bool:
			e.U8(2)
			e.Bool(v)
		case string:
			e.U8(3)
			e.Str(v)
		case []float64:
			e.U8(4)
			e.F64s(v)
		case []string:
			e.U8(5)
			e.Strs(v)
		}
	}
}

// DecodeValues reads what Encode wrote.
func DecodeValues(d *canon.D) *Values {
	o := &Values{v: map[string]any{}, pos: map[string]int{}}
	for range d.Count(6) {
		n := d.Str()
		switch d.U8() {
		case 1:
			o.v[n] = d.F64()
		case 2:
			o.v[n] = d.Bool()
		case 3:
			o.v[n] = d.Str()
		case 4:
			o.v[n] = d.F64s()
		case 5:
			o.v[n] = d.Strs()
		default:
			d.Fail()
		}
	}
	return o
}

// Without returns the options without those of these names.
func (o *Values) Without(names []string) *Values {
	out := &Values{v: maps.Clone(o.v), pos: o.pos}
	for _, n := range names {
		delete(out.v, n)
	}
	return out
}
