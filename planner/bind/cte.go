package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// cteEnv is a WITH clause in force, with those of the enclosing queries behind.
type cteEnv struct {
	parent *cteEnv
	list   []*cte
	later  []string // names of the clause that are not bound yet, for a hint
}

// cte is an item of WITH.
type cte struct {
	name  string
	names []string // its columns
	sel   *ast.SelectStmt
	home  *scope // where its query is bound
	ready *bound // the bound query, until a reference takes it
	again bool   // every reference binds the query anew
	buf   int    // the buffer that holds its rows; 0 for none
	cols  []plan.Column
	mute  bool       // a DML without RETURNING
	self  *recursion // set while its own query is being bound

	search *ast.CTESearchClause
	cycle  *ast.CTECycleClause
	hidden int // of its columns the last, which * leaves out while it is being bound
}

// recursion is a recursive CTE in the making.
type recursion struct {
	id     int
	inInit bool
	refs   int
	outer  int // outer joins around the whole
	except int
	levels []*level
	home   *scope
}

func (e *cteEnv) find(name string) (*cte, *cteEnv) {
	for ; e != nil; e = e.parent {
		for i := len(e.list) - 1; i >= 0; i-- {
			if e.list[i].name == name {
				return e.list[i], e
			}
		}
	}
	return nil, nil
}

// withForward adds what PostgreSQL says of a WITH item that comes later.
func (sc *scope) withForward(err error, n *ast.RangeVar) error {
	if n.SchemaName != "" || !pgerr.Is(err, pgerr.UndefinedTable) {
		return err
	}
	for e := sc.ctes; e != nil; e = e.parent {
		for _, name := range e.later {
			if name == n.RelName {
				return pgerr.From(err).WithDetail("There is a WITH item named \"%s\", but it cannot be referenced from this part of the query.", name).
					WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
			}
		}
	}
	return err
}

// references counts, by name, the places of n that may mean a CTE from outside
// of it.
func references(n ast.Node) map[string]int {
	counts := map[string]int{}
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if rv, ok := c.Node().(*ast.RangeVar); ok && rv.SchemaName == "" {
			counts[rv.RelName]++
		}
		w := withOf(c.Node())
		if w == nil || len(items(w.Ctes)) == 0 {
			return true
		}
		// An inner WITH takes its names over: from the item after on, or
		// (RECURSIVE) for all of its items.
		first := map[string]int{}
		for i, x := range items(w.Ctes) {
			name := x.(*ast.CommonTableExpr).Ctename
			if _, ok := first[name]; !ok {
				first[name] = i
			}
		}
		for k, x := range items(w.Ctes) {
			for name, n := range references(x.(*ast.CommonTableExpr).Ctequery) {
				if i, inner := first[name]; !inner || !w.Recursive && k <= i {
					counts[name] += n
				}
			}
		}
		for name, n := range references(withoutWith(c.Node())) {
			if _, inner := first[name]; !inner {
				counts[name] += n
			}
		}
		return false
	}, nil)
	return counts
}

// withOf is the WITH clause of a statement; nil if it has none.
func withOf(n ast.Node) *ast.WithClause {
	switch x := n.(type) {
	case *ast.SelectStmt:
		return x.WithClause
	case *ast.InsertStmt:
		return x.WithClause
	case *ast.UpdateStmt:
		return x.WithClause
	case *ast.DeleteStmt:
		return x.WithClause
	case *ast.MergeStmt:
		return x.WithClause
	}
	return nil
}

// withClause binds the items of WITH; owner is the statement they belong to.
func (sc *scope) withClause(w *ast.WithClause, owner ast.Node) error {
	b := sc.b
	var list []*ast.CommonTableExpr
	of := map[string]map[string]int{} // the references of each item
	for _, n := range items(w.Ctes) {
		c := n.(*ast.CommonTableExpr)
		if of[c.Ctename] != nil {
			return pgerr.New(pgerr.DuplicateAlias, "WITH query name \"%s\" specified more than once", c.Ctename).At(b.posIdent(c.Ctename))
		}
		of[c.Ctename] = references(c.Ctequery)
		if (c.SearchClause != nil || c.CycleClause != nil) && !(w.Recursive && of[c.Ctename][c.Ctename] > 0) {
			return pgerr.New(pgerr.SyntaxError, "WITH query is not recursive").At(b.posIdent(c.Ctename))
		}
		list = append(list, c)
	}
	if w.Recursive {
		var err error
		if list, err = b.sortCTEs(list, of); err != nil {
			return err
		}
	}
	// Without RECURSIVE a name means what it meant outside until its item is
	// bound: the items after it and the statement may refer to it.
	refs := make([]int, len(list))
	behind := references(withoutWith(owner))
	for i := len(list) - 1; i >= 0; i-- {
		refs[i] = behind[list[i].Ctename]
		for name, n := range of[list[i].Ctename] {
			behind[name] += n
		}
	}
	env := &cteEnv{parent: sc.ctes}
	for _, c := range list {
		env.later = append(env.later, c.Ctename)
	}
	sc.ctes = env
	for i, c := range list {
		it, err := sc.bindCTE(c, w.Recursive, refs[i])
		if err != nil {
			return err
		}
		env.list, env.later = append(env.list, it), env.later[1:]
	}
	return nil
}

// withoutWith is a statement without its WITH clause, for counting.
func withoutWith(n ast.Node) ast.Node {
	switch x := n.(type) {
	case *ast.SelectStmt:
		c := *x
		c.WithClause = nil
		return &c
	case *ast.InsertStmt:
		c := *x
		c.WithClause = nil
		return &c
	case *ast.UpdateStmt:
		c := *x
		c.WithClause = nil
		return &c
	case *ast.DeleteStmt:
		c := *x
		c.WithClause = nil
		return &c
	case *ast.MergeStmt:
		c := *x
		c.WithClause = nil
		return &c
	}
	return n
}

// sortCTEs orders the items of WITH RECURSIVE so that each comes after those
// it refers to.
func (b *binder) sortCTEs(list []*ast.CommonTableExpr, of map[string]map[string]int) ([]*ast.CommonTableExpr, error) {
	var out []*ast.CommonTableExpr
	state := make([]int, len(list)) // 1 on the path, 2 done
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case 1:
			return pgerr.Unsupported("mutual recursion between WITH items is not implemented").At(b.posIdent(list[i].Ctename))
		case 2:
			return nil
		}
		state[i] = 1
		refs := of[list[i].Ctename]
		for k := range list {
			if k != i && refs[list[k].Ctename] > 0 {
				if err := visit(k); err != nil {
					return err
				}
			}
		}
		state[i] = 2
		out = append(out, list[i])
		return nil
	}
	for i := range list {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bindCTE binds one item and decides how references read it.
func (sc *scope) bindCTE(n *ast.CommonTableExpr, recursive bool, refs int) (*cte, error) {
	b := sc.b
	c := &cte{name: n.Ctename, names: strs(n.Aliascolnames), search: n.SearchClause, cycle: n.CycleClause}
	sel, ok := n.Ctequery.(*ast.SelectStmt)
	if !ok {
		return c, sc.bindModifying(c, n)
	}
	home := *sc
	c.sel, c.home = sel, &home
	locked := len(b.st.locks)
	var r *bound
	var err error
	self := recursive && references(sel)[n.Ctename] > 0
	if self {
		r, err = c.home.recursive(c)
	} else {
		r, err = c.home.query(sel, place{name: "WITH"}, true)
	}
	if err != nil {
		return nil, err
	}
	if err := c.setNames(b, r); err != nil {
		return nil, err
	}
	inline := n.Ctematerialized != ast.CTEMaterializeAlways && len(b.st.locks) == locked && !volatilePlan(r.node)
	switch {
	case refs == 0, len(outerCols(r.node)) > 0, sc.readsOpen(r.node):
		// Unused, or correlated: then it has no rows of its own to keep.
		c.ready, c.again = r, true
	case inline && (refs == 1 || n.Ctematerialized == ast.CTEMaterializeNever && !self):
		c.ready, c.again = r, true
	default:
		c.buf = b.newBuffer()
		cols := r.columns()
		for i := range cols {
			cols[i].Name = c.names[i]
		}
		c.cols = cols
		b.st.buffers = append(b.st.buffers, plan.BufferDef{ID: c.buf, Name: c.name, Root: r.node, Cols: cols, Whole: !inline})
	}
	return c, nil
}

// readsOpen tells whether a plan reads the working table of a recursion that
// is being bound: then its rows differ from round to round.
func (sc *scope) readsOpen(n plan.Node) bool {
	if x, ok := n.(*plan.Buffer); ok {
		for e := sc.ctes; e != nil; e = e.parent {
			for _, c := range e.list {
				if c.self != nil && c.self.id == x.ID {
					return true
				}
			}
		}
	}
	for _, k := range n.Children() {
		if sc.readsOpen(k) {
			return true
		}
	}
	return false
}

func (b *binder) newBuffer() int {
	b.st.nextBuf++
	return b.st.nextBuf
}

// setNames completes the column names of a CTE from its query.
func (c *cte) setNames(b *binder, r *bound) error {
	if len(c.names) > len(r.out) {
		return pgerr.New(pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified", c.name, len(r.out), len(c.names)).
			At(b.posIdent(c.name))
	}
	for _, o := range r.out[len(c.names):] {
		c.names = append(c.names, o.Name)
	}
	return nil
}

// bindModifying binds a data-modifying item: it runs whether it is read or not.
func (sc *scope) bindModifying(c *cte, n *ast.CommonTableExpr) error {
	b := sc.b
	if sc.parent == nil || sc.parent.lv != nil || b.view != nil {
		return pgerr.Unsupported("WITH clause containing a data-modifying statement must be at the top level").At(b.posIdent(c.name))
	}
	stmt, ok := n.Ctequery.(ast.Stmt)
	if !ok {
		return pgerr.Internal("a %T in WITH", n.Ctequery)
	}
	d, err := b.dml(stmt, sc)
	if err != nil {
		return err
	}
	c.buf = b.newBuffer()
	c.mute = len(d.Returning) == 0
	r := &bound{}
	for _, it := range d.Returning {
		r.out = append(r.out, outCol{Column: it.Col})
	}
	if err := c.setNames(b, r); err != nil {
		return err
	}
	c.cols = r.columns()
	for i := range c.cols {
		c.cols[i].Name = c.names[i]
	}
	b.st.buffers = append(b.st.buffers, plan.BufferDef{ID: c.buf, Name: c.name, Cols: c.cols, DML: d})
	return nil
}

// cteRef binds a reference to a CTE.
func (sc *scope) cteRef(c *cte, env *cteEnv, n *ast.RangeVar) (fromItem, error) {
	b := sc.b
	if c.self != nil {
		return sc.selfRef(c, n)
	}
	if c.mute {
		return fromItem{}, pgerr.Unsupported("WITH query \"%s\" does not have a RETURNING clause", c.name).At(b.posIdent(c.name))
	}
	if c.buf > 0 {
		return sc.buffer(c.buf, c.name, c.cols, n)
	}
	r := c.ready
	c.ready = nil
	if r == nil {
		// Binding it once more is no second reference to what it reads.
		for e := env; e != nil; e = e.parent {
			for _, x := range e.list {
				if x.self != nil {
					defer func(r *recursion, n int) { r.refs = n }(x.self, x.self.refs)
					x.self.refs = 0
				}
			}
		}
		var err error
		if references(c.sel)[c.name] > 0 && c.home.ctes == env {
			r, err = c.home.recursive(c)
		} else {
			r, err = c.home.query(c.sel, place{name: "WITH"}, true)
		}
		if err != nil {
			return fromItem{}, err
		}
	}
	sc.b.apart(sc.lv, r)
	rl := &rel{name: c.name}
	for i, o := range r.out {
		rl.cols = append(rl.cols, relCol{name: c.names[i], e: col(o.Column), table: o.Table, num: o.Num})
	}
	return sc.finish(r.node, rl, n.Alias, "table")
}

// buffer reads rows kept by the statement.
func (sc *scope) buffer(id int, name string, cols []plan.Column, n *ast.RangeVar) (fromItem, error) {
	node := &plan.Buffer{ID: id, Name: name}
	rl := &rel{name: name}
	for _, c := range cols {
		nc := sc.b.newCol(sc.lv, c.Name, c.Type)
		node.Cols = append(node.Cols, nc)
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(nc)})
	}
	return sc.finish(node, rl, n.Alias, "table")
}

// selfRef reads the rows of a recursive CTE's last round.
func (sc *scope) selfRef(c *cte, n *ast.RangeVar) (fromItem, error) {
	b, r := sc.b, c.self
	bad := func(where string) error {
		return pgerr.New(pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear %s", c.name, where).At(b.posIdent(c.name))
	}
	switch {
	case r.inInit:
		return fromItem{}, bad("within its non-recursive term")
	case b.st.outer > r.outer:
		return fromItem{}, bad("within an outer join")
	case b.st.except > r.except:
		return fromItem{}, bad("within EXCEPT")
	}
	for s := sc; s != nil && s != r.home; s = s.parent {
		switch s.at.name {
		case "", "WITH", "recursive", inFromClause.name:
		default:
			return fromItem{}, bad("within a subquery")
		}
	}
	if r.refs++; r.refs > 1 {
		return fromItem{}, bad("more than once")
	}
	r.levels = append(r.levels, sc.lv)
	item, err := sc.buffer(r.id, c.name, c.cols, n)
	if err == nil {
		cols := item.rels[0].cols
		for i := range cols[len(cols)-c.hidden:] {
			cols[len(cols)-1-i].hidden = true
		}
	}
	return item, err
}

// recursive binds a CTE that refers to itself: init UNION [ALL] step.
func (sc *scope) recursive(c *cte) (*bound, error) {
	b, sel := sc.b, c.sel
	in := sc.child(place{name: "recursive"})
	in.ctes = &cteEnv{parent: sc.ctes, list: []*cte{c}}
	c.self = &recursion{id: b.newBuffer(), inInit: true, outer: b.st.outer, except: b.st.except, home: in}
	defer func() { c.self = nil }()
	if sel.WithClause != nil {
		if err := in.withClause(sel.WithClause, sel); err != nil {
			return nil, err
		}
	}
	if sel.Op != ast.SETOP_UNION {
		return nil, pgerr.New(pgerr.InvalidRecursion, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", c.name).At(b.posIdent(c.name))
	}
	for _, x := range []struct {
		there bool
		what  string
	}{{len(items(sel.SortClause)) > 0, "ORDER BY"}, {sel.LimitOffset != nil, "OFFSET"}, {sel.LimitCount != nil, "LIMIT"}, {len(items(sel.LockingClause)) > 0, "FOR UPDATE/SHARE"}} {
		if x.there {
			return nil, pgerr.Unsupported("%s in a recursive query is not implemented", x.what).At(b.posWord(x.what))
		}
	}
	first, err := in.query(sel.Larg, place{name: "recursive"}, true)
	if err != nil {
		return nil, err
	}
	names := append([]string(nil), c.names...)
	if len(names) > len(first.out) {
		return nil, c.setNames(b, first)
	}
	var es []expr.Expr
	for i, o := range first.out {
		e := expr.Expr(col(o.Column))
		es = append(es, b.recarry(e, plainNumeric(e.Type())))
		if i >= len(names) {
			names = append(names, o.Name)
		}
	}
	track, err := in.newTracker(c, names)
	if err != nil {
		return nil, err
	}
	arm := sel.Rarg
	if track != nil {
		if arm, err = track.widen(c); err != nil {
			return nil, err
		}
		if es, err = track.start(es); err != nil {
			return nil, err
		}
		names, c.hidden = append(names, track.names...), len(track.names)
	}
	init, cols := b.shape(in.lv, first.node, es, names)
	for i, o := range first.out {
		cols[i].Type.Mod = o.Type.Mod // which a change of carriage takes off
	}
	c.cols, c.self.inInit = cols, false
	second, err := in.query(arm, place{name: "recursive"}, false)
	if err != nil {
		return nil, err
	}
	for _, lv := range c.self.levels {
		if len(lv.aggs) > 0 {
			return nil, pgerr.New(pgerr.InvalidRecursion, "aggregate functions are not allowed in a recursive query's recursive term").At(b.posFunc(lv.aggs[0].item.Call.Fn.Name))
		}
	}
	if len(second.out) != len(cols) {
		return nil, pgerr.New(pgerr.SyntaxError, "each UNION query must have the same number of columns").At(b.firstTarget(sel.Rarg).at())
	}
	es = nil
	for i, o := range second.out {
		t, err := b.commonType("UNION", []types.Type{cols[i].Type, o.Type}, b.targetPos(arm, i))
		if err != nil {
			return nil, err
		}
		if t.OID != cols[i].Type.OID || t.Mod != cols[i].Type.Mod {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall",
				c.name, i+1, b.fullTypeName(cols[i].Type), b.fullTypeName(t)).
				WithHint("Cast the output of the non-recursive term to the correct type.").At(b.firstTarget(sel.Larg).at())
		}
		e, err := b.coerce(o.value(), types.Type{OID: t.OID, Mod: -1, Rec: cols[i].Type.Rec}, 'i', spot{})
		if err != nil {
			return nil, err
		}
		es = append(es, b.recarry(e, cols[i].Type))
		if !sel.All {
			if err := b.comparable(t, false, spot{}); err != nil {
				return nil, err
			}
		}
	}
	next := second.node
	if track != nil {
		if next, es, err = track.step(next, es, cols); err != nil {
			return nil, err
		}
	}
	step, _ := b.shape(in.lv, next, es, names)
	u := &plan.RecursiveUnion{ID: c.self.id, Init: init, Step: step, All: sel.All}
	r := &bound{node: u}
	for i, nc := range cols {
		nc = b.newCol(sc.lv, names[i], nc.Type)
		u.Cols = append(u.Cols, nc)
		r.out = append(r.out, outCol{Column: nc})
	}
	return r, nil
}
