package write

import (
	"io"
	"slices"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/ddl"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func keyTypes(child, parent *catalog.Relation, k fkey) ([]types.Type, error) {
	out := make([]types.Type, len(k.Columns))
	for i, n := range k.Columns {
		t, ok := ddl.ForeignKeyType(child.ColumnNum(n).Type, parent.ColumnNum(k.RefCols[i]).Type)
		if !ok {
			return nil, pgerr.Internal("foreign key %q compares %s with %s", k.Name, child.ColumnNum(n).Type, parent.ColumnNum(k.RefCols[i]).Type)
		}
		out[i] = t
	}
	return out, nil
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

func (r *Executor) readKeys(p keyPlan, as []types.Type, start starter) (*keySet, error) {
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

// addKeyChecks adds what the commit says of keys.
func (r *Executor) addKeyChecks(child *catalog.Relation, k fkey, side uint8, st *catalog.State, keys *keySet) error {
	if keys.n == 0 {
		return nil
	}
	_, err := r.x.Txn.Add(&catalog.UniqueKeys{Table: child.OID, Constraint: k.OID, ReadVersion: st.Version(), Hashes: keys.hashes, All: keys.all, Side: side})
	return err
}
