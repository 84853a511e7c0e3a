package query

import (
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// directArgs checks that the direct arguments of ordered-set aggregates are
// the same for a whole group.
func (g *grouper) directArgs() error {
	for _, a := range g.s.sc.Level.Aggs {
		for _, d := range a.Item.Call.Args[:a.Item.Call.Direct] {
			if _, err := g.post(d); err != nil {
				return pgerr.From(err).WithDetail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
			}
		}
	}
	return nil
}

// absentKeys makes direct arguments NULL in grouping sets that leave out one of their keys: in the total of
// ROLLUP (a), rank(a) ranks NULL, not the a of some row. The executor takes direct arguments from a row of
// the group. So such a call is computed once for each combination of missing keys, and the grouping id
// chooses among the results.
func (g *grouper) absentKeys() error {
	s := g.s
	b, lv := s.sc.Binder, s.sc.Level
	chosen := map[expr.ColID]expr.Expr{}
	for _, a := range lv.Aggs[:len(lv.Aggs):len(lv.Aggs)] {
		used := s.keysOf(a.Item.Call.Args[:a.Item.Call.Direct])
		var absent [][]int // the ways, but for all keys being there
		for _, set := range s.sets {
			if out := leftOut(used, set); len(out) > 0 && !containsSet(absent, out) {
				absent = append(absent, out)
			}
		}
		if len(absent) == 0 {
			continue
		}
		if err := g.needMask(); err != nil {
			return err
		}
		which := &expr.Case{Else: scope.Col(a.Item.Col), Typ: a.Item.Col.Type}
		for _, out := range absent {
			call := a.Item.Call
			call.Args = append(s.nullKeys(call.Args[:call.Direct], out), call.Args[call.Direct:]...)
			col := b.NewCol(lv, call.Fn.Name, call.Typ)
			b.Stmt.Kind[col.ID] = 'a'
			g.variants = append(g.variants, plan.AggItem{Col: col, Call: call})
			bits, err := b.Operator("&", scope.Col(g.mask), typing.IntLit(g.bits(used)), typing.Position{})
			if err != nil {
				return err
			}
			cond, err := b.Operator("=", bits, typing.IntLit(g.bits(out)), typing.Position{})
			if err != nil {
				return err
			}
			which.Whens = append(which.Whens, expr.When{Cond: cond, Then: scope.Col(col)})
		}
		chosen[a.Item.Col.ID] = which
	}
	if len(chosen) == 0 {
		return nil
	}
	return s.rewrite(func(e expr.Expr) (expr.Expr, error) {
		return scope.MapExpr(e, func(x expr.Expr) expr.Expr {
			if c, ok := x.(*expr.Col); ok && chosen[c.ID] != nil {
				return chosen[c.ID]
			}
			return nil
		}), nil
	})
}

// bits returns the grouping id in which exactly these keys are left out.
func (g *grouper) bits(keys []int) int64 {
	var m int64
	for _, k := range keys {
		m |= 1 << (len(g.s.keys) - 1 - k)
	}
	return m
}

// keysOf lists the keys that expressions use, ascending.
func (s *selectBinder) keysOf(es []expr.Expr) []int {
	var out []int
	for k := range s.keys {
		found := false
		scope.MapList(es, func(x expr.Expr) expr.Expr {
			found = found || scope.EqualExpr(s.keys[k].e, x)
			return nil
		})
		if found {
			out = append(out, k)
		}
	}
	return out
}

// nullKeys returns es with these keys NULL.
func (s *selectBinder) nullKeys(es []expr.Expr, keys []int) []expr.Expr {
	return scope.MapList(es, func(x expr.Expr) expr.Expr {
		for _, k := range keys {
			if scope.EqualExpr(s.keys[k].e, x) {
				return &expr.Const{Typ: x.Type()}
			}
		}
		return nil
	})
}

// leftOut lists the keys that are not in set.
func leftOut(keys, set []int) []int {
	var out []int
	for _, k := range keys {
		if len(union(set, []int{k})) > len(set) {
			out = append(out, k)
		}
	}
	return out
}

func containsSet(sets [][]int, set []int) bool {
	for _, x := range sets {
		if len(x) == len(set) && len(leftOut(x, set)) == 0 {
			return true
		}
	}
	return false
}
