package sysview

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func (v *view) super() bool { return v.st.Super(v.sess.Role) }

// owns reports whether the session's role has the rights of an owner.
func (v *view) owns(owner types.OID) bool { return v.st.Inherits(v.sess.Role, owner) }

// reads reports whether the session's role sees what another's sessions do.
func (v *view) reads(owner types.OID) bool { return SeesStatements(v.st, v.sess.Role, owner) }

// SeesStatements reports whether a role sees what another's sessions do: it has the rights of that
// role, or of pg_read_all_stats.
func SeesStatements(st *catalog.State, role, owner types.OID) bool {
	return st.Inherits(role, owner) || st.Inherits(role, catalog.ReadAllStatsOID)
}

// Hidden stands for the text of a statement that the role does not see.
const Hidden = "<insufficient privilege>"

// may reports whether the session's role has one of the privileges (letters of
// aclitem) on an object.
func (v *view) may(o catalog.Object, letters string) bool {
	return slices.ContainsFunc([]byte(letters), func(l byte) bool { return v.st.May(v.sess.Role, o, l) })
}

// sees reports whether information_schema shows a relation to the session's role:
// it has some privilege on it, or on a column.
func (v *view) sees(r *catalog.Relation, letters string) bool {
	return slices.ContainsFunc([]byte(letters), func(l byte) bool {
		if strings.IndexByte(catalog.ClassColumn.Privileges(), l) >= 0 && r.Kind != catalog.KindSequence {
			return v.st.MayAnyColumn(v.sess.Role, r, l)
		}
		return v.st.May(v.sess.Role, r.Object(), l)
	})
}

// seesColumn is sees for a column.
func (v *view) seesColumn(r *catalog.Relation, c *catalog.Column) bool {
	return slices.ContainsFunc([]byte(catalog.ClassColumn.Privileges()), func(l byte) bool { return v.st.MayColumn(v.sess.Role, r, c, l) })
}

// aclText writes an object's grants as aclitems; nil while there are none.
func (v *view) aclText(o catalog.Object) any {
	if len(o.ACL) == 0 {
		return nil
	}
	out := []string{}
	for _, g := range o.Grants() {
		if g.Privs == "" {
			continue
		}
		grantee := ""
		if g.Role != 0 {
			grantee = sysfn.ACLRole(v.roleName(g.Role))
		}
		out = append(out, grantee+"="+g.Privs+"/"+sysfn.ACLRole(v.roleName(g.Grantor)))
	}
	return out
}

func (v *view) roleName(oid types.OID) string {
	if r := v.st.Role(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + itoa(int64(oid)) + ")"
}

// eachPriv calls f for the letters of Privs with their grant options.
func eachPriv(privs string, f func(letter byte, grantable bool) error) error {
	for i := 0; i < len(privs); i++ {
		if privs[i] == '*' {
			continue
		}
		if err := f(privs[i], i+1 < len(privs) && privs[i+1] == '*'); err != nil {
			return err
		}
	}
	return nil
}
