package write

import (
	"slices"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// CheckForeignKeys ends a statement: it carries out what foreign keys ask for, then checks
// them all but for those that are deferred.
func (x *Statement) CheckForeignKeys() error {
	if x.Txn == nil || len(x.Txn.foreign.todo) == 0 {
		return nil
	}
	f := &x.Txn.foreign
	defer f.clear()
	for len(f.todo) > 0 {
		w := f.todo[0]
		f.todo = f.todo[1:]
		f.done = append(f.done, w)
		if err := x.foreignActions(w); err != nil {
			return err
		}
	}
	var later []*written
	for _, w := range f.done {
		put, err := x.checkForeign(w, func(k fkey) bool { return !x.Txn.modes.deferred(k) })
		if err != nil {
			return err
		}
		if put {
			later = append(later, w)
		}
	}
	x.Txn.deferred = append(x.Txn.deferred, later...)
	return nil
}

// foreignActions claims the keys that a write removed and changes the rows that
// refer to them as their foreign keys say.
func (x *Statement) foreignActions(w *written) error {
	if w.gone == nil {
		return nil
	}
	st, err := x.Txn.State()
	if err != nil {
		return err
	}
	x.short(w.gone.Rows())
	for _, ref := range references(st, w.rel) {
		if !ref.key.moved(w.keys) {
			continue
		}
		if err := x.foreignAction(w, ref); err != nil {
			return err
		}
	}
	return nil
}

func (x *Statement) foreignAction(w *written, ref foreignKey) error {
	st, err := x.Txn.State()
	if err != nil {
		return err
	}
	as, err := keyTypes(ref.child, w.rel, ref.key)
	if err != nil {
		return err
	}
	r := x.Open(st)
	defer r.Close()
	gone, err := r.readKeys(goneKeys(st, w, ref.key, as, 1), as, r.start)
	if err != nil {
		return err
	}
	if err := r.addKeyChecks(ref.child, ref.key, catalog.SideRemoves, st, gone); err != nil {
		return err
	}
	if m := st.Manifest(ref.child.OID); m == nil || m.Rows() == 0 {
		return nil
	}
	deletes, updates := true, false
	if k := w.keys; k != nil {
		updates = k.pairs && k.moved
		deletes = k.kind == plan.DeleteRows || k.kind == plan.MergeRows
	}
	if updates {
		if err := r.act(w, ref, as, ref.key.OnUpdate, true); err != nil {
			return err
		}
		if !deletes {
			return nil
		}
		// A MERGE's deletions come after its updates, whose rows they do not find any more.
		if st, err = x.Txn.State(); err != nil {
			return err
		}
		r = x.Open(st)
		defer r.Close()
	}
	if deletes {
		return r.act(w, ref, as, ref.key.OnDelete, false)
	}
	return nil
}

// actionKeys is the buffer of an action's keys, which no binder reaches.
const actionKeys = 1<<20 + 2

// act runs one action as a statement of its own over the keys in a buffer: the
// keys of updated rows, old and new, or those that are gone.
func (r *Executor) act(w *written, ref foreignKey, as []types.Type, action byte, update bool) error {
	if action != 'c' && action != 'n' && action != 'd' {
		return nil
	}
	k := ref.key
	a := bind.ForeignAction{Table: ref.child, Schema: schemaName(r.st, ref.child), Key: k.Constraint, Old: as, Set: k.Columns, To: action, Buffer: actionKeys}
	switch {
	case update:
		for _, n := range k.RefCols {
			a.New = append(a.New, w.rel.ColumnNum(n).Type)
		}
	case action == 'c':
		a.Set = nil
	case len(k.SetColumns) > 0:
		a.Set = k.SetColumns
	}
	b := r.binding(nil)
	b.Dialect, b.Trusted = parse.Postgres, true
	d, cols, err := bind.Action(b, a)
	if err != nil {
		return err
	}
	var rows op.BatchReader
	if update {
		rows, err = r.pairs(w, k, cols)
	} else {
		var gone keyPlan
		if gone, err = r.deletedKeys(w, k, as, cols); err != nil {
			return err
		}
		rows, err = r.start(gone.root, gone.root.Schema(), gone.manifests)
	}
	if err != nil {
		return err
	}
	if err := r.Fill(r.x.Ctx, actionKeys, cols, rows); err != nil {
		return err
	}
	done, err := r.Modify(d)
	if err != nil {
		return err
	}
	done.Close()
	return nil
}

// deletedKeys returns the keys of deleted rows, whether or not other rows have them now: of the rows
// that a write removed those that it did not update.
func (r *Executor) deletedKeys(w *written, k fkey, as []types.Type, cols []plan.Column) (keyPlan, error) {
	root, scan := keyRows(w.rel, k.RefCols, as, 100)
	if w.keys != nil && w.keys.pairs {
		kept, err := r.pairsBuffer(w)
		if err != nil {
			return keyPlan{}, err
		}
		old := make([]plan.Column, len(as))
		for i := range as {
			old[i] = plan.Column{ID: expr.ColID(2000 + i), Name: "k", Type: as[i]}
		}
		root = keyJoin(plan.Anti, root, pairsOf(w, k, kept, old), len(as))
	}
	in := root.Schema()
	out := &plan.Project{Input: root}
	for i, c := range cols {
		c.ID = expr.ColID(1 + i)
		out.Items = append(out.Items, plan.Item{Col: c, Expr: castTo(colRef(in[i]), c.Type)})
	}
	return keyPlan{out, map[*plan.Scan]*catalog.Manifest{scan: w.gone}}, nil
}

// castTo casts a column where its type is another.
func castTo(c *expr.Col, t types.Type) expr.Expr {
	if c.Typ == t {
		return c
	}
	return &expr.Cast{Arg: c, Typ: t}
}

// pairs returns the old and new keys of updated rows as columns.
func (r *Executor) pairs(w *written, k fkey, cols []plan.Column) (op.BatchReader, error) {
	kept, err := r.pairsBuffer(w)
	if err != nil {
		return nil, err
	}
	named := slices.Clone(cols)
	for i := range named {
		named[i].ID = expr.ColID(1000 + i)
	}
	out := pairsOf(w, k, kept, named)
	return r.start(out, out.Schema(), nil)
}

// pairsBuffer puts the watched columns of updated rows, old and new, into a buffer, out of which plans
// project a key's.
func (r *Executor) pairsBuffer(w *written) (*plan.Buffer, error) {
	const id = 1<<20 + 1
	kept := w.keys.columns(w.rel)
	if err := w.keys.rows.Finish(r.x.Ctx); err != nil {
		return nil, err
	}
	rows, err := w.keys.rows.Open(nil)
	if err == nil {
		err = r.Fill(r.x.Ctx, id, kept, rows)
	}
	return &plan.Buffer{ID: id, Name: "updated", Cols: kept}, err
}

// pairsOf gives the columns of a key of updated rows: the old ones and, as far as cols has columns for
// them, the new.
func pairsOf(w *written, k fkey, from *plan.Buffer, cols []plan.Column) plan.Node {
	out := &plan.Project{Input: from}
	for i, c := range cols {
		at := slices.Index(w.keys.nums, k.RefCols[i%len(k.RefCols)])
		if i >= len(k.RefCols) {
			at += len(w.keys.nums)
		}
		out.Items = append(out.Items, plan.Item{Col: c, Expr: castTo(colRef(from.Cols[at]), c.Type)})
	}
	return out
}
