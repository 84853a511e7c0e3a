package ddl

import (
	"github.com/multigres/multigres/go/common/parser"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// renameColumn renames a column in an expression kept as text.
func renameColumn(sql, from, to string) (string, error) {
	stmts, err := parser.ParseSQL("SELECT " + sql)
	if err != nil || len(stmts) != 1 {
		return "", pgerr.Internal("kept expression does not parse: %s", sql)
	}
	sel, ok := stmts[0].(*ast.SelectStmt)
	if !ok || len(items(sel.TargetList)) != 1 {
		return "", pgerr.Internal("kept expression is not one: %s", sql)
	}
	out := ast.Rewrite(sel, func(c *ast.Cursor) bool {
		if ref, ok := c.Node().(*ast.ColumnRef); ok {
			if l := items(ref.Fields); len(l) > 0 && text(l[len(l)-1]) == from {
				l[len(l)-1] = ast.NewString(to)
			}
		}
		return true
	}, nil)
	target := items(out.(*ast.SelectStmt).TargetList)[0].(*ast.ResTarget)
	return target.Val.SqlString(), nil
}

// rewriteViews keeps views alive over a rename. Views are kept as text with
// the names of their day, so what they name must be renamed in them too.
func (p *planner) rewriteViews(old, now *catalog.Relation, n *ast.RenameStmt) error {
	for _, v := range p.st.Relations() {
		if v.Kind != catalog.KindView && v.Kind != catalog.KindMatView {
			continue
		}
		uses := false
		for _, d := range v.DependsOn {
			uses = uses || d.OID == old.OID
		}
		if !uses {
			continue
		}
		stmts, err := parser.ParseSQL(v.Query)
		if err != nil || len(stmts) != 1 {
			return pgerr.Internal("kept view does not parse: %s", v.Name)
		}
		// Output names must not move: a column's new name would become the
		// view's. Give every bare column its old name as alias first.
		if n.RenameType == ast.OBJECT_COLUMN {
			if sel, ok := stmts[0].(*ast.SelectStmt); ok {
				for _, t := range items(sel.TargetList) {
					if rt, ok := t.(*ast.ResTarget); ok && rt.Name == "" {
						if ref, ok := rt.Val.(*ast.ColumnRef); ok {
							if l := items(ref.Fields); len(l) > 0 && text(l[len(l)-1]) == n.Subname {
								rt.Name = n.Subname
							}
						}
					}
				}
			}
		}
		out := ast.Rewrite(stmts[0], func(c *ast.Cursor) bool {
			switch x := c.Node().(type) {
			case *ast.RangeVar:
				if n.RenameType != ast.OBJECT_COLUMN && x.RelName == old.Name {
					if x.Alias == nil {
						x.Alias = ast.NewAlias(old.Name, nil)
					}
					x.RelName = now.Name
				}
			case *ast.ColumnRef:
				if n.RenameType == ast.OBJECT_COLUMN {
					if l := items(x.Fields); len(l) > 0 && text(l[len(l)-1]) == n.Subname {
						l[len(l)-1] = ast.NewString(n.Newname)
					}
				}
			}
			return true
		}, nil)
		up := v.Clone()
		up.Query = out.(ast.Stmt).SqlString()
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: v.Version}); err != nil {
			return err
		}
	}
	return nil
}
