package query

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// groupKey is an expression of GROUP BY and the column it becomes.
type groupKey struct {
	e      expr.Expr
	col    plan.Column
	target int // of the select list, where the item named or repeated it; else -1
}

// groupBy binds the GROUP BY clause to keys and, if it has grouping sets, to lists of keys.
func (s *selectBinder) groupBy(list []ast.Node) error {
	s.grouped = len(list) > 0 || s.sel.HavingClause != nil
	if len(list) == 0 {
		return nil
	}
	b := s.sc.Binder
	plain := true
	sets := [][]int{{}}
	for _, n := range list {
		if _, ok := n.(*ast.GroupingSet); ok {
			plain = false
		}
		more, err := s.groupItem(n)
		if err != nil {
			return err
		}
		var next [][]int
		for _, a := range sets {
			for _, c := range more {
				next = append(next, union(a, c))
			}
		}
		if len(next) > 4096 {
			return pgerr.New(pgerr.StatementTooComplex, "too many grouping sets present (maximum 4096)").At(b.PosWord("group"))
		}
		sets = next
	}
	if !plain {
		if s.sel.GroupDistinct {
			sets = dropEqual(sets)
		}
		s.sets = sets
	} else {
		// Two targets that are the same expression are two keys only where grouping sets can distinguish
		// them.
		var keys []groupKey
		var had scope.Exprs
		for _, k := range s.keys {
			if had.Find(k.e) < 0 {
				had.Add(k.e, len(keys))
				keys = append(keys, k)
			}
		}
		s.keys = keys
	}
	for i := range s.keys {
		k := &s.keys[i]
		if err := b.Comparable(k.e.Type(), false, typing.Position{}); err != nil {
			return err
		}
		name := "group"
		if c, ok := k.e.(*expr.Col); ok {
			name = c.Name
			if s.sets == nil && b.Stmt.Owner[c.ID] == s.sc.Level {
				k.col = plan.Column{ID: c.ID, Name: c.Name, Type: c.Typ}
				continue
			}
		}
		k.col = b.NewCol(s.sc.Level, name, k.e.Type())
	}
	return nil
}

// groupItem returns the grouping sets of one item of GROUP BY.
func (s *selectBinder) groupItem(n ast.Node) ([][]int, error) {
	b := s.sc.Binder
	switch g := typing.Unparen(n).(type) {
	case *ast.RowExpr:
		if g.RowFormat == ast.COERCE_IMPLICIT_CAST { // (a, b)
			var set []int
			for _, x := range typing.Items(g.Args) {
				sub, err := s.groupItem(x)
				if err != nil {
					return nil, err
				}
				set = union(set, sub[0])
			}
			return [][]int{set}, nil
		}
	case *ast.GroupingSet:
		var parts [][]int // of ROLLUP and CUBE: each item one set
		if g.Kind == ast.GROUPING_SET_ROLLUP || g.Kind == ast.GROUPING_SET_CUBE {
			for _, x := range typing.Items(g.Content) {
				sub, err := s.groupItem(x)
				if err != nil {
					return nil, err
				}
				parts = append(parts, sub[0])
			}
		}
		switch g.Kind {
		case ast.GROUPING_SET_EMPTY:
			return [][]int{{}}, nil
		case ast.GROUPING_SET_ROLLUP:
			var out [][]int
			for i := len(parts); i >= 0; i-- {
				set := []int{}
				for _, p := range parts[:i] {
					set = union(set, p)
				}
				out = append(out, set)
			}
			return out, nil
		case ast.GROUPING_SET_CUBE:
			if len(parts) > 12 {
				return nil, pgerr.New(pgerr.TooManyColumns, "CUBE is limited to 12 elements").At(b.PosWord("cube"))
			}
			var out [][]int
			for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
				set := []int{}
				for i, p := range parts {
					if mask>>(len(parts)-1-i)&1 == 1 {
						set = union(set, p)
					}
				}
				out = append(out, set)
			}
			return out, nil
		}
		var out [][]int
		for _, x := range typing.Items(g.Content) {
			sub, err := s.groupItem(x)
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
		}
		return out, nil
	}
	at, err := s.outputRef(n, "GROUP BY", true)
	if err != nil {
		return nil, err
	}
	var e expr.Expr
	if at >= 0 {
		e = s.targets[at].E
	} else if e, err = s.sc.Expr(n, scope.InGroupBy); err != nil {
		return nil, err
	}
	if e, err = b.ResolveUnknown(e); err != nil {
		return nil, err
	}
	if at >= 0 {
		s.retarget(at, e)
	}
	var bad error
	b.EachCol(e, func(id expr.ColID) {
		if b.Stmt.Owner[id] != s.sc.Level {
			return
		}
		switch b.Stmt.Kind[id] {
		case 'a':
			bad = pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in GROUP BY").At(b.PosExpr(n))
		case 'w':
			bad = pgerr.New(pgerr.WindowingError, "window functions are not allowed in GROUP BY").At(b.PosExpr(n))
		case 's':
			s.early(id)
		}
	})
	if bad != nil {
		return nil, bad
	}
	if at < 0 {
		at = s.targetOf(e)
	}
	if at < 0 {
		if i := s.untargeted.Find(e); i >= 0 {
			return [][]int{{i}}, nil
		}
		s.untargeted.Add(e, len(s.keys))
	}
	for i, k := range s.keys {
		if at >= 0 && k.target == at && scope.EqualExpr(k.e, e) {
			return [][]int{{i}}, nil
		}
	}
	s.keys = append(s.keys, groupKey{e: e, target: at})
	return [][]int{{len(s.keys) - 1}}, nil
}

// early moves a set-returning call before the grouping, with those it needs.
func (s *selectBinder) early(id expr.ColID) {
	for _, f := range s.sc.Level.SetCalls {
		for _, c := range f.Call.Cols {
			if c.ID == id && !f.Early {
				f.Early = true
				for _, a := range f.Call.Args {
					s.sc.Binder.EachCol(a, s.early)
				}
			}
		}
	}
}

func union(a, c []int) []int {
	out := append([]int{}, a...)
	for _, x := range c {
		dup := false
		for _, y := range out {
			dup = dup || x == y
		}
		if !dup {
			out = append(out, x)
		}
	}
	return out
}

// dropEqual is GROUP BY DISTINCT.
func dropEqual(sets [][]int) [][]int {
	var out [][]int
	for _, a := range sets {
		dup := false
		for _, c := range out {
			dup = dup || len(a) == len(c) && len(union(a, c)) == len(a)
		}
		if !dup {
			out = append(out, a)
		}
	}
	return out
}

// grouper rewrites the expressions above the aggregation.
type grouper struct {
	s        *selectBinder
	mask     plan.Column    // the grouping id, where it is needed
	variants []plan.AggItem // of calls whose direct arguments are NULL in some grouping sets
	keys     scope.Exprs    // the first known keys
	known    int
}

// needMask makes the grouping id.
func (g *grouper) needMask() error {
	if g.mask.ID != 0 {
		return nil
	}
	if len(g.s.keys) > 31 {
		return pgerr.Unsupported("GROUPING with more than 31 grouping expressions is not supported")
	}
	b := g.s.sc.Binder
	g.mask = b.NewCol(g.s.sc.Level, "grouping", types.Int4)
	b.Stmt.Kind[g.mask.ID] = 'g'
	return nil
}

// groupings replaces GROUPING(…) by its bits of the grouping id, once all keys
// are known.
func (g *grouper) groupings() error {
	s := g.s
	gs := map[expr.ColID]expr.Expr{}
	b, lv := s.sc.Binder, s.sc.Level
	if len(lv.Groupings) == 0 {
		return nil
	}
	if s.sets != nil {
		if err := g.needMask(); err != nil {
			return err
		}
	}
	for _, gr := range lv.Groupings {
		var sum expr.Expr = typing.IntLit(0)
		for i, a := range gr.Args {
			at := -1
			for k := range s.keys {
				if scope.EqualExpr(s.keys[k].e, a) {
					at = k
				}
			}
			if at < 0 {
				return pgerr.New(pgerr.GroupingError, "arguments to GROUPING must be grouping expressions of the associated query level").At(b.PosWord("grouping"))
			}
			if s.sets == nil {
				continue
			}
			bit, err := moveBit(b, g.mask, len(s.keys)-1-at, len(gr.Args)-1-i)
			if err != nil {
				return err
			}
			if i == 0 {
				sum = bit
			} else if sum, err = b.Operator("+", sum, bit, typing.Position{}); err != nil {
				return err
			}
		}
		gs[gr.Col.ID] = sum
	}
	return s.rewrite(func(e expr.Expr) (expr.Expr, error) {
		return scope.MapExpr(e, func(x expr.Expr) expr.Expr {
			if c, ok := x.(*expr.Col); ok {
				return gs[c.ID]
			}
			return nil
		}), nil
	})
}

// moveBit returns a bit of a mask moved to another place.
func moveBit(b *scope.Binder, mask plan.Column, from, to int) (expr.Expr, error) {
	e, err := b.Operator(">>", scope.Col(mask), typing.IntLit(int64(from)), typing.Position{})
	if err != nil {
		return nil, err
	}
	if e, err = b.Operator("&", e, typing.IntLit(1), typing.Position{}); err != nil || to == 0 {
		return e, err
	}
	return b.Operator("<<", e, typing.IntLit(int64(to)), typing.Position{})
}

// post rewrites an expression to read the aggregation's columns.
func (g *grouper) post(e expr.Expr) (expr.Expr, error) {
	s, b := g.s, g.s.sc.Binder
	var bad error
	inSub := 0
	var rewrite func(x expr.Expr) expr.Expr
	rewrite = func(x expr.Expr) expr.Expr {
		switch x.(type) {
		case *expr.Const, *expr.Param:
			return x
		}
		for ; g.known < len(s.keys); g.known++ { // the rewriting adds keys
			g.keys.Add(s.keys[g.known].e, g.known)
		}
		if i := g.keys.Find(x); i >= 0 {
			return scope.Col(s.keys[i].col)
		}
		switch c := x.(type) {
		case *expr.Subquery:
			n := *c
			n.Args = scope.MapList(c.Args, rewrite)
			inSub++
			n.Plan = scope.MapPlan(c.Plan.(plan.Node), rewrite)
			inSub--
			return &n
		case *expr.Col:
			if b.Stmt.Owner[c.ID] != s.sc.Level {
				return x
			}
			switch b.Stmt.Kind[c.ID] {
			case 'a', 'w', 'g':
				return x
			case 's':
				for _, f := range s.sc.Level.SetCalls {
					for _, fc := range f.Call.Cols {
						if fc.ID == c.ID && !f.Early {
							return x
						}
					}
				}
			}
			if s.dependent(c.ID) {
				k := groupKey{e: c, target: -1, col: plan.Column{ID: c.ID, Name: c.Name, Type: c.Typ}}
				for i := range s.sets {
					s.sets[i] = append(s.sets[i][:len(s.sets[i]):len(s.sets[i])], len(s.keys))
				}
				s.keys = append(s.keys, k)
				return x
			}
			if bad == nil {
				name := s.qualifiedName(c)
				if inSub > 0 {
					bad = pgerr.New(pgerr.GroupingError, "subquery uses ungrouped column \"%s\" from outer query", name)
				} else {
					bad = pgerr.New(pgerr.GroupingError, "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", name)
				}
				pgerr.From(bad).Position = posColumn(b, name, c.Name)
			}
			return x
		}
		return nil
	}
	out := scope.MapExpr(e, rewrite)
	return out, bad
}

func posColumn(b *scope.Binder, qualifiedName, name string) int {
	for i := 0; i < len(qualifiedName); i++ {
		if qualifiedName[i] == '.' {
			if p := b.PosIdent(qualifiedName[:i], qualifiedName[i+1:]); p > 0 {
				return p
			}
			break
		}
	}
	return b.PosIdent(name)
}

// qualifiedName returns rel.column for messages.
func (s *selectBinder) qualifiedName(c *expr.Col) string {
	for _, r := range s.sc.Level.Items {
		for _, rc := range r.Cols {
			if x, ok := rc.Expr.(*expr.Col); ok && x.ID == c.ID && r.Name != "" {
				return r.Name + "." + rc.Name
			}
		}
	}
	return c.Name
}

// dependent reports whether the grouping keys fix a column: they hold the whole
// primary key of its table.
func (s *selectBinder) dependent(id expr.ColID) bool {
	everywhere := func(key int) bool {
		for _, set := range s.sets {
			in := false
			for _, k := range set {
				in = in || k == key
			}
			if !in {
				return false
			}
		}
		return true
	}
	for _, r := range s.sc.Level.Items {
		if r.Table == nil {
			continue
		}
		pk := r.Table.PrimaryKey()
		if pk == nil {
			continue
		}
		here := false
		held := 0
		for _, c := range r.Cols {
			x, ok := c.Expr.(*expr.Col)
			if !ok {
				continue
			}
			here = here || x.ID == id
			for _, num := range pk.Columns {
				if num != c.Num {
					continue
				}
				for i, k := range s.keys {
					if scope.EqualExpr(k.e, x) && everywhere(i) {
						held++
						break
					}
				}
			}
		}
		if here && held >= len(pk.Columns) {
			return true
		}
	}
	return false
}

// rewrite applies post to all expressions after the aggregation.
func (s *selectBinder) rewrite(post func(expr.Expr) (expr.Expr, error)) error {
	lv := s.sc.Level
	var err error
	one := func(e *expr.Expr) {
		if err == nil && *e != nil {
			*e, err = post(*e)
		}
	}
	list := func(es []expr.Expr) []expr.Expr {
		out := append([]expr.Expr(nil), es...)
		for i := range out {
			one(&out[i])
		}
		return out
	}
	keys := func(ks []expr.Order) []expr.Order {
		out := append([]expr.Order(nil), ks...)
		for i := range out {
			one(&out[i].Expr)
		}
		return out
	}
	for i := range s.targets {
		own := false
		for _, k := range s.keys {
			if k.target == i && !s.keyed { // the target itself is the key, even a constant
				s.targets[i].E, own = scope.Col(k.col), true
			}
		}
		if !own {
			one(&s.targets[i].E)
		}
	}
	s.keyed = true
	s.having = list(s.having)
	for i := range s.sort {
		one(&s.sort[i].e)
	}
	for i := range s.on {
		one(&s.on[i].e)
	}
	done := map[*scope.WindowSpec]bool{}
	for _, w := range lv.WindowCalls {
		w.Item.Call.Args = list(w.Item.Call.Args)
		one(&w.Item.Call.Filter)
		w.Item.Call.OrderBy = keys(w.Item.Call.OrderBy)
		if !done[w.Spec] {
			done[w.Spec] = true
			w.Spec.Part, w.Spec.Order = list(w.Spec.Part), keys(w.Spec.Order)
		}
	}
	for _, f := range lv.SetCalls {
		if !f.Early {
			f.Call.Args = list(f.Call.Args)
		}
	}
	return err
}

// node returns the Aggregate.
func (g *grouper) node(input plan.Node) plan.Node {
	a := &plan.Aggregate{Input: input, Sets: g.s.sets, GroupingID: g.mask.ID}
	for _, k := range g.s.keys {
		a.Groups = append(a.Groups, plan.Item{Col: k.col, Expr: k.e})
	}
	for _, x := range g.s.sc.Level.Aggs {
		a.Aggs = append(a.Aggs, x.Item)
	}
	a.Aggs = append(a.Aggs, g.variants...)
	scope.Arranged(input, a.Aggs)
	return a
}
