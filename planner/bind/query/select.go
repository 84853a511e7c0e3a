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

// Target is an item of the select list, stars spread.
type Target struct {
	Name string
	E    expr.Expr
	Col  scope.Column // where it comes from, for RowDescription
	node ast.Node
}

// selectBinder is one SELECT while it is being bound.
type selectBinder struct {
	sc      *scope.Scope
	sel     *ast.SelectStmt
	targets []Target
	where   []expr.Expr
	having  []expr.Expr
	sort    []sortItem
	on      []sortItem // DISTINCT ON
	keys    []groupKey
	sets    [][]int
	grouped bool
	keyed   bool // targets that are grouping keys read their columns
	locked  []lockedScan
	byExpr  *scope.Exprs // the targets; nil: to be made
	// untargeted are the keys of GROUP BY that are no targets, while it is bound.
	untargeted scope.Exprs
	limit      *plan.Limit
}

// sortItem is a key of ORDER BY or DISTINCT ON: a target, or an expression.
type sortItem struct {
	target int // -1: e
	e      expr.Expr
	order  expr.Order // direction
	node   ast.Node
}

// Bind binds a query nested in sc, which stands at a place there. With
// resolve, literals of unknown type become text.
func Bind(sc *scope.Scope, sel *ast.SelectStmt, at scope.Place, resolve bool) (*scope.Query, error) {
	if err := sc.Binder.Poll(); err != nil {
		return nil, err
	}
	in := sc.Child(at)
	if sel.WithClause != nil {
		if err := WithClause(in, sel.WithClause, sel); err != nil {
			return nil, err
		}
	}
	switch {
	case sel.Op != ast.SETOP_NONE:
		return setOp(in, sel)
	case sel.ValuesLists != nil:
		return values(in, sel)
	}
	return selectStmt(in, sel, resolve)
}

// selectStmt binds a SELECT, clause by clause in PostgreSQL's order, so that
// of several errors the same one is reported.
func selectStmt(sc *scope.Scope, sel *ast.SelectStmt, resolve bool) (*scope.Query, error) {
	s := &selectBinder{sc: sc, sel: sel}
	if err := sc.DefineWindows(typing.Items(sel.WindowClause)); err != nil {
		return nil, err
	}
	node, err := from(sc, typing.Items(sel.FromClause))
	if err != nil {
		return nil, err
	}
	if err := s.bindTargets(typing.Items(sel.TargetList)); err != nil {
		return nil, err
	}
	if s.where, err = Conditions(sc, sel.WhereClause, scope.InWhere); err != nil {
		return nil, err
	}
	if s.having, err = Conditions(sc, sel.HavingClause, scope.InHaving); err != nil {
		return nil, err
	}
	if s.sort, err = s.sortList(typing.Items(sel.SortClause), scope.InOrderBy); err != nil {
		return nil, err
	}
	if err := s.groupBy(typing.Items(sel.GroupClause)); err != nil {
		return nil, err
	}
	if err := s.distinctClause(); err != nil {
		return nil, err
	}
	if s.limit, err = limit(sc, sel); err != nil {
		return nil, err
	}
	if err := sc.CheckWindows(); err != nil {
		return nil, err
	}
	if err := s.locking(); err != nil {
		return nil, err
	}
	if resolve || sel.DistinctClause != nil || s.grouped {
		for i := range s.targets {
			if s.targets[i].E, err = sc.Binder.ResolveUnknown(s.targets[i].E); err != nil {
				return nil, err
			}
		}
	}
	return s.assemble(node)
}

// Conditions binds a WHERE-like clause and splits its conjunction.
func Conditions(sc *scope.Scope, n ast.Node, p scope.Place) ([]expr.Expr, error) {
	if n == nil {
		return nil, nil
	}
	e, err := sc.Expr(n, p)
	if err != nil {
		return nil, err
	}
	if e, err = sc.Binder.Boolean(e, p.Name, sc.Binder.SpotExpr(n)); err != nil {
		return nil, err
	}
	return conjuncts(e), nil
}

func conjuncts(e expr.Expr) []expr.Expr {
	if a, ok := e.(*expr.And); ok {
		var out []expr.Expr
		for _, x := range a.Args {
			out = append(out, conjuncts(x)...)
		}
		return out
	}
	if c, ok := e.(*expr.Const); ok && c.Val == true {
		return nil
	}
	return []expr.Expr{e}
}

// targetOf returns the first target that is the same expression, -1 if there is none.
func (s *selectBinder) targetOf(e expr.Expr) int {
	if s.byExpr == nil {
		s.byExpr = &scope.Exprs{}
		for i := range s.targets {
			s.byExpr.Add(s.targets[i].E, i)
		}
	}
	return s.byExpr.Find(e)
}

// retarget changes a target's expression.
func (s *selectBinder) retarget(i int, e expr.Expr) {
	if s.targets[i].E != e {
		s.targets[i].E, s.byExpr = e, nil
	}
}

// bindTargets binds the select list.
func (s *selectBinder) bindTargets(list []ast.Node) error {
	ts, err := TargetList(s.sc, list, scope.InSelect)
	s.targets = ts
	return err
}

func TargetList(sc *scope.Scope, list []ast.Node, p scope.Place) ([]Target, error) {
	var out []Target
	for _, n := range list {
		rt, ok := n.(*ast.ResTarget)
		if !ok {
			return nil, pgerr.Internal("a %T in a select list", n)
		}
		cols, ok, err := sc.Star(rt.Val, p)
		if err != nil {
			return nil, err
		}
		if ok {
			if sc.Binder.Trace() != nil {
				es := make([]expr.Expr, len(cols))
				for i, c := range cols {
					es[i] = c.Expr
				}
				sc.TraceNames(rt.Val, es...)
			}
			for _, c := range cols {
				out = append(out, Target{Name: c.Name, E: c.Expr, Col: c, node: rt.Val})
			}
			continue
		}
		e, err := sc.Expr(rt.Val, p)
		if err != nil {
			return nil, err
		}
		t := Target{Name: rt.Name, E: e, node: rt.Val}
		if t.Name == "" {
			t.Name = scope.ColumnName(rt.Val)
		}
		if c, ok := e.(*expr.Col); ok {
			t.Col = origin(sc, c.ID)
		}
		out = append(out, t)
	}
	if len(out) > 32767 {
		return nil, pgerr.New(pgerr.TooManyColumns, "target lists can have at most 32767 entries")
	}
	return out, nil
}

// origin finds the table column behind a column of this scope or an outer one.
func origin(sc *scope.Scope, id expr.ColID) scope.Column {
	for s := sc; s != nil; s = s.Parent {
		for _, r := range s.Items {
			for _, c := range r.Cols {
				if x, ok := c.Expr.(*expr.Col); ok && x.ID == id {
					return c
				}
			}
		}
	}
	return scope.Column{}
}

// assemble stacks the plan nodes.
func (s *selectBinder) assemble(node plan.Node) (*scope.Query, error) {
	b, lv := s.sc.Binder, s.sc.Level
	if len(s.where) > 0 {
		node = &plan.Filter{Input: node, Conds: s.where}
	}
	if s.grouped || len(lv.Aggs) > 0 || len(lv.Groupings) > 0 {
		node = projectSets(node, lv.SetCalls, true)
		g := &grouper{s: s}
		for _, x := range lv.Groupings {
			b.Stmt.Kind[x.Col.ID] = 'g'
		}
		if err := g.directArgs(); err != nil {
			return nil, err
		}
		// All rewriting first: it may add keys that others depend on.
		if err := s.rewrite(g.post); err != nil {
			return nil, err
		}
		if err := g.groupings(); err != nil {
			return nil, err
		}
		if err := g.absentKeys(); err != nil {
			return nil, err
		}
		node = g.node(node)
		if len(s.having) > 0 {
			node = &plan.Filter{Input: node, Conds: s.having}
		}
	}
	for i, w := range lv.WindowCalls {
		first := true
		for _, v := range lv.WindowCalls[:i] {
			first = first && v.Spec != w.Spec
		}
		if !first {
			continue
		}
		n := &plan.Window{Input: node, PartitionBy: w.Spec.Part, OrderBy: w.Spec.Order}
		for _, v := range lv.WindowCalls[i:] {
			if v.Spec == w.Spec {
				n.Items = append(n.Items, v.Item)
			}
		}
		node = n
	}
	node = projectSets(node, lv.SetCalls, false)
	pr := NewProjector(b, lv, node)
	r := &scope.Query{}
	for i := range s.targets {
		t := &s.targets[i]
		c := pr.Emit(t.E, t.Name)
		c.Name, c.Table, c.Num = t.Name, t.Col.Table, t.Col.Num
		o := scope.Output{Column: c}
		if typing.IsUnknown(t.E) {
			o.Lit = t.E
		}
		r.Out = append(r.Out, o)
	}
	keys := s.orders(s.sort, pr, r.Out)
	on := s.orders(s.on, pr, r.Out)
	locks := len(b.Stmt.Locks)
	s.lockIDs(pr)
	node = pr.Node()
	switch {
	case s.sel.DistinctClause != nil && len(s.on) > 0:
		d := &plan.DistinctOn{Input: node}
		for _, k := range on {
			d.Keys = append(d.Keys, k.Expr)
		}
		d.Order = keys
		if len(keys) > 0 {
			for _, k := range on { // sorted by all its keys, so that equal rows meet
				hit := false
				for _, o := range d.Order {
					hit = hit || scope.EqualExpr(o.Expr, k.Expr)
				}
				if !hit {
					d.Order = append(d.Order[:len(d.Order):len(d.Order)], k)
				}
			}
		}
		node = d
	case s.sel.DistinctClause != nil:
		node = distinct(node, r.Out)
	}
	node = sorted(node, keys, s.limit)
	r.Node = node
	s.lockFirst(r, locks)
	return r, nil
}

// sorted puts ORDER BY and LIMIT on top.
func sorted(node plan.Node, keys []expr.Order, l *plan.Limit) plan.Node {
	if len(keys) > 0 {
		node = &plan.Sort{Input: node, Keys: keys, Limit: -1}
	}
	if l != nil {
		l.Input = node
		if l.Ties {
			l.Keys = keys
		}
		node = l
	}
	return node
}

// distinct drops equal rows: a grouping by all columns.
func distinct(node plan.Node, out []scope.Output) plan.Node {
	a := &plan.Aggregate{Input: node}
	seen := map[expr.ColID]bool{}
	for _, c := range out {
		if !seen[c.ID] {
			seen[c.ID] = true
			a.Groups = append(a.Groups, plan.Item{Col: c.Column, Expr: scope.Col(c.Column)})
		}
	}
	return a
}

// orders turns sort items into keys over the projected columns.
func (s *selectBinder) orders(list []sortItem, pr *Projector, out []scope.Output) []expr.Order {
	var keys []expr.Order
	var had scope.Exprs
	for _, it := range list {
		o := it.order
		if it.target >= 0 {
			o.Expr = scope.Col(out[it.target].Column)
		} else {
			o.Expr = scope.Col(pr.Emit(it.e, "sort"))
		}
		if had.Find(o.Expr) < 0 {
			had.Add(o.Expr, len(keys))
			keys = append(keys, o)
		}
	}
	return keys
}

// projectSets adds the set-returning calls, those that feed others first.
func projectSets(node plan.Node, srfs []*scope.SetCall, early bool) plan.Node {
	for depth, left := 0, true; left; depth++ {
		ps := &plan.ProjectSet{Input: node}
		left = false
		for _, s := range srfs {
			if s.Early != early {
				continue
			}
			if s.Depth == depth {
				ps.Calls = append(ps.Calls, s.Call)
			}
			left = left || s.Depth > depth
		}
		if len(ps.Calls) > 0 {
			node = ps
		}
	}
	return node
}

// Projector collects the items of a Project. Columns of the input are passed
// through under their own IDs, so that a list of them needs no Project.
type Projector struct {
	b        *scope.Binder
	lv       *scope.Level
	input    plan.Node
	made     map[expr.ColID]plan.Column
	items    []plan.Item
	seen     map[expr.ColID]bool
	computed bool
	computes scope.Exprs // places of items that are neither columns of the input nor constants
}

func NewProjector(b *scope.Binder, lv *scope.Level, input plan.Node) *Projector {
	p := &Projector{b: b, lv: lv, input: input, made: map[expr.ColID]plan.Column{}, seen: map[expr.ColID]bool{}}
	for _, c := range input.Schema() {
		p.made[c.ID] = c
	}
	return p
}

// Emit makes e an output column.
func (p *Projector) Emit(e expr.Expr, name string) plan.Column {
	if c, ok := e.(*expr.Col); ok {
		if in, ok := p.made[c.ID]; ok {
			if !p.seen[c.ID] {
				p.seen[c.ID] = true
				p.items = append(p.items, plan.Item{Col: in, Expr: e})
			}
			return in
		}
	}
	if _, ok := e.(*expr.Const); !ok {
		// Columns are passed through above: items that are not computed here are no candidates.
		if i := p.computes.Find(e); i >= 0 {
			return p.items[i].Col
		}
		p.computes.Add(e, len(p.items))
	}
	c := p.b.NewCol(p.lv, name, e.Type())
	p.items = append(p.items, plan.Item{Col: c, Expr: e})
	p.computed = true
	return c
}

func (p *Projector) Node() plan.Node {
	if !p.computed {
		return p.input
	}
	return &plan.Project{Input: p.input, Items: p.items}
}

// shape makes a plan whose schema is exactly the given expressions over r, in
// order, each column with an ID of its own.
func shape(b *scope.Binder, lv *scope.Level, node plan.Node, es []expr.Expr, names []string) (plan.Node, []plan.Column) {
	schema := node.Schema()
	same := len(schema) == len(es)
	for i := 0; same && i < len(es); i++ {
		c, ok := es[i].(*expr.Col)
		same = ok && c.ID == schema[i].ID
	}
	cols := make([]plan.Column, len(es))
	if same {
		for i := range es {
			cols[i] = schema[i]
			cols[i].Name = names[i]
		}
		return node, cols
	}
	made, used := map[expr.ColID]bool{}, map[expr.ColID]bool{}
	for _, c := range schema {
		made[c.ID] = true
	}
	p := &plan.Project{Input: node}
	for i, e := range es {
		var c plan.Column
		if x, ok := e.(*expr.Col); ok && made[x.ID] && !used[x.ID] {
			used[x.ID] = true
			c = plan.Column{ID: x.ID, Name: names[i], Type: x.Typ}
		} else {
			c = b.NewCol(lv, names[i], e.Type())
		}
		p.Items, cols[i] = append(p.Items, plan.Item{Col: c, Expr: e}), c
	}
	return p, cols
}

// mergeDuplicates makes two columns of what a FROM item has twice as one: GROUP BY, with grouping sets, and
// DISTINCT ON distinguish them.
func mergeDuplicates(b *scope.Binder, lv *scope.Level, r *scope.Query) {
	had := map[expr.ColID]bool{}
	es, names := make([]expr.Expr, len(r.Out)), make([]string, len(r.Out))
	for i, c := range r.Out {
		es[i], names[i], had[c.ID] = scope.Col(c.Column), c.Name, true
	}
	if len(had) == len(r.Out) {
		return
	}
	node, cols := shape(b, lv, r.Node, es, names)
	r.Node = node
	for i, c := range cols {
		r.Out[i].ID = c.ID
	}
}

// limit binds LIMIT, OFFSET and FETCH; nil where there are none.
func limit(sc *scope.Scope, sel *ast.SelectStmt) (*plan.Limit, error) {
	if sel.LimitCount == nil && sel.LimitOffset == nil {
		return nil, nil
	}
	l := &plan.Limit{Ties: sel.LimitOption == ast.LIMIT_OPTION_WITH_TIES}
	var err error
	if l.Count, err = limitExpr(sc, sel.LimitCount, scope.InLimit); err != nil {
		return nil, err
	}
	if l.Offset, err = limitExpr(sc, sel.LimitOffset, scope.InOffset); err != nil {
		return nil, err
	}
	if l.Ties && len(typing.Items(sel.SortClause)) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause").At(sc.Binder.PosWord("fetch"))
	}
	if l.Ties && l.Count == nil {
		return nil, pgerr.New(pgerr.InvalidRowCountInLimit, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
	}
	if l.Count == nil && l.Offset == nil {
		return nil, nil
	}
	return l, nil
}

func limitExpr(sc *scope.Scope, n ast.Node, p scope.Place) (expr.Expr, error) {
	if n == nil {
		return nil, nil
	}
	b := sc.Binder
	e, err := sc.Expr(n, p)
	if err != nil {
		return nil, err
	}
	if typing.IsNullConst(e) {
		return nil, nil
	}
	if !b.CanCoerce(e.Type().OID, types.Int8OID, 'a') {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", p.Name, b.TypeName(e.Type())).At(b.PosExpr(n))
	}
	if e, err = b.Coerce(e, types.Int8, 'a', typing.Position{}); err != nil {
		return nil, err
	}
	local := false
	b.EachCol(e, func(id expr.ColID) { local = local || b.Stmt.Owner[id] == sc.Level })
	if local {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", p.Name).At(b.PosExpr(n))
	}
	return e, nil
}
