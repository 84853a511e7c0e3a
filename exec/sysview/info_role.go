package sysview

import (
	"slices"
	"strings"

	"github.com/tributarydb/tributary/exec/function/sysfn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

func infoEnabledRoles(v *view, put put) error {
	for _, r := range v.st.Roles() {
		if v.owns(r.OID) {
			if err := put(r.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func infoApplicableRoles(v *view, put put) error { return v.memberRows(put, false) }

func infoAdministrableRoles(v *view, put put) error { return v.memberRows(put, true) }

func (v *view) memberRows(put put, admin bool) error {
	for _, r := range v.st.Roles() {
		if !v.owns(r.OID) {
			continue
		}
		for _, m := range r.MemberOf {
			if admin && !m.Admin {
				continue
			}
			if err := put(r.Name, v.roleName(m.Role), yesNo(m.Admin)); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachGrant calls f for the grants on an object that concern the session's roles, those to PUBLIC
// only with public. grantable is WITH GRANT OPTION, which an owner always has.
func (v *view) eachGrant(o catalog.Object, public bool, f func(grantor, grantee string, letter byte, grantable bool) error) error {
	for _, g := range o.Grants() {
		if !(v.owns(g.Grantor) || v.owns(g.Role) || g.Role == 0 && public) || g.Role == 0 && !public {
			continue
		}
		grantee := "PUBLIC"
		if g.Role != 0 {
			grantee = v.roleName(g.Role)
		}
		err := eachPriv(g.Privs, func(letter byte, grantable bool) error {
			return f(v.roleName(g.Grantor), grantee, letter, grantable || g.Role == o.Owner)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func infoTablePrivileges(v *view, put put) error { return v.tableGrants(put, true) }

func infoRoleTableGrants(v *view, put put) error { return v.tableGrants(put, false) }

func (v *view) tableGrants(put put, public bool) error {
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) {
			continue
		}
		err := v.eachGrant(r.Object(), public, func(grantor, grantee string, letter byte, grantable bool) error {
			return put(grantor, grantee, catalog.DatabaseName, v.schemaName(r.Schema), r.Name, sysfn.PrivilegeName(letter), yesNo(grantable), yesNo(letter == 'r'))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func infoColumnPrivileges(v *view, put put) error { return v.columnGrants(put, true) }

func infoRoleColumnGrants(v *view, put put) error { return v.columnGrants(put, false) }

func (v *view) columnGrants(put put, public bool) error {
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) {
			continue
		}
		for _, c := range r.Live() {
			// By a grant on the table or on the column: the same one is listed once.
			o := c.Object(r)
			o.ACL = append(slices.Clone(r.Object().Grants()), c.ACL...)
			type grant struct {
				grantor, grantee string
				letter           byte
				grantable        bool
			}
			told := map[grant]bool{}
			err := v.eachGrant(o, public, func(grantor, grantee string, letter byte, grantable bool) error {
				g := grant{grantor, grantee, letter, grantable}
				if strings.IndexByte(o.Class.Privileges(), letter) < 0 || told[g] {
					return nil
				}
				told[g] = true
				return put(grantor, grantee, catalog.DatabaseName, v.schemaName(r.Schema), r.Name, c.Name, sysfn.PrivilegeName(letter), yesNo(grantable))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func infoUsagePrivileges(v *view, put put) error { return v.usageGrants(put, true) }

func infoRoleUsageGrants(v *view, put put) error { return v.usageGrants(put, false) }

func (v *view) usageGrants(put put, public bool) error {
	for _, r := range v.st.Relations() {
		if r.Kind != catalog.KindSequence {
			continue
		}
		err := v.eachGrant(r.Object(), public, func(grantor, grantee string, letter byte, grantable bool) error {
			if letter != 'U' {
				return nil
			}
			return put(grantor, grantee, catalog.DatabaseName, v.schemaName(r.Schema), r.Name, "SEQUENCE", "USAGE", yesNo(grantable))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func infoCharacterSets(_ *view, put put) error {
	return put(nil, nil, "UTF8", "UCS", "UTF8", catalog.DatabaseName, nil, nil)
}

func infoCollations(_ *view, put put) error {
	for _, c := range collations {
		if err := put(catalog.DatabaseName, "pg_catalog", c.name, "NO PAD"); err != nil {
			return err
		}
	}
	return nil
}

func infoCollationSets(_ *view, put put) error {
	for _, c := range collations {
		if err := put(catalog.DatabaseName, "pg_catalog", c.name, nil, nil, "UTF8"); err != nil {
			return err
		}
	}
	return nil
}

// infoColumnUDTUsage lists the types of columns of the current role's tables.
func infoColumnUDTUsage(v *view, put put) error {
	for _, r := range v.st.Relations() {
		if !isTable(r.Kind) {
			continue
		}
		for _, c := range r.Live() {
			space, name, owner := "pg_catalog", layout(c.Type.OID).Name, types.OID(catalog.BootstrapRoleOID)
			if e := v.st.EnumByOID(c.Type.OID); e != nil {
				space, name, owner = v.schemaName(e.Schema), e.Name, e.Owner
			}
			if !v.owns(owner) {
				continue
			}
			err := put(catalog.DatabaseName, space, name, catalog.DatabaseName, v.schemaName(r.Schema), r.Name, c.Name)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
