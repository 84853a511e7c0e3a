package bind

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// use is a use of a relation or a model while the statement is being bound.
type use struct {
	plan.TableUse
	depth int  // of views within views: what the statement itself names is checked first
	own   bool // not shared with other places that read the same
}

// tableUse notes that the text uses a relation and gives the use's place, from 1.
func (b *binder) tableUse(r *catalog.Relation, priv byte) int {
	if b.s.Trusted {
		priv = 0
	}
	for i, u := range b.st.uses {
		if u.OID == r.OID && u.Priv == priv && u.As == b.as && u.depth == b.depth && !u.own {
			return i + 1
		}
	}
	return b.note(r.OID, r.Version, priv, b.as, false)
}

// ownUse is a use of one place alone, which may turn out to need nothing.
func (b *binder) ownUse(r *catalog.Relation, priv byte) int {
	return b.note(r.OID, r.Version, priv, b.as, true)
}

func (b *binder) note(oid types.OID, version uint64, priv byte, as types.OID, own bool) int {
	if b.s.Trusted {
		priv = 0
	}
	b.st.uses = append(b.st.uses, use{plan.TableUse{OID: oid, Version: version, Priv: priv, As: as}, b.depth, own})
	return len(b.st.uses)
}

// noteColumn adds a column to a use.
func (b *binder) noteColumn(at int, num int16) {
	if u := &b.st.uses[at-1]; !slices.Contains(u.Columns, num) {
		u.Columns = append(u.Columns, num)
	}
}

// tables are the statement's uses in the order in which they are checked.
func (st *stmt) tables() []plan.TableUse {
	slices.SortStableFunc(st.uses, func(a, b use) int { return cmp.Compare(a.depth, b.depth) })
	out := make([]plan.TableUse, len(st.uses))
	for i, u := range st.uses {
		out[i] = u.TableUse
	}
	return out
}

// within is the binder of a view's text: names are found on the view's path, and
// what it reads is checked as the view's owner, or where the view says
// security_invoker as who runs the statement, however deep the views are nested.
func (b *binder) within(v *catalog.Relation) *binder {
	in := &binder{s: b.s, st: b.st, path: v.SearchPath, view: v, depth: b.depth + 1, as: v.Owner}
	if v.SecurityInvoker() {
		in.as = 0
	}
	return in
}

// lockUse notes that rows of a FROM item are locked: that takes the right to
// update some column of it, and of what a view reads.
func (b *binder) lockUse(r *rel) {
	t := b.s.State.RelationByOID(r.oid)
	if t == nil {
		return
	}
	b.tableUse(t, 'w')
	for _, u := range r.reads {
		inner := *b
		inner.depth = u.depth
		inner.note(u.OID, u.Version, 'w', u.As, false)
	}
}

// reads are the uses since a place that read.
func (st *stmt) reads(from int) (out []use) {
	for _, u := range st.uses[from:] {
		if u.Priv == 'r' {
			out = append(out, u)
		}
	}
	return out
}
