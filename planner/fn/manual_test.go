package fn

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/internal/manual"
	"github.com/tributarydb/tributary/sql/types"
)

const functionsPage = "docs/reference/functions.md"

func typeName(o types.OID) string {
	if o == types.AnyCompatibleNonArrayOID {
		return "anycompatiblenonarray"
	}
	return strings.Trim(types.TypeName(o), `"`)
}

func typeNames(oids []types.OID) string {
	var s []string
	for _, o := range oids {
		s = append(s, typeName(o))
	}
	return strings.Join(s, ", ")
}

// alsoCalled are functions of operators that are also documented as functions.
var alsoCalled = []string{"abs", "starts_with", "array_append", "array_cat", "array_prepend", "overlaps"}

// internalNames match functions that have a name only because an index, a
// cast, an aggregate or the binary protocol needs one.
var internalNames = regexp.MustCompile(`(_cmp|cmp|send|_accum|_combine|_larger|_smaller|_escape)$|_cmp_|^numeric_|^d(exp|log1|log10|round|trunc)$|^(not)?like$|^textlen$|^_pg_`)

// internal reports whether a function is not meant to be called by name.
func internal() func(name string) bool {
	behind := map[string]bool{}
	for _, op := range AllOperators() {
		behind[op.Func.Name] = true
	}
	return func(name string) bool {
		_, cast := types.ByTypname(name)
		return behind[name] && !slices.Contains(alsoCalled, name) || internalNames.MatchString(name) || cast
	}
}

// TestManualFunctions keeps the manual's list of scalar functions.
func TestManualFunctions(t *testing.T) {
	hidden := internal()
	var rows [][]string
	for _, fam := range []struct{ file, title string }{{"numbers", "numbers"}, {"strings", "text and bytes"}, {"datetime", "dates and times"}, {"arrays", "arrays"},
		{"json", "JSON"}, {"enums", "enums"}, {"system", "the system"}} {
		names := map[string]bool{}
		for _, l := range lines(fam.file) {
			if f := parseFunc(l, Scalar); !hidden(f.Name) {
				names[f.Name] = true
			}
		}
		rows = append(rows, []string{fam.title, "`" + strings.Join(slices.Sorted(maps.Keys(names)), "`, `") + "`"})
	}
	manual.Part(t, functionsPage, "functions", manual.Table([]string{"family", "functions"}, rows))
}

// TestManualOperators keeps the manual's list of operators.
func TestManualOperators(t *testing.T) {
	left := map[string][]string{}
	for _, op := range AllOperators() {
		l := typeName(op.Left)
		if op.Left == 0 {
			l = "prefix: " + typeName(op.Right)
		}
		if !slices.Contains(left[op.Name], l) {
			left[op.Name] = append(left[op.Name], l)
		}
	}
	var rows [][]string
	byTypes := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		slices.Sort(left[name])
		ts := strings.Join(left[name], ", ")
		byTypes[ts] = append(byTypes[ts], "`"+name+"`")
	}
	for _, ts := range slices.Sorted(maps.Keys(byTypes)) {
		rows = append(rows, []string{strings.Join(byTypes[ts], " "), ts})
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	manual.Part(t, functionsPage, "operators", manual.Table([]string{"operators", "left operand"}, rows))
}

func TestManualAggregates(t *testing.T) {
	manual.Part(t, functionsPage, "aggregates", manual.Table([]string{"aggregate", "arguments → result"}, overloads("aggregates")))
	manual.Part(t, functionsPage, "windows", manual.Table([]string{"function", "arguments → result"}, overloads("window")))
}

// overloads returns one row for each function: its arguments by result type.
func overloads(file string) (rows [][]string) {
	type result struct {
		ret  string
		args []string
	}
	var names []string
	byName := map[string][]*result{}
	for _, l := range lines(file) {
		f := parseFunc(l, Aggregate)
		args, ret := typeNames(f.Args), typeName(f.Ret)
		switch {
		case f.Hypothetical:
			args = "… WITHIN GROUP (ORDER BY …)"
		case f.Ordered:
			args = typeNames(f.Args[:f.Direct]) + " WITHIN GROUP (ORDER BY " + typeNames(f.Args[f.Direct:]) + ")"
		case len(f.Args) == 0 && f.Name == "count":
			args = "*"
		case len(f.Args) == 0:
			args = "()"
		case len(f.Args) > 1:
			args = "(" + args + ")"
		}
		rs := byName[f.Name]
		if rs == nil {
			names = append(names, f.Name)
		}
		i := slices.IndexFunc(rs, func(r *result) bool { return r.ret == ret })
		if i < 0 {
			rs = append(rs, &result{ret: ret})
			i = len(rs) - 1
		}
		rs[i].args = append(rs[i].args, strings.TrimSpace(args))
		byName[f.Name] = rs
	}
	for _, n := range names {
		var parts []string
		same := []string{}
		for _, r := range byName[n] {
			if len(r.args) == 1 && r.args[0] == r.ret {
				same = append(same, r.ret)
				continue
			}
			parts = append(parts, strings.Join(r.args, ", ")+" → "+r.ret)
		}
		if len(same) > 0 {
			parts = append(parts, "the type of the argument: "+strings.Join(same, ", "))
		}
		rows = append(rows, []string{"`" + n + "`", strings.Join(parts, "; ")})
	}
	return rows
}

// TestManualSets keeps the manual's list of set-returning functions.
func TestManualSets(t *testing.T) {
	var rows [][]string
	for _, l := range lines("sets") {
		f := parseFunc(l, SetReturning)
		if strings.HasPrefix(f.Name, "_") {
			continue
		}
		out := typeName(f.Ret)
		if f.Rec != nil {
			var cols []string
			for _, c := range f.Rec.Fields {
				cols = append(cols, c.Name+" "+typeName(c.Type.OID))
			}
			out = strings.Join(cols, ", ")
		} else if f.OutName != "" {
			out = f.OutName + " " + out
		}
		rows = append(rows, []string{"`" + f.Name + "(" + typeNames(f.Args) + ")`", out})
	}
	manual.Part(t, functionsPage, "sets", manual.Table([]string{"function", "columns"}, rows))
}
