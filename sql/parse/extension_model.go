package parse

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func (c *cursor) alterModel() *AlterModel {
	a := &AlterModel{IfExists: c.accept("if", "exists")}
	a.Name = c.qualified()
	switch {
	case c.accept("rename"):
		c.expect("to")
		a.RenameTo = c.ident()
	case c.accept("set", "alias"):
		a.AliasPos = c.s.Pos(c.i)
		a.SetAlias = c.ident()
		c.expect("version")
		a.AliasVersion = c.positive("version")
	case c.accept("drop", "alias"):
		a.DropAlias = c.ident()
	case c.accept("set"):
		c.expect("default", "version")
		a.DefaultVersion = c.positive("version")
	case c.accept("owner"):
		c.expect("to")
		a.OwnerTo = c.role()
	default:
		c.fail()
	}
	return a
}

// role takes a role's name; CURRENT_USER and the like are returned as spelled, for the session to
// resolve.
func (c *cursor) role() string {
	for _, w := range []string{"current_user", "current_role", "session_user"} {
		if c.accept(w) {
			return w
		}
	}
	return c.ident()
}

func (c *cursor) dropModel() *DropModel {
	d := &DropModel{IfExists: c.accept("if", "exists")}
	for c.err == nil {
		d.Names = append(d.Names, c.qualified())
		if !c.acceptSelf(',') {
			break
		}
	}
	if len(d.Names) == 1 && c.accept("version") {
		for c.err == nil {
			d.Versions = append(d.Versions, c.positive("version"))
			if !c.acceptSelf(',') {
				break
			}
		}
		return d
	}
	if c.accept("cascade") {
		d.Cascade = true
	} else {
		c.accept("restrict")
	}
	return d
}

func (c *cursor) exportModel() *ExportModel {
	e := &ExportModel{Name: c.qualified(), Version: version(c)}
	c.expect("to")
	e.URI = c.place("stdout")
	e.Options = c.withOptions()
	return e
}

func (c *cursor) importModel() *ImportModel {
	m := &ImportModel{NamePos: c.s.Pos(c.i), Name: c.qualified()}
	c.expect("from")
	m.URI = c.place("stdin")
	m.Options = c.withOptions()
	return m
}

// place takes the name of a file, or the word for the client, which is "".
func (c *cursor) place(client string) string {
	if c.accept(client) {
		return ""
	}
	at, uri := c.i, c.str()
	if c.err == nil && uri == "" {
		c.failWith(pgerr.New(pgerr.InvalidParameterValue, "the name of the file is empty").At(c.s.Pos(at)))
	}
	return uri
}

func (c *cursor) alterNode() *AlterNode {
	a := &AlterNode{Name: c.ident()}
	switch {
	case c.accept("drain"):
		a.Action = NodeDrain
	case c.accept("resume"):
		a.Action = NodeResume
	case c.accept("decommission"):
		a.Action, a.Force = NodeDecommission, c.accept("force")
	case c.accept("replace"):
		c.expect("with")
		a.Action, a.With = NodeReplace, c.ident()
	case c.accept("set"):
		a.Action, a.Set = NodeSet, c.options()
	case c.accept("reset"):
		a.Action = NodeReset
		c.expectSelf('(')
		for {
			a.Reset = append(a.Reset, c.ident())
			if !c.acceptSelf(',') {
				break
			}
		}
		c.expectSelf(')')
	default:
		c.fail()
	}
	return a
}

// repartition takes ALTER TABLE … REPARTITION INTO n; nil, with nothing taken,
// for any other ALTER TABLE.
func (c *cursor) repartition() Extension {
	from := c.i
	c.i += 2
	a := &AlterTableRepartition{IfExists: c.accept("if", "exists")}
	c.accept("only")
	if _, next := c.s.Qualified(c.i, c.hi); next >= c.hi || !c.s.IsWord(next, "repartition") {
		c.i = from
		return nil
	}
	a.Name = c.qualified()
	c.expect("repartition", "into")
	a.N = c.positive("number of partitions")
	c.accept("partitions")
	return a
}

// selectList parses tokens [lo, hi) as the items of a SELECT.
func (s *source) selectList(lo, hi int) ([]*ast.ResTarget, error) {
	node, err := parseOne(s.pgExpr(lo, hi))
	if err != nil {
		return nil, err
	}
	return s.listItems(node, lo)
}

// listItems takes the items of a parsed select list that begins at token lo.
func (s *source) listItems(node ast.Stmt, lo int) ([]*ast.ResTarget, error) {
	if bareList(node) {
		sel := node.(*ast.SelectStmt)
		items := make([]*ast.ResTarget, 0, len(sel.TargetList.Items))
		for _, n := range sel.TargetList.Items {
			if t, ok := n.(*ast.ResTarget); ok {
				items = append(items, t)
			}
		}
		if len(items) > 0 {
			return items, nil
		}
	}
	return nil, s.SyntaxError(lo)
}

// bareList reports whether a tree is a bare select list: SELECT items and not more,
// so that "1 FROM t" cannot pass for an item.
func bareList(node ast.Stmt) bool {
	sel, ok := node.(*ast.SelectStmt)
	if !ok || sel.TargetList == nil {
		return false
	}
	empty := func(l *ast.NodeList) bool { return l == nil || len(l.Items) == 0 }
	return empty(sel.DistinctClause) && empty(sel.FromClause) && sel.WhereClause == nil && empty(sel.GroupClause) &&
		sel.HavingClause == nil && empty(sel.WindowClause) && empty(sel.SortClause) && sel.LimitCount == nil &&
		sel.LimitOffset == nil && sel.IntoClause == nil && sel.Larg == nil && empty(sel.LockingClause)
}

// constant parses the value of an option: one expression. A bare word is the
// column reference it looks like, be it a keyword or not (ON, AUTO, FULL).
func (s *source) constant(lo, hi int) (ast.Node, error) {
	if hi == lo+1 && s.Kind(lo) == lex.Ident {
		switch w := lex.Fold(s.Raw(lo)); w {
		case "true", "false", "null":
		default:
			return ast.NewColumnRef(ast.NewString(w)), nil
		}
	}
	node, err := parseOne(s.pgExpr(lo, hi))
	if err != nil {
		return nil, err
	}
	foldNegative(node)
	items, err := s.listItems(node, lo)
	if err != nil {
		return nil, err
	}
	if len(items) != 1 || items[0].Name != "" {
		return nil, s.SyntaxError(lo)
	}
	return items[0].Val, nil
}

// pgExpr writes tokens [lo, hi) as SELECT …, with spellings that are not
// Postgres's: try_cast(x AS t) (see rewrite), [1, 2] for ARRAY[1, 2], and in MySQL's dialect "x" for 'x'.
func (s *source) pgExpr(lo, hi int) *fragment {
	w := newRewriter(s, lo, hi)
	w.Put(lo, "SELECT")
	arrays := 0
	casts := map[int]bool{} // closing parentheses of try_cast
	for i := lo; i < hi; i++ {
		if end := tryCastAt(s, i, hi); end > 0 {
			w.Copy(i, i+2)
			i++
			w.Put(i, "CAST(")
			casts[end] = true
			continue
		}
		if casts[i] {
			w.Put(i, ")")
		}
		if end := s.excludeAt(i, lo, hi); end > 0 && !s.MySQL {
			s.writeExclude(w, i, end)
			i = end - 1
			continue
		}
		switch {
		case s.IsSelf(i, '['):
			if s.IsSelf(i-1, '(') || arrays == 0 && (i == lo || s.IsSelf(i-1, ',') || s.IsSelf(i-1, '=')) { // within another one after a bracket only
				w.Put(i, "ARRAY")
			}
			arrays++
		case s.IsSelf(i, ']'):
			arrays--
		}
		switch {
		case s.MySQL && s.Kind(i) == lex.String:
			w.Put(i, lex.QuoteLiteral(s.Literal(i)))
		case s.MySQL && s.Kind(i) == lex.Quoted:
			w.Put(i, lex.QuoteName(s.Name(i)))
		default:
			w.Copy(i, i+1)
		}
	}
	return w.fragment()
}
