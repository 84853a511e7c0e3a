package deparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// level is a query whose parts are being written.
type level struct {
	items   []item
	ctes    []string
	targets []target
	byPlace bool // ORDER BY names columns by number: true of set operations
}

// item is a FROM item: the name it has in the text, and the one it is shown by.
type item struct{ name, shown string }

// target is a column of a select list.
type target struct {
	node ast.Node
	ref  *scope.Name // instead of a node: one of the columns that * stands for
	name string
}

func (d *deparser) here() *level { return d.levels[len(d.levels)-1] }

// reference writes a column of a FROM item of this query or of one around it.
func (d *deparser) reference(n scope.Name) (string, error) {
	for i := len(d.levels) - 1; i >= 0; i-- {
		for _, it := range d.levels[i].items {
			if it.name != n.Item {
				continue
			}
			return lex.QuoteName(it.shown) + "." + lex.QuoteName(n.Column), nil
		}
	}
	return "", errForm
}

// query writes a query within others. names, where set, replace the names of
// its columns; with shown a column without a name gets one.
func (d *deparser) query(sel *ast.SelectStmt, names []string, shown bool) (string, error) {
	if sel.IntoClause != nil || sel.LockingClause != nil && len(sel.LockingClause.Items) > 0 {
		return "", errForm
	}
	level0 := d.indent
	lv := &level{}
	d.levels = append(d.levels, lv)
	defer func() {
		d.indent = level0
		d.levels = d.levels[:len(d.levels)-1]
		if len(d.levels) > 0 && d.here().byPlace && d.here().targets == nil {
			d.here().targets = lv.targets // the first side names the columns
		}
	}()
	if sel.FromClause != nil && sel.Op == ast.SETOP_NONE { // before WITH, whose queries must not reuse these names
		for _, f := range sel.FromClause.Items {
			if err := d.name(f); err != nil {
				return "", err
			}
		}
	}
	out, err := d.with(sel.WithClause)
	if err != nil {
		return "", err
	}
	var body string
	if sel.Op != ast.SETOP_NONE {
		lv.byPlace = true
		body, err = d.setOperation(sel, names, shown, true)
	} else {
		body, err = d.basic(sel, names, shown)
	}
	if err != nil {
		return "", err
	}
	out += body
	if sel.SortClause != nil && len(sel.SortClause.Items) > 0 {
		out += d.line(" ORDER BY ", -indentClause, indentClause, 1)
		keys, err := d.sortKeys(sel.SortClause, lv.targets)
		if err != nil {
			return "", err
		}
		out += keys
	}
	if sel.LimitOffset != nil {
		p, err := d.expr(sel.LimitOffset, types.Type{})
		if err != nil {
			return "", err
		}
		out += d.line(" OFFSET ", -indentClause, indentClause, 0) + p.s
	}
	if sel.LimitCount != nil {
		if sel.LimitOption == ast.LIMIT_OPTION_WITH_TIES {
			return "", errForm
		}
		p, err := d.expr(sel.LimitCount, types.Type{})
		if err != nil {
			return "", err
		}
		out += d.line(" LIMIT ", -indentClause, indentClause, 0) + p.s
	}
	return out, nil
}

func (d *deparser) with(w *ast.WithClause) (string, error) {
	if w == nil {
		return "", nil
	}
	d.indent += indentClause
	out, sep := " ", "WITH "
	if w.Recursive {
		sep = "WITH RECURSIVE "
		for _, c := range w.Ctes.Items {
			d.here().ctes = append(d.here().ctes, c.(*ast.CommonTableExpr).Ctename)
		}
	}
	for _, c := range w.Ctes.Items {
		cte := c.(*ast.CommonTableExpr)
		sel, ok := cte.Ctequery.(*ast.SelectStmt)
		if !ok || cte.SearchClause != nil || cte.CycleClause != nil {
			return "", errForm
		}
		out += sep + lex.QuoteName(cte.Ctename)
		sep = ", "
		if cte.Aliascolnames != nil && len(cte.Aliascolnames.Items) > 0 {
			out += "(" + quotedNames(cte.Aliascolnames) + ")"
		}
		out += " AS "
		switch cte.Ctematerialized {
		case ast.CTEMaterializeAlways:
			out += "MATERIALIZED "
		case ast.CTEMaterializeNever:
			out += "NOT MATERIALIZED "
		}
		out += "(" + d.line("", 0, 0, 0)
		s, err := d.query(sel, nil, true)
		if err != nil {
			return "", err
		}
		out += s + d.line("", 0, 0, 0) + ")"
		d.here().ctes = append(d.here().ctes, cte.Ctename)
	}
	d.indent -= indentClause
	return out + d.line("", 0, 0, 0), nil
}

func quotedNames(l *ast.NodeList) string {
	var out []string
	for _, n := range l.Items {
		if s, ok := n.(*ast.String); ok {
			out = append(out, lex.QuoteName(s.SVal))
		}
	}
	return strings.Join(out, ", ")
}

// setOperation writes the two sides of UNION and its kin, and within them those
// of others.
func (d *deparser) setOperation(sel *ast.SelectStmt, names []string, shown, top bool) (string, error) {
	if sel.Op == ast.SETOP_NONE || !top && decorated(sel) {
		s, err := d.query(sel, names, shown)
		if err == nil && decorated(sel) {
			s = "(" + s + ")"
		}
		return s, err
	}
	out, sub := "", 0
	if l := sel.Larg; l.Op != ast.SETOP_NONE && !decorated(l) && (l.Op != sel.Op || l.All != sel.All) {
		sub = indentClause
		out = "(" + d.line("", sub, 0, 0)
	}
	left, err := d.setOperation(sel.Larg, names, shown, false)
	if err != nil {
		return "", err
	}
	if out += left; sub > 0 {
		out += d.line(") ", -sub, 0, 0)
	} else {
		out += d.line("", 0, 0, 0)
	}
	switch sel.Op {
	case ast.SETOP_UNION:
		out += "UNION "
	case ast.SETOP_INTERSECT:
		out += "INTERSECT "
	default:
		out += "EXCEPT "
	}
	if sel.All {
		out += "ALL "
	}
	sub = 0
	if nested := sel.Rarg.Op != ast.SETOP_NONE && !decorated(sel.Rarg); nested {
		out, sub = out+"(", indentClause
	}
	out += d.line("", sub, 0, 0)
	right, err := d.setOperation(sel.Rarg, names, false, false)
	if err != nil {
		return "", err
	}
	d.indent -= sub
	if out += right; sub > 0 {
		out += d.line(")", 0, 0, 0)
	}
	return out, nil
}

// decorated reports whether a side of a set operation has clauses of its own.
func decorated(sel *ast.SelectStmt) bool {
	return sel.WithClause != nil || sel.LimitCount != nil || sel.LimitOffset != nil || sel.SortClause != nil && len(sel.SortClause.Items) > 0
}

// basic writes a query without set operations, up to its ORDER BY.
func (d *deparser) basic(sel *ast.SelectStmt, names []string, shown bool) (string, error) {
	if sel.WindowClause != nil && len(sel.WindowClause.Items) > 0 || sel.GroupDistinct {
		return "", errForm
	}
	d.indent += indentClause
	if sel.ValuesLists != nil && len(sel.ValuesLists.Items) > 0 {
		return "", errForm
	}
	lv := d.here()
	var froms []ast.Node
	if sel.FromClause != nil {
		froms = sel.FromClause.Items
	}
	if err := d.expand(sel.TargetList, names); err != nil {
		return "", err
	}
	out := " SELECT"
	if sel.DistinctClause != nil {
		out += " DISTINCT"
		if len(sel.DistinctClause.Items) > 0 {
			keys, err := d.sortKeys(sel.DistinctClause, lv.targets)
			if err != nil {
				return "", err
			}
			out += " ON (" + keys + ")"
		}
	}
	list, err := d.targetList(out+" ", shown)
	if err != nil {
		return "", err
	}
	out = list
	for i, f := range froms {
		if i == 0 {
			out += d.line(" FROM ", -indentClause, indentClause, 2)
		} else {
			out += ", "
		}
		s, err := d.from(f)
		if err != nil {
			return "", err
		}
		if i > 0 {
			out = d.wrapped(out, s, false)
		} else {
			out += s
		}
	}
	if sel.WhereClause != nil {
		out += d.line(" WHERE ", -indentClause, indentClause, 1)
		p, err := d.expr(sel.WhereClause, types.Bool)
		if err != nil {
			return "", err
		}
		out += p.s
	}
	if sel.GroupClause != nil && len(sel.GroupClause.Items) > 0 {
		out += d.line(" GROUP BY ", -indentClause, indentClause, 1)
		keys, err := d.sortKeys(sel.GroupClause, lv.targets)
		if err != nil {
			return "", err
		}
		out += keys
	}
	if sel.HavingClause != nil {
		out += d.line(" HAVING ", -indentClause, indentClause, 0)
		p, err := d.expr(sel.HavingClause, types.Bool)
		if err != nil {
			return "", err
		}
		out += p.s
	}
	return out, nil
}

// expand makes the targets of a select list.
func (d *deparser) expand(list *ast.NodeList, names []string) error {
	lv := d.here()
	if list == nil {
		return errForm
	}
	for _, n := range list.Items {
		rt, ok := n.(*ast.ResTarget)
		if !ok {
			return errForm
		}
		if ref, ok := rt.Val.(*ast.ColumnRef); ok {
			if _, _, star := parse.Star(ref.Fields.Items); star {
				found, ok := d.trace.Names[ref]
				if !ok {
					return errForm
				}
				for i := range found {
					lv.targets = append(lv.targets, target{ref: &found[i], name: found[i].Column})
				}
				continue
			}
		}
		name := rt.Name
		if name == "" {
			name = scope.OutputName(rt.Val)
		}
		lv.targets = append(lv.targets, target{node: bare(rt.Val), name: name})
	}
	for i := range lv.targets {
		if i < len(names) {
			lv.targets[i].name = names[i]
		}
	}
	return nil
}

// written returns a target's expression, and the column's name where it is one.
func (d *deparser) written(t target) (fragment, string, error) {
	if t.ref != nil {
		s, err := d.reference(*t.ref)
		return plain(s), t.ref.Column, err
	}
	p, err := d.expr(t.node, types.Type{})
	if ref, ok := t.node.(*ast.ColumnRef); ok && err == nil {
		return p, d.trace.Names[ref][0].Column, nil
	}
	return p, "", err
}

func (d *deparser) targetList(out string, shown bool) (string, error) {
	last := false // the one before took several lines
	for i, t := range d.here().targets {
		if i > 0 {
			out += ", "
		}
		p, column, err := d.written(t)
		if err != nil {
			return "", err
		}
		s := p.s
		if column == "" && !shown {
			column = "?column?"
		}
		if t.name != column {
			s += " AS " + lex.QuoteName(t.name)
		}
		if i == 0 {
			out += s
		} else {
			out = d.wrapped(out, s, last)
		}
		last = strings.Contains(s[min(1, len(s)):], newline)
	}
	return out, nil
}

// wrapped puts a further element of a list behind what is there, in a line of
// its own where it does not fit.
func (d *deparser) wrapped(out, s string, last bool) string {
	if d.wrap < 0 || strings.HasPrefix(s, newline) {
		return out + s
	}
	line := out[strings.LastIndex(out, newline)+1:]
	if last || len(line)+len(s) > d.wrap {
		out += d.line("", -indentClause, indentClause, indentItem)
	}
	return out + s
}

// sortKeys writes the keys of ORDER BY, GROUP BY and DISTINCT ON. They may be
// named as columns of the result, or numbered.
func (d *deparser) sortKeys(l *ast.NodeList, targets []target) (string, error) {
	var out []string
	for _, n := range l.Items {
		by, ok := n.(*ast.SortBy)
		if !ok {
			by = &ast.SortBy{Node: n}
		}
		if by.SortbyDir == ast.SORTBY_USING {
			return "", errForm
		}
		s, err := d.sortKey(bare(by.Node), targets)
		if err != nil {
			return "", err
		}
		desc := by.SortbyDir == ast.SORTBY_DESC
		if desc {
			s += " DESC"
		}
		switch {
		case desc && by.SortbyNulls == ast.SORTBY_NULLS_LAST:
			s += " NULLS LAST"
		case !desc && by.SortbyNulls == ast.SORTBY_NULLS_FIRST:
			s += " NULLS FIRST"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", "), nil
}

func (d *deparser) sortKey(n ast.Node, targets []target) (string, error) {
	lv := d.here()
	at := -1
	if c, ok := n.(*ast.A_Const); ok && !c.Isnull {
		i, ok := c.Val.(*ast.Integer)
		if !ok || targets == nil || int(i.IVal) > len(targets) {
			return "", errForm
		}
		at = int(i.IVal) - 1
	} else if ref, ok := n.(*ast.ColumnRef); ok && d.trace.Exprs[n] == nil && len(ref.Fields.Items) == 1 {
		name, ok := ref.Fields.Items[0].(*ast.String)
		if !ok {
			return "", errForm
		}
		if at = slices.IndexFunc(targets, func(t target) bool { return t.name == name.SVal }); at < 0 {
			return "", errForm
		}
	}
	if lv.byPlace {
		if at < 0 {
			return "", errForm
		}
		return strconv.Itoa(at + 1), nil
	}
	t := target{node: n}
	if at >= 0 {
		t = targets[at]
	}
	p, column, err := d.written(t)
	if err != nil {
		return "", err
	}
	if _, isConst := t.node.(*ast.A_Const); isConst {
		return "", errForm
	}
	if _, isCall := t.node.(*ast.FuncCall); column == "" && (d.pretty || isCall) {
		return "(" + p.s + ")", nil
	}
	return p.s, nil
}

// subquery writes a query as an expression.
func (d *deparser) subquery(x *ast.SubLink, want types.Type) (fragment, error) {
	sel, ok := x.Subselect.(*ast.SelectStmt)
	if !ok || d.trace == nil {
		return fragment{}, errForm
	}
	var before, open string
	switch x.SubLinkType {
	case ast.EXISTS_SUBLINK:
		before, open = "(EXISTS (", "))"
	case ast.EXPR_SUBLINK:
		before, open = "(", ")"
	case ast.ARRAY_SUBLINK:
		before, open = "ARRAY(", ")"
	case ast.ANY_SUBLINK:
		if x.OperName != nil && len(x.OperName.Items) > 0 {
			return fragment{}, errForm
		}
		if _, row := bare(x.Testexpr).(*ast.RowExpr); row {
			return fragment{}, errForm
		}
		have, err := d.typed(x.Testexpr)
		if err != nil {
			return fragment{}, err
		}
		p, err := d.expr(x.Testexpr, have)
		if err != nil {
			return fragment{}, err
		}
		before, open = "("+p.s+" IN (", "))"
	default:
		return fragment{}, errForm
	}
	s, err := d.query(sel, nil, false)
	if err != nil {
		return fragment{}, err
	}
	p := fragment{s: before + s + open, form: formTest}
	if x.SubLinkType == ast.EXPR_SUBLINK || x.SubLinkType == ast.ARRAY_SUBLINK {
		t, err := d.typed(x)
		if err != nil {
			return fragment{}, err
		}
		return d.as(p, t, want), nil
	}
	return p, nil
}

// window writes what stands behind OVER.
func (d *deparser) window(w *ast.WindowDef) (string, error) {
	if w.Name != "" || w.Refname != "" || w.FrameOptions&ast.FRAMEOPTION_NONDEFAULT != 0 {
		return "", errForm
	}
	var parts []string
	if w.PartitionClause != nil && len(w.PartitionClause.Items) > 0 {
		keys, err := d.sortKeys(w.PartitionClause, nil)
		if err != nil {
			return "", err
		}
		parts = append(parts, "PARTITION BY "+keys)
	}
	if w.OrderClause != nil && len(w.OrderClause.Items) > 0 {
		keys, err := d.sortKeys(w.OrderClause, nil)
		if err != nil {
			return "", err
		}
		parts = append(parts, "ORDER BY "+keys)
	}
	return "(" + strings.Join(parts, " ") + ")", nil
}
