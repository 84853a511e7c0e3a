package write

import (
	"slices"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/ddl"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Validate looks among a table's rows for one that a constraint forbids which the table
// has from now on, by the plans that look at new rows.
func (x *Statement) Validate(st *catalog.State, c ddl.Check) error {
	rel, m := st.RelationByOID(c.Table), st.Manifest(c.Table)
	if rel == nil || m == nil || m.Rows() == 0 {
		return nil
	}
	r := x.Open(st)
	defer r.Close()
	if c.Kind == 'n' {
		return r.validateNotNull(rel, c.Column)
	}
	i := slices.IndexFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.OID == c.Constraint })
	if i < 0 {
		return nil // the same statement dropped it
	}
	k := &rel.Constraints[i]
	switch {
	case k.Kind == 'c':
		return r.validateCheck(rel, k)
	case k.Kind == 'f':
		return r.validateForeign(rel, fkey{k})
	}
	key, err := r.uniqueKey(rel, k)
	if err != nil {
		return err
	}
	key.building = true
	return r.duplicatesWithin(key, m, m.Rows())
}

func (r *Executor) validateNotNull(rel *catalog.Relation, num int16) error {
	at := slices.IndexFunc(rel.Live(), func(c catalog.Column) bool { return c.Num == num && c.NotNull })
	if at < 0 {
		return nil
	}
	c := rel.ColumnNum(num)
	found, err := r.found(rel, &expr.IsNull{Arg: &expr.Col{ID: expr.ColID(at + 1), Typ: c.Type, Name: c.Name}})
	if !found || err != nil {
		return err
	}
	return HasNulls(r.st, rel, c.Name)
}

// HasNulls is the error of a column that must have none and has some.
func HasNulls(st *catalog.State, rel *catalog.Relation, column string) error {
	return pgerr.New(pgerr.NotNullViolation, "column %q of relation %q contains null values", column, rel.Name).
		OnTable(schemaName(st, rel), rel.Name).OnColumn(column)
}

func (r *Executor) validateCheck(rel *catalog.Relation, k *catalog.Constraint) error {
	b := r.binding(nil)
	b.Dialect, b.Trusted = parse.Postgres, true
	e, _, err := bind.ScalarText(b, k.Check, rel, bind.ForCheck)
	if err != nil {
		return err
	}
	found, err := r.found(rel, &expr.Not{Arg: e})
	if !found || err != nil {
		return err
	}
	return pgerr.New(pgerr.CheckViolation, "check constraint %q of relation %q is violated by some row", k.Name, rel.Name).
		OnTable(schemaName(r.st, rel), rel.Name).OnConstraint(k.Name)
}

// found reports whether a condition over the live columns, numbered from 1 in order, is
// true of a row.
func (r *Executor) found(rel *catalog.Relation, cond expr.Expr) (bool, error) {
	sc := scanOf(rel, func(i int) expr.ColID { return expr.ColID(i + 1) }, cond)
	sc.Filter, sc.Rows = []expr.Expr{cond}, float64(r.st.Manifest(rel.OID).Rows())
	one := &expr.Const{Val: int64(1), Typ: types.Int8}
	cols := []plan.Column{{ID: idSpan, Name: "found", Type: types.Int8}}
	root := &plan.Limit{Input: &plan.Project{Input: sc, Items: []plan.Item{{Col: cols[0], Expr: one}}}, Count: one}
	rows, _, err := r.Select(&plan.Query{Root: root, Cols: cols, NextCol: idSpan + 1})
	if err != nil {
		return false, err
	}
	row, err := First(r.x.Ctx, rows, cols)
	return row != nil, err
}

func (r *Executor) validateForeign(child *catalog.Relation, k fkey) error {
	parent := r.st.RelationByOID(k.RefTable)
	as, err := keyTypes(child, parent, k)
	if err != nil {
		return err
	}
	refers, there := r.st.Manifest(child.OID), r.st.Manifest(parent.OID)
	if err := r.checkMatchFull(child, k, refers); err != nil {
		return err
	}
	a, as1 := keyRows(child, k.Columns, as, 1)
	b, bs := keyRows(parent, k.RefCols, as, 1+expr.ColID(2*len(as)))
	as1.Rows, bs.Rows = float64(refers.Rows()), float64(there.Rows())
	j := keyJoin(plan.Anti, a, b, len(as))
	if as1.Rows < bs.Rows { // the smaller one is what a join keeps
		j = keyJoin(plan.RightAnti, b, a, len(as))
	}
	j.Broadcast = false
	cols := a.Schema()
	rows, err := r.start(&plan.Limit{Input: j, Count: &expr.Const{Val: int64(1), Typ: types.Int8}}, cols,
		map[*plan.Scan]*catalog.Manifest{as1: refers, bs: there})
	if err != nil {
		return err
	}
	row, err := First(r.x.Ctx, rows, cols)
	if err != nil || row == nil {
		return err
	}
	return r.refersToNothing(child, parent, k, cols, row)
}
