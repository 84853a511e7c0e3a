package write

import (
	"io"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring"
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
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

// foreignWork is what the transaction's statement owes to foreign keys.
type foreignWork struct {
	keys *keyWatch // of the write in progress
	todo []*written
	done []*written // actions carried out, checks to come
}

// written is what one write did to a table.
type written struct {
	rel   *catalog.Relation
	fresh map[catalog.SegmentID]bool
	gone  *catalog.Manifest // the rows removed; nil for none
	keys  *keyWatch
}

// keyWatch follows a DML's keys while it runs.
type keyWatch struct {
	kind plan.DMLKind
	kept map[int16]bool // columns that an UPDATE leaves alone
	// old and new values of the columns nums of updated rows, old ones first;
	// only where some action needs to know what became of a key.
	nums  []int16
	rows  *op.Buffer // nil where nobody needs to, or closed
	pairs bool
	// only is the new row, by live column, as long as it is the only one.
	only []types.Datum
}

// clear forgets the work, done or given up.
func (f *foreignWork) clear() {
	for _, l := range [][]*written{f.todo, f.done} {
		for _, w := range l {
			w.keys.close()
		}
	}
	f.keys.close()
	*f = foreignWork{}
}

func (k *keyWatch) close() {
	if k != nil && k.rows != nil {
		k.rows.Close()
		k.rows = nil
	}
}

// watchKeys begins to follow a DML.
func (r *Run) watchKeys(d *plan.DML) {
	k := &keyWatch{kind: d.Kind, kept: map[int16]bool{}}
	r.x.Txn.foreign.keys = k
	live := d.Table.Live()
	if d.Kind == plan.UpdateRows && len(d.Old) == len(live) {
		for i, c := range live {
			k.kept[c.Num] = d.Values[i] == d.Old[i]
		}
	}
	updates := d.Kind == plan.UpdateRows || d.Kind == plan.MergeRows || d.OnConflict != nil && d.OnConflict.Update
	if !updates {
		return
	}
	acts := func(a byte) bool { return a == 'c' || a == 'n' || a == 'd' }
	for _, ref := range references(r.st, d.Table) {
		if ref.key.moved(k) && (acts(ref.key.OnUpdate) || d.Kind == plan.MergeRows && acts(ref.key.OnDelete)) {
			for _, n := range ref.key.RefCols {
				if !slices.Contains(k.nums, n) {
					k.nums = append(k.nums, n)
				}
			}
		}
	}
	if len(k.nums) > 0 {
		k.pairs, k.rows = true, r.x.Buffer(k.columns(d.Table))
	}
}

// columns are those of the rows kept.
func (k *keyWatch) columns(rel *catalog.Relation) (cols []plan.Column) {
	for range 2 {
		for _, n := range k.nums {
			cols = append(cols, plan.Column{ID: expr.ColID(1 + len(cols)), Name: "k", Type: rel.ColumnNum(n).Type})
		}
	}
	return cols
}

// note keeps the keys of updated rows: olds and news are columns of b by live
// column.
func (k *keyWatch) note(w *ModifyTable, b *batch.Batch, olds, news []arrow.Array) error {
	if k == nil || !k.pairs || b.Rows() == 0 {
		return nil
	}
	var cols []arrow.Array
	for _, list := range [][]arrow.Array{olds, news} {
		for _, n := range k.nums {
			cols = append(cols, list[k.column(w, n)])
		}
	}
	return k.rows.Append(w.r.x.Ctx, &batch.Batch{Cols: cols, N: b.N, Sel: b.Sel, Seq: -1})
}

// column is the place of a watched column among the table's live ones.
func (k *keyWatch) column(w *ModifyTable, num int16) int {
	return slices.IndexFunc(w.live, func(c catalog.Column) bool { return c.Num == num })
}

// noteUpdated keeps the keys of a batch of the source's rows.
func (k *keyWatch) noteUpdated(w *ModifyTable, b *batch.Batch) error {
	olds, news := make([]arrow.Array, len(w.live)), make([]arrow.Array, len(w.live))
	for i := range w.live {
		olds[i], news[i] = b.Cols[w.at[w.d.Old[i]]], b.Cols[w.at[w.d.Values[i]]]
	}
	return k.note(w, b, olds, news)
}

// leaves reports whether the statement left columns of all its rows alone.
func (k *keyWatch) leaves(nums []int16) bool {
	return k != nil && k.kind == plan.UpdateRows && !slices.ContainsFunc(nums, func(n int16) bool { return !k.kept[n] })
}

// claims reports whether a constraint forbids keys that the statement may have made.
func (k *keyWatch) claims(c *catalog.Constraint) bool {
	return isUnique(c) && (c.Kind == 'e' || !k.leaves(c.Columns))
}

// foreignKey is a foreign key with the table it belongs to.
type foreignKey struct {
	child *catalog.Relation
	key   fkey
}

type fkey struct{ *catalog.Constraint }

// moved reports whether the columns referred to may have got other values.
func (k fkey) moved(w *keyWatch) bool {
	return w == nil || slices.ContainsFunc(k.RefCols, func(n int16) bool { return !w.kept[n] })
}

// references lists the foreign keys that refer to a table.
func references(st *catalog.State, rel *catalog.Relation) []foreignKey {
	now := st.RelationByOID(rel.OID)
	if now == nil {
		return nil
	}
	var out []foreignKey
	for _, oid := range now.ReferencedBy {
		child := st.RelationByOID(oid)
		if child == nil {
			continue
		}
		for i := range child.Constraints {
			if k := &child.Constraints[i]; k.Kind == 'f' && k.RefTable == rel.OID {
				out = append(out, foreignKey{child, fkey{k}})
			}
		}
	}
	return out
}

// apply adds a statement's deletions and new segments to the transaction and
// notes what foreign keys have to do with them.
func (r *Run) apply(rel *catalog.Relation, changes []catalog.Change, segs []*catalog.Segment) error {
	f := &r.x.Txn.foreign
	w := &written{rel: rel, keys: f.keys}
	f.keys = nil
	if err := r.write(rel, changes, segs, w.keys); err != nil {
		w.keys.close()
		return err
	}
	child := slices.ContainsFunc(rel.Constraints, func(k catalog.Constraint) bool { return k.Kind == 'f' })
	if !child && len(rel.ReferencedBy) == 0 {
		w.keys.close()
		return nil
	}
	if child && len(segs) > 0 {
		w.fresh = map[catalog.SegmentID]bool{}
		for _, g := range segs {
			w.fresh[g.ID] = true
		}
	}
	f.todo = append(f.todo, w)
	if len(rel.ReferencedBy) == 0 {
		return nil
	}
	var err error
	w.gone, err = removed(r.st.Manifest(rel.OID), changes)
	return err
}

// removed is a manifest of the very rows that changes delete.
func removed(m *catalog.Manifest, changes []catalog.Change) (*catalog.Manifest, error) {
	if m == nil {
		return nil, nil
	}
	rows := map[catalog.SegmentID][]byte{}
	for _, c := range changes {
		if d, ok := c.(*catalog.DeleteRows); ok {
			rows[d.Segment] = d.Rows
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	var segs []*catalog.Segment
	for _, part := range m.Partitions {
		for _, g := range part {
			gone, ok := rows[g.ID]
			if !ok {
				continue
			}
			live := roaring.New()
			if err := live.UnmarshalBinary(gone); err != nil {
				return nil, pgerr.From(err)
			}
			rest := roaring.New()
			rest.AddRange(0, uint64(g.Rows))
			rest.AndNot(live)
			n := *g
			n.DeletedRows = int64(rest.GetCardinality())
			n.Deleted = catalog.RowSet{}
			if n.DeletedRows > 0 {
				b, err := rest.ToBytes()
				if err != nil {
					return nil, pgerr.From(err)
				}
				n.Deleted = catalog.RowSetOf(b)
			}
			segs = append(segs, &n)
		}
	}
	return &catalog.Manifest{Table: m.Table, Partitions: [][]*catalog.Segment{segs}}, nil
}

// CheckForeignKeys ends a statement: it carries out what foreign keys ask for, then checks
// them all but for those that are deferred.
func (x *Execution) CheckForeignKeys() error {
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

// keyRows scans a table's columns as keys: cast to the types given, NULLs left
// out. Its columns have the ids from first on.
func keyRows(rel *catalog.Relation, nums []int16, as []types.Type, first expr.ColID) (plan.Node, *plan.Scan) {
	sc := keyScan(rel, &catalog.Constraint{Columns: nums}, first)
	p := &plan.Project{Input: sc}
	for i, c := range sc.Cols {
		out := plan.Column{ID: first + expr.ColID(len(nums)+i), Name: c.Name, Type: as[i]}
		var e expr.Expr = colRef(c)
		if c.Type != as[i] {
			e = &expr.Cast{Arg: e, Typ: as[i]}
		}
		p.Items = append(p.Items, plan.Item{Col: out, Expr: e})
	}
	return p, sc
}

func keyJoin(kind plan.JoinKind, l, r plan.Node, n int) *plan.Join {
	j := &plan.Join{Kind: kind, L: l, R: r, NullSafe: make([]bool, n), Broadcast: true}
	lc, rc := l.Schema(), r.Schema()
	for i := range n {
		j.LKeys = append(j.LKeys, colRef(lc[i]))
		j.RKeys = append(j.RKeys, colRef(rc[i]))
	}
	return j
}

// keyPlan is a plan that gives keys, with the manifests its scans read.
type keyPlan struct {
	root      plan.Node
	manifests map[*plan.Scan]*catalog.Manifest
}

// goneKeys returns the keys of the rows a write removed that no row has now.
func goneKeys(st *catalog.State, w *written, k fkey, as []types.Type, first expr.ColID) keyPlan {
	n := expr.ColID(2 * len(as))
	a, as1 := keyRows(w.rel, k.RefCols, as, first)
	b, bs := keyRows(w.rel, k.RefCols, as, first+n)
	c, cs := keyRows(w.rel, k.RefCols, as, first+2*n)
	there := keyJoin(plan.Semi, b, c, len(as))
	return keyPlan{keyJoin(plan.Anti, a, there, len(as)),
		map[*plan.Scan]*catalog.Manifest{as1: w.gone, bs: st.Manifest(w.rel.OID), cs: w.gone}}
}

func keyTypes(child, parent *catalog.Relation, k fkey) ([]types.Type, error) {
	out := make([]types.Type, len(k.Columns))
	for i, n := range k.Columns {
		t, ok := foreignKeyType(child.ColumnNum(n).Type, parent.ColumnNum(k.RefCols[i]).Type)
		if !ok {
			return nil, pgerr.Internal("foreign key %q compares %s with %s", k.Name, child.ColumnNum(n).Type, parent.ColumnNum(k.RefCols[i]).Type)
		}
		out[i] = t
	}
	return out, nil
}

// checkForeign looks for rows without what they refer to: new rows of the table
// itself, and rows of others that refer to keys that are gone. It leaves the
// foreign keys that due does not pick, and reports whether there were some.
func (x *Execution) checkForeign(w *written, due func(fkey) bool) (rest bool, err error) {
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
	if fresh := among(st.Manifest(rel.OID), w.fresh); fresh != nil {
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
func (r *Run) checkReferring(child *catalog.Relation, k fkey, fresh *catalog.Manifest) error {
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
	return r.claim(child, k, catalog.SideRefers, r.st, found)
}

// refersToNothing is the error of a row with such a key.
func (r *Run) refersToNothing(child, parent *catalog.Relation, k fkey, cols []plan.Column, row []types.Datum) error {
	return pgerr.New(pgerr.ForeignKeyViolation, "insert or update on table %q violates foreign key constraint %q", child.Name, k.Name).
		WithDetail("Key (%s)=(%s) is not present in table %q.", columnNames(child, k.Columns), r.keyText(cols, row), parent.Name).
		OnTable(schemaName(r.st, child), child.Name).OnConstraint(k.Name)
}

func (r *Run) checkMatchFull(child *catalog.Relation, k fkey, fresh *catalog.Manifest) error {
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
func (r *Run) checkReferred(w *written, ref foreignKey) error {
	m := r.st.Manifest(ref.child.OID)
	if m == nil || m.Rows() == 0 {
		return nil
	}
	as, err := keyTypes(ref.child, w.rel, ref.key)
	if err != nil {
		return err
	}
	gone := goneKeys(r.st, w, ref.key, as, 100)
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
	return pgerr.New(pgerr.ForeignKeyViolation, "update or delete on table %q violates foreign key constraint %q on table %q", w.rel.Name, ref.key.Name, ref.child.Name).
		WithDetail("Key (%s)=(%s) is still referenced from table %q.", columnNames(w.rel, ref.key.RefCols), r.keyText(cols, row), ref.child.Name).
		OnTable(schemaName(r.st, ref.child), ref.child.Name).OnConstraint(ref.key.Name)
}

// keySet is what is known of some keys: their hashes and the bounds of their
// first column.
type keySet struct {
	n      int
	hashes []uint64
	all    bool // too many to list
	types  []types.Type
	lo, hi types.Datum
	only   []types.Datum // the key, where there is one
}

// starter is run.start or run.few.
type starter func(root plan.Node, cols []plan.Column, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error)

func (r *Run) readKeys(p keyPlan, as []types.Type, start starter) (*keySet, error) {
	cols := p.root.Schema()[:len(as)]
	rows, err := start(p.root, cols, p.manifests)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	k := &keySet{types: as}
	for {
		b, err := rows.Next(r.x.Ctx)
		if err == io.EOF {
			slices.Sort(k.hashes)
			k.hashes = slices.Compact(k.hashes)
			return k, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range b.Rows() {
			row := rowAt(b, cols, i)
			var h uint64
			for c, d := range row {
				h = types.Hash(cols[c].Type, d, h)
			}
			if k.n == 0 || types.Compare(as[0], row[0], k.lo) < 0 {
				k.lo = row[0]
			}
			if k.n == 0 || types.Compare(as[0], row[0], k.hi) > 0 {
				k.hi = row[0]
			}
			if k.only = row; k.n > 0 {
				k.only = nil
			}
			k.n++
			if !k.all {
				k.hashes = append(k.hashes, h)
			}
			if len(k.hashes) > maxListedKeys {
				k.all, k.hashes = true, nil
			}
		}
	}
}

// within are conditions that all the keys meet, for the scan of the table they
// are looked for in: zone maps rule segments out by them. keyed says that they look
// the only key up.
func (k *keySet) within(cols []plan.Column) (out []expr.Expr, keyed bool) {
	if k.only != nil {
		for i, c := range cols {
			if c.Type == k.types[i] {
				if eq := equals(c, k.only[i]); eq != nil {
					out = append(out, eq)
				}
			}
		}
		return out, len(out) == len(cols)
	}
	c := cols[0]
	if c.Type != k.types[0] {
		return nil, false
	}
	for _, b := range []struct {
		op  string
		val types.Datum
	}{{">=", k.lo}, {"<=", k.hi}} {
		o := operator(b.op, c.Type.OID, c.Type.OID)
		if o == nil {
			return nil, false
		}
		out = append(out, &expr.Call{Fn: o.Func, Op: b.op, Typ: types.Bool, Args: []expr.Expr{colRef(c), &expr.Const{Val: b.val, Typ: c.Type}}})
	}
	return out, false
}

// claim adds what the commit says of keys.
func (r *Run) claim(child *catalog.Relation, k fkey, side uint8, st *catalog.State, keys *keySet) error {
	if keys.n == 0 {
		return nil
	}
	_, err := r.x.Txn.Add(&catalog.UniqueKeys{Table: child.OID, Constraint: k.OID, ReadVersion: st.Version(), Hashes: keys.hashes, All: keys.all, Side: side})
	return err
}

func columnNames(rel *catalog.Relation, nums []int16) string {
	out := make([]string, len(nums))
	for i, n := range nums {
		out[i] = rel.ColumnNum(n).Name
	}
	return strings.Join(out, ", ")
}

func (r *Run) keyText(cols []plan.Column, row []types.Datum) string {
	out := make([]string, len(row))
	for i, d := range row {
		out[i] = "null"
		if d != nil {
			out[i] = string(types.AppendText(nil, cols[i].Type, d, r.x.Context.Values))
		}
	}
	return strings.Join(out, ", ")
}

func schemaName(st *catalog.State, rel *catalog.Relation) string {
	if sc := st.Schema(rel.Schema); sc != nil {
		return sc.Name
	}
	return ""
}
