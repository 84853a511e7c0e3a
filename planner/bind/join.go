package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// join binds an explicit JOIN. Names see the join's columns (those merged by
// USING first) unqualified, and its two sides by their own names unless the
// join has an alias.
func (sc *scope) join(n *ast.JoinExpr, left []*rel) (fromItem, error) {
	kind := map[ast.JoinType]plan.JoinKind{ast.JOIN_INNER: plan.Inner, ast.JOIN_LEFT: plan.Left, ast.JOIN_RIGHT: plan.Right, ast.JOIN_FULL: plan.Full}[n.Jointype]
	lnull, rnull := kind == plan.Right || kind == plan.Full, kind == plan.Left || kind == plan.Full
	l, err := sc.side(n.Larg, left, lnull)
	if err != nil {
		return l, err
	}
	beside := l.rels
	if lnull {
		beside = banned(beside)
	}
	visible := append(left[:len(left):len(left)], beside...)
	r, err := sc.side(n.Rarg, visible, rnull)
	if err != nil {
		return r, err
	}
	if err := sc.distinctNames(l.rels, r.rels); err != nil {
		return l, err
	}
	lc, rc := openCols(l.rels), openCols(r.rels)
	using := strs(n.UsingClause)
	if n.IsNatural {
		using = commonNames(lc, rc)
	}
	var on []expr.Expr
	var merged []relCol
	if n.IsNatural || n.UsingClause != nil {
		if on, merged, err = sc.merge(using, lc, rc, kind); err != nil {
			return l, err
		}
	} else if n.Quals != nil {
		cond := sc.with(append(append([]*rel(nil), l.rels...), r.rels...))
		if on, err = cond.conditions(n.Quals, place{name: "JOIN/ON"}); err != nil {
			return l, err
		}
	}
	node := joined(kind, l.node, r.node, on)
	for _, side := range []struct {
		rels []*rel
		null bool
	}{{l.rels, lnull}, {r.rels, rnull}} {
		for _, x := range side.rels {
			x.nullable = x.nullable || side.null
		}
	}
	all := &rel{open: true, cols: merged}
	all.cols = append(all.cols, without(lc, using)...)
	all.cols = append(all.cols, without(rc, using)...)
	out := fromItem{node: node, rels: []*rel{all}}
	if n.Alias != nil {
		return sc.finish(node, all, n.Alias, "join expression")
	}
	for _, x := range append(append([]*rel(nil), l.rels...), r.rels...) {
		if x.named {
			x.open = false
			out.rels = append(out.rels, x)
		}
	}
	if n.JoinUsingAlias != nil {
		u := &rel{name: n.JoinUsingAlias.AliasName, named: true, cols: merged}
		if err := sc.distinctNames(out.rels, []*rel{u}); err != nil {
			return out, err
		}
		out.rels = append(out.rels, u)
	}
	return out, nil
}

// side binds one side of a join.
func (sc *scope) side(n ast.Node, left []*rel, nullable bool) (fromItem, error) {
	if nullable {
		sc.b.st.outer++
		defer func() { sc.b.st.outer-- }()
	}
	return sc.item(n, left)
}

func openCols(rels []*rel) []relCol {
	var out []relCol
	for _, r := range rels {
		if r.open {
			out = append(out, r.cols...)
		}
	}
	return out
}

func commonNames(l, r []relCol) []string {
	var out []string
	for _, a := range l {
		for _, c := range r {
			if a.name == c.name && a.name != "" {
				out = append(out, a.name)
				break
			}
		}
	}
	return out
}

func without(cols []relCol, names []string) []relCol {
	var out []relCol
	for _, c := range cols {
		drop := false
		for _, n := range names {
			drop = drop || n == c.name
		}
		if !drop {
			out = append(out, c)
		}
	}
	return out
}

// merge makes the equalities of USING and the merged columns.
func (sc *scope) merge(names []string, l, r []relCol, kind plan.JoinKind) ([]expr.Expr, []relCol, error) {
	b := sc.b
	var on []expr.Expr
	var out []relCol
	pick := func(cols []relCol, name, side string) (relCol, error) {
		hit := -1
		for i, c := range cols {
			if c.name != name {
				continue
			}
			if hit >= 0 {
				return c, pgerr.New(pgerr.AmbiguousColumn, "common column name \"%s\" appears more than once in %s table", name, side).At(b.posIdent(name))
			}
			hit = i
		}
		if hit < 0 {
			return relCol{}, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" specified in USING clause does not exist in %s table", name, side).At(b.posIdent(name))
		}
		return cols[hit], nil
	}
	for i, name := range names {
		for _, had := range names[:i] {
			if had == name {
				return nil, nil, pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" appears more than once in USING clause", name).At(b.posIdent(name))
			}
		}
		a, err := pick(l, name, "left")
		if err != nil {
			return nil, nil, err
		}
		c, err := pick(r, name, "right")
		if err != nil {
			return nil, nil, err
		}
		le, re := b.use(found{nil, &a}), b.use(found{nil, &c})
		eq, err := b.operator("=", le, re, b.spotWord("using"))
		if err != nil {
			return nil, nil, err
		}
		on = append(on, eq)
		pair, t, err := b.unify("JOIN/USING", []expr.Expr{le, re}, b.spotIdent(name))
		if err != nil {
			return nil, nil, err
		}
		m := relCol{name: name}
		switch kind {
		case plan.Inner:
			// Either will do: the one that needs no conversion.
			m.e, m.table, m.num = pair[0], a.table, a.num
			if pair[0] != le && pair[1] == re {
				m.e, m.table, m.num = pair[1], c.table, c.num
			}
		case plan.Left:
			m.e, m.table, m.num = pair[0], a.table, a.num
		case plan.Right:
			m.e, m.table, m.num = pair[1], c.table, c.num
		default:
			m.e = &expr.Coalesce{Args: pair, Typ: t}
		}
		out = append(out, m)
	}
	return on, out, nil
}
