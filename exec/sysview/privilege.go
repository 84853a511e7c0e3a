package sysview

import (
	"strings"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// memberships gives the roles that a role may act as, itself included.
func memberships(st *catalog.State, role types.OID) map[types.OID]bool {
	seen := map[types.OID]bool{role: true}
	queue := []types.OID{role}
	for len(queue) > 0 {
		r := st.Role(queue[0])
		queue = queue[1:]
		if r == nil {
			continue
		}
		for _, m := range r.MemberOf {
			if !seen[m.Role] {
				seen[m.Role] = true
				queue = append(queue, m.Role)
			}
		}
	}
	return seen
}

func (v *view) super() bool {
	r := v.st.Role(v.sess.Role)
	return r != nil && r.Super
}

// owns tells whether the session's role may act as the owner.
func (v *view) owns(owner types.OID) bool { return v.roles[owner] || v.super() }

// may tells whether the session's role has one of the privileges (letters of
// aclitem) on an object.
func (v *view) may(owner types.OID, acl []catalog.Grant, letters string) bool {
	if v.owns(owner) {
		return true
	}
	for _, g := range acl {
		if (g.Role == 0 || v.roles[g.Role]) && strings.ContainsAny(g.Privs, letters) {
			return true
		}
	}
	return false
}

const (
	tablePrivs    = "arwdDxt"
	sequencePrivs = "rwU"
	schemaPrivs   = "UC"
)

// ownerPrivs are what the owner has before anything is granted.
func ownerPrivs(kind catalog.RelKind) string {
	if kind == catalog.KindSequence {
		return sequencePrivs
	}
	return tablePrivs
}

// grants gives an object's grants with the owner's own, which the catalog
// leaves out until they change.
func grants(owner types.OID, acl []catalog.Grant, all string) []catalog.Grant {
	for _, g := range acl {
		if g.Role == owner {
			return acl
		}
	}
	return append([]catalog.Grant{{Role: owner, Grantor: owner, Privs: all}}, acl...)
}

// aclText writes grants as aclitems; nil while there are none.
func (v *view) aclText(owner types.OID, acl []catalog.Grant, all string) any {
	if len(acl) == 0 {
		return nil
	}
	var out []string
	for _, g := range grants(owner, acl, all) {
		grantee := ""
		if g.Role != 0 {
			grantee = eval.ACLRole(v.roleName(g.Role))
		}
		out = append(out, grantee+"="+g.Privs+"/"+eval.ACLRole(v.roleName(g.Grantor)))
	}
	return out
}

func (v *view) roleName(oid types.OID) string {
	if r := v.st.Role(oid); r != nil {
		return r.Name
	}
	return "unknown (OID=" + itoa(int64(oid)) + ")"
}

// eachPriv walks the letters of Privs with their grant options.
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
