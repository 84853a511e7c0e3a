package write

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Foreign keys are settled at a statement's end, as PostgreSQL's triggers are:
//
//	writes ─▶ written ─▶ actions (CASCADE, SET …), which write too ─▶ … ─▶ checks
//
// What a write added is in segments already and what it removed in bitmaps, so
// all looks are plans over scans, as for unique constraints (unique.go). Two
// transactions that each see only their half are told apart at commit by the
// keys that they claim (catalog.UniqueKeys.Side).

// checkForeign looks for rows without what they refer to: new rows of the table
// itself, and rows of others that refer to keys that are gone. It leaves the
// foreign keys that due does not pick, and reports whether there were some.
func (x *Statement) checkForeign(w *written, due func(fkey) bool) (rest bool, err error) {
	st, err := x.Txn.State()
	if err != nil {
		return false, err
	}
	rel := st.RelationByOID(w.rel.OID)
	if rel == nil {
		return false, nil
	}
	r := x.Open(st)
	defer r.Close()
	fresh, rows := among(st.Manifest(rel.OID), w.fresh), int64(0)
	for _, m := range []*catalog.Manifest{fresh, w.gone} {
		if m != nil {
			rows += m.Rows()
		}
	}
	x.short(rows)
	if fresh != nil {
		for i := range rel.Constraints {
			k := fkey{&rel.Constraints[i]}
			if k.Kind != 'f' || w.keys != nil && !slices.ContainsFunc(k.Columns, func(n int16) bool { return !w.keys.kept[n] }) {
				continue
			}
			if !due(k) {
				rest = true
				continue
			}
			if err := r.checkReferring(rel, k, fresh); err != nil {
				return false, err
			}
		}
	}
	if w.gone == nil {
		return rest, nil
	}
	for _, ref := range references(st, rel) {
		if !ref.key.moved(w.keys) {
			continue
		}
		// RESTRICT does not wait.
		if !due(ref.key) && !(ref.key.OnDelete == 'r' && (w.keys == nil || w.keys.kind != plan.UpdateRows)) {
			rest = true
			continue
		}
		if err := r.checkReferred(w, ref); err != nil {
			return false, err
		}
	}
	return rest, nil
}

// among returns the segments of a manifest with these ids; nil if there are none.
func among(m *catalog.Manifest, ids map[catalog.SegmentID]bool) *catalog.Manifest {
	if m == nil || len(ids) == 0 {
		return nil
	}
	var segs []*catalog.Segment
	for _, part := range m.Partitions {
		for _, g := range part {
			if ids[g.ID] {
				segs = append(segs, g)
			}
		}
	}
	if len(segs) == 0 {
		return nil
	}
	return &catalog.Manifest{Table: m.Table, Partitions: [][]*catalog.Segment{segs}}
}

// checkReferring looks for new rows that refer to nothing, and claims the keys
// they refer to.
func (r *Executor) checkReferring(child *catalog.Relation, k fkey, fresh *catalog.Manifest) error {
	parent := r.st.RelationByOID(k.RefTable)
	if parent == nil {
		return pgerr.Internal("foreign key %q refers to no table", k.Name)
	}
	as, err := keyTypes(child, parent, k)
	if err != nil {
		return err
	}
	if err := r.checkMatchFull(child, k, fresh); err != nil {
		return err
	}
	n := expr.ColID(2 * len(as))
	keys, ks := keyRows(child, k.Columns, as, 1)
	read := map[*plan.Scan]*catalog.Manifest{ks: fresh}
	start := r.start
	if fresh.Rows() == 1 {
		start = r.few
	}
	found, err := r.readKeys(keyPlan{keys, read}, as, start)
	if err != nil {
		return err
	}
	if found.n == 0 {
		return nil
	}
	a, as1 := keyRows(child, k.Columns, as, 1)
	b, bs := keyRows(parent, k.RefCols, as, 1+n)
	c, cs := keyRows(child, k.Columns, as, 1+2*n)
	conds, keyed := found.within(bs.Cols)
	bs.Filter = append(bs.Filter, conds...)
	there := keyJoin(plan.Semi, b, c, len(as))
	root := &plan.Limit{Input: keyJoin(plan.Anti, a, there, len(as)), Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	cols := a.Schema()
	if !keyed {
		start = r.start
	}
	rows, err := start(root, cols, map[*plan.Scan]*catalog.Manifest{as1: fresh, bs: r.st.Manifest(parent.OID), cs: fresh})
	if err != nil {
		return err
	}
	row, err := First(r.x.Ctx, rows, cols)
	if err != nil {
		return err
	}
	if row != nil {
		return r.refersToNothing(child, parent, k, cols, row)
	}
	return r.addKeyChecks(child, k, catalog.SideRefers, r.st, found)
}

// refersToNothing is the error of a row with such a key.
func (r *Executor) refersToNothing(child, parent *catalog.Relation, k fkey, cols []plan.Column, row []types.Datum) error {
	err := pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table %q violates foreign key constraint %q", child.Name, k.Name).
		WithDetail("Key is not present in table %q.", parent.Name)
	if r.shows(child, k.Columns) {
		err = err.WithDetail("Key (%s)=(%s) is not present in table %q.", columnNames(child, k.Columns), r.keyText(cols, row), parent.Name)
	}
	return err.OnTable(schemaName(r.st, child), child.Name).OnConstraint(k.Name)
}

func (r *Executor) checkMatchFull(child *catalog.Relation, k fkey, fresh *catalog.Manifest) error {
	if !k.MatchFull || len(k.Columns) == 1 {
		return nil
	}
	sc := keyScan(child, &catalog.Constraint{Columns: k.Columns, NullsNotDistinct: true}, 1)
	var some, none []expr.Expr
	for _, c := range sc.Cols {
		some = append(some, &expr.IsNull{Arg: colRef(c)})
		none = append(none, &expr.IsNull{Arg: colRef(c), Not: true})
	}
	root := &plan.Limit{Input: &plan.Filter{Input: sc, Conds: []expr.Expr{&expr.Or{Args: some}, &expr.Or{Args: none}}},
		Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	rows, err := r.start(root, sc.Cols, map[*plan.Scan]*catalog.Manifest{sc: fresh})
	if err != nil {
		return err
	}
	row, err := First(r.x.Ctx, rows, sc.Cols)
	if err != nil || row == nil {
		return err
	}
	return pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table %q violates foreign key constraint %q", child.Name, k.Name).
		WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.").
		OnTable(schemaName(r.st, child), child.Name).OnConstraint(k.Name)
}

// checkReferred looks for rows that refer to keys that are gone.
func (r *Executor) checkReferred(w *written, ref foreignKey) error {
	m := r.st.Manifest(ref.child.OID)
	if m == nil || m.Rows() == 0 {
		return nil
	}
	as, err := keyTypes(ref.child, w.rel, ref.key)
	if err != nil {
		return err
	}
	gone := goneKeys(r.st, w, ref.key, as, 100)
	if ref.key.OnDelete == 'r' && w.keys != nil && w.keys.kind == plan.DeleteRows {
		// RESTRICT does not ask whether another row has the key now.
		if gone, err = r.deletedKeys(w, ref.key, as, gone.root.Schema()); err != nil {
			return err
		}
	}
	l, ls := keyRows(ref.child, ref.key.Columns, as, 1)
	gone.manifests[ls] = m
	root := &plan.Limit{Input: keyJoin(plan.Semi, l, gone.root, len(as)), Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	cols := l.Schema()
	rows, err := r.start(root, cols, gone.manifests)
	if err != nil {
		return err
	}
	row, err := First(r.x.Ctx, rows, cols)
	if err != nil || row == nil {
		return err
	}
	refused := pgerr.New(pgerr.ForeignKeyViolation, "update or delete on table %q violates foreign key constraint %q on table %q", w.rel.Name, ref.key.Name, ref.child.Name).
		WithDetail("Key is still referenced from table %q.", ref.child.Name)
	if r.shows(w.rel, ref.key.RefCols) {
		refused = refused.WithDetail("Key (%s)=(%s) is still referenced from table %q.", columnNames(w.rel, ref.key.RefCols), r.keyText(cols, row), ref.child.Name)
	}
	return refused.OnTable(schemaName(r.st, ref.child), ref.child.Name).OnConstraint(ref.key.Name)
}
