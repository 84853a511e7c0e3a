package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// onConflict binds ON CONFLICT.
func (w *dmlBinder) onConflict(n *ast.OnConflictClause, use int) error {
	b := w.b
	c := &plan.OnConflict{}
	if n.Infer != nil {
		arbiter, err := w.arbiter(n.Infer)
		if err != nil {
			return err
		}
		c.Arbiter = arbiter
	}
	w.d.OnConflict = c
	if n.Action != ast.ONCONFLICT_UPDATE {
		return nil
	}
	if n.Infer == nil {
		return pgerr.New(pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).").At(b.PosWord("on"))
	}
	c.Update = true
	row := func(ids *[]expr.ColID) []expr.Expr {
		out := make([]expr.Expr, len(w.live))
		for i, lc := range w.live {
			nc := b.NewCol(w.sc.Level, lc.Name, lc.Type)
			*ids = append(*ids, nc.ID)
			out[i] = scope.Col(nc)
		}
		return out
	}
	existing, excluded := row(&c.Existing), row(&c.Excluded)
	here, err := w.seen(w.alias(), existing, use)
	if err != nil {
		return err
	}
	proposed, err := w.seen("excluded", excluded, use)
	if err != nil {
		return err
	}
	sc := w.sc.WithItems([]*scope.Item{here, proposed})
	set, at, err := w.assignments(sc, typing.Items(n.TargetList), &w.d.Source)
	if err != nil {
		return err
	}
	w.noteColumns('w', at)
	c.Set = make([]expr.Expr, len(w.live))
	for i := range w.live {
		c.Set[i] = existing[i]
		if set[i] != nil {
			c.Set[i] = set[i]
		}
	}
	conds, err := query.Conditions(sc, n.WhereClause, scope.InWhere)
	if err != nil {
		return err
	}
	switch len(conds) {
	case 0:
	case 1:
		c.Where = conds[0]
	default:
		c.Where = &expr.And{Args: conds}
	}
	for i := range c.Set {
		if c.Set[i], err = w.liftSubqueries(c.Set[i]); err != nil {
			return err
		}
	}
	if c.Where, err = w.liftSubqueries(c.Where); err != nil {
		return err
	}
	generated := func(c catalog.Column) bool { return c.Generated != "" }
	if slices.ContainsFunc(w.live, generated) && scope.Volatile(c.Set...) {
		if err := w.setInSource(); err != nil {
			return err
		}
	}
	for i := range w.live {
		if w.live[i].Generated != "" {
			over := (&scope.Scope{Binder: b, Level: w.sc.Level}).WithItems([]*scope.Item{w.over(w.alias(), c.Set, 0)})
			if c.Set[i], err = w.generated(&w.live[i], over); err != nil {
				return err
			}
		}
	}
	return nil
}

// liftSubqueries moves the subqueries of ON CONFLICT DO UPDATE into the source, as further columns of
// the proposed row.
func (w *dmlBinder) liftSubqueries(e expr.Expr) (expr.Expr, error) {
	if e == nil || !scope.HasSubquery(e) {
		return e, nil
	}
	var bad error
	out := scope.MapExpr(e, func(x expr.Expr) expr.Expr {
		s, ok := x.(*expr.Subquery)
		if !ok {
			return nil
		}
		moved, err := w.overSource(s)
		if err != nil {
			bad = err
			return x
		}
		node, c := w.extend(w.d.Source, "subquery", moved)
		w.d.Source = node
		return c
	})
	return out, bad
}

// overSource makes an expression over the excluded and the existing row one over the source.
func (w *dmlBinder) overSource(e expr.Expr) (expr.Expr, error) {
	var bad error
	c := w.d.OnConflict
	out := scope.MapExpr(e, func(x expr.Expr) expr.Expr {
		col, ok := x.(*expr.Col)
		if !ok {
			return nil
		}
		for i := range c.Excluded {
			switch col.ID {
			case c.Existing[i]:
				scan, err := w.joinExisting()
				if err != nil {
					bad = err
					return x
				}
				return scope.Col(scan.Cols[i])
			case c.Excluded[i]:
				return &expr.Col{ID: w.d.Values[i], Typ: col.Typ, Name: col.Name}
			}
		}
		return col
	})
	return out, bad
}

// joinExisting left-joins the source with the table's rows that have the proposed rows' keys, since
// subqueries read columns of them. When the statement is carried out, these rows are looked up again.
func (w *dmlBinder) joinExisting() (*plan.Scan, error) {
	if w.existing != nil {
		return w.existing, nil
	}
	scan := &plan.Scan{Table: w.table.OID, Name: w.table.Name, RowID: w.b.NewCol(w.sc.Level, "rowid", types.Int8).ID}
	theirs := make([]expr.Expr, len(w.live))
	for i, c := range w.live {
		nc := w.b.NewCol(w.sc.Level, c.Name, c.Type)
		nc.Table, nc.Num = w.table.OID, c.Num
		scan.Cols, scan.Missing = append(scan.Cols, nc), append(scan.Missing, c.Missing)
		theirs[i] = scope.Col(nc)
	}
	at := slices.IndexFunc(w.table.Constraints, func(k catalog.Constraint) bool { return k.OID == w.d.OnConflict.Arbiter })
	on, err := w.sameKey(&w.table.Constraints[at], w.valueCols(), theirs)
	if err != nil {
		return nil, err
	}
	w.existing, w.d.Source = scan, query.Joined(plan.Left, w.d.Source, scan, on)
	return scan, nil
}

// sameKey are the conditions for two rows to have the same key of a unique constraint.
func (w *dmlBinder) sameKey(k *catalog.Constraint, a, b []expr.Expr) (on []expr.Expr, err error) {
	same := func(x, y expr.Expr) error {
		var e expr.Expr = &expr.Distinct{L: x, R: y, Not: true}
		if !k.NullsNotDistinct {
			if e, err = w.b.Operator("=", x, y, typing.Position{}); err != nil {
				return err
			}
		}
		on = append(on, e)
		return nil
	}
	column := func(num int16) error {
		i := slices.IndexFunc(w.live, func(c catalog.Column) bool { return c.Num == num })
		return same(a[i], b[i])
	}
	if k.Kind != 'e' {
		for _, num := range k.Columns {
			if err := column(num); err != nil {
				return nil, err
			}
		}
		return on, nil
	}
	ix := w.b.Session.State.RelationByOID(k.Index).Index
	over := func(text string, kind ScalarKind, row []expr.Expr) (expr.Expr, error) {
		e, cols, err := ScalarText(w.b.Session, text, w.table, kind)
		if err != nil {
			return nil, err
		}
		return scope.MapExpr(e, func(x expr.Expr) expr.Expr {
			if c, ok := x.(*expr.Col); ok {
				return row[slices.IndexFunc(cols, func(o plan.Column) bool { return o.ID == c.ID })]
			}
			return nil
		}), nil
	}
	for i, num := range ix.Columns {
		if num != 0 {
			if err := column(num); err != nil {
				return nil, err
			}
			continue
		}
		x, err := over(ix.Exprs[i], ForIndex, a)
		if err != nil {
			return nil, err
		}
		y, err := over(ix.Exprs[i], ForIndex, b)
		if err != nil {
			return nil, err
		}
		if err := same(x, y); err != nil {
			return nil, err
		}
	}
	if ix.Where == "" {
		return on, nil
	}
	for _, row := range [][]expr.Expr{a, b} {
		e, err := over(ix.Where, ForPredicate, row)
		if err != nil {
			return nil, err
		}
		on = append(on, e)
	}
	return on, nil
}

// setInSource moves the new values of DO UPDATE, and its condition, into the source. There they are computed
// once, even if several expressions read them.
func (w *dmlBinder) setInSource() error {
	c := w.d.OnConflict
	scan, err := w.joinExisting()
	if err != nil {
		return err
	}
	hit := expr.Expr(&expr.IsNull{Arg: rowIDOf(scan), Not: true})
	move := func(name string, e expr.Expr) (expr.Expr, error) {
		if e, err = w.overSource(e); err != nil {
			return nil, err
		}
		node, col := w.extend(w.d.Source, name, &expr.Case{Typ: e.Type(), Whens: []expr.When{{Cond: hit, Then: e}}})
		w.d.Source = node
		return col, nil
	}
	if c.Where != nil {
		if c.Where, err = move("where", c.Where); err != nil {
			return err
		}
		hit = c.Where
	}
	for i, e := range c.Set {
		if c.Keeps(i) || w.live[i].Generated != "" {
			continue
		}
		if c.Set[i], err = move(w.live[i].Name, e); err != nil {
			return err
		}
	}
	return nil
}

func rowIDOf(scan *plan.Scan) *expr.Col {
	return &expr.Col{ID: scan.RowID, Typ: types.Int8, Name: "rowid"}
}

// writtenRow adds to the source the row that is inserted or updated, for the subqueries of RETURNING. It
// returns this row's columns by the columns of the proposed row; they are NULL if the row is neither inserted
// nor updated.
func (w *dmlBinder) writtenRow() (map[expr.ColID]expr.Expr, error) {
	if err := w.setInSource(); err != nil {
		return nil, err
	}
	c := w.d.OnConflict
	hit := c.Where
	if hit == nil {
		hit = &expr.Const{Val: true, Typ: types.Bool}
	}
	to := map[expr.ColID]expr.Expr{}
	for i, v := range w.valueCols() {
		set, err := w.overSource(c.Set[i])
		if err != nil {
			return nil, err
		}
		e := &expr.Case{Typ: w.live[i].Type, Whens: []expr.When{{Cond: &expr.IsNull{Arg: rowIDOf(w.existing)}, Then: v}, {Cond: hit, Then: set}}}
		node, col := w.extend(w.d.Source, w.live[i].Name, e)
		w.d.Source, to[w.d.Values[i]] = node, col
	}
	return to, nil
}

// tellUpdated replaces xmax in an expression of RETURNING. In PostgreSQL xmax is 0 for an inserted row, and
// this transaction for an updated one, which it has locked. Clients use that to distinguish them.
func (w *dmlBinder) tellUpdated(e expr.Expr) (_ expr.Expr, bad error) {
	out := scope.MapExpr(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); !ok || c.ID != w.xmax.ID || bad != nil {
			return nil
		}
		if w.updated == nil {
			scan, err := w.joinExisting()
			if err != nil {
				bad = err
				return x
			}
			w.d.Source, w.updated = w.extend(w.d.Source, "xmax", &expr.Case{Typ: types.XID,
				Whens: []expr.When{{Cond: &expr.IsNull{Arg: rowIDOf(scan)}, Then: &expr.Const{Val: int64(0), Typ: types.XID}}},
				Else:  &expr.Call{Fn: fn.ByID("row_xmin()"), Typ: types.XID}})
		}
		return w.updated
	})
	return out, bad
}

// arbiter finds the unique constraint or index that an ON CONFLICT names.
func (w *dmlBinder) arbiter(n *ast.InferClause) (types.OID, error) {
	b := w.b
	if n.Conname != "" {
		for _, k := range w.table.Constraints {
			if k.Name != n.Conname {
				continue
			}
			if k.Kind != 'p' && k.Kind != 'u' {
				return 0, pgerr.New(pgerr.WrongObjectType, "constraint in ON CONFLICT clause has no associated index").At(b.PosIdent(n.Conname))
			}
			w.noteRead(k.Columns)
			return k.OID, nil
		}
		return 0, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", n.Conname, w.table.Name).At(b.PosIdent(n.Conname))
	}
	want := map[int16]bool{}
	exprs := map[string]bool{}
	for _, x := range typing.Items(n.IndexElems) {
		el := x.(*ast.IndexElem)
		if el.Expr != nil {
			exprs[parse.Text(el.Expr)] = true
			continue
		}
		i, err := w.column(el.Name)
		if err != nil {
			return 0, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", el.Name).At(b.PosIdent(el.Name))
		}
		want[w.live[i].Num] = true
		w.noteRead([]int16{w.live[i].Num})
	}
	same := func(cols []int16, texts []string) bool {
		if len(cols) != len(want)+len(exprs) {
			return false
		}
		for i, c := range cols {
			if c != 0 && !want[c] || c == 0 && !exprs[texts[i]] {
				return false
			}
		}
		return true
	}
	for _, k := range w.table.Constraints {
		if (k.Kind == 'p' || k.Kind == 'u') && same(k.Columns, nil) {
			return k.OID, nil
		}
	}
	where := ""
	if n.WhereClause != nil {
		where = parse.Text(n.WhereClause)
	}
	for _, k := range w.table.Constraints {
		r := b.Session.State.RelationByOID(k.Index)
		if k.Kind != 'i' && k.Kind != 'e' || r == nil || r.Index == nil {
			continue
		}
		if ix := r.Index; (ix.Where == "" || ix.Where == where) && same(ix.Columns, ix.Exprs) {
			return k.OID, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
}
