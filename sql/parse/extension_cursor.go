package parse

import (
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// cursor walks the tokens of a statement of our own. The first error sticks
// and stops everything after it, so that callers test it once.
type cursor struct {
	s   *source
	i   int
	hi  int
	d   Dialect
	err error
}

// fail sets a syntax error at the current token.
func (c *cursor) fail() {
	if c.err == nil {
		c.err = c.s.SyntaxError(c.i)
	}
}

func (c *cursor) failWith(e error) {
	if c.err == nil {
		c.err = e
	}
}

// peek reports whether the next tokens are these words.
func (c *cursor) peek(words ...string) bool {
	if c.err != nil || c.i+len(words) > c.hi {
		return false
	}
	for k, w := range words {
		if !c.s.IsWord(c.i+k, w) {
			return false
		}
	}
	return true
}

// accept takes the words if they are next.
func (c *cursor) accept(words ...string) bool {
	if !c.peek(words...) {
		return false
	}
	c.i += len(words)
	return true
}

// expect takes the words, one by one, with a syntax error at the first that is missing.
func (c *cursor) expect(words ...string) {
	for _, w := range words {
		if !c.accept(w) {
			c.fail()
		}
	}
}

func (c *cursor) acceptSelf(ch byte) bool {
	if c.err != nil || c.i >= c.hi || !c.s.IsSelf(c.i, ch) {
		return false
	}
	c.i++
	return true
}

func (c *cursor) expectSelf(ch byte) {
	if !c.acceptSelf(ch) {
		c.fail()
	}
}

// ident takes one name. Reserved words must be quoted, as anywhere in SQL.
func (c *cursor) ident() string {
	if c.err != nil || c.i >= c.hi || !c.s.IsName(c.i) {
		c.fail()
		return ""
	}
	name := c.s.Name(c.i)
	if c.s.Kind(c.i) == lex.Ident && lex.IsReserved(lex.Fold(name)) {
		c.fail()
		return ""
	}
	c.i++
	return name
}

// qualified takes name or schema.name.
func (c *cursor) qualified() []string {
	parts := []string{c.ident()}
	for c.acceptSelf('.') {
		if c.i >= c.hi || !c.s.IsName(c.i) {
			c.fail()
			break
		}
		parts = append(parts, c.s.Name(c.i))
		c.i++
	}
	if c.err == nil && len(parts) > 3 {
		c.failWith(pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s", c.s.Text[c.s.Toks[c.i-2*len(parts)+1].Start:c.s.Toks[c.i-1].End]).
			At(c.s.Pos(c.i - 2*len(parts) + 1)))
	}
	return parts
}

// str takes a string literal.
func (c *cursor) str() string {
	if c.err != nil || c.i >= c.hi || c.s.Kind(c.i) != lex.String {
		c.fail()
		return ""
	}
	c.i++
	return c.s.Literal(c.i - 1)
}

// positive takes an integer of at least 1.
func (c *cursor) positive(what string) int64 {
	if c.err != nil || c.i >= c.hi || c.s.Kind(c.i) != lex.Number {
		c.fail()
		return 0
	}
	n, err := strconv.ParseInt(c.s.Raw(c.i), 10, 64)
	if err != nil || n < 1 {
		c.failWith(pgerr.New(pgerr.InvalidParameterValue, "%s must be a positive integer, not %s", what, c.s.Raw(c.i)).
			At(c.s.Pos(c.i)))
		return 0
	}
	c.i++
	return n
}

// end requires that nothing is left.
func (c *cursor) end() {
	if c.err == nil && c.i < c.hi {
		c.fail()
	}
}

// query parses all that is left as the inner query.
func (c *cursor) query() (*ast.SelectStmt, string) {
	if c.err != nil {
		return nil, ""
	}
	if c.i >= c.hi {
		c.fail()
		return nil, ""
	}
	text := c.s.Text[c.s.Toks[c.i].Start:c.s.Toks[c.hi-1].End]
	var node ast.Stmt
	var err error
	if c.d == MySQL {
		node, err = c.s.mysqlQuery(c.i, c.hi)
	} else {
		node, err = c.s.postgres(c.i, c.hi)
	}
	if err != nil {
		c.failWith(err)
		return nil, ""
	}
	sel, ok := node.(*ast.SelectStmt)
	if !ok {
		c.fail()
		return nil, ""
	}
	c.i = c.hi
	return sel, text
}

// parens reads ( … ) and returns the tokens inside.
func (c *cursor) parens() (lo, hi int) {
	c.expectSelf('(')
	if c.err != nil {
		return 0, 0
	}
	end := c.s.Closing(c.i-1, c.hi)
	if end < 0 {
		c.i = c.hi
		c.fail()
		return 0, 0
	}
	lo, c.i = c.i, end+1
	return lo, end
}

// options takes ( k = v, … ).
func (c *cursor) options() []Option {
	lo, hi := c.parens()
	if c.err != nil {
		return nil
	}
	var out []Option
	seen := map[string]bool{}
	p := &cursor{s: c.s, i: lo, hi: hi, d: c.d}
	for p.err == nil && (lo < hi || len(out) > 0) {
		o := p.option()
		if p.err == nil && seen[o.Name] {
			p.failWith(pgerr.New(pgerr.SyntaxError, "option %q is given more than once", o.Name).At(o.Pos))
		}
		seen[o.Name] = true
		out = append(out, o)
		if !p.acceptSelf(',') {
			break
		}
	}
	p.end()
	c.failWith(p.err)
	return out
}

// option takes k = v, where k may be any word or a string.
func (c *cursor) option() Option {
	o := Option{Pos: c.s.Pos(c.i)}
	switch {
	case c.i < c.hi && c.s.IsName(c.i):
		o.Name = lex.Fold(c.s.Name(c.i))
	case c.i < c.hi && c.s.Kind(c.i) == lex.String:
		o.Name = lex.Fold(c.s.Literal(c.i))
	default:
		c.fail()
		return o
	}
	c.i++
	if c.i < c.hi && c.s.Raw(c.i) == "=>" {
		c.i++
	} else {
		c.expectSelf('=')
	}
	if c.err != nil {
		return o
	}
	lo := c.i
	hi := c.s.ArgEnd(lo, c.hi)
	if lo == hi {
		c.fail()
		return o
	}
	o.Text = c.s.Text[c.s.Toks[lo].Start:c.s.Toks[hi-1].End]
	o.Value, c.err = c.s.constant(lo, hi)
	c.i = hi
	return o
}
