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

func typeName(o types.OID) string {
	if o == types.AnyCompatibleNonArrayOID {
		return "anycompatiblenonarray"
	}
	return shorter.Replace(strings.Trim(types.TypeName(o), `"`))
}

// shorter writes the names of types of times as people write them.
var shorter = strings.NewReplacer("timestamp with time zone", "timestamptz", "time with time zone", "timetz", " without time zone", "")

func typeNames(oids []types.OID) string {
	var s []string
	for _, o := range oids {
		s = append(s, typeName(o))
	}
	return strings.Join(s, ", ")
}

// alsoCalled are functions of operators that are also documented as functions.
var alsoCalled = []string{"abs", "starts_with", "array_append", "array_cat", "array_prepend"}

// internalNames match functions that have a name only because an index, a
// cast, an aggregate or the binary protocol needs one.
var internalNames = regexp.MustCompile(`(_cmp|cmp|send|_accum|_combine|_larger|_smaller|_escape)$|_cmp_|^numeric_|^d(exp|log1|log10|round|trunc)$|^(not)?like$|^textlen$|^_pg_|^ml_|^(limit|offset)_count$|^row_xmin$|^nameconcatoid$|^overlaps$`)

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

// TestManualFunctions keeps the manual's lists of scalar functions, a page for each family.
func TestManualFunctions(t *testing.T) {
	hidden := internal()
	for _, fam := range []struct{ file, page string }{
		{"numbers", "functions-numbers"}, {"strings", "functions-text"}, {"datetime", "functions-dates"},
		{"arrays", "functions-arrays"}, {"enums", "functions-arrays"}, {"json", "functions-json"},
	} {
		rows := overloads(fam.file, Scalar, func(f Func) bool { return !hidden(f.Name) })
		manual.Part(t, "docs/reference/"+fam.page+".md", fam.file, manual.Table([]string{"function", "arguments → result"}, rows))
	}
}

// systemTopic is a part of the page on functions of the system. A function belongs to the first that
// matches its name.
type systemTopic struct {
	part  string
	names *regexp.Regexp
}

var systemTopics = []systemTopic{
	{"privileges", regexp.MustCompile(`^has_|^pg_has_role$|^row_security`)},
	{"sequences", regexp.MustCompile(`^(currval|lastval|nextval|setval)$|sequence`)},
	{"locks", regexp.MustCompile(`advisory|^pg_blocking_pids$`)},
	{"sizes", regexp.MustCompile(`_size(_bytes|_pretty)?$|^pg_size_|^pg_column_compression$`)},
	{"sessions", regexp.MustCompile(`^current_|^session_user$|^(set_config|version)$|^inet_|^pg_(sleep|cancel|terminate|reload|notify|backend_pid|postmaster|conf_load|my_temp|client_enc|export|current_logfile)|^txid_|^gen_random`)},
	{"objects", regexp.MustCompile(`^pg_get_|^acldefault$|description$|^pg_describe|^format_type$|^to_reg|_is_visible$|^pg_typeof$|^pg_collation_for$|^oidvectortypes$|_has_property$|_is_(insertable|updatable|publishable)$|^pg_relation_file|^pg_(partition_root|tablespace_location)$`)},
	{"statistics", regexp.MustCompile(`^pg_stat_`)},
	{"others", regexp.MustCompile(``)},
}

// TestManualSystemFunctions keeps the manual's lists of functions about sessions, objects and the server.
func TestManualSystemFunctions(t *testing.T) {
	hidden := internal()
	for i, topic := range systemTopics {
		rows := overloads("system", Scalar, func(f Func) bool {
			if topic.part == "privileges" && len(f.Args) > 2 && f.Args[0] != types.TextOID || slices.Contains(f.Args, types.OIDOID) && f.Name != "acldefault" && topic.part == "privileges" {
				return false
			}
			return !hidden(f.Name) && i == slices.IndexFunc(systemTopics, func(of systemTopic) bool { return of.names.MatchString(f.Name) })
		})
		manual.Part(t, "docs/reference/functions-system.md", topic.part, manual.Table([]string{"function", "arguments → result"}, rows))
	}
}

// operatorTopic is a part of the page on operators. An operator belongs to the first that has a meaning
// for its name and one of the types of its operands, if it lists types.
type operatorTopic struct {
	part, types string // types are separated by commas
	mixed       bool   // operands of two types are listed with the result
	meanings    map[string]string
}

func (topic operatorTopic) has(op *Operator) bool {
	types := strings.Split(topic.types, ",")
	return topic.meanings == nil || topic.meanings[op.Name] != "" &&
		(topic.types == "" || slices.Contains(types, typeName(op.Left)) || slices.Contains(types, typeName(op.Right)))
}

var operatorTopics = []operatorTopic{
	{"comparison", "", false, map[string]string{"=": "equal", "<>": "not equal; also written `!=`", "<": "less", "<=": "less or equal", ">": "greater", ">=": "greater or equal"}},
	{"dates", "date,timestamptz,timestamp,timetz,time,interval",
		true, map[string]string{"+": "later by", "-": "earlier by, or the time between", "*": "multiple", "/": "fraction"}},
	{"json", "json,jsonb", true, map[string]string{"->": "member or element, as JSON", "->>": "member or element, as text", "#>": "what lies at a path, as JSON", "#>>": "what lies at a path, as text",
		"@>": "contains", "<@": "is contained in", "?": "has the key or element", "?|": "has one of them", "?&": "has all of them", "||": "concatenation, merging objects",
		"-": "without a key or element", "#-": "without what lies at a path", "@?": "the path finds something", "@@": "the path's predicate is true"}},
	{"numbers", "smallint,integer,bigint,numeric,real,double precision", false, map[string]string{"+": "sum", "-": "difference, negation", "*": "product",
		"/": "quotient; of integers without the remainder", "%": "remainder", "^": "power", "@": "absolute value", "|/": "square root", "||/": "cube root"}},
	{"bits", "smallint,integer,bigint,bit", false, map[string]string{"&": "bitwise and", "|": "bitwise or", "#": "bitwise exclusive or", "~": "bitwise not", "<<": "shift left", ">>": "shift right"}},
	{"text", "text,character,name,bytea,bit,bit varying", false, map[string]string{"||": "concatenation", "~": "matches a regular expression", "~*": "matches it, upper and lower case alike", "!~": "does not match a regular expression",
		"!~*": "does not match it, upper and lower case alike", "~~": "LIKE", "~~*": "ILIKE", "!~~": "NOT LIKE", "!~~*": "NOT ILIKE", "^@": "starts with"}},
	{"arrays", "anyarray,anycompatiblearray", true, map[string]string{"||": "concatenation, of arrays or an array and an element", "&&": "have elements in common", "@>": "contains", "<@": "is contained in"}},
	{"others", "", false, nil},
}

// TestManualOperators keeps the manual's lists of operators.
func TestManualOperators(t *testing.T) {
	type operator struct{ operands, prefix []string }
	rows := make([]map[string]*operator, len(operatorTopics))
	for _, op := range AllOperators() {
		in := slices.IndexFunc(operatorTopics, func(topic operatorTopic) bool { return topic.has(op) })
		topic := operatorTopics[in]
		if rows[in] == nil {
			rows[in] = map[string]*operator{}
		}
		o := rows[in][op.Name]
		if o == nil {
			o = &operator{}
			rows[in][op.Name] = o
		}
		switch {
		case op.Left == 0:
			o.prefix = append(o.prefix, typeName(op.Right))
		case op.Left != op.Right && topic.mixed:
			o.operands = append(o.operands, typeName(op.Left)+" "+op.Name+" "+typeName(op.Right)+" → "+typeName(op.Func.Ret))
		default:
			o.operands = append(o.operands, typeName(op.Left))
		}
	}
	for i, topic := range operatorTopics {
		byOperands := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(rows[i])) {
			o := rows[i][name]
			slices.Sort(o.operands)
			text := strings.Join(slices.Compact(o.operands), ", ")
			if slices.Sort(o.prefix); len(o.prefix) > 0 {
				text = strings.TrimPrefix(text+"; before its operand: "+strings.Join(o.prefix, ", "), "; ")
			}
			if topic.part != "comparison" && topic.part != "others" {
				text = topic.meanings[name] + "|" + text
			}
			byOperands[text] = append(byOperands[text], name)
		}
		var table [][]string
		for text, names := range byOperands {
			meaning, operands, ok := strings.Cut(text, "|")
			if !ok {
				meaning, operands = "", text
				for _, n := range names {
					meaning += ", " + topic.meanings[n]
				}
				meaning = strings.Trim(meaning, ", ")
			}
			table = append(table, []string{"`" + strings.Join(names, "` `") + "`", meaning, operands})
		}
		slices.SortFunc(table, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		manual.Part(t, "docs/reference/operators.md", topic.part, manual.Table([]string{"operator", "meaning", "operands"}, table))
	}
}

func TestManualAggregates(t *testing.T) {
	all := func(Func) bool { return true }
	manual.Part(t, "docs/reference/aggregates.md", "aggregates", manual.Table([]string{"aggregate", "arguments → result"}, overloads("aggregates", Aggregate, all)))
	manual.Part(t, "docs/reference/window-functions.md", "windows", manual.Table([]string{"function", "arguments → result"}, overloads("window", Aggregate, all)))
}

// overloads returns a row for each function of a file that is wanted: its arguments by result type.
func overloads(file string, kind Kind, want func(Func) bool) (rows [][]string) {
	type result struct {
		ret  string
		args []string
	}
	var names []string
	byName := map[string][]*result{}
	for _, l := range lines(file) {
		f := parseFunc(l, kind)
		if strings.HasPrefix(f.Name, "ml_") || !want(*f) {
			continue
		}
		args, ret := typeNames(f.Args), typeName(f.Ret)
		if f.Variadic != 0 {
			args = typeNames(append(slices.Clone(f.Args[:len(f.Args)-1]), f.Variadic)) + ", …"
		}
		switch {
		case f.Hypothetical:
			args = "… WITHIN GROUP (ORDER BY …)"
		case f.Ordered:
			args = typeNames(f.Args[:f.Direct]) + " WITHIN GROUP (ORDER BY " + typeNames(f.Args[f.Direct:]) + ")"
		case len(f.Args) == 0 && f.Name == "count":
			args = "*"
		case len(f.Args) == 0:
			args = "()"
		case len(f.Args) > 1 || f.Variadic != 0:
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
	slices.Sort(names)
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
		if len(same) == 1 {
			parts = append(parts, same[0]+" → "+same[0])
		} else if len(same) > 1 {
			parts = append(parts, strings.Join(same, ", ")+" → the same type")
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
		if strings.HasPrefix(f.Name, "_") || strings.HasPrefix(f.Name, "ml_") {
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
	manual.Part(t, "docs/reference/functions-sets.md", "sets", manual.Table([]string{"function", "columns"}, rows))
}
