package write

import (
	"io"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// maxListedKeys is how many keys a commit lists for the conflict check of a
// unique constraint; a larger one claims them all.
const maxListedKeys = 64 << 10

// checkUnique looks for the new segments' keys among each other and in the
// table, for every unique constraint, and returns the claims to commit with.
//
// The new rows are in segments already, so both looks are ordinary plans over
// ordinary scans: a grouping of the new ones (or what costs less where their keys are
// numbers close to each other, as sequences give them), and a semi-join that builds on
// the new and probes the old.
//
// An UPDATE that leaves a key's columns alone moves the key from a row to another:
// there is nothing to look for, and nothing to claim, for a writer of the same key
// has met either the row's own claim or its deletion.
func (r *Executor) checkUnique(st *catalog.State, rel *catalog.Relation, segs []*catalog.Segment, watched *keyWatch) ([]catalog.Change, error) {
	var out []catalog.Change
	var rows int64
	for _, g := range segs {
		rows += g.Rows
	}
	r.x.short(rows)
	fresh := &catalog.Manifest{Table: rel.OID, Partitions: [][]*catalog.Segment{segs}}
	old := st.Manifest(rel.OID)
	for i := range rel.Constraints {
		c := &rel.Constraints[i]
		if !watched.claims(c) {
			continue
		}
		if !watched.looks(c) {
			if claim, _ := claimed(st, rel, c, watched, watched.few[:watched.fresh]); len(claim.Hashes) > 0 {
				out = append(out, claim)
			}
			continue
		}
		if watched != nil && int64(len(watched.few)) == rows {
			claim, err := r.checkFew(st, rel, c, watched, old)
			if err != nil {
				return nil, err
			}
			if claim != nil {
				out = append(out, claim)
				continue
			}
		}
		k, err := r.uniqueKey(rel, c)
		if err != nil {
			return nil, err
		}
		if err := r.duplicatesWithin(k, fresh, rows); err != nil {
			return nil, err
		}
		if old != nil && old.Rows() > 0 && !disjoint(c, fresh, old) {
			if err := r.duplicatesBetween(k, fresh, old); err != nil {
				return nil, err
			}
		}
		claim := &catalog.UniqueKeys{Table: rel.OID, Constraint: c.OID, ReadVersion: st.Version(), All: rows > maxListedKeys}
		if !claim.All {
			h, err := r.keyHashes(k, fresh)
			if err != nil {
				return nil, err
			}
			claim.Hashes = h
		}
		out = append(out, claim)
	}
	return out, nil
}

// maxLookUps is how many keys are looked up, each by a scan of its own, before one join is faster.
const maxLookUps = 8

// checkFew does for the keys of few rows what the others do for many: it asks the
// indexes for each, and looks up what they do not rule out. The claim is nil for keys that cannot be
// looked up, where many may be there, and where some may be equal to each other, for duplicatesWithin says which.
func (r *Executor) checkFew(st *catalog.State, rel *catalog.Relation, c *catalog.Constraint, w *keyWatch, old *catalog.Manifest) (*catalog.UniqueKeys, error) {
	if c.Kind == 'e' || c.NullsNotDistinct {
		return nil, nil
	}
	claim, keys := claimed(st, rel, c, w, w.few)
	if len(keys) > len(claim.Hashes) {
		return nil, nil
	}
	var lookUp [][]types.Datum
	for _, key := range keys {
		if old != nil && !r.ProvenAbsent(r.x.Ctx, old, rel, c, key) {
			if lookUp = append(lookUp, key); len(lookUp) > maxLookUps {
				return nil, nil
			}
		}
	}
	for _, key := range lookUp {
		look := keyScan(rel, c, 1)
		look.Filter = nil
		// Most are those of rows that the statement itself has replaced.
		var there *batch.Batch
		known := false
		if k := store.KeyFor(rel, c, key); k != nil {
			var err error
			if there, known, err = r.Row(r.x.Ctx, old, look, k); err != nil {
				return nil, err
			}
		}
		if known && there == nil {
			continue
		}
		k, err := r.uniqueKey(rel, c)
		if err != nil {
			return nil, err
		}
		if known {
			return nil, refusal(r, k, look.Cols, key)
		}
		for i, col := range look.Cols {
			eq := equals(col, key[i])
			if eq == nil {
				return nil, nil
			}
			look.Filter = append(look.Filter, eq)
		}
		root := &plan.Limit{Input: look, Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
		rows, err := r.few(root, look.Cols, map[*plan.Scan]*catalog.Manifest{look: old})
		if err != nil {
			return nil, err
		}
		if err := r.duplicate(k, rows, look.Cols); err != nil {
			return nil, err
		}
	}
	return claim, nil
}

// claimed returns the claim of the keys of rows that a keyWatch has, without those with a NULL, which are equal to nothing, and
// these keys. It lists equal ones once.
func claimed(st *catalog.State, rel *catalog.Relation, c *catalog.Constraint, w *keyWatch, rows [][]types.Datum) (*catalog.UniqueKeys, [][]types.Datum) {
	at := make([]int, len(c.Columns))
	for i, num := range c.Columns {
		at[i] = w.column(num)
	}
	claim := &catalog.UniqueKeys{Table: rel.OID, Constraint: c.OID, ReadVersion: st.Version()}
	var keys [][]types.Datum
	for _, row := range rows {
		key, h := make([]types.Datum, len(at)), uint64(0)
		for i, live := range at {
			if key[i] = row[live]; key[i] == nil {
				key = nil
				break
			}
			h = types.Hash(w.live[live].Type, key[i], h)
		}
		if key != nil {
			keys, claim.Hashes = append(keys, key), append(claim.Hashes, h)
		}
	}
	slices.Sort(claim.Hashes)
	claim.Hashes = slices.Compact(claim.Hashes)
	return claim, keys
}

func (r *Executor) duplicatesWithin(k *uniqueKey, fresh *catalog.Manifest, rows int64) error {
	if rows <= 1 {
		return nil
	}
	if distinct, err := r.distinctWithin(k, fresh, rows); distinct || err != nil {
		return err
	}
	in, sc, keys := k.rows(1)
	sc.Rows = float64(fresh.Rows())
	count := countStar()
	n := plan.Column{ID: idSpan, Name: "n", Type: types.Int8}
	agg := &plan.Aggregate{Input: in, Aggs: []plan.AggItem{{Col: n, Call: expr.AggCall{Fn: count, Star: true, Typ: types.Int8}}}}
	for i, col := range keys {
		g := col
		g.ID = expr.ColID(idSpan + 1 + i)
		agg.Groups = append(agg.Groups, plan.Item{Col: g, Expr: colRef(col)})
	}
	gt := operator(">", types.Int8OID, types.Int8OID)
	root := &plan.Limit{
		Input: &plan.Filter{Input: agg, Conds: []expr.Expr{&expr.Call{Fn: gt.Func, Op: ">", Typ: types.Bool,
			Args: []expr.Expr{colRef(n), &expr.Const{Val: int64(1), Typ: types.Int8}}}}},
		Count: &expr.Const{Val: int64(1), Typ: types.Int8},
	}
	cols := root.Schema()[:len(keys)]
	return r.raiseDuplicate(k, root, cols, map[*plan.Scan]*catalog.Manifest{sc: fresh})
}

func (r *Executor) duplicatesBetween(k *uniqueKey, fresh, old *catalog.Manifest) error {
	l, ls, lcols := k.rows(1)
	b, bs, bcols := k.rows(1 + idSpan)
	root := &plan.Limit{Input: k.among(l, lcols, b, bcols), Count: &expr.Const{Val: int64(1), Typ: types.Int8}}
	return r.raiseDuplicate(k, root, lcols, map[*plan.Scan]*catalog.Manifest{ls: old, bs: fresh})
}

// among keeps the rows of l that have a key of those of b.
func (k *uniqueKey) among(l plan.Node, lcols []plan.Column, b plan.Node, bcols []plan.Column) plan.Node {
	j := &plan.Join{Kind: plan.Semi, L: l, R: b, Broadcast: true}
	for i := range lcols {
		j.LKeys = append(j.LKeys, colRef(lcols[i]))
		j.RKeys = append(j.RKeys, colRef(bcols[i]))
		j.NullSafe = append(j.NullSafe, k.NullsNotDistinct)
	}
	return j
}

func (r *Executor) raiseDuplicate(k *uniqueKey, root plan.Node, cols []plan.Column, m map[*plan.Scan]*catalog.Manifest) error {
	rows, err := r.start(root, cols, m)
	if err != nil {
		return err
	}
	return r.duplicate(k, rows, cols)
}

// duplicate fails if there is a row that has a key already.
func (r *Executor) duplicate(k *uniqueKey, rows op.BatchReader, cols []plan.Column) error {
	row, err := First(r.x.Ctx, rows, cols)
	if err != nil || row == nil {
		return err
	}
	return refusal(r, k, cols, row)
}

// refusal is the error of a row with a key that another has.
func refusal(r *Executor, k *uniqueKey, cols []plan.Column, row []types.Datum) error {
	msg, what := "duplicate key value violates unique constraint %q", "already exists"
	if k.building {
		msg, what = "could not create unique index %q", "is duplicated"
	}
	names, columns := k.names, k.Columns
	if k.Kind == 'e' {
		x := r.st.RelationByOID(k.Index).Index
		names, columns = sysfn.IndexKeys(r.x.Caller.Host, k.rel, x, false, true), x.Columns
	}
	refused := pgerr.New(pgerr.UniqueViolation, msg, k.Name)
	switch {
	case r.shows(k.rel, columns):
		refused = refused.WithDetail("Key (%s)=(%s) %s.", strings.Join(names, ", "), r.keyText(cols, row), what)
	case k.building:
		refused = refused.WithDetail("Duplicate keys exist.")
	}
	return refused.OnTable(schemaName(r.st, k.rel), k.rel.Name).OnConstraint(k.Name)
}

// keyHashes lists the hashes of the new rows' keys, sorted.
func (r *Executor) keyHashes(k *uniqueKey, fresh *catalog.Manifest) ([]uint64, error) {
	in, sc, cols := k.rows(1)
	rows, err := r.start(in, cols, map[*plan.Scan]*catalog.Manifest{sc: fresh})
	if err != nil {
		return nil, err
	}
	return hashRows(r, rows, cols)
}

func hashRows(r *Executor, rows op.BatchReader, cols []plan.Column) ([]uint64, error) {
	defer rows.Close()
	var out []uint64
	for {
		b, err := rows.Next(r.x.Ctx)
		if err == io.EOF {
			slices.Sort(out)
			return slices.Compact(out), nil
		}
		if err != nil {
			return nil, err
		}
		for k := 0; k < b.Rows(); k++ {
			var h uint64
			for i, d := range rowAt(b, cols, k) {
				h = types.Hash(cols[i].Type, d, h)
			}
			out = append(out, h)
		}
	}
}

// disjoint tells from the zone maps of a one-column key that new and old rows
// cannot meet, as when keys only grow.
func disjoint(c *catalog.Constraint, fresh, old *catalog.Manifest) bool {
	if len(c.Columns) != 1 || c.NullsNotDistinct || c.Kind == 'e' {
		return false
	}
	a, b, ok1 := bounds(fresh, c.Columns[0])
	x, y, ok2 := bounds(old, c.Columns[0])
	return ok1 && ok2 && (b < x || y < a)
}

func countStar() *fn.Func {
	for _, f := range fn.Lookup("count") {
		if len(f.Args) == 0 {
			return f
		}
	}
	return nil
}
