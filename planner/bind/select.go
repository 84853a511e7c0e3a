package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// bound is a bound query: a plan and which of its columns are the result.
type bound struct {
	node plan.Node
	out  []outCol
}

// outCol is a column of a query's result. lit is what it is where that is a
// literal or parameter of unknown type that the user of the query shall type.
type outCol struct {
	plan.Column
	lit expr.Expr
}

func (r *bound) columns() []plan.Column {
	out := make([]plan.Column, len(r.out))
	for i, c := range r.out {
		out[i] = c.Column
	}
	return out
}

// target is an item of the select list, stars spread.
type target struct {
	name string
	e    expr.Expr
	col  relCol // where it comes from, for RowDescription
	node ast.Node
}

// selecting is one SELECT while it is being bound.
type selecting struct {
	sc      *scope
	sel     *ast.SelectStmt
	targets []target
	where   []expr.Expr
	having  []expr.Expr
	sort    []sortItem
	on      []sortItem // DISTINCT ON
	keys    []groupKey
	sets    [][]int
	grouped bool
	keyed   bool // targets that are grouping keys read their columns
	locked  []lockedScan
	limit   *plan.Limit
}

// sortItem is a key of ORDER BY or DISTINCT ON: a target, or an expression.
type sortItem struct {
	target int // -1: e
	e      expr.Expr
	order  expr.Order // direction
	node   ast.Node
}

// query binds a query nested in sc, which stands at a place there. With
// resolve, literals of unknown type become text.
func (sc *scope) query(sel *ast.SelectStmt, at place, resolve bool) (*bound, error) {
	if err := sc.b.look(); err != nil {
		return nil, err
	}
	in := sc.child(at)
	if sel.WithClause != nil {
		if err := in.withClause(sel.WithClause, sel); err != nil {
			return nil, err
		}
	}
	switch {
	case sel.Op != ast.SETOP_NONE:
		return in.setOp(sel)
	case sel.ValuesLists != nil:
		return in.values(sel)
	}
	return in.selectStmt(sel, resolve)
}

// selectStmt binds a SELECT, clause by clause in PostgreSQL's order, so that
// of several errors the same one is reported.
func (sc *scope) selectStmt(sel *ast.SelectStmt, resolve bool) (*bound, error) {
	s := &selecting{sc: sc, sel: sel}
	if err := sc.defineWindows(items(sel.WindowClause)); err != nil {
		return nil, err
	}
	node, err := sc.from(items(sel.FromClause))
	if err != nil {
		return nil, err
	}
	if err := s.bindTargets(items(sel.TargetList)); err != nil {
		return nil, err
	}
	if s.where, err = sc.conditions(sel.WhereClause, inWhere); err != nil {
		return nil, err
	}
	if s.having, err = sc.conditions(sel.HavingClause, inHaving); err != nil {
		return nil, err
	}
	if s.sort, err = s.sortList(items(sel.SortClause), inOrderBy); err != nil {
		return nil, err
	}
	if err := s.groupBy(items(sel.GroupClause)); err != nil {
		return nil, err
	}
	if err := s.distinctClause(); err != nil {
		return nil, err
	}
	if s.limit, err = sc.limit(sel); err != nil {
		return nil, err
	}
	if err := sc.checkWindows(); err != nil {
		return nil, err
	}
	if err := s.locking(); err != nil {
		return nil, err
	}
	if resolve || sel.DistinctClause != nil || s.grouped {
		for i := range s.targets {
			if s.targets[i].e, err = sc.b.known(s.targets[i].e); err != nil {
				return nil, err
			}
		}
	}
	return s.assemble(node)
}

// conditions binds a WHERE-like clause and splits its conjunction.
func (sc *scope) conditions(n ast.Node, p place) ([]expr.Expr, error) {
	if n == nil {
		return nil, nil
	}
	e, err := sc.expr(n, p)
	if err != nil {
		return nil, err
	}
	if e, err = sc.b.boolean(e, p.name, sc.b.spotExpr(n)); err != nil {
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

// bindTargets binds the select list.
func (s *selecting) bindTargets(list []ast.Node) error {
	ts, err := s.sc.targetList(list, inSelect)
	s.targets = ts
	return err
}

func (sc *scope) targetList(list []ast.Node, p place) ([]target, error) {
	var out []target
	for _, n := range list {
		rt, ok := n.(*ast.ResTarget)
		if !ok {
			return nil, pgerr.Internal("a %T in a select list", n)
		}
		cols, ok, err := sc.star(rt.Val, p)
		if err != nil {
			return nil, err
		}
		if ok {
			if sc.b.trace() != nil {
				es := make([]expr.Expr, len(cols))
				for i, c := range cols {
					es[i] = c.e
				}
				sc.traceNames(rt.Val, es...)
			}
			for _, c := range cols {
				out = append(out, target{name: c.name, e: c.e, col: c, node: rt.Val})
			}
			continue
		}
		e, err := sc.expr(rt.Val, p)
		if err != nil {
			return nil, err
		}
		t := target{name: rt.Name, e: e, node: rt.Val}
		if t.name == "" {
			t.name = columnName(rt.Val)
		}
		if c, ok := e.(*expr.Col); ok {
			t.col = sc.origin(c.ID)
		}
		out = append(out, t)
	}
	if len(out) > 32767 {
		return nil, pgerr.New(pgerr.TooManyColumns, "target lists can have at most 32767 entries")
	}
	return out, nil
}

// origin finds the table column behind a column of this scope or an outer one.
func (sc *scope) origin(id expr.ColID) relCol {
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.rels {
			for _, c := range r.cols {
				if x, ok := c.e.(*expr.Col); ok && x.ID == id {
					return c
				}
			}
		}
	}
	return relCol{}
}

// assemble stacks the plan nodes.
func (s *selecting) assemble(node plan.Node) (*bound, error) {
	b, lv := s.sc.b, s.sc.lv
	if len(s.where) > 0 {
		node = &plan.Filter{Input: node, Conds: s.where}
	}
	if s.grouped || len(lv.aggs) > 0 || len(lv.groupings) > 0 {
		node = projectSets(node, lv.srfs, true)
		g := &grouper{s: s}
		for _, x := range lv.groupings {
			b.st.kind[x.col.ID] = 'g'
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
		node = g.node(node)
		if len(s.having) > 0 {
			node = &plan.Filter{Input: node, Conds: s.having}
		}
	}
	for i, w := range lv.wins {
		first := true
		for _, v := range lv.wins[:i] {
			first = first && v.spec != w.spec
		}
		if !first {
			continue
		}
		n := &plan.Window{Input: node, PartitionBy: w.spec.part, OrderBy: w.spec.order}
		for _, v := range lv.wins[i:] {
			if v.spec == w.spec {
				n.Items = append(n.Items, v.item)
			}
		}
		node = n
	}
	node = projectSets(node, lv.srfs, false)
	pr := newProjector(b, lv, node)
	r := &bound{}
	for i := range s.targets {
		t := &s.targets[i]
		c := pr.emit(t.e, t.name)
		c.Name, c.Table, c.Num = t.name, t.col.table, t.col.num
		o := outCol{Column: c}
		if isUnknown(t.e) {
			o.lit = t.e
		}
		r.out = append(r.out, o)
	}
	keys := s.orders(s.sort, pr, r.out)
	on := s.orders(s.on, pr, r.out)
	s.lockIDs(pr)
	node = pr.node()
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
					hit = hit || equalExpr(o.Expr, k.Expr)
				}
				if !hit {
					d.Order = append(d.Order[:len(d.Order):len(d.Order)], k)
				}
			}
		}
		node = d
	case s.sel.DistinctClause != nil:
		node = distinct(node, r.out)
	}
	node = sorted(node, keys, s.limit)
	r.node = node
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
func distinct(node plan.Node, out []outCol) plan.Node {
	a := &plan.Aggregate{Input: node}
	seen := map[expr.ColID]bool{}
	for _, c := range out {
		if !seen[c.ID] {
			seen[c.ID] = true
			a.Groups = append(a.Groups, plan.Item{Col: c.Column, Expr: col(c.Column)})
		}
	}
	return a
}

// orders turns sort items into keys over the projected columns.
func (s *selecting) orders(list []sortItem, pr *projector, out []outCol) []expr.Order {
	var keys []expr.Order
	for _, it := range list {
		o := it.order
		if it.target >= 0 {
			o.Expr = col(out[it.target].Column)
		} else {
			o.Expr = col(pr.emit(it.e, "sort"))
		}
		dup := false
		for _, k := range keys {
			dup = dup || equalExpr(k.Expr, o.Expr)
		}
		if !dup {
			keys = append(keys, o)
		}
	}
	return keys
}

// projectSets adds the set-returning calls, those that feed others first.
func projectSets(node plan.Node, srfs []*srfItem, early bool) plan.Node {
	for depth, left := 0, true; left; depth++ {
		ps := &plan.ProjectSet{Input: node}
		left = false
		for _, s := range srfs {
			if s.early != early {
				continue
			}
			if s.depth == depth {
				ps.Calls = append(ps.Calls, s.call)
			}
			left = left || s.depth > depth
		}
		if len(ps.Calls) > 0 {
			node = ps
		}
	}
	return node
}

// projector collects the items of a Project. Columns of the input are passed
// through under their own IDs, so that a list of them needs no Project.
type projector struct {
	b        *binder
	lv       *level
	input    plan.Node
	made     map[expr.ColID]plan.Column
	items    []plan.Item
	seen     map[expr.ColID]bool
	computed bool
}

func newProjector(b *binder, lv *level, input plan.Node) *projector {
	p := &projector{b: b, lv: lv, input: input, made: map[expr.ColID]plan.Column{}, seen: map[expr.ColID]bool{}}
	for _, c := range input.Schema() {
		p.made[c.ID] = c
	}
	return p
}

// emit makes e an output column.
func (p *projector) emit(e expr.Expr, name string) plan.Column {
	if c, ok := e.(*expr.Col); ok {
		if in, ok := p.made[c.ID]; ok {
			if !p.seen[c.ID] {
				p.seen[c.ID] = true
				p.items = append(p.items, plan.Item{Col: in, Expr: e})
			}
			return in
		}
	}
	for _, it := range p.items {
		if _, ok := it.Expr.(*expr.Const); !ok && equalExpr(it.Expr, e) {
			return it.Col
		}
	}
	c := p.b.newCol(p.lv, name, e.Type())
	p.items = append(p.items, plan.Item{Col: c, Expr: e})
	p.computed = true
	return c
}

func (p *projector) node() plan.Node {
	if !p.computed {
		return p.input
	}
	return &plan.Project{Input: p.input, Items: p.items}
}

// shape makes a plan whose schema is exactly the given expressions over r, in
// order, each column with an ID of its own.
func (b *binder) shape(lv *level, node plan.Node, es []expr.Expr, names []string) (plan.Node, []plan.Column) {
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
			c = b.newCol(lv, names[i], e.Type())
		}
		p.Items, cols[i] = append(p.Items, plan.Item{Col: c, Expr: e}), c
	}
	return p, cols
}

// apart makes two columns of what a FROM item has twice as one: GROUP BY, with
// grouping sets, and DISTINCT ON tell them apart.
func (b *binder) apart(lv *level, r *bound) {
	had := map[expr.ColID]bool{}
	es, names := make([]expr.Expr, len(r.out)), make([]string, len(r.out))
	for i, c := range r.out {
		es[i], names[i], had[c.ID] = col(c.Column), c.Name, true
	}
	if len(had) == len(r.out) {
		return
	}
	node, cols := b.shape(lv, r.node, es, names)
	r.node = node
	for i, c := range cols {
		r.out[i].ID = c.ID
	}
}

// limit binds LIMIT, OFFSET and FETCH; nil where there are none.
func (sc *scope) limit(sel *ast.SelectStmt) (*plan.Limit, error) {
	if sel.LimitCount == nil && sel.LimitOffset == nil {
		return nil, nil
	}
	l := &plan.Limit{Ties: sel.LimitOption == ast.LIMIT_OPTION_WITH_TIES}
	var err error
	if l.Count, err = sc.limitExpr(sel.LimitCount, inLimit); err != nil {
		return nil, err
	}
	if l.Offset, err = sc.limitExpr(sel.LimitOffset, inOffset); err != nil {
		return nil, err
	}
	if l.Ties && len(items(sel.SortClause)) == 0 {
		return nil, pgerr.New(pgerr.SyntaxError, "WITH TIES cannot be specified without ORDER BY clause").At(sc.b.posWord("fetch"))
	}
	if l.Ties && l.Count == nil {
		return nil, pgerr.New(pgerr.InvalidRowCountInLimit, "row count cannot be null in FETCH FIRST ... WITH TIES clause")
	}
	if l.Count == nil && l.Offset == nil {
		return nil, nil
	}
	return l, nil
}

func (sc *scope) limitExpr(n ast.Node, p place) (expr.Expr, error) {
	if n == nil {
		return nil, nil
	}
	b := sc.b
	e, err := sc.expr(n, p)
	if err != nil {
		return nil, err
	}
	if isNullConst(e) {
		return nil, nil
	}
	if !b.canCoerce(e.Type().OID, types.Int8OID, 'a') {
		return nil, pgerr.New(pgerr.DatatypeMismatch, "argument of %s must be type bigint, not type %s", p.name, b.typeName(e.Type())).At(b.posExpr(n))
	}
	if e, err = b.coerce(e, types.Int8, 'a', spot{}); err != nil {
		return nil, err
	}
	local := false
	b.eachCol(e, func(id expr.ColID) { local = local || b.st.owner[id] == sc.lv })
	if local {
		return nil, pgerr.New(pgerr.InvalidColumnReference, "argument of %s must not contain variables", p.name).At(b.posExpr(n))
	}
	return e, nil
}
