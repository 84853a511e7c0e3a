package ddl

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// mayRoles fails with 42501 and a text of the statement unless the role may make
// roles.
func (p *planner) mayRoles(denied string) error {
	if p.createsRoles() {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "%s", denied)
}

func (p *planner) createsRoles() bool {
	r := p.st.Role(p.env.Bind.Role)
	return p.env.Super || r != nil && r.CreateRole
}

func (p *planner) roleSpec(r *ast.RoleSpec) (types.OID, error) {
	if r == nil {
		return p.env.Bind.Role, nil
	}
	switch r.Roletype {
	case ast.ROLESPEC_CURRENT_USER, ast.ROLESPEC_CURRENT_ROLE:
		return p.env.Bind.Role, nil
	case ast.ROLESPEC_SESSION_USER:
		return p.env.SessionUser, nil
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
	if err := p.mayCreateRole(n.Options); err != nil {
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

// mayCreateRole checks what CREATE ROLE takes: what only a superuser has, only a
// superuser gives.
func (p *planner) mayCreateRole(opts *ast.NodeList) error {
	for _, o := range []struct{ option, what string }{{"superuser", "superusers"}, {"isreplication", "replication users"}, {"bypassrls", "bypassrls users"}} {
		if d := roleOption(opts, o.option); d != nil && isOn(d) && !p.env.Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to create %s", o.what)
		}
	}
	return p.mayRoles("permission denied to create role")
}

// roleOption finds an option of CREATE or ALTER ROLE; nil if it is not given.
func roleOption(opts *ast.NodeList, name string) *ast.DefElem {
	for _, o := range items(opts) {
		if d, ok := o.(*ast.DefElem); ok && d.Defname == name {
			return d
		}
	}
	return nil
}

func isOn(d *ast.DefElem) bool {
	v := text(d.Arg)
	return v == "true" || v == "1" || v == "on"
}

func (p *planner) alterRole(n *ast.AlterRoleStmt) error {
	p.res.Tag = "ALTER ROLE"
	r, err := p.namedRole(n.Role)
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.Name, "pg_") {
		return pgerr.New(pgerr.ReservedName, "role name %q is reserved", r.Name).WithDetail("Cannot alter reserved roles.")
	}
	given := func(name string) bool { return roleOption(n.Options, name) != nil }
	super := func(format string) error {
		if p.env.Super {
			return nil
		}
		return pgerr.New(pgerr.InsufficientPrivilege, "%s", format)
	}
	switch {
	case r.Super || given("superuser"):
		err = super("must be superuser to alter superuser roles or change superuser attribute")
	case r.Replication || given("isreplication"):
		err = super("must be superuser to alter replication roles or change replication attribute")
	case given("bypassrls"):
		err = super("must be superuser to change bypassrls attribute")
	case !p.createsRoles():
		// Of its own a role changes its password and nothing else.
		only := r.OID == p.env.Bind.Role
		for _, o := range items(n.Options) {
			if d, ok := o.(*ast.DefElem); ok && d.Defname != "password" {
				only = false
			}
		}
		if !only {
			err = pgerr.New(pgerr.InsufficientPrivilege, "permission denied")
		}
	}
	if err != nil {
		return err
	}
	up := *r
	return p.roleOptions(&up, n.Options, n.Action)
}

// namedRole finds the role of a statement, which cannot be PUBLIC.
func (p *planner) namedRole(spec *ast.RoleSpec) (*catalog.Role, error) {
	oid, err := p.roleSpec(spec)
	if err != nil {
		return nil, err
	}
	if r := p.st.Role(oid); r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "role \"public\" does not exist")
}

// roleOptions applies options to r and puts it.
func (p *planner) roleOptions(r *catalog.Role, opts *ast.NodeList, action int) error {
	for _, o := range items(opts) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		if roleOption(opts, d.Defname) != d {
			return pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		v, on := text(d.Arg), isOn(d)
		switch d.Defname {
		case "superuser":
			if r.OID == catalog.BootstrapRoleOID && !on {
				return pgerr.Unsupported("the bootstrap superuser must stay a superuser")
			}
			r.Super = on
		case "isreplication":
			r.Replication = on
		case "bypassrls":
			r.BypassRLS = on
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
				of, err := p.namedRole(g)
				if err != nil {
					return err
				}
				if err := p.mayAdmin(of); err != nil {
					return err
				}
				r.MemberOf = addMember(r.MemberOf, of.OID, false)
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

// mayAdmin fails with 42501 unless the role may say who is a member of a group.
func (p *planner) mayAdmin(group *catalog.Role) error {
	switch {
	case group.Super && !p.env.Super:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superusers")
	case p.createsRoles() || p.st.Admins(p.env.Bind.Role, group.OID):
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must have admin option on role %q", group.Name)
}

// member adds or removes role's membership in group, or with admin on a removal
// only its admin option.
func (p *planner) member(role, group types.OID, add, admin bool) error {
	r, of := p.st.Role(role), p.st.Role(group)
	if r == nil || of == nil {
		return pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", role)
	}
	up := *r
	i := slices.IndexFunc(r.MemberOf, func(m catalog.Membership) bool { return m.Role == group })
	switch {
	case add && (role == group || p.st.MemberOf(group, role) && !of.Super):
		return pgerr.New(pgerr.InvalidGrantOperation, "role %q is a member of role %q", of.Name, r.Name)
	case add && i >= 0 && (r.MemberOf[i].Admin || !admin):
		p.notice("role %q is already a member of role %q", r.Name, of.Name)
		return nil
	case add:
		up.MemberOf = addMember(r.MemberOf, group, admin)
	case i < 0:
		p.warn(pgerr.Warning, "role %q is not a member of role %q", r.Name, of.Name)
		return nil
	case admin:
		up.MemberOf = addMember(r.MemberOf, group, false)
	default:
		up.MemberOf = slices.DeleteFunc(slices.Clone(r.MemberOf), func(m catalog.Membership) bool { return m.Role == group })
	}
	return p.add(&catalog.PutRole{Role: &up})
}

func (p *planner) grantRole(n *ast.GrantRoleStmt) error {
	p.res.Tag = "GRANT ROLE"
	if !n.IsGrant {
		p.res.Tag = "REVOKE ROLE"
	}
	if n.Grantor != nil {
		if by, err := p.roleSpec(n.Grantor); err != nil {
			return err
		} else if by != p.env.Bind.Role && !p.env.Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to set grantor")
		}
	}
	admin := false
	for _, o := range items(n.Opt) {
		d, ok := o.(*ast.DefElem)
		if !ok {
			continue
		}
		if d.Defname != "admin" {
			return pgerr.Unsupported("the option %s of GRANT is not supported", strings.ToUpper(d.Defname))
		}
		admin = true
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
		if err := p.mayAdmin(group); err != nil {
			return err
		}
		for _, m := range items(n.GranteeRoles) {
			spec, ok := m.(*ast.RoleSpec)
			if !ok {
				continue
			}
			r, err := p.namedRole(spec)
			if err != nil {
				return err
			}
			if err := p.member(r.OID, group.OID, n.IsGrant, admin); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *planner) alterRoleSet(n *ast.AlterRoleSetStmt) error {
	p.res.Tag = "ALTER ROLE"
	if n.Role == nil {
		return pgerr.Unsupported("ALTER ROLE ALL is not supported").WithHint("Use ALTER SYSTEM SET.")
	}
	r, err := p.namedRole(n.Role)
	if err != nil {
		return err
	}
	switch {
	case r.Super && !p.env.Super:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superusers")
	case r.OID != p.env.Bind.Role && !p.createsRoles():
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied")
	}
	up := *r
	set := map[string]string{}
	for k, v := range up.Settings {
		set[k] = v
	}
	name := strings.ToLower(n.Setstmt.Name)
	switch n.Setstmt.Kind {
	case ast.VAR_SET_VALUE:
		value := strings.Join(texts(n.Setstmt.Args), ", ")
		if err := p.env.Setting(name, value); err != nil {
			return err
		}
		set[name] = value
	case ast.VAR_RESET_ALL:
		maps.DeleteFunc(set, func(name, _ string) bool { return p.env.ResetSetting(name) == nil })
	case ast.VAR_RESET, ast.VAR_SET_DEFAULT:
		if err := p.env.ResetSetting(name); err != nil {
			return err
		}
		delete(set, name)
	default:
		return pgerr.Unsupported("ALTER ROLE ... SET ... FROM CURRENT is not supported")
	}
	up.Settings = set
	return p.add(&catalog.PutRole{Role: &up})
}

func (p *planner) dropRole(n *ast.DropRoleStmt) error {
	p.res.Tag = "DROP ROLE"
	if err := p.mayRoles("permission denied to drop role"); err != nil {
		return err
	}
	for _, x := range items(n.Roles) {
		spec, ok := x.(*ast.RoleSpec)
		if !ok {
			continue
		}
		if spec.Roletype != ast.ROLESPEC_CSTRING {
			return pgerr.New(pgerr.InvalidParameterValue, "cannot use special role specifier in DROP ROLE")
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
		if r.OID < types.FirstUserOID {
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop role %s because it is required by the database system", r.Name)
		}
		if r.Super && !p.env.Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to drop superusers")
		}
		if held := p.heldBy(r.OID); len(held) > 0 {
			return pgerr.New(pgerr.DependentObjectsStillExist, "role %q cannot be dropped because some objects depend on it", r.Name).
				WithDetail("%s", strings.Join(held, "\n"))
		}
		if err := p.add(&catalog.DropRole{OID: r.OID}); err != nil {
			return err
		}
	}
	return nil
}
