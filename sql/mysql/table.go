package mysql

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"github.com/tributarydb/tributary/sql/lex"
)

// MySQL has no functions in FROM, so Vitess refuses them. Predictions and files
// are read by such functions, so they are accepted here:
//
//	SELECT * FROM ml.predict(MODEL m, (SELECT a FROM t)) p JOIN read_csv('x') c
//
// Such a call is cut out by its tokens and replaced, for Vitess, by a table
// name that cannot occur otherwise; the call's arguments are translated one by
// one.
const callTable = "\x01call "

// tableCall is a call cut out of a FROM: its text for the Postgres grammar.
type tableCall struct{ text string }

// tableCallAt reports whether a function is called at token i in place of a table.
func (t *translator) tableCallAt(i int) bool {
	s := t.s
	if !s.IsName(i) || s.IsSelf(i-1, '.') || i == t.lo {
		return false
	}
	_, next := s.Qualified(i, t.hi)
	if next >= t.hi || !s.IsSelf(next, '(') || s.IsWord(i, "json_table") || s.IsWord(i, "lateral") {
		return false
	}
	if s.IsWord(i, "ml") && next > i+1 && (s.IsSelf(i-1, ',') || s.IsWord(i-1, "from") || s.IsWord(i-1, "join")) {
		return !t.insideCall(i, "extract", "substring", "substr", "mid", "trim")
	}
	if !s.IsWord(i-1, "from") && !s.IsWord(i-1, "join") && !s.IsWord(i-1, "straight_join") {
		return false
	}
	return !t.insideCall(i, "extract", "substring", "substr", "mid", "trim")
}

// insideCall reports whether the innermost open parenthesis before token i is
// that of one of these functions, whose arguments have a FROM of their own.
func (t *translator) insideCall(i int, names ...string) bool {
	depth := 0
	for i--; i >= t.lo; i-- {
		if t.s.IsSelf(i, ')') {
			depth++
		} else if t.s.IsSelf(i, '(') {
			if depth--; depth < 0 {
				for _, n := range names {
					if t.s.IsWord(i-1, n) {
						return true
					}
				}
				return false
			}
		}
	}
	return false
}

// takeTableCall translates the call at token i and returns the token after it.
func (t *translator) takeTableCall(i, params int) (int, error) {
	s := t.s
	name, open := s.Qualified(i, t.hi)
	end := s.Closing(open, t.hi)
	if end < 0 {
		return 0, s.SyntaxError(t.hi)
	}
	for k, p := range name {
		name[k] = folded(p)
	}
	c := &translator{s: s, lo: open, hi: end, params: params}
	c.w(strings.Join(name, ".") + " (")
	for lo := open + 1; lo < end; {
		stop := s.ArgEnd(lo, end)
		if lo > open+1 {
			c.w(",")
		}
		if err := c.argument(lo, stop); err != nil {
			return 0, err
		}
		for k := lo; k < stop; k++ {
			if s.Kind(k) == lex.Param {
				c.params++
			}
		}
		lo = stop + 1
	}
	c.w(")")
	t.notices = append(t.notices, c.notices...)
	t.tables = append(t.tables, tableCall{c.b.String()})
	return end + 1, c.err
}

// argument writes one argument of a table call.
func (c *translator) argument(lo, hi int) error {
	s := c.s
	switch {
	case lo == hi:
		return s.SyntaxError(hi)
	case s.IsWord(lo, "model") && hi > lo+1:
		name, next := s.Qualified(lo+1, hi)
		if next != hi {
			return s.SyntaxError(next)
		}
		for k, p := range name {
			name[k] = folded(p)
		}
		c.w(lex.QuoteLiteral(strings.Join(name, ".")))
		return nil
	case s.IsWord(lo, "table") && hi > lo+1:
		name, next := s.Qualified(lo+1, hi)
		if next != hi {
			return s.SyntaxError(next)
		}
		for k, p := range name {
			name[k] = folded(p)
		}
		c.w("( TABLE", strings.Join(name, "."), ")")
		return nil
	case s.IsName(lo) && s.IsSelf(lo+1, '=') && s.IsSelf(lo+2, '>') && hi > lo+3:
		c.w(folded(s.Name(lo)), "=>")
		lo += 3
	}
	return c.sub(lo, hi)
}

// sub translates tokens [lo, hi) as one expression, a query in parentheses included.
func (c *translator) sub(lo, hi int) error {
	t := &translator{s: c.s, lo: lo, hi: hi, params: c.params}
	e, err := t.parseExpr()
	if err != nil {
		return err
	}
	if _, flag := e.(sqlparser.BoolVal); flag {
		t.cond(e) // an option of ours, not a number
	} else {
		t.value(e)
	}
	c.w(t.b.String())
	c.notices = append(c.notices, t.notices...)
	return t.err
}

// parseExpr parses the tokens with Vitess as SELECT ….
func (t *translator) parseExpr() (sqlparser.Expr, error) {
	t.prefix = "SELECT"
	stmt, err := t.parse()
	if err != nil {
		return nil, err
	}
	if sel, ok := stmt.(*sqlparser.Select); ok && len(sel.SelectExprs.Exprs) == 1 && sel.Where == nil && sel.Limit == nil && sel.OrderBy == nil {
		if a, ok := sel.SelectExprs.Exprs[0].(*sqlparser.AliasedExpr); ok && a.As.IsEmpty() {
			return a.Expr, nil
		}
	}
	return nil, t.s.SyntaxError(t.lo)
}

// tableCall writes the call that a table's name stands for.
func (t *translator) tableCall(name string) bool {
	rest, ok := strings.CutPrefix(name, callTable)
	if !ok {
		return false
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n >= len(t.tables) {
		return false
	}
	t.w(t.tables[n].text)
	return true
}
