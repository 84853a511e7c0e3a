package scope

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
)

// AsSeen returns a relation's columns, those that are live, the names by which the
// text knows them. Columns that a view's text does not know of are hidden and
// have no name.
func (b *Binder) AsSeen(r *catalog.Relation, cols []Column, alias *ast.Alias) ([]Column, *ast.Alias) {
	nums := b.seenOf(r)
	if nums == nil {
		return cols, alias
	}
	if alias != nil && alias.ColNames != nil {
		var names []ast.Node
		for i, name := range typing.Items(alias.ColNames) {
			if i >= len(nums) || r.ColumnNum(nums[i]) != nil {
				names = append(names, name)
			}
		}
		alias = &ast.Alias{AliasName: alias.AliasName, ColNames: ast.NewNodeList(names...)}
	}
	cols = slices.Clone(cols)
	for i := range cols {
		if !slices.Contains(nums, cols[i].Num) {
			cols[i].Name, cols[i].Hidden = "", true
		}
	}
	return cols, alias
}

// seenOf are the columns of a relation that the text knows of; nil for all.
func (b *Binder) seenOf(r *catalog.Relation) []int16 {
	if b.View == nil {
		return nil
	}
	for _, s := range b.View.Sees {
		if s.OID == r.OID {
			return s.Columns
		}
	}
	return nil
}
