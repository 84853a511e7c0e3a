package ddl

import (
	"slices"

	"github.com/tributarydb/tributary/sql/catalog"
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
	for _, d := range p.st.DefaultGrants() {
		what := "default privileges on new " + classNames[d.Key.Class] + "s belonging to role " + p.st.Role(d.Key.Role).Name
		if sc := p.st.Schema(d.Key.Schema); sc != nil {
			what += " in schema " + sc.Name
		}
		note(catalog.Object{Owner: d.Key.Role, ACL: d.ACL}, what)
	}
	return out
}
