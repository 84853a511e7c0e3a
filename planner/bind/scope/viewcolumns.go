package scope

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
)

// AsSeen gives a relation's live columns the names that the text has for them. Columns that were
// added after a view was made are hidden and have no name.
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

// seenOf returns the columns of a relation when the text's view was made; nil for all.
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
