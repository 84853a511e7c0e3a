package scope

import (
	"cmp"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Use is a use of a relation or a model while the statement is being bound.
type Use struct {
	plan.TableUse
	depth int  // of views within views: what the statement itself names is checked first
	own   bool // not shared with other places that read the same
}

// TableUse records that the text uses a relation and returns the use's number, from 1.
func (b *Binder) TableUse(r *catalog.Relation, priv byte) int {
	if b.Session.Trusted {
		priv = 0
	}
	for i, u := range b.Stmt.Uses {
		if u.OID == r.OID && u.Priv == priv && u.As == b.As && u.depth == b.Depth && !u.own {
			return i + 1
		}
	}
	return b.Note(r.OID, r.Version, priv, b.As, false)
}

// OwnUse makes a use for one place only, for which the privilege may later turn out not to be needed.
func (b *Binder) OwnUse(r *catalog.Relation, priv byte) int {
	return b.Note(r.OID, r.Version, priv, b.As, true)
}

func (b *Binder) Note(oid types.OID, version uint64, priv byte, as types.OID, own bool) int {
	if b.Session.Trusted {
		priv = 0
	}
	b.Stmt.Uses = append(b.Stmt.Uses, Use{plan.TableUse{OID: oid, Version: version, Priv: priv, As: as}, b.Depth, own})
	return len(b.Stmt.Uses)
}

// NoteColumn adds a column to a use.
func (b *Binder) NoteColumn(at int, num int16) {
	if u := &b.Stmt.Uses[at-1]; !slices.Contains(u.Columns, num) {
		u.Columns = append(u.Columns, num)
	}
}

// Tables returns the statement's uses in the order in which they are checked.
func (st *Statement) Tables() []plan.TableUse {
	slices.SortStableFunc(st.Uses, func(a, b Use) int { return cmp.Compare(a.depth, b.depth) })
	out := make([]plan.TableUse, len(st.Uses))
	for i, u := range st.Uses {
		out[i] = u.TableUse
	}
	return out
}

// OfView returns the binder of a view's text: names are looked up on the view's path, and
// privileges are checked for the view's owner, or with security_invoker for the role that runs the
// statement, however deep the views are nested.
func (b *Binder) OfView(v *catalog.Relation) *Binder {
	in := &Binder{Resolver: b.Resolver, Session: b.Session, Stmt: b.Stmt, Depth: b.Depth + 1, As: v.Owner, over: b, Rows: mayNameRows(v.Query), Runs: b.Runs}
	in.Path, in.Text, in.View, in.Plain = v.SearchPath, nil, v, false
	if v.SecurityInvoker() {
		in.As = b.Runs
	}
	return in
}

// OfFunction returns the binder of a function's text for a call with these arguments. Names are looked up on
// the path of the function, or else of the session that runs the statement; privileges are those of the
// caller, or with SECURITY DEFINER of the owner.
func (b *Binder) OfFunction(f *catalog.Function, args []expr.Expr) *Binder {
	in := &Binder{Resolver: b.Resolver, Session: b.Session, Stmt: b.Stmt, Depth: b.Depth + 1, Runs: b.Runs, over: b,
		In: f, Args: args, Rows: mayNameRows(f.Body)}
	in.Path, in.Text, in.View, in.Plain = b.Session.SearchPath, nil, nil, false
	if f.Path != nil {
		in.Path = f.Path
	}
	if f.Definer {
		in.Runs = f.Owner
	}
	in.As = in.Runs
	return in
}

// Calls reports whether the text is that of a function, or belongs to one.
func (b *Binder) Calls(f *catalog.Function) bool {
	for ; b != nil; b = b.over {
		if b.In != nil && b.In.OID == f.OID {
			return true
		}
	}
	return false
}

// Inside reports whether the text is that of a view, or belongs to one.
func (b *Binder) Inside(v *catalog.Relation) bool {
	for ; b != nil; b = b.over {
		if b.View != nil && b.View.OID == v.OID {
			return true
		}
	}
	return false
}

// LockUse records that rows of a FROM item are locked: that requires the privilege to update some
// column of it, and of what a view reads.
func (b *Binder) LockUse(r *Item) {
	t := b.Session.State.RelationByOID(r.OID)
	if t == nil {
		return
	}
	b.TableUse(t, 'w')
	for _, u := range r.Reads {
		inner := *b
		inner.Depth = u.depth
		inner.Note(u.OID, u.Version, 'w', u.As, false)
	}
}

// Reads returns the uses for reading from number from on.
func (st *Statement) Reads(from int) (out []Use) {
	for _, u := range st.Uses[from:] {
		if u.Priv == 'r' {
			out = append(out, u)
		}
	}
	return out
}
