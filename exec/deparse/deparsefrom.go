package deparse

import (
	"slices"
	"strconv"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/types"
)

// name chooses the names that the FROM items of a tree are printed with: one that is taken, here or
// in an enclosing query, gets a number.
func (d *deparser) name(n ast.Node) error {
	add := func(name string) {
		shown := name
		for i := 1; d.taken(shown); i++ {
			shown = name + "_" + strconv.Itoa(i)
		}
		d.here().items = append(d.here().items, item{name, shown})
	}
	switch x := bare(n).(type) {
	case *ast.RangeVar:
		if x.Alias != nil {
			if x.Alias.ColNames != nil && len(x.Alias.ColNames.Items) > 0 {
				return errForm
			}
			add(x.Alias.AliasName)
		} else {
			add(x.RelName)
		}
	case *ast.RangeSubselect:
		if x.Alias == nil {
			return errForm
		}
		add(x.Alias.AliasName)
	case *ast.JoinExpr:
		if x.Alias != nil && x.Alias.AliasName != "" || x.IsNatural || x.JoinUsingAlias != nil || x.UsingClause != nil && len(x.UsingClause.Items) > 0 && x.Jointype == ast.JOIN_FULL {
			return errForm
		}
		if err := d.name(x.Larg); err != nil {
			return err
		}
		return d.name(x.Rarg)
	default:
		return errForm
	}
	return nil
}

func (d *deparser) taken(name string) bool {
	for _, lv := range d.levels {
		if slices.ContainsFunc(lv.items, func(it item) bool { return it.shown == name }) {
			return true
		}
	}
	return false
}

// from writes a FROM item.
func (d *deparser) from(n ast.Node) (string, error) {
	switch x := bare(n).(type) {
	case *ast.RangeVar:
		name := x.RelName
		s := d.relation(x)
		if !x.Inh {
			s = "ONLY " + s
		}
		if x.Alias != nil {
			name = x.Alias.AliasName
		}
		if shown := d.shown(name); x.Alias != nil || shown != name {
			s += " " + lex.QuoteName(shown)
		}
		return s, nil
	case *ast.RangeSubselect:
		sel, ok := x.Subquery.(*ast.SelectStmt)
		if !ok {
			return "", errForm
		}
		// A subquery cannot refer to the items beside it, but must not reuse their names.
		s, err := d.query(sel, nil, true)
		if err != nil {
			return "", err
		}
		s = "(" + s + ") " + lex.QuoteName(d.shown(x.Alias.AliasName))
		if x.Lateral {
			s = "LATERAL " + s
		}
		if x.Alias.ColNames != nil && len(x.Alias.ColNames.Items) > 0 {
			s += "(" + quotedNames(x.Alias.ColNames) + ")"
		}
		return s, nil
	case *ast.JoinExpr:
		return d.join(x)
	}
	return "", errForm
}

// shown is the name of an item of this query.
func (d *deparser) shown(name string) string {
	for _, it := range d.here().items {
		if it.name == name {
			return it.shown
		}
	}
	return name
}

func (d *deparser) join(x *ast.JoinExpr) (string, error) {
	out, err := d.from(x.Larg)
	if err != nil {
		return "", err
	}
	using := x.UsingClause != nil && len(x.UsingClause.Items) > 0
	word := map[ast.JoinType]string{ast.JOIN_LEFT: " LEFT JOIN ", ast.JOIN_RIGHT: " RIGHT JOIN ", ast.JOIN_FULL: " FULL JOIN ", ast.JOIN_INNER: " JOIN "}[x.Jointype]
	if word == "" {
		return "", errForm
	}
	cross := x.Jointype == ast.JOIN_INNER && !using && (x.Quals == nil || isTrue(x.Quals))
	if cross {
		word = " CROSS JOIN "
	}
	out += d.line(word, -indentClause, indentClause, indentJoin)
	right, err := d.from(x.Rarg)
	if err != nil {
		return "", err
	}
	if _, nested := bare(x.Rarg).(*ast.JoinExpr); nested && d.pretty {
		right = "(" + right + ")"
	}
	out += right
	switch {
	case using:
		out += " USING (" + quotedNames(x.UsingClause) + ")"
	case !cross:
		p, err := d.expr(x.Quals, types.Bool)
		if err != nil {
			return "", err
		}
		if !d.pretty {
			p.s = "(" + p.s + ")"
		}
		out += " ON " + p.s
	}
	if !d.pretty {
		out = "(" + out + ")"
	}
	return out, nil
}

// isTrue reports whether n is the condition that CROSS JOIN has.
func isTrue(n ast.Node) bool {
	c, ok := n.(*ast.A_Const)
	if !ok {
		return false
	}
	b, ok := c.Val.(*ast.Boolean)
	return ok && b.BoolVal
}

// relation writes a relation's name, with its schema where the name alone would
// find another.
func (d *deparser) relation(x *ast.RangeVar) string {
	hidden := x.SchemaName != "" && d.names.oid(x.SchemaName, x.RelName) != objname.FindRelation(d.h, []string{x.RelName})
	for _, lv := range d.levels {
		hidden = hidden || x.SchemaName != "" && slices.Contains(lv.ctes, x.RelName)
	}
	if hidden {
		return lex.QuoteName(x.SchemaName) + "." + lex.QuoteName(x.RelName)
	}
	return lex.QuoteName(x.RelName)
}
