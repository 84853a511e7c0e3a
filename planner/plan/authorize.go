package plan

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TableUse is a use of a relation or a model by a statement: the entry of
// PostgreSQL's range table that privileges are checked by.
type TableUse struct {
	OID     types.OID
	Version uint64 // of the descriptor
	// Priv is the letter of aclitem that is needed; 0 for none, where the
	// statement merely depends on the relation.
	Priv byte
	// Columns are those that the privilege is needed on; none means that any
	// column will do.
	Columns []int16
	// As is the role whose privileges count: a view's owner for what the view reads; 0 is the role
	// that runs the statement.
	As types.OID
}

// Authorize checks that the role that runs a statement has the privileges it needs. It is called
// for every execution of every statement.
func Authorize(st *catalog.State, role types.OID, uses []TableUse) error {
	for i := range uses {
		u := &uses[i]
		if st.Lost(u.OID) {
			return lost(st, u.OID)
		}
		if u.Priv == 0 {
			continue
		}
		as := u.As
		if as == 0 {
			as = role
		}
		if m := st.ModelByOID(u.OID); m != nil {
			if !st.May(as, m.Object(), u.Priv) {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for model %s", m.Name)
			}
			continue
		}
		if f := st.Function(u.OID); f != nil {
			if !st.May(as, f.Object(), u.Priv) {
				return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", f.Name)
			}
			continue
		}
		r := st.RelationByOID(u.OID)
		if r == nil {
			return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", u.OID)
		}
		if !allowed(st, as, r, u) {
			return Denied(r)
		}
	}
	return nil
}

func allowed(st *catalog.State, as types.OID, r *catalog.Relation, u *TableUse) bool {
	if st.May(as, r.Object(), u.Priv) {
		return true
	}
	switch u.Priv {
	case 'r', 'a', 'w', 'x':
	default:
		return false // of whole relations only
	}
	if len(u.Columns) == 0 {
		return st.MayAnyColumn(as, r, u.Priv)
	}
	for _, n := range u.Columns {
		if c := r.ColumnNum(n); c == nil || !st.MayColumn(as, r, c, u.Priv) {
			return false
		}
	}
	return true
}

// lost is the error for an object of the past whose files were removed.
func lost(st *catalog.State, oid types.OID) error {
	kind, name := "table", ""
	if r := st.RelationByOID(oid); r != nil {
		name = r.Name
	} else if m := st.ModelByOID(oid); m != nil {
		kind, name = "model", m.Name
	}
	return pgerr.New(pgerr.SnapshotTooOld, "the past of %s %q is not kept that long", kind, name).
		WithDetail("Some of its files of that time were removed.").
		WithHint("The setting tributary.retention, or a table's storage parameter retention, says how long the past is kept.")
}

// Denied returns the error 42501 for a relation.
func Denied(r *catalog.Relation) error {
	kind := "table"
	switch r.Kind {
	case catalog.KindView:
		kind = "view"
	case catalog.KindMatView:
		kind = "materialized view"
	case catalog.KindSequence:
		kind = "sequence"
	case catalog.KindIndex:
		kind = "index"
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", kind, r.Name)
}
