package parse

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Call is a query that contains one of our statements in the form of a relation. Tools that parse SQL
// themselves do not know TRAIN MODEL, and some send only SELECT:
//
//	SELECT model, rows FROM ml.train('late', 'logistic_regression', (SELECT …), target => 'late') WHERE …
//	                        └────────────────────── Statement, run once ─────────────────────┘
//	SELECT model, rows FROM (the rows that it returned) AS train WHERE …
//
// The query may contain more of them: it is parsed again with the rows of the first.
type Call struct {
	Function   string // its name, for errors
	Statement  *Statement
	Pos        int    // of the function, in characters from 1
	head, tail string // of the query, around the relation
	alias      string // " AS function", unless the query has an alias
	start, end int    // where the query begins and where the call ends, in characters from 1
}

// Tag implements Extension.
func (*Call) Tag() string { return "SELECT" }
func (*Call) extension()  {}

// Query is the query's text with a SELECT in place of the statement.
func (c *Call) Query(rows string) string { return c.head + "(" + rows + ")" + c.alias + c.tail }

// Placed returns an error of Query(rows), or of the statement if rows is nil, with its position in the
// original query.
func (c *Call) Placed(err error, rows *string) error {
	e := *pgerr.From(err)
	switch {
	case e.Position == 0:
		return err
	case rows == nil:
		e.Position = c.Pos
		return &e
	}
	before, in := utf8.RuneCountInString(c.head), utf8.RuneCountInString(*rows)+len("()")+utf8.RuneCountInString(c.alias)
	switch {
	case e.Position <= before:
		e.Position += c.start - 1
	case e.Position <= before+in:
		e.Position = c.Pos
	default:
		e.Position += c.end - 1 - before - in
	}
	return &e
}

// statementCalls are the functions and their arguments, in the order of their positions; those after
// a "|" are given by name alone.
var statementCalls = map[string]string{
	"train":           "name algorithm query | target transform options replace if_not_exists",
	"explain_train":   "name algorithm query | target transform options replace if_not_exists analyze",
	"retrain":         "name query",
	"resume_training": "name",
	"cancel_training": "name trial",
	"describe":        "name version | format",
	"describe_model":  "name version | format", // some parsers take DESCRIBE for a statement anywhere
	"verify_model":    "name version",
	"alter_model":     "name | rename_to default_version owner_to set_alias version drop_alias if_exists",
	"drop_model":      "name | version if_exists",
	"export_model":    "name format | version",
	"import_model":    "name file format | replace target features classes",
}

// Calls are the names of the functions of ml that stand for statements.
func Calls() []string { return slices.Sorted(maps.Keys(statementCalls)) }

// callAt is the token of ml in the first call of such a function in a query's FROM; -1 for none.
func (s *source) callAt(lo, hi int) int {
	if !s.IsWord(lo, "select") && !s.IsWord(lo, "with") && !s.IsSelf(lo, '(') {
		return -1
	}
	for i := lo + 1; i+3 < hi; i++ {
		if s.Toks[i].End-s.Toks[i].Start == 2 && s.IsWord(i, "ml") && s.IsSelf(i+1, '.') && s.IsName(i+2) && s.IsSelf(i+3, '(') &&
			(s.IsWord(i-1, "from") || s.IsWord(i-1, "join")) && statementCalls[strings.ToLower(s.Name(i+2))] != "" {
			return i
		}
	}
	return -1
}

// call reads the query around the call at token i.
func (s *source) call(lo, i, hi int, d Dialect) (*Call, error) {
	end := s.Closing(i+3, hi)
	if end < 0 {
		return nil, s.SyntaxError(hi)
	}
	c := &Call{Pos: s.Pos(i), start: s.Pos(lo), end: lex.CharPos(s.Text, int(s.Toks[end].End)), Function: "ml." + strings.ToLower(s.Name(i+2)), alias: " AS " + lex.QuoteName(strings.ToLower(s.Name(i+2)))}
	switch next := end + 1; {
	case s.IsWord(next, "with") && s.IsWord(next+1, "ordinality"):
		return nil, pgerr.Unsupported("WITH ORDINALITY is not supported for %s", c.Function).At(s.Pos(next))
	case next < hi && (s.IsWord(next, "as") || s.Kind(next) == lex.Quoted || s.Kind(next) == lex.Ident && !s.clause(next)):
		c.alias = ""
	}
	start, stop := int(s.Toks[lo].Start), int(s.Toks[hi-1].End)
	c.head, c.tail = s.Text[start:s.Toks[i].Start], s.Text[s.Toks[end].End:stop]
	for k := lo; k < hi; k++ {
		if s.Kind(k) == lex.Param && (k < i || k > end) {
			return nil, pgerr.Unsupported("parameters outside of %s are not supported", c.Function).At(s.Pos(k))
		}
	}
	args, err := s.callArgs(c.Function, i+4, end)
	if err != nil {
		return nil, err
	}
	text := args.statement()
	if args.err != nil {
		return nil, args.err
	}
	list, err := Parse(text, d)
	if err == nil && len(list) != 1 {
		err = pgerr.New(pgerr.SyntaxError, "the arguments of %s make no statement", c.Function)
	}
	if err != nil {
		return nil, c.Placed(err, nil)
	}
	c.Statement = list[0]
	return c, nil
}

// clause reports whether a word that follows a relation begins what comes next, and is no alias.
func (s *source) clause(i int) bool {
	return slices.ContainsFunc([]string{"where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "union", "intersect", "except",
		"join", "inner", "left", "right", "full", "cross", "natural", "on", "using", "tablesample"}, func(w string) bool { return s.IsWord(i, w) })
}

// callArgs are the arguments of a call: where each one's tokens are. The first error sticks.
type callArgs struct {
	s        *source
	function string
	at       map[string]lex.Range
	err      error
}

func (s *source) callArgs(function string, i, end int) (*callArgs, error) {
	a := &callArgs{s: s, function: function, at: map[string]lex.Range{}}
	positional, named, _ := strings.Cut(statementCalls[strings.TrimPrefix(function, "ml.")], "|")
	places := strings.Fields(positional)
	all := append(slices.Clone(places), strings.Fields(named)...)
	for n := 0; i < end; n++ {
		stop, name := s.ArgEnd(i, end), ""
		from := i
		switch {
		case stop == i:
			return nil, s.SyntaxError(i)
		case i+1 < stop && s.IsName(i) && (s.Raw(i+1) == "=>" || s.Raw(i+1) == ":="):
			name, from = strings.ToLower(s.Name(i)), i+2
		case n < len(places):
			name = places[n]
		}
		if !slices.Contains(all, name) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s has no such argument", function).At(s.Pos(i)).
				WithHint("Its arguments are %s.", strings.Join(all, ", "))
		}
		if _, twice := a.at[name]; twice {
			return nil, pgerr.New(pgerr.SyntaxError, "argument %q of %s is given twice", name, function).At(s.Pos(i))
		}
		if !(stop-from == 1 && s.IsWord(from, "null")) {
			a.at[name] = lex.Range{Lo: from, Hi: stop}
		}
		i = stop + 1
	}
	if a.at["name"].Hi == 0 {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "%s needs the argument \"name\"", function)
	}
	return a, nil
}

func (a *callArgs) fail(arg, format string, more ...any) {
	if a.err == nil {
		e := pgerr.New(pgerr.InvalidParameterValue, "argument %q of %s "+format, append([]any{arg, a.function}, more...)...)
		if r := a.at[arg]; r.Hi > 0 {
			e = e.At(a.s.Pos(r.Lo))
		}
		a.err = e
	}
}

// text is a string; "" where the argument is not given.
func (a *callArgs) text(arg string) string {
	r, ok := a.at[arg]
	switch {
	case !ok:
		return ""
	case r.Hi-r.Lo != 1 || a.s.Kind(r.Lo) != lex.String:
		a.fail(arg, "must be a string")
		return ""
	}
	return a.s.Literal(r.Lo)
}

func (a *callArgs) flag(arg string) bool {
	r, ok := a.at[arg]
	switch {
	case !ok || r.Hi-r.Lo == 1 && a.s.IsWord(r.Lo, "false"):
		return false
	case r.Hi-r.Lo != 1 || !a.s.IsWord(r.Lo, "true"):
		a.fail(arg, "must be true or false")
		return false
	}
	return true
}

func (a *callArgs) number(arg string) string {
	r, ok := a.at[arg]
	if !ok {
		return ""
	}
	if _, err := strconv.ParseUint(a.s.Raw(r.Lo), 10, 31); r.Hi-r.Lo != 1 || err != nil {
		a.fail(arg, "must be a whole number")
	}
	return a.s.Raw(r.Lo)
}

// name is the name of a model, as SQL writes it.
func (a *callArgs) name(arg string) string {
	text := a.text(arg)
	toks, bad := lex.Postgres(text)
	if bad == nil && len(toks.Toks) > 0 {
		if parts, end := toks.Qualified(0, len(toks.Toks)); end == len(toks.Toks) {
			for i, p := range parts {
				parts[i] = lex.QuoteIdent(p)
			}
			return strings.Join(parts, ".")
		}
	}
	a.fail(arg, "is no name: %q", text)
	return ""
}

// list is a string, of names with commas between them, or an array of strings.
func (a *callArgs) list(arg string) (out []string) {
	r, ok := a.at[arg]
	if !ok {
		return nil
	}
	s := a.s
	switch {
	case r.Hi-r.Lo == 1 && s.Kind(r.Lo) == lex.String:
		text := s.Literal(r.Lo)
		toks, bad := lex.Postgres(text)
		for i := 0; bad == nil && i < len(toks.Toks); i += 2 {
			if !toks.IsName(i) || i+1 < len(toks.Toks) && !toks.IsSelf(i+1, ',') {
				return []string{text} // a name that would need quotes
			}
			out = append(out, toks.Name(i))
		}
		return out
	case s.IsWord(r.Lo, "array") && s.IsSelf(r.Lo+1, '[') && s.IsSelf(r.Hi-1, ']'):
		for i := r.Lo + 2; i < r.Hi-1; i += 2 {
			if s.Kind(i) != lex.String || i+1 < r.Hi-1 && !s.IsSelf(i+1, ',') {
				break
			}
			out = append(out, s.Literal(i))
		}
		if 2*len(out) == r.Hi-r.Lo-2 && len(out) > 0 {
			return out
		}
	}
	a.fail(arg, "must be a name, or an array of names as strings")
	return nil
}

// query is a query in parentheses, or its text as a string.
func (a *callArgs) query(arg string) string {
	r, ok := a.at[arg]
	s := a.s
	switch {
	case !ok:
		return ""
	case r.Hi-r.Lo == 1 && s.Kind(r.Lo) == lex.String:
		return s.Literal(r.Lo)
	case s.IsSelf(r.Lo, '(') && s.Closing(r.Lo, r.Hi) == r.Hi-1 && r.Hi-r.Lo > 2:
		return s.Text[s.Toks[r.Lo+1].Start:s.Toks[r.Hi-2].End]
	}
	a.fail(arg, "must be a query in parentheses, or its text")
	return ""
}

// options writes an object of JSON as a list of options.
func (a *callArgs) options(arg string) string {
	text := a.text(arg)
	if text == "" || a.err != nil {
		return ""
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out []string
	tok, err := d.Token()
	if tok != json.Delim('{') {
		a.fail(arg, "must be an object of JSON, as '{\"max_iterations\": 100}'")
		return ""
	}
	for err == nil && d.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = d.Token(); err == nil {
			err = d.Decode(&value)
		}
		if name, ok := key.(string); ok && err == nil {
			out = append(out, lex.QuoteIdent(strings.ToLower(name))+" = "+a.optionValue(arg, name, value))
		}
	}
	if err == nil {
		_, err = d.Token() // the brace
	}
	if err != nil || d.More() {
		a.fail(arg, "is no JSON: %q", text)
		return ""
	}
	if len(out) == 0 {
		return ""
	}
	return " WITH (" + strings.Join(out, ", ") + ")"
}

// optionValue writes a value of JSON as an option's. An object stays JSON.
func (a *callArgs) optionValue(arg, name string, value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch value[0] {
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // it was decoded already
		return lex.QuoteLiteral(text)
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		out := make([]string, len(list))
		for i, v := range list {
			out[i] = a.optionValue(arg, name, v)
		}
		return "ARRAY[" + strings.Join(out, ", ") + "]"
	case '{':
		if d := a.dimension(arg, name, value); d != "" {
			return d
		}
		return lex.QuoteLiteral(string(value))
	case 'n':
		a.fail(arg, "has no value for %q", name)
	}
	return string(value)
}

// dimension writes what a search chooses an option from: {"range": [0.01, 0.3], "log": true}
// or {"candidates": [4, 6, 8]}; "" for another object.
func (a *callArgs) dimension(arg, name string, value json.RawMessage) string {
	var d struct {
		Range, Candidates []json.RawMessage
		Log               bool
	}
	r := json.NewDecoder(bytes.NewReader(value))
	r.DisallowUnknownFields()
	if err := r.Decode(&d); err != nil || (d.Range == nil) == (d.Candidates == nil) || d.Candidates != nil && d.Log {
		return ""
	}
	list := make([]string, 0, 3)
	for _, v := range append(d.Range, d.Candidates...) {
		list = append(list, a.optionValue(arg, name, v))
	}
	if d.Candidates != nil {
		return "hparam_candidates(ARRAY[" + strings.Join(list, ", ") + "])"
	}
	if d.Log {
		list = append(list, "log => true")
	}
	return "hparam_range(" + strings.Join(list, ", ") + ")"
}

// statement writes the statement that the call stands for.
func (a *callArgs) statement() string {
	name := a.name("name")
	switch a.function {
	case "ml.train":
		return a.train(name)
	case "ml.explain_train":
		if a.flag("analyze") {
			return "EXPLAIN ANALYZE " + a.train(name)
		}
		return "EXPLAIN " + a.train(name)
	case "ml.retrain":
		if q := a.query("query"); q != "" {
			return "RETRAIN MODEL " + name + " AS " + q
		}
		return "RETRAIN MODEL " + name
	case "ml.resume_training":
		return "RESUME TRAINING " + name
	case "ml.cancel_training":
		if _, ok := a.at["trial"]; ok {
			name += " TRIAL " + a.number("trial")
		}
		return "CANCEL TRAINING " + name
	case "ml.describe", "ml.describe_model":
		text := "DESCRIBE MODEL " + name + a.version()
		switch format := strings.ToLower(a.text("format")); format {
		case "":
		case "card", "json":
			text += " AS " + format
		default:
			a.fail("format", "must be card or json")
		}
		return text
	case "ml.verify_model":
		return "VERIFY MODEL " + name + a.version()
	case "ml.export_model":
		return "EXPORT MODEL " + name + a.version() + " TO STDOUT" + a.with("format")
	case "ml.import_model":
		return "IMPORT MODEL " + name + " FROM " + a.file("file") + a.with("format", "replace", "target", "features", "classes")
	case "ml.drop_model":
		return "DROP MODEL " + a.ifExists() + name + a.version()
	}
	var action string
	given := 0
	for _, arg := range []string{"rename_to", "default_version", "owner_to", "set_alias", "drop_alias"} {
		if _, ok := a.at[arg]; !ok {
			continue
		}
		given++
		switch arg {
		case "rename_to":
			action = "RENAME TO " + a.name(arg)
		case "default_version":
			action = "SET DEFAULT VERSION " + a.number(arg)
		case "owner_to":
			action = "OWNER TO " + lex.QuoteIdent(a.text(arg))
		case "set_alias":
			action = "SET ALIAS " + lex.QuoteIdent(a.text(arg)) + a.version()
		case "drop_alias":
			action = "DROP ALIAS " + lex.QuoteIdent(a.text(arg))
		}
	}
	if _, ok := a.at["version"]; ok && a.at["set_alias"].Hi == 0 {
		a.fail("version", "is that of set_alias")
	}
	if given != 1 {
		a.fail("name", "must be followed by one of rename_to, default_version, owner_to, set_alias and drop_alias")
	}
	return "ALTER MODEL " + a.ifExists() + name + " " + action
}

// with writes arguments as the options of the same names.
func (a *callArgs) with(args ...string) string {
	var out []string
	for _, arg := range args {
		switch _, given := a.at[arg]; {
		case !given:
		case arg == "replace":
			out = append(out, arg+" = "+strconv.FormatBool(a.flag(arg)))
		case arg == "features" || arg == "classes":
			var names []string
			for _, n := range a.list(arg) {
				names = append(names, lex.QuoteLiteral(n))
			}
			out = append(out, arg+" = ARRAY["+strings.Join(names, ", ")+"]")
		default:
			out = append(out, arg+" = "+lex.QuoteLiteral(a.text(arg)))
		}
	}
	if out == nil {
		return ""
	}
	return " WITH (" + strings.Join(out, ", ") + ")"
}

// file writes a bytea in hex, a literal with or without its type, as a file in the statement.
func (a *callArgs) file(arg string) string {
	r, s := a.at[arg], a.s
	typed := r.Hi-r.Lo == 4 && s.IsSelf(r.Lo+1, ':') && s.IsSelf(r.Lo+2, ':') || r.Hi-r.Lo == 3 && s.Raw(r.Lo+1) == "::"
	if r.Hi == 0 || s.Kind(r.Lo) != lex.String || r.Hi-r.Lo != 1 && !(typed && s.IsWord(r.Hi-1, "bytea")) {
		a.fail(arg, "must be a bytea as a literal: '\\x…'")
		return ""
	}
	digits, ok := strings.CutPrefix(s.Literal(r.Lo), `\x`)
	b, err := hex.DecodeString(digits)
	if !ok || err != nil {
		a.fail(arg, "must be a bytea in hexadecimal: '\\x…'")
	}
	return "'data:;base64," + base64.StdEncoding.EncodeToString(b) + "'"
}

func (a *callArgs) version() string {
	if v := a.number("version"); v != "" {
		return " VERSION " + v
	}
	return ""
}

func (a *callArgs) ifExists() string {
	if a.flag("if_exists") {
		return "IF EXISTS "
	}
	return ""
}

func (a *callArgs) train(name string) string {
	var b strings.Builder
	b.WriteString("TRAIN ")
	if a.flag("replace") {
		b.WriteString("OR REPLACE ")
	}
	b.WriteString("MODEL ")
	if a.flag("if_not_exists") {
		b.WriteString("IF NOT EXISTS ")
	}
	b.WriteString(name)
	algorithm, query := a.text("algorithm"), a.query("query")
	if algorithm == "" {
		a.fail("algorithm", "is missing")
	}
	if query == "" {
		a.fail("query", "is missing")
	}
	b.WriteString(" USING " + lex.QuoteIdent(strings.ToLower(algorithm)))
	for i, t := range a.list("target") {
		b.WriteString(map[bool]string{true: " PREDICT ", false: ", "}[i == 0] + lex.QuoteIdent(t))
	}
	if t := a.text("transform"); t != "" {
		b.WriteString(" TRANSFORM (" + t + ")")
	}
	b.WriteString(a.options("options"))
	b.WriteString(" AS " + query)
	return b.String()
}
