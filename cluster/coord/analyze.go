package coord

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/cluster/define"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/sysview"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// vacuum handles VACUUM and ANALYZE. Compaction runs by itself, so that VACUUM only checks the names
// that it is given.
func (c *dispatcher) vacuum(n *ast.VacuumStmt) *session.Command {
	tag, analyze := "ANALYZE", true
	if n.IsVacuumcmd {
		tag, analyze = "VACUUM", n.Options != nil && slices.ContainsFunc(n.Options.Items, func(o ast.Node) bool {
			d, ok := o.(*ast.DefElem)
			return ok && strings.EqualFold(d.Defname, "analyze") && isOn(d)
		})
	}
	return session.Simple(func(ctx context.Context, x *session.Execution) (string, error) {
		if n.IsVacuumcmd {
			if err := c.s.Alone("VACUUM"); err != nil {
				return "", err
			}
		}
		st, err := x.View()
		if err != nil {
			return "", err
		}
		todo, err := vacuumed(x, st, n)
		if err != nil || !analyze || x.Txn.ReadOnly {
			return tag, err
		}
		for _, t := range todo {
			switch {
			case t.rel.Kind != catalog.KindTable && t.rel.Kind != catalog.KindMatView:
				c.s.Notice(pgerr.New(pgerr.Warning, "skipping %q --- cannot analyze non-tables or special system tables", t.rel.Name).WithSeverity(pgerr.SevWarning))
			case !st.Inherits(x.Caller.Role, t.rel.Owner):
				c.s.Notice(pgerr.New(pgerr.Warning, "skipping %q --- only table or database owner can analyze it", t.rel.Name).WithSeverity(pgerr.SevWarning))
			default:
				err = define.Analyze(x.Statement, st, t.rel, t.columns)
			}
			if err != nil {
				return "", err
			}
		}
		return tag, nil
	})
}

// vacuuming is a relation of VACUUM or ANALYZE, and columns of it, where the statement names some.
type vacuuming struct {
	rel     *catalog.Relation
	columns []string
}

// vacuumed finds the relations that a statement is about. System relations, which are computed when they are
// read, have nothing to be done.
func vacuumed(x *session.Execution, st *catalog.State, n *ast.VacuumStmt) (out []vacuuming, err error) {
	if n.Rels == nil {
		for _, r := range st.Relations() {
			if (r.Kind == catalog.KindTable || r.Kind == catalog.KindMatView) && (!r.Temp || r.Schema == x.Caller.Temp) {
				out = append(out, vacuuming{rel: r})
			}
		}
		return out, nil
	}
	for _, r := range n.Rels.Items {
		v, ok := r.(*ast.VacuumRelation)
		if !ok || v.Relation == nil {
			continue
		}
		if _, system := sysview.RelationOID(cmp.Or(v.Relation.SchemaName, "pg_catalog"), v.Relation.RelName); system {
			continue
		}
		t := vacuuming{}
		if t.rel, err = x.Relation(st, v.Relation); err != nil {
			return nil, err
		}
		if v.VaCols != nil {
			for _, i := range v.VaCols.Items {
				name, ok := i.(*ast.String)
				if !ok {
					continue
				}
				if t.rel.Column(name.SVal) == nil {
					return nil, pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", name.SVal, t.rel.Name)
				}
				t.columns = append(t.columns, name.SVal)
			}
		}
		out = append(out, t)
	}
	return out, nil
}
