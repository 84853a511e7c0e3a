package sysview

import (
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// masked stands for a password that is not shown.
const masked = "********"

func roleConfig(r *catalog.Role) any {
	if len(r.Settings) == 0 {
		return nil
	}
	out := []string{}
	for _, k := range sortedKeys(r.Settings) {
		out = append(out, k+"="+r.Settings[k])
	}
	return out
}

func pgRoles(v *view, put put) error {
	for _, r := range v.st.Roles() {
		err := put(r.Name, r.Super, r.Inherit, r.CreateRole, r.CreateDB, r.Login, r.Replication, r.ConnLimit, masked, r.ValidUntil, r.BypassRLS,
			roleConfig(r), r.OID)
		if err != nil {
			return err
		}
	}
	return nil
}

func pgAuthid(v *view, put put) error {
	for _, r := range v.st.Roles() {
		err := put(r.OID, r.Name, r.Super, r.Inherit, r.CreateRole, r.CreateDB, r.Login, r.Replication, r.BypassRLS, r.ConnLimit, v.secret(r), r.ValidUntil)
		if err != nil {
			return err
		}
	}
	return nil
}

// secret returns a role's verifier, for superusers only.
func (v *view) secret(r *catalog.Role) any {
	if r.Password == "" {
		return nil
	}
	if !v.super() {
		return masked
	}
	return r.Password
}

func pgAuthMembers(v *view, put put) error {
	for _, r := range v.st.Roles() {
		for _, m := range r.MemberOf {
			if err := put(m.Role, r.OID, catalog.BootstrapRoleOID, m.Admin); err != nil {
				return err
			}
		}
	}
	return nil
}

func pgUser(v *view, put put) error {
	return v.users(put, func(*catalog.Role) any { return masked })
}

func pgShadow(v *view, put put) error { return v.users(put, v.secret) }

func (v *view) users(put put, password func(*catalog.Role) any) error {
	for _, r := range v.st.Roles() {
		if !r.Login {
			continue
		}
		if err := put(r.Name, r.OID, r.CreateDB, r.Super, r.Replication, r.BypassRLS, password(r), r.ValidUntil, roleConfig(r)); err != nil {
			return err
		}
	}
	return nil
}

func pgGroup(v *view, put put) error {
	for _, g := range v.st.Roles() {
		if g.Login {
			continue
		}
		members := []types.OID{}
		for _, r := range v.st.Roles() {
			for _, m := range r.MemberOf {
				if m.Role == g.OID {
					members = append(members, r.OID)
				}
			}
		}
		if err := put(g.Name, g.OID, members); err != nil {
			return err
		}
	}
	return nil
}

func pgDefaultACL(v *view, put put) error {
	for i, d := range v.st.DefaultGrants() {
		acl := []string{}
		if t := v.aclText(catalog.Object{Class: d.Key.Class, Owner: d.Key.Role, ACL: d.ACL, Bare: true}); t != nil {
			acl = t.([]string)
		}
		if err := put(derived('d', d.Key.Role, i), d.Key.Role, d.Key.Schema, string(rune(d.Key.Class)), acl); err != nil {
			return err
		}
	}
	return nil
}

func pgDbRoleSetting(v *view, put put) error {
	for _, r := range v.st.Roles() {
		if c := roleConfig(r); c != nil {
			if err := put(0, r.OID, c); err != nil {
				return err
			}
		}
	}
	return nil
}
