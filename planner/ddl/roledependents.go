package ddl

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// heldBy lists what stands against dropping a role, as PostgreSQL words it: what
// it owns and what was granted to it or by it.
func (p *planner) heldBy(role types.OID) (out []string) {
	named := func(acl []catalog.Grant) bool {
		return slices.ContainsFunc(acl, func(g catalog.Grant) bool { return g.Role == role || g.Grantor == role })
	}
	note := func(o catalog.Object, what string) {
		switch {
		case o.Owner == role:
			out = append(out, "owner of "+what)
		case named(o.ACL):
			out = append(out, "privileges for "+what)
		}
	}
	note(p.st.Database().Object(), "database "+catalog.DatabaseName)
	for _, sc := range p.st.Schemas() {
		note(sc.Object(), "schema "+sc.Name)
	}
	for _, r := range p.st.Relations() {
		if r.Kind == catalog.KindIndex {
			continue
		}
		note(r.Object(), kindName(r.Kind)+" "+r.Name)
		for i := range r.Columns {
			if c := &r.Columns[i]; r.Owner != role && named(c.ACL) {
				out = append(out, "privileges for column "+c.Name+" of "+kindName(r.Kind)+" "+r.Name)
			}
		}
	}
	for _, m := range p.st.Models() {
		note(m.Object(), "model "+m.Name)
	}
	for _, e := range p.st.Enums() {
		note(e.Object(), "type "+e.Name)
	}
	for _, f := range p.st.Functions() {
		note(f.Object(), "function "+p.functions.Signature(f))
	}
	for _, s := range catalog.Schedules(p.st) {
		note(catalog.Object{Owner: s.Owner}, "schedule "+s.Name)
	}
	for _, x := range catalog.Secrets(p.st) {
		note(x.Object(), "secret "+x.Name)
	}
	for _, d := range p.st.DefaultGrants() {
		what := "default privileges on new " + classNames[d.Key.Class] + "s belonging to role " + p.st.Role(d.Key.Role).Name
		if sc := p.st.Schema(d.Key.Schema); sc != nil {
			what += " in schema " + sc.Name
		}
		note(catalog.Object{Owner: d.Key.Role, ACL: d.ACL}, what)
	}
	return out
}

// reassignOwned gives what roles own to another. What was granted to them stays.
func (p *planner) reassignOwned(n *ast.ReassignOwnedStmt) error {
	p.res.Tag = "REASSIGN OWNED"
	mine := func(spec *ast.RoleSpec) (types.OID, error) {
		r, err := p.namedRole(spec)
		if err != nil {
			return 0, err
		}
		if !p.owns(r.OID) {
			return 0, pgerr.New(pgerr.InsufficientPrivilege, "permission denied to reassign objects")
		}
		return r.OID, nil
	}
	from := map[types.OID]bool{}
	for _, x := range items(n.Roles) {
		spec, ok := x.(*ast.RoleSpec)
		if !ok {
			continue
		}
		oid, err := mine(spec)
		if err != nil {
			return err
		}
		from[oid] = true
	}
	to, err := mine(n.Newrole)
	if err != nil {
		return err
	}
	if from[catalog.BootstrapRoleOID] {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot reassign ownership of objects owned by role %s because they are required by the database system",
			p.st.Role(catalog.BootstrapRoleOID).Name)
	}
	var changes []catalog.Change
	for _, sc := range p.st.Schemas() {
		if from[sc.Owner] {
			up := *sc
			up.ACL, up.Owner = sc.Object().Reown(to), to
			changes = append(changes, &catalog.PutSchema{Schema: &up})
		}
	}
	for _, r := range p.st.Relations() {
		if from[r.Owner] {
			up := r.Clone()
			reown(up, to)
			changes = append(changes, &catalog.PutRelation{Rel: up, ExpectVersion: r.Version})
		}
	}
	for _, s := range catalog.Schedules(p.st) {
		if from[s.Owner] {
			up := *s
			up.Owner = to
			changes = append(changes, &catalog.PutSchedule{Schedule: &up, ExpectVersion: s.Version})
		}
	}
	for _, x := range catalog.Secrets(p.st) {
		if from[x.Owner] {
			up := *x
			up.ACL, up.Owner = x.Object().Reown(to), to
			changes = append(changes, &catalog.PutSecret{Secret: &up, ExpectVersion: x.Version})
		}
	}
	for _, m := range p.st.Models() {
		if from[m.Owner] {
			up := m.Bare()
			up.ACL, up.Owner = m.Object().Reown(to), to
			changes = append(changes, &catalog.ChangeModel{Model: up, ExpectVersion: m.Version})
		}
	}
	for _, e := range p.st.Enums() {
		if from[e.Owner] {
			up := *e
			up.ACL, up.Owner = e.Object().Reown(to), to
			changes = append(changes, &catalog.PutEnum{Enum: &up})
		}
	}
	for _, f := range p.st.Functions() {
		if from[f.Owner] {
			up := *f
			up.ACL, up.Owner = f.Object().Reown(to), to
			changes = append(changes, &catalog.PutFunction{Function: &up})
		}
	}
	return p.add(changes...)
}
