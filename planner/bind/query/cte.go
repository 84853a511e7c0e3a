package query

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// withForward adds PostgreSQL's detail about a WITH item that comes later.
func withForward(sc *scope.Scope, err error, n *ast.RangeVar) error {
	if n.SchemaName != "" || !pgerr.Is(err, pgerr.UndefinedTable) {
		return err
	}
	for e := sc.With; e != nil; e = e.Parent {
		for _, name := range e.Later {
			if name == n.RelName {
				return pgerr.From(err).WithDetail("There is a WITH item named \"%s\", but it cannot be referenced from this part of the query.", name).
					WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
			}
		}
	}
	return err
}

// references counts by name the places in n that may refer to a CTE outside of n.
func references(n ast.Node) map[string]int {
	counts := map[string]int{}
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if rv, ok := c.Node().(*ast.RangeVar); ok && rv.SchemaName == "" {
			counts[rv.RelName]++
		}
		w := withOf(c.Node())
		if w == nil || len(typing.Items(w.Ctes)) == 0 {
			return true
		}
		// An inner WITH hides its names: from the next item on, or (RECURSIVE) for all of its items.
		first := map[string]int{}
		for i, x := range typing.Items(w.Ctes) {
			name := x.(*ast.CommonTableExpr).Ctename
			if _, ok := first[name]; !ok {
				first[name] = i
			}
		}
		for k, x := range typing.Items(w.Ctes) {
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

// withOf returns the WITH clause of a statement; nil if it has none.
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

// WithClause binds the items of WITH; owner is the statement they belong to.
func WithClause(sc *scope.Scope, w *ast.WithClause, owner ast.Node) error {
	b := sc.Binder
	var list []*ast.CommonTableExpr
	of := map[string]map[string]int{} // the references of each item
	for _, n := range typing.Items(w.Ctes) {
		c := n.(*ast.CommonTableExpr)
		if of[c.Ctename] != nil {
			return pgerr.New(pgerr.DuplicateAlias, "WITH query name \"%s\" specified more than once", c.Ctename).At(b.PosIdent(c.Ctename))
		}
		of[c.Ctename] = references(c.Ctequery)
		if (c.SearchClause != nil || c.CycleClause != nil) && !(w.Recursive && of[c.Ctename][c.Ctename] > 0) {
			return pgerr.New(pgerr.SyntaxError, "WITH query is not recursive").At(b.PosIdent(c.Ctename))
		}
		list = append(list, c)
	}
	if w.Recursive {
		var err error
		if list, err = sortCTEs(b, list, of); err != nil {
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
	env := &scope.With{Parent: sc.With}
	for _, c := range list {
		env.Later = append(env.Later, c.Ctename)
	}
	sc.With = env
	for i, c := range list {
		it, err := bindCTE(sc, c, w.Recursive, refs[i])
		if err != nil {
			return err
		}
		env.List, env.Later = append(env.List, it), env.Later[1:]
	}
	return nil
}

// withoutWith returns a statement without its WITH clause, for counting.
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
func sortCTEs(b *scope.Binder, list []*ast.CommonTableExpr, of map[string]map[string]int) ([]*ast.CommonTableExpr, error) {
	var out []*ast.CommonTableExpr
	state := make([]int, len(list)) // 1 on the path, 2 done
	var visit func(i int) error
	visit = func(i int) error {
		switch state[i] {
		case 1:
			return pgerr.Unsupported("mutual recursion between WITH items is not implemented").At(b.PosIdent(list[i].Ctename))
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
func bindCTE(sc *scope.Scope, n *ast.CommonTableExpr, recursive bool, refs int) (*scope.CTE, error) {
	b := sc.Binder
	c := &scope.CTE{Name: n.Ctename, Names: typing.Strs(n.Aliascolnames), Search: n.SearchClause, Cycle: n.CycleClause}
	sel, ok := n.Ctequery.(*ast.SelectStmt)
	if !ok {
		return c, bindModifying(sc, c, n)
	}
	home := *sc
	c.Sel, c.Home = sel, &home
	locked, buffers := len(b.Stmt.Locks), len(b.Stmt.Buffers)
	var r *scope.Query
	var err error
	self := recursive && references(sel)[n.Ctename] > 0
	if self {
		r, err = bindRecursive(c.Home, c)
	} else {
		r, err = Bind(c.Home, sel, scope.Place{Name: "WITH"}, true)
	}
	if err != nil {
		return nil, err
	}
	if err := setNames(c, b, r); err != nil {
		return nil, err
	}
	stable := !b.Stmt.VolatilePlan(r.Node)
	free := len(b.Stmt.OuterCols(r.Node)) > 0 || readsOpen(sc, r.Node)
	if stable && !free {
		b.Stmt.Close(r.Node)
	}
	inline := n.Ctematerialized != ast.CTEMaterializeAlways && len(b.Stmt.Locks) == locked && stable &&
		!slices.ContainsFunc(b.Stmt.Buffers[buffers:], func(d plan.BufferDef) bool { return len(d.Locks) > 0 })
	switch {
	case refs == 0, free:
		// Unused, or correlated: then it has no rows of its own to keep.
		c.Ready, c.Rebind = r, true
	case inline && (refs == 1 || n.Ctematerialized == ast.CTEMaterializeNever && !self):
		c.Ready, c.Rebind = r, true
	default:
		c.Buf = newBuffer(b)
		cols := r.Columns()
		for i := range cols {
			cols[i].Name = c.Names[i]
		}
		c.Cols = cols
		b.Stmt.Buffers = append(b.Stmt.Buffers, plan.BufferDef{ID: c.Buf, Name: c.Name, Root: r.Node, Cols: cols, Whole: !inline})
	}
	return c, nil
}

// readsOpen reports whether a plan reads the working table of a recursion that
// is being bound: then its rows differ from round to round.
func readsOpen(sc *scope.Scope, n plan.Node) bool {
	if sc.Binder.Stmt.Closed(n) {
		return false
	}
	if x, ok := n.(*plan.Buffer); ok {
		for e := sc.With; e != nil; e = e.Parent {
			for _, c := range e.List {
				if c.Self != nil && c.Self.ID == x.ID {
					return true
				}
			}
		}
	}
	for _, k := range n.Children() {
		if readsOpen(sc, k) {
			return true
		}
	}
	return false
}

func newBuffer(b *scope.Binder) int {
	b.Stmt.NextBuf++
	return b.Stmt.NextBuf
}

// setNames completes the column names of a CTE from its query.
func setNames(c *scope.CTE, b *scope.Binder, r *scope.Query) error {
	if len(c.Names) > len(r.Out) {
		return pgerr.New(pgerr.InvalidColumnReference, "WITH query \"%s\" has %d columns available but %d columns specified", c.Name, len(r.Out), len(c.Names)).
			At(b.PosIdent(c.Name))
	}
	for _, o := range r.Out[len(c.Names):] {
		c.Names = append(c.Names, o.Name)
	}
	return nil
}

// bindModifying binds a data-modifying item: it runs whether it is read or not.
func bindModifying(sc *scope.Scope, c *scope.CTE, n *ast.CommonTableExpr) error {
	b := sc.Binder
	if sc.Parent == nil || sc.Parent.Level != nil || b.View != nil {
		return pgerr.Unsupported("WITH clause containing a data-modifying statement must be at the top level").At(b.PosIdent(c.Name))
	}
	stmt, ok := n.Ctequery.(ast.Stmt)
	if !ok {
		return pgerr.Internal("a %T in WITH", n.Ctequery)
	}
	d, err := b.Stmt.Nested.DML(sc, stmt)
	if err != nil {
		return err
	}
	c.Buf = newBuffer(b)
	c.Mute = len(d.Returning) == 0
	r := &scope.Query{}
	for _, it := range d.Returning {
		r.Out = append(r.Out, scope.Output{Column: it.Col})
	}
	if err := setNames(c, b, r); err != nil {
		return err
	}
	c.Cols = r.Columns()
	for i := range c.Cols {
		c.Cols[i].Name = c.Names[i]
	}
	b.Stmt.Buffers = append(b.Stmt.Buffers, plan.BufferDef{ID: c.Buf, Name: c.Name, Cols: c.Cols, DML: d})
	return nil
}

// cteRef binds a reference to a CTE.
func cteRef(sc *scope.Scope, c *scope.CTE, env *scope.With, n *ast.RangeVar) (scope.FromItem, error) {
	b := sc.Binder
	if c.Self != nil {
		return selfRef(sc, c, n)
	}
	if c.Mute {
		return scope.FromItem{}, pgerr.Unsupported("WITH query \"%s\" does not have a RETURNING clause", c.Name).At(b.PosIdent(c.Name))
	}
	if c.Buf > 0 {
		return buffer(sc, c.Buf, c.Name, c.Cols, n)
	}
	r := c.Ready
	c.Ready = nil
	if r == nil {
		// Binding it again does not count as a second reference to what it reads.
		for e := env; e != nil; e = e.Parent {
			for _, x := range e.List {
				if x.Self != nil {
					defer func(r *scope.Recursion, n int) { r.Refs = n }(x.Self, x.Self.Refs)
					x.Self.Refs = 0
				}
			}
		}
		var err error
		if references(c.Sel)[c.Name] > 0 && c.Home.With == env {
			r, err = bindRecursive(c.Home, c)
		} else {
			r, err = Bind(c.Home, c.Sel, scope.Place{Name: "WITH"}, true)
		}
		if err != nil {
			return scope.FromItem{}, err
		}
	}
	mergeDuplicates(sc.Binder, sc.Level, r)
	rl := &scope.Item{Name: c.Name}
	for i, o := range r.Out {
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Names[i], Expr: scope.Col(o.Column), Table: o.Table, Num: o.Num})
	}
	return Finish(sc, r.Node, rl, n.Alias, "table")
}

// buffer reads rows kept by the statement.
func buffer(sc *scope.Scope, id int, name string, cols []plan.Column, n *ast.RangeVar) (scope.FromItem, error) {
	node := &plan.Buffer{ID: id, Name: name}
	rl := &scope.Item{Name: name}
	for _, c := range cols {
		nc := sc.Binder.NewCol(sc.Level, c.Name, c.Type)
		node.Cols = append(node.Cols, nc)
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(nc)})
	}
	return Finish(sc, node, rl, n.Alias, "table")
}

// selfRef reads the rows of a recursive CTE's last round.
func selfRef(sc *scope.Scope, c *scope.CTE, n *ast.RangeVar) (scope.FromItem, error) {
	b, r := sc.Binder, c.Self
	bad := func(where string) error {
		return pgerr.New(pgerr.InvalidRecursion, "recursive reference to query \"%s\" must not appear %s", c.Name, where).At(b.PosIdent(c.Name))
	}
	switch {
	case r.InInit:
		return scope.FromItem{}, bad("within its non-recursive term")
	case b.Stmt.Outer > r.Outer:
		return scope.FromItem{}, bad("within an outer join")
	case b.Stmt.Except > r.Except:
		return scope.FromItem{}, bad("within EXCEPT")
	}
	for s := sc; s != nil && s != r.Home; s = s.Parent {
		switch s.Place.Name {
		case "", "WITH", "recursive", scope.InFromClause.Name:
		default:
			return scope.FromItem{}, bad("within a subquery")
		}
	}
	if r.Refs++; r.Refs > 1 {
		return scope.FromItem{}, bad("more than once")
	}
	r.Levels = append(r.Levels, sc.Level)
	item, err := buffer(sc, r.ID, c.Name, c.Cols, n)
	if err == nil {
		cols := item.Items[0].Cols
		for i := range cols[len(cols)-c.Hidden:] {
			cols[len(cols)-1-i].Hidden = true
		}
	}
	return item, err
}

// bindRecursive binds a CTE that refers to itself: init UNION [ALL] step.
func bindRecursive(sc *scope.Scope, c *scope.CTE) (*scope.Query, error) {
	b, sel := sc.Binder, c.Sel
	in := sc.Child(scope.Place{Name: "recursive"})
	in.With = &scope.With{Parent: sc.With, List: []*scope.CTE{c}}
	c.Self = &scope.Recursion{ID: newBuffer(b), InInit: true, Outer: b.Stmt.Outer, Except: b.Stmt.Except, Home: in}
	defer func() { c.Self = nil }()
	if sel.WithClause != nil {
		if err := WithClause(in, sel.WithClause, sel); err != nil {
			return nil, err
		}
	}
	if sel.Op != ast.SETOP_UNION {
		return nil, pgerr.New(pgerr.InvalidRecursion, "recursive query \"%s\" does not have the form non-recursive-term UNION [ALL] recursive-term", c.Name).At(b.PosIdent(c.Name))
	}
	for _, x := range []struct {
		there bool
		what  string
	}{{len(typing.Items(sel.SortClause)) > 0, "ORDER BY"}, {sel.LimitOffset != nil, "OFFSET"}, {sel.LimitCount != nil, "LIMIT"}, {len(typing.Items(sel.LockingClause)) > 0, "FOR UPDATE/SHARE"}} {
		if x.there {
			return nil, pgerr.Unsupported("%s in a recursive query is not implemented", x.what).At(b.PosWord(x.what))
		}
	}
	first, err := Bind(in, sel.Larg, scope.Place{Name: "recursive"}, true)
	if err != nil {
		return nil, err
	}
	names := append([]string(nil), c.Names...)
	if len(names) > len(first.Out) {
		return nil, setNames(c, b, first)
	}
	var es []expr.Expr
	for i, o := range first.Out {
		e := expr.Expr(scope.Col(o.Column))
		es = append(es, b.AsPhysical(e, typing.PlainNumeric(e.Type())))
		if i >= len(names) {
			names = append(names, o.Name)
		}
	}
	track, err := newTracker(in, c, names)
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
		names, c.Hidden = append(names, track.names...), len(track.names)
	}
	init, cols := shape(b, in.Level, first.Node, es, names)
	for i, o := range first.Out {
		cols[i].Type.Mod = o.Type.Mod // which a change of representation removes
	}
	c.Cols, c.Self.InInit = cols, false
	second, err := Bind(in, arm, scope.Place{Name: "recursive"}, false)
	if err != nil {
		return nil, err
	}
	for _, lv := range c.Self.Levels {
		if len(lv.Aggs) > 0 {
			return nil, pgerr.New(pgerr.InvalidRecursion, "aggregate functions are not allowed in a recursive query's recursive term").At(b.PosFunc(lv.Aggs[0].Item.Call.Fn.Name))
		}
	}
	if len(second.Out) != len(cols) {
		return nil, pgerr.New(pgerr.SyntaxError, "each UNION query must have the same number of columns").At(FirstTarget(b, sel.Rarg).At())
	}
	es = nil
	for i, o := range second.Out {
		t, err := b.CommonType("UNION", []types.Type{cols[i].Type, o.Type}, TargetPos(b, arm, i))
		if err != nil {
			return nil, err
		}
		if t.OID != cols[i].Type.OID || t.Mod != cols[i].Type.Mod {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "recursive query \"%s\" column %d has type %s in non-recursive term but type %s overall",
				c.Name, i+1, b.FullTypeName(cols[i].Type), b.FullTypeName(t)).
				WithHint("Cast the output of the non-recursive term to the correct type.").At(FirstTarget(b, sel.Larg).At())
		}
		e, err := b.Coerce(o.Value(), types.Type{OID: t.OID, Mod: -1, Rec: cols[i].Type.Rec}, 'i', typing.Position{})
		if err != nil {
			return nil, err
		}
		es = append(es, b.AsPhysical(e, cols[i].Type))
		if !sel.All {
			if err := b.Comparable(t, false, typing.Position{}); err != nil {
				return nil, err
			}
		}
	}
	next := second.Node
	if track != nil {
		if next, es, err = track.step(next, es, cols); err != nil {
			return nil, err
		}
	}
	step, _ := shape(b, in.Level, next, es, names)
	u := &plan.RecursiveUnion{ID: c.Self.ID, Init: init, Step: step, All: sel.All}
	r := &scope.Query{Node: u}
	for i, nc := range cols {
		nc = b.NewCol(sc.Level, names[i], nc.Type)
		u.Cols = append(u.Cols, nc)
		r.Out = append(r.Out, scope.Output{Column: nc})
	}
	return r, nil
}
