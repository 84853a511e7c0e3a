package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// shapes are the relations that arrange the cells of a query anew, with their arguments after the query:
//
//	transpose((query), rows)        a row for each column: its name, and x0, x1, … of the first rows
//	slice((query), rows, cols)      ranges as in Python
//	reshape((query), rows, cols)    the cells row by row in rows of another length
//	pivot((query), 'sum(x) FOR y IN (1, 2)'), unpivot((query), 'x FOR y IN (a, b)')
//
// The last two are what package parse makes of FROM t PIVOT (…). Each becomes a query over the query.
var shapes = map[string]struct {
	args string
	text func(s *shaped) string
}{
	"transpose": {"rows", (*shaped).transpose},
	"slice":     {"rows cols", (*shaped).slice},
	"reshape":   {"rows cols", (*shaped).reshape},
	"pivot":     {"pivot", (*shaped).pivot},
	"unpivot":   {"unpivot nulls", (*shaped).unpivot},
}

// shaped is a call of one of them. The first error sticks.
type shaped struct {
	sc   *scope.Scope
	name string
	sel  *ast.SelectStmt
	cols []scope.Output
	args map[string]types.Datum
	err  error
}

// bindShape reads the arguments of such a call; ok is false for other ones.
func bindShape(sc *scope.Scope, name string, fc *ast.FuncCall) (s *shaped, ok bool, err error) {
	args := typing.Items(fc.Args)
	shape, ok := shapes[name]
	if !ok || len(args) == 0 {
		return nil, false, nil
	}
	sub, ok := typing.Unparen(args[0]).(*ast.SubLink)
	if !ok || sub.SubLinkType != ast.EXPR_SUBLINK {
		return nil, false, nil
	}
	s = &shaped{sc: sc, name: name, sel: sub.Subselect.(*ast.SelectStmt), args: map[string]types.Datum{}}
	names := strings.Fields(shape.args)
	for i, a := range args[1:] {
		arg := ""
		if na, ok := a.(*ast.NamedArgExpr); ok {
			arg, a = na.Name, na.Arg
		} else if i < len(names) {
			arg = names[i]
		}
		if _, twice := s.args[arg]; twice || !slices.Contains(names, arg) {
			return nil, true, pgerr.New(pgerr.InvalidParameterValue, "%s of a query has no such argument", name).At(sc.Binder.PosExpr(a)).
				WithHint("Its arguments are: the query in parentheses, %s.", strings.Join(names, ", "))
		}
		e, err := sc.Expr(a, scope.InFunctions)
		if err != nil {
			return nil, true, err
		}
		c, ok := e.(*expr.Const)
		switch {
		case ok:
			s.args[arg] = c.Val
		case sc.Binder.Session.Fold == nil || !constant(e):
			return nil, true, pgerr.New(pgerr.InvalidParameterValue, "argument %q of %s must be a constant", arg, name).At(sc.Binder.PosExpr(a))
		default:
			if s.args[arg], err = sc.Binder.Session.Fold(e); err != nil {
				return nil, true, err
			}
		}
	}
	q, err := Bind(sc, s.sel, scope.InFromClause, true)
	if err != nil {
		return nil, true, err
	}
	s.cols = q.Out
	return s, true, nil
}

// constant reports whether an expression reads no columns.
func constant(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Col, *expr.Subquery, *expr.Param:
			ok = false
		}
		return ok
	})
	return ok
}

func (s *shaped) fail(format string, args ...any) {
	if s.err == nil {
		s.err = pgerr.New(pgerr.InvalidParameterValue, format, args...).At(s.sc.Binder.SpotFunc(s.name).At())
	}
}

// number is an argument that is a whole number; def where it is not given.
func (s *shaped) number(arg string, def int64) int64 {
	switch v := s.args[arg].(type) {
	case nil:
		return def
	case int64:
		return v
	}
	s.fail("argument %q of %s must be a whole number", arg, s.name)
	return def
}

func (s *shaped) text(arg string) string {
	t, ok := s.args[arg].(string)
	if !ok && s.args[arg] != nil {
		s.fail("argument %q of %s must be text", arg, s.name)
	}
	return t
}

// ordered requires an order of the query's rows, which a relation has not by itself.
func (s *shaped) ordered() {
	if len(typing.Items(s.sel.SortClause)) == 0 && s.err == nil {
		s.fail("the query of %s has no order of rows", s.name)
		s.err = s.err.(*pgerr.Error).WithHint("Add ORDER BY to it.")
	}
}

// from is the query as a relation with columns c0 ….
func (s *shaped) from() string {
	names := make([]string, len(s.cols))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return "(SELECT 1) AS q(" + strings.Join(names, ", ") + ")"
}

// cells are the columns as values of one type: that of all, the widest of numbers, or text.
func (s *shaped) cells() []string {
	to := ""
	for i, c := range s.cols {
		switch {
		case c.Type.OID == s.cols[0].Type.OID && to == "":
			continue
		case i > 0 && to == "" && s.cols[0].Type.IsNumber(), to != "" && to != "text":
			to = "float8"
		}
		if !c.Type.IsNumber() || !s.cols[0].Type.IsNumber() {
			to = "text"
		}
	}
	out := make([]string, len(s.cols))
	for i := range out {
		if out[i] = fmt.Sprintf("c%d", i); to != "" {
			out[i] += "::" + to
		}
	}
	return out
}

// mostShaped bounds columns that are made.
const mostShaped = 1600

func (s *shaped) transpose() string {
	s.ordered()
	limit := int64(-1)
	if c, ok := s.sel.LimitCount.(*ast.A_Const); ok {
		if n, ok := c.Val.(*ast.Integer); ok {
			limit = int64(n.IVal)
		}
	}
	n := s.number("rows", limit)
	if n < 1 || n > mostShaped {
		s.fail("how many rows transpose makes columns of must be known, from 1 to %d: give the query LIMIT or transpose rows", mostShaped)
		return ""
	}
	var aggs, values, cols []string
	for i, c := range s.cells() {
		aggs = append(aggs, fmt.Sprintf("array_agg(%s ORDER BY i) AS a%d", c, i))
		values = append(values, fmt.Sprintf("(%d, %s, a%d)", i, lex.QuoteLiteral(s.cols[i].Name), i))
	}
	for k := range n {
		cols = append(cols, fmt.Sprintf("v.a[%d] AS x%d", k+1, k))
	}
	return fmt.Sprintf("SELECT v.name, %s FROM (SELECT %s FROM (SELECT *, row_number() OVER () AS i FROM %s) AS n WHERE i <= %d) AS s, LATERAL (VALUES %s) AS v(i, name, a) ORDER BY v.i",
		strings.Join(cols, ", "), strings.Join(aggs, ", "), s.from(), n, strings.Join(values, ", "))
}

// span reads a range start:stop:step; the ends are nil where they are left out.
func (s *shaped) span(arg string) (from, to *int64, step int64) {
	text := s.text(arg)
	parts := strings.Split(text, ":")
	if step = 1; text == "" {
		return nil, nil, step
	}
	if len(parts) < 2 || len(parts) > 3 {
		s.fail("argument %q of slice must be a range start:stop or start:stop:step, such as ':10'", arg)
		return nil, nil, step
	}
	for i, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		v, err := strconv.ParseInt(p, 10, 32)
		switch {
		case err != nil || i == 2 && v <= 0:
			s.fail("argument %q of slice is no range: %q", arg, text)
		case i == 0:
			from = &v
		case i == 1:
			to = &v
		default:
			step = v
		}
	}
	return from, to, step
}

func (s *shaped) slice() string {
	var cols []string
	from, to, step := s.span("cols")
	n := int64(len(s.cols))
	end := func(p *int64, def int64) int64 {
		switch {
		case p == nil:
			return def
		case *p < 0:
			return max(0, *p+n)
		}
		return min(n, *p)
	}
	for k := end(from, 0); k < end(to, n); k += step {
		cols = append(cols, fmt.Sprintf("c%d AS %s", k, lex.QuoteName(s.cols[k].Name)))
	}
	if len(cols) == 0 {
		s.fail("slice leaves no columns")
	}
	list := strings.Join(cols, ", ")
	from, to, step = s.span("rows")
	if from == nil && to == nil && step == 1 {
		return "SELECT " + list + " FROM " + s.from()
	}
	s.ordered()
	if (from == nil || *from >= 0) && (to == nil || *to >= 0) && step == 1 { // what an ORDER BY can stop at
		text := "SELECT " + list + " FROM " + s.from()
		if to != nil {
			n := *to
			if from != nil {
				n = max(0, n-*from)
			}
			text += fmt.Sprintf(" LIMIT %d", n)
		}
		if from != nil {
			text += fmt.Sprintf(" OFFSET %d", *from)
		}
		return text
	}
	place := func(p *int64, def string) string {
		switch {
		case p == nil:
			return def
		case *p < 0:
			return fmt.Sprintf("greatest(0, n %d)", *p)
		}
		return strconv.FormatInt(*p, 10)
	}
	lo := place(from, "0")
	return fmt.Sprintf("SELECT %s FROM (SELECT *, row_number() OVER () - 1 AS i, count(*) OVER () AS n FROM %s) AS s WHERE i >= %s AND i < %s AND (i - %s) %% %d = 0 ORDER BY i",
		list, s.from(), lo, place(to, "n"), lo, step)
}

func (s *shaped) reshape() string {
	s.ordered()
	n := s.number("cols", 0)
	if n < 1 || n > mostShaped {
		s.fail("reshape of a query needs cols, from 1 to %d", mostShaped)
		return ""
	}
	rows := s.number("rows", -1)
	if rows < -1 {
		s.fail("argument %q of reshape must be a number of rows, or -1", "rows")
	}
	var cells, cols []string
	for j, c := range s.cells() {
		cells = append(cells, fmt.Sprintf("(%d, %s)", j, c))
	}
	for k := range n {
		cols = append(cols, fmt.Sprintf("(array_agg(v) FILTER (WHERE p %% %d = %d))[1] AS x%d", n, k, k))
	}
	most := ""
	if rows >= 0 {
		most = fmt.Sprintf(" WHERE p < %d", rows*n)
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT i * %d + j AS p, v FROM (SELECT *, row_number() OVER () - 1 AS i FROM %s) AS s, LATERAL (VALUES %s) AS u(j, v)) AS c%s GROUP BY p / %d ORDER BY p / %d",
		strings.Join(cols, ", "), len(s.cols), s.from(), strings.Join(cells, ", "), most, n, n)
}

// forIn is what PIVOT and UNPIVOT have in parentheses: items FOR name IN (list).
type forIn struct {
	items, list []namedText
	name        string
	words       map[string]bool // names in items
}

type namedText struct{ text, name string }

func (s *shaped) forIn(text string) (f forIn) {
	src, bad := lex.Postgres(text)
	if bad != nil {
		s.fail("%s cannot read (%s)", strings.ToUpper(s.name), text)
		return f
	}
	n := len(src.Toks)
	items := func(lo, hi int) (out []namedText) {
		for lo < hi {
			end := src.ArgEnd(lo, hi)
			it := namedText{}
			last := end
			if end-lo >= 3 && src.IsWord(end-2, "as") && (src.IsName(end-1) || src.Kind(end-1) == lex.String) {
				if last = end - 2; src.Kind(end-1) == lex.String {
					it.name = src.Literal(end - 1)
				} else {
					it.name = src.Name(end - 1)
				}
			}
			if last > lo {
				it.text = text[src.Toks[lo].Start:src.Toks[last-1].End]
			}
			out, lo = append(out, it), end+1
		}
		return out
	}
	at := -1
	f.words = map[string]bool{}
	for i, depth := 0, 0; i < n; i++ {
		switch {
		case src.IsSelf(i, '('):
			depth++
		case src.IsSelf(i, ')'):
			depth--
		case at < 0 && depth == 0 && src.IsWord(i, "for"):
			at = i
		case at < 0 && src.IsName(i):
			f.words[src.Name(i)] = true
		}
	}
	if at < 1 || at+4 >= n || !src.IsName(at+1) || !src.IsWord(at+2, "in") || !src.IsSelf(at+3, '(') || src.Closing(at+3, n) != n-1 {
		s.fail("%s needs the form (… FOR column IN (…)), not (%s)", strings.ToUpper(s.name), text)
		return f
	}
	f.items, f.name, f.list = items(0, at), src.Name(at+1), items(at+4, n-1)
	for _, it := range slices.Concat(f.items, f.list) {
		if it.text == "" {
			s.fail("%s needs the form (… FOR column IN (…)), not (%s)", strings.ToUpper(s.name), text)
		}
	}
	return f
}

// named is the query as a relation with the names of its columns.
func (s *shaped) named() string {
	names := make([]string, len(s.cols))
	for i, c := range s.cols {
		names[i] = lex.QuoteName(c.Name)
	}
	return "(SELECT 1) AS q(" + strings.Join(names, ", ") + ")"
}

// others are the columns that are not among names.
func (s *shaped) others(names map[string]bool) (out []string) {
	for _, c := range s.cols {
		if !names[c.Name] {
			out = append(out, "q."+lex.QuoteName(c.Name))
		}
	}
	return out
}

func (s *shaped) has(name string) {
	if s.err == nil && !slices.ContainsFunc(s.cols, func(c scope.Output) bool { return c.Name == name }) {
		s.err = pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", name).At(s.sc.Binder.SpotFunc(s.name).At())
	}
}

func (s *shaped) pivot() string {
	f := s.forIn(s.text("pivot"))
	if s.err != nil {
		return ""
	}
	s.has(f.name)
	f.words[f.name] = true
	keys := s.others(f.words)
	cols := slices.Clone(keys)
	for _, v := range f.list {
		name := v.name
		if name == "" {
			if name = v.text; name[0] == '\'' {
				name = strings.ReplaceAll(strings.Trim(name, "'"), "''", "'")
			}
		}
		for _, a := range f.items {
			as := name
			switch {
			case a.name != "":
				as += "_" + a.name
			case len(f.items) > 1:
				as += "_" + a.text
			}
			cols = append(cols, fmt.Sprintf("%s FILTER (WHERE q.%s IS NOT DISTINCT FROM %s) AS %s", a.text, lex.QuoteName(f.name), v.text, lex.QuoteName(as)))
		}
	}
	text := "SELECT " + strings.Join(cols, ", ") + " FROM " + s.named()
	if len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keys, ", ")
	}
	return text
}

func (s *shaped) unpivot() string {
	f := s.forIn(s.text("unpivot"))
	if s.err == nil && (len(f.items) != 1 || len(f.words) != 1) {
		s.fail("UNPIVOT makes one column of values")
	}
	if s.err != nil {
		return ""
	}
	value := ""
	for w := range f.words {
		value = w
	}
	used := map[string]bool{}
	var rows []string
	for _, c := range f.list {
		parts, err := columnName(c.text)
		if err != nil {
			s.err = err
			return ""
		}
		s.has(parts)
		used[parts] = true
		name := c.name
		if name == "" {
			name = parts
		}
		rows = append(rows, fmt.Sprintf("(%s, q.%s)", lex.QuoteLiteral(name), lex.QuoteName(parts)))
	}
	name, val := lex.QuoteName(f.name), lex.QuoteName(value)
	text := fmt.Sprintf("SELECT %s FROM %s, LATERAL (VALUES %s) AS u(%s, %s)", strings.Join(append(s.others(used), "u."+name, "u."+val), ", "), s.named(), strings.Join(rows, ", "), name, val)
	if s.text("nulls") != "include" {
		text += " WHERE u." + val + " IS NOT NULL"
	}
	return text
}

// columnName reads the name of a column.
func columnName(text string) (string, error) {
	src, bad := lex.Postgres(text)
	if bad != nil || len(src.Toks) != 1 || !src.IsName(0) {
		return "", pgerr.New(pgerr.SyntaxError, "%s is no column", text)
	}
	return src.Name(0), nil
}
