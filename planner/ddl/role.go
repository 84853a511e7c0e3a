package ddl

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (p *planner) mayRoles() error {
	if p.env.Super {
		return nil
	}
	if r := p.st.Role(p.env.Bind.Role); r != nil && r.CreateRole {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create role")
}

func (p *planner) roleSpec(r *ast.RoleSpec) (types.OID, error) {
	if r == nil {
		return p.env.Bind.Role, nil
	}
	switch r.Roletype {
	case ast.ROLESPEC_CURRENT_USER, ast.ROLESPEC_CURRENT_ROLE, ast.ROLESPEC_SESSION_USER:
		return p.env.Bind.Role, nil
	case ast.ROLESPEC_PUBLIC:
		return 0, nil
	}
	if x := p.st.RoleByName(r.Rolename); x != nil {
		return x.OID, nil
	}
	return 0, pgerr.New(pgerr.UndefinedObject, "role %q does not exist", r.Rolename)
}

func (p *planner) createRole(n *ast.CreateRoleStmt) error {
	p.res.Tag = "CREATE ROLE"
	if err := p.mayRoles(); err != nil {
		return err
	}
	if strings.HasPrefix(n.Role, "pg_") {
		return pgerr.New(pgerr.ReservedName, "role name %q is reserved", n.Role).WithDetail("Role names starting with \"pg_\" are reserved.")
	}
	if p.st.RoleByName(n.Role) != nil {
		return pgerr.New(pgerr.DuplicateObject, "role %q already exists", n.Role)
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	r := &catalog.Role{OID: oid, Name: n.Role, Inherit: true, ConnLimit: -1, Login: n.StmtType == ast.ROLESTMT_USER}
	if err := p.add(&catalog.PutRole{Role: r}); err != nil {
		return err
	}
	up := *r
	return p.roleOptions(&up, n.Options, 1)
}

func (p *planner) alterRole(n *ast.AlterRoleStmt) error {
	p.res.Tag = "ALTER ROLE"
	up, err := p.changedRole(n.Role)
	if err != nil {
		return err
	}
	return p.roleOptions(&up, n.Options, n.Action)
}

// changedRole is a copy of the role of an ALTER ROLE: one's own, or any for who
// may make roles.
func (p *planner) changedRole(spec *ast.RoleSpec) (catalog.Role, error) {
	oid, err := p.roleSpec(spec)
	if err == nil && oid != p.env.Bind.Role {
		err = p.mayRoles()
	}
	if err != nil {
		return catalog.Role{}, err
	}
	return *p.st.Role(oid), nil
}

// roleOptions applies options to r and puts it.
func (p *planner) roleOptions(r *catalog.Role, opts *ast.NodeList, action int) error {
	for _, o := range items(opts) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		v := text(d.Arg)
		on := v == "true" || v == "1" || v == "on"
		switch d.Defname {
		case "superuser", "replication", "bypassrls":
			if !p.env.Super {
				return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superuser roles or change superuser attribute")
			}
			switch d.Defname {
			case "superuser":
				if r.OID == catalog.BootstrapRoleOID && !on {
					return pgerr.Unsupported("the bootstrap superuser must stay a superuser")
				}
				r.Super = on
			case "replication":
				r.Replication = on
			default:
				r.BypassRLS = on
			}
		case "createdb":
			r.CreateDB = on
		case "createrole":
			r.CreateRole = on
		case "inherit":
			r.Inherit = on
		case "canlogin":
			r.Login = on
		case "connectionlimit":
			n, err := strconv.Atoi(v)
			if err != nil || n < -1 {
				return pgerr.New(pgerr.InvalidParameterValue, "invalid connection limit: %s", v)
			}
			r.ConnLimit = n
		case "password":
			if d.Arg == nil || v == "" {
				r.Password = ""
				break
			}
			ver, err := p.env.Password(v)
			if err != nil {
				return err
			}
			r.Password = ver
		case "validUntil":
			d, err := types.ParseText(types.Timestamptz, v, p.env.Bind.Env)
			if err != nil {
				return err
			}
			if us, ok := d.(int64); ok {
				r.ValidUntil = time.UnixMicro(us).UTC()
			}
		case "addroleto":
			for _, g := range roleList(d.Arg) {
				of, err := p.roleSpec(g)
				if err != nil {
					return err
				}
				r.MemberOf = addMember(r.MemberOf, of, false)
			}
		case "rolemembers", "adminmembers":
			for _, m := range roleList(d.Arg) {
				oid, err := p.roleSpec(m)
				if err != nil {
					return err
				}
				if err := p.member(oid, r.OID, action >= 0, d.Defname == "adminmembers"); err != nil {
					return err
				}
			}
		case "sysid":
			p.notice("SYSID can no longer be specified")
		default:
			return pgerr.Unsupported("role option %q is not supported", d.Defname)
		}
	}
	return p.add(&catalog.PutRole{Role: r})
}

func roleList(n ast.Node) []*ast.RoleSpec {
	var out []*ast.RoleSpec
	if l, ok := n.(*ast.NodeList); ok {
		for _, x := range items(l) {
			if r, ok := x.(*ast.RoleSpec); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

func addMember(list []catalog.Membership, of types.OID, admin bool) []catalog.Membership {
	out := slices.DeleteFunc(slices.Clone(list), func(m catalog.Membership) bool { return m.Role == of })
	return append(out, catalog.Membership{Role: of, Admin: admin})
}

// member adds or removes role's membership in group.
func (p *planner) member(role, group types.OID, add, admin bool) error {
	r := p.st.Role(role)
	if r == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", role)
	}
	up := *r
	if add {
		if role == group {
			return pgerr.New(pgerr.InvalidGrantOperation, "role %q is a member of role %q", r.Name, r.Name)
		}
		up.MemberOf = addMember(r.MemberOf, group, admin)
	} else {
		up.MemberOf = slices.DeleteFunc(slices.Clone(r.MemberOf), func(m catalog.Membership) bool { return m.Role == group })
	}
	return p.add(&catalog.PutRole{Role: &up})
}

func (p *planner) grantRole(n *ast.GrantRoleStmt) error {
	p.res.Tag = "GRANT ROLE"
	if !n.IsGrant {
		p.res.Tag = "REVOKE ROLE"
	}
	if err := p.mayRoles(); err != nil {
		return err
	}
	admin := false
	for _, o := range items(n.Opt) {
		if d, ok := o.(*ast.DefElem); ok && d.Defname == "admin" {
			admin = true
		}
	}
	for _, g := range items(n.GrantedRoles) {
		ap, ok := g.(*ast.AccessPriv)
		if !ok {
			continue
		}
		group := p.st.RoleByName(ap.PrivName)
		if group == nil {
			return pgerr.New(pgerr.UndefinedObject, "role %q does not exist", ap.PrivName)
		}
		for _, m := range items(n.GranteeRoles) {
			spec, ok := m.(*ast.RoleSpec)
			if !ok {
				continue
			}
			oid, err := p.roleSpec(spec)
			if err != nil {
				return err
			}
			if err := p.member(oid, group.OID, n.IsGrant, admin); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *planner) alterRoleSet(n *ast.AlterRoleSetStmt) error {
	p.res.Tag = "ALTER ROLE"
	up, err := p.changedRole(n.Role)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for k, v := range up.Settings {
		set[k] = v
	}
	switch n.Setstmt.Kind {
	case ast.VAR_SET_VALUE:
		set[strings.ToLower(n.Setstmt.Name)] = strings.Join(texts(n.Setstmt.Args), ", ")
	case ast.VAR_RESET_ALL:
		clear(set)
	default:
		delete(set, strings.ToLower(n.Setstmt.Name))
	}
	up.Settings = set
	return p.add(&catalog.PutRole{Role: &up})
}

func (p *planner) dropRole(n *ast.DropRoleStmt) error {
	p.res.Tag = "DROP ROLE"
	if err := p.mayRoles(); err != nil {
		return err
	}
	for _, x := range items(n.Roles) {
		spec, ok := x.(*ast.RoleSpec)
		if !ok {
			continue
		}
		r := p.st.RoleByName(spec.Rolename)
		if r == nil {
			if n.MissingOk {
				p.notice("role %q does not exist, skipping", spec.Rolename)
				continue
			}
			return pgerr.New(pgerr.UndefinedObject, "role %q does not exist", spec.Rolename)
		}
		if r.OID == p.env.Bind.Role {
			return pgerr.New(pgerr.ObjectInUse, "current user cannot be dropped")
		}
		if r.OID == catalog.BootstrapRoleOID {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop role %s because it is required by the database system", r.Name)
		}
		for _, rel := range p.st.Relations() {
			holds := slices.ContainsFunc(rel.ACL, func(g catalog.Grant) bool { return g.Role == r.OID })
			if rel.Owner == r.OID || holds {
				what := "owner of"
				if holds {
					what = "privileges for"
				}
				return pgerr.New(pgerr.DependentObjectsStillExist, "role %q cannot be dropped because some objects depend on it", r.Name).
					WithDetail("%s %s %s", what, kindName(rel.Kind), rel.Name)
			}
		}
		if err := p.add(&catalog.DropRole{OID: r.OID}); err != nil {
			return err
		}
	}
	return nil
}

// grant handles GRANT and REVOKE on relations and schemas.
func (p *planner) grant(n *ast.GrantStmt) error {
	p.res.Tag = "GRANT"
	if !n.IsGrant {
		p.res.Tag = "REVOKE"
	}
	if n.Targtype == ast.ACL_TARGET_DEFAULTS {
		return pgerr.Unsupported("ALTER DEFAULT PRIVILEGES is not supported")
	}
	var to []types.OID
	for _, g := range items(n.Grantees) {
		if spec, ok := g.(*ast.RoleSpec); ok {
			oid, err := p.roleSpec(spec)
			if err != nil {
				return err
			}
			to = append(to, oid)
		}
	}
	switch n.Objtype {
	case ast.OBJECT_SCHEMA:
		privs, err := p.privileges(n, "UC", "schema")
		if err != nil {
			return err
		}
		for _, o := range items(n.Objects) {
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			up := *sc
			up.ACL = p.changeACL(sc.ACL, to, privs, n)
			if err := p.add(&catalog.PutSchema{Schema: &up}); err != nil {
				return err
			}
		}
		return nil
	case ast.OBJECT_TABLE, ast.OBJECT_SEQUENCE:
	case ast.OBJECT_DATABASE:
		return nil
	default:
		return pgerr.Unsupported("GRANT on this kind of object is not supported")
	}
	letters, kind := "arwdDxt", "table"
	if n.Objtype == ast.OBJECT_SEQUENCE {
		letters, kind = "rwU", "sequence"
	}
	privs, err := p.privileges(n, letters, kind)
	if err != nil {
		return err
	}
	var rels []*catalog.Relation
	for _, o := range items(n.Objects) {
		if n.Targtype == ast.ACL_TARGET_ALL_IN_SCHEMA {
			sc := p.st.SchemaByName(text(o))
			if sc == nil {
				return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(o))
			}
			for _, r := range p.st.Relations() {
				if r.Schema == sc.OID && r.Kind != catalog.KindIndex && (r.Kind == catalog.KindSequence) == (n.Objtype == ast.OBJECT_SEQUENCE) {
					rels = append(rels, r)
				}
			}
			continue
		}
		rel, err := p.existingNamed(o)
		if err != nil {
			return err
		}
		rels = append(rels, rel)
	}
	for _, r := range rels {
		if err := p.owned(r); err != nil {
			return err
		}
		up := r.Clone()
		up.ACL = p.changeACL(r.ACL, to, privs, n)
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: r.Version}); err != nil {
			return err
		}
	}
	return nil
}

var privLetters = map[string]byte{"select": 'r', "insert": 'a', "update": 'w', "delete": 'd', "truncate": 'D', "references": 'x', "trigger": 't', "usage": 'U', "create": 'C'}

func (p *planner) privileges(n *ast.GrantStmt, allowed, kind string) (string, error) {
	if len(items(n.Privileges)) == 0 {
		return allowed, nil
	}
	var out []byte
	for _, x := range items(n.Privileges) {
		ap, ok := x.(*ast.AccessPriv)
		if !ok {
			continue
		}
		if len(items(ap.Cols)) > 0 {
			return "", pgerr.Unsupported("privileges on columns are not supported")
		}
		l := privLetters[strings.ToLower(ap.PrivName)]
		if l == 0 || strings.IndexByte(allowed, l) < 0 {
			return "", pgerr.New(pgerr.InvalidGrantOperation, "invalid privilege type %s for %s", strings.ToUpper(ap.PrivName), kind)
		}
		out = append(out, l)
	}
	return string(out), nil
}

func (p *planner) changeACL(acl []catalog.Grant, to []types.OID, privs string, n *ast.GrantStmt) []catalog.Grant {
	out := slices.Clone(acl)
	for _, role := range to {
		i := slices.IndexFunc(out, func(g catalog.Grant) bool { return g.Role == role })
		if i < 0 {
			if !n.IsGrant {
				continue
			}
			out = append(out, catalog.Grant{Role: role, Grantor: p.env.Bind.Role})
			i = len(out) - 1
		}
		have := map[byte]bool{}
		star := map[byte]bool{}
		old := out[i].Privs
		for j := 0; j < len(old); j++ {
			if old[j] == '*' {
				continue
			}
			have[old[j]] = true
			star[old[j]] = j+1 < len(old) && old[j+1] == '*'
		}
		for j := 0; j < len(privs); j++ {
			switch {
			case n.IsGrant:
				have[privs[j]] = true
				star[privs[j]] = star[privs[j]] || n.GrantOption
			case n.GrantOption:
				star[privs[j]] = false
			default:
				have[privs[j]] = false
			}
		}
		var b []byte
		for _, l := range []byte("arwdDxtXUCcT") {
			if have[l] {
				b = append(b, l)
				if star[l] {
					b = append(b, '*')
				}
			}
		}
		out[i].Privs = string(b)
	}
	return slices.DeleteFunc(out, func(g catalog.Grant) bool { return g.Privs == "" })
}
