package query

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// join binds an explicit JOIN. Unqualified names find the join's columns (those merged by USING
// first), qualified ones its two sides unless the join has an alias.
func join(sc *scope.Scope, n *ast.JoinExpr, left []*scope.Item) (scope.FromItem, error) {
	kind := map[ast.JoinType]plan.JoinKind{ast.JOIN_INNER: plan.Inner, ast.JOIN_LEFT: plan.Left, ast.JOIN_RIGHT: plan.Right, ast.JOIN_FULL: plan.Full}[n.Jointype]
	lnull, rnull := kind == plan.Right || kind == plan.Full, kind == plan.Left || kind == plan.Full
	l, err := side(sc, n.Larg, left, lnull)
	if err != nil {
		return l, err
	}
	beside := l.Items
	if lnull {
		beside = scope.Banned(beside)
	}
	visible := append(left[:len(left):len(left)], beside...)
	r, err := side(sc, n.Rarg, visible, rnull)
	if err != nil {
		return r, err
	}
	if err := DistinctNames(sc, l.Items, r.Items); err != nil {
		return l, err
	}
	lc, rc := openCols(l.Items), openCols(r.Items)
	using := typing.Strs(n.UsingClause)
	if n.IsNatural {
		using = commonNames(lc, rc)
	}
	var on []expr.Expr
	var merged []scope.Column
	if n.IsNatural || n.UsingClause != nil {
		if on, merged, err = merge(sc, using, lc, rc, kind); err != nil {
			return l, err
		}
	} else if n.Quals != nil {
		cond := sc.WithItems(append(append([]*scope.Item(nil), l.Items...), r.Items...))
		if on, err = Conditions(cond, n.Quals, scope.Place{Name: "JOIN/ON"}); err != nil {
			return l, err
		}
	}
	node := Joined(kind, l.Node, r.Node, on)
	for _, side := range []struct {
		rels []*scope.Item
		null bool
	}{{l.Items, lnull}, {r.Items, rnull}} {
		for _, x := range side.rels {
			x.Nullable = x.Nullable || side.null
		}
	}
	all := &scope.Item{Open: true, Cols: merged}
	all.Cols = append(all.Cols, without(lc, using)...)
	all.Cols = append(all.Cols, without(rc, using)...)
	out := scope.FromItem{Node: node, Items: []*scope.Item{all}}
	if n.Alias != nil {
		return Finish(sc, node, all, n.Alias, "join expression")
	}
	for _, x := range append(append([]*scope.Item(nil), l.Items...), r.Items...) {
		if x.Named {
			x.Open = false
			out.Items = append(out.Items, x)
		}
	}
	if n.JoinUsingAlias != nil {
		u := &scope.Item{Name: n.JoinUsingAlias.AliasName, Named: true, Cols: merged}
		if err := DistinctNames(sc, out.Items, []*scope.Item{u}); err != nil {
			return out, err
		}
		out.Items = append(out.Items, u)
	}
	return out, nil
}

// side binds one side of a join.
func side(sc *scope.Scope, n ast.Node, left []*scope.Item, nullable bool) (scope.FromItem, error) {
	if nullable {
		sc.Binder.Stmt.Outer++
		defer func() { sc.Binder.Stmt.Outer-- }()
	}
	return FromItem(sc, n, left)
}

func openCols(rels []*scope.Item) []scope.Column {
	var out []scope.Column
	for _, r := range rels {
		if r.Open {
			out = append(out, r.Cols...)
		}
	}
	return out
}

func commonNames(l, r []scope.Column) []string {
	var out []string
	for _, a := range l {
		for _, c := range r {
			if a.Name == c.Name && a.Name != "" {
				out = append(out, a.Name)
				break
			}
		}
	}
	return out
}

func without(cols []scope.Column, names []string) []scope.Column {
	var out []scope.Column
	for _, c := range cols {
		drop := false
		for _, n := range names {
			drop = drop || n == c.Name
		}
		if !drop {
			out = append(out, c)
		}
	}
	return out
}

// merge makes the equalities of USING and the merged columns.
func merge(sc *scope.Scope, names []string, l, r []scope.Column, kind plan.JoinKind) ([]expr.Expr, []scope.Column, error) {
	b := sc.Binder
	var on []expr.Expr
	var out []scope.Column
	pick := func(cols []scope.Column, name, side string) (scope.Column, error) {
		hit := -1
		for i, c := range cols {
			if c.Name != name {
				continue
			}
			if hit >= 0 {
				return c, pgerr.New(pgerr.AmbiguousColumn, "common column name \"%s\" appears more than once in %s table", name, side).At(b.PosIdent(name))
			}
			hit = i
		}
		if hit < 0 {
			return scope.Column{}, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" specified in USING clause does not exist in %s table", name, side).At(b.PosIdent(name))
		}
		return cols[hit], nil
	}
	for i, name := range names {
		for _, had := range names[:i] {
			if had == name {
				return nil, nil, pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" appears more than once in USING clause", name).At(b.PosIdent(name))
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
		le, re := b.Use(scope.Found{Col: &a}), b.Use(scope.Found{Col: &c})
		eq, err := b.Operator("=", le, re, b.SpotWord("using"))
		if err != nil {
			return nil, nil, err
		}
		on = append(on, eq)
		pair, t, err := b.Unify("JOIN/USING", []expr.Expr{le, re}, b.SpotIdent(name))
		if err != nil {
			return nil, nil, err
		}
		m := scope.Column{Name: name}
		switch kind {
		case plan.Inner:
			// Either is right: take the one that needs no conversion.
			m.Expr, m.Table, m.Num = pair[0], a.Table, a.Num
			if pair[0] != le && pair[1] == re {
				m.Expr, m.Table, m.Num = pair[1], c.Table, c.Num
			}
		case plan.Left:
			m.Expr, m.Table, m.Num = pair[0], a.Table, a.Num
		case plan.Right:
			m.Expr, m.Table, m.Num = pair[1], c.Table, c.Num
		default:
			m.Expr = &expr.Coalesce{Args: pair, Typ: t}
		}
		out = append(out, m)
	}
	return on, out, nil
}
