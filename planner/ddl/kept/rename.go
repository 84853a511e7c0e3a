package kept

import (
	"cmp"
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Column renames a column in an expression kept as text.
func Column(sql, from, to string) (string, error) {
	n, err := typing.ParseExpr(sql)
	if err != nil {
		return "", err
	}
	return ast.Rewrite(n, func(c *ast.Cursor) bool {
		if ref, ok := c.Node().(*ast.ColumnRef); ok {
			if l := typing.Items(ref.Fields); len(l) > 0 && parse.ConstText(l[len(l)-1]) == from {
				l[len(l)-1] = ast.NewString(to)
			}
		}
		return true
	}, nil).SqlString(), nil
}

// rewrite changes the texts of the views that depend on an object: with gets each parsed, as it is before
// the rename.
func (p Texts) rewrite(of types.OID, with func(v *catalog.Relation, sel *ast.SelectStmt, named *scope.Named)) ([]catalog.Change, error) {
	var changes []catalog.Change
	for _, v := range p.State().Relations() {
		if v.Kind != catalog.KindView && v.Kind != catalog.KindMatView ||
			!slices.ContainsFunc(v.DependsOn, func(d catalog.Dep) bool { return d.OID == of }) {
			continue
		}
		sel, named, err := bind.Named(p.Bind(), v)
		if err != nil {
			return nil, err
		}
		with(v, sel, named)
		up := v.Clone()
		if up.Query, err = parse.Keep(sel); err != nil {
			return nil, err
		}
		changes = append(changes, &catalog.PutRelation{Rel: up, ExpectVersion: v.Version})
	}
	return changes, nil
}

// RelationRenamed changes the name of a relation, its schema, or of a column if its number is given, in views and in
// the bodies of functions.
func (p Texts) RelationRenamed(old, now *catalog.Relation, column int16) error {
	if err := p.inFunctions(old, now, column); err != nil {
		return err
	}
	views, err := p.inViews(old, now, column)
	if err != nil {
		return err
	}
	return p.Add(views...)
}

// inViews is rewrite for a relation that has another name, schema or column: where texts name it, an
// alias keeps the name that the rest of the text knows, and for a column a list of names those of all columns.
func (p Texts) inViews(old, now *catalog.Relation, num int16) ([]catalog.Change, error) {
	column := num != 0
	var refused error
	changes, err := p.rewrite(old.OID, func(v *catalog.Relation, sel *ast.SelectStmt, named *scope.Named) {
		for rv, oid := range named.Relations {
			if oid != old.OID {
				continue
			}
			if rv.Alias == nil {
				rv.Alias = ast.NewAlias(old.Name, nil)
			}
			if column {
				rv.Alias.ColNames = listed(old, v, rv.Alias.ColNames)
			}
			rv.RelName = now.Name
			if !now.Temp { // a CTE may have the new name
				rv.SchemaName = p.State().Schema(now.Schema).Name
			}
		}
		// An alias takes the place of a name with a schema.
		schema := p.State().Schema(old.Schema).Name
		ast.Rewrite(sel, func(c *ast.Cursor) bool {
			if ref, ok := c.Node().(*ast.ColumnRef); ok {
				if l := typing.Items(ref.Fields); len(l) > 2 && parse.ConstText(l[0]) == schema && parse.ConstText(l[1]) == old.Name {
					ref.Fields = ast.NewNodeList(l[1:]...)
				}
			}
			// The fields of a row have the names of the table's columns, whatever an alias lists.
			if of, ok := c.Node().(*ast.A_Indirection); ok && column {
				for _, part := range typing.Items(of.Indirection) {
					if parse.ConstText(part) == old.ColumnNum(num).Name {
						refused = pgerr.Unsupported("column %s cannot be renamed, as view %s names it as a field of a row", lex.QuoteName(old.ColumnNum(num).Name), p.NameIn(v.Schema, v.Name))
					}
				}
			}
			return true
		}, nil)
	})
	return changes, cmp.Or(refused, err)
}

// ModelRenamed is rewrite for a model.
func (p Texts) ModelRenamed(m *catalog.Model, now string) ([]catalog.Change, error) {
	return p.rewrite(m.OID, func(_ *catalog.Relation, _ *ast.SelectStmt, named *scope.Named) {
		for _, rename := range named.Models[m.OID] {
			rename(now)
		}
	})
}

// listed is an alias's list of columns made complete, as the view knows them.
func listed(r, view *catalog.Relation, names *ast.NodeList) *ast.NodeList {
	var nums []int16
	for _, c := range r.Live() {
		nums = append(nums, c.Num)
	}
	for _, s := range view.Sees {
		if s.OID == r.OID {
			nums = s.Columns
		}
	}
	list := slices.Clone(typing.Items(names))
	for _, c := range r.Columns {
		if at := slices.Index(nums, c.Num); at >= len(list) {
			list = append(list, ast.NewString(c.Name))
		}
	}
	return ast.NewNodeList(list...)
}
