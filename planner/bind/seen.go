package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Seen notes the relations that a bound query reads as they are now, for a view
// of it.
func Seen(s *Session, uses []plan.TableUse) []catalog.Seen {
	var list []catalog.Seen
	for _, u := range uses {
		r := s.State.RelationByOID(u.OID)
		if r == nil || slices.ContainsFunc(list, func(x catalog.Seen) bool { return x.OID == u.OID }) {
			continue
		}
		x := catalog.Seen{OID: u.OID}
		for _, c := range r.Live() {
			x.Columns = append(x.Columns, c.Num)
		}
		list = append(list, x)
	}
	return list
}

// asSeen gives a relation's columns, those that are live, the names by which the
// text knows them. Columns that a view's text does not know of are hidden and
// have no name.
func (b *binder) asSeen(r *catalog.Relation, cols []relCol, alias *ast.Alias) ([]relCol, *ast.Alias) {
	nums := b.seenOf(r)
	if nums == nil {
		return cols, alias
	}
	if alias != nil && alias.ColNames != nil {
		var names []ast.Node
		for i, name := range items(alias.ColNames) {
			if i >= len(nums) || r.ColumnNum(nums[i]) != nil {
				names = append(names, name)
			}
		}
		alias = &ast.Alias{AliasName: alias.AliasName, ColNames: ast.NewNodeList(names...)}
	}
	cols = slices.Clone(cols)
	for i := range cols {
		if !slices.Contains(nums, cols[i].num) {
			cols[i].name, cols[i].hidden = "", true
		}
	}
	return cols, alias
}

// seenOf are the columns of a relation that the text knows of; nil for all.
func (b *binder) seenOf(r *catalog.Relation) []int16 {
	if b.view == nil {
		return nil
	}
	for _, s := range b.view.Sees {
		if s.OID == r.OID {
			return s.Columns
		}
	}
	return nil
}

// ViewQuery binds the text of a materialised view to fill it.
func ViewQuery(s *Session, v *catalog.Relation) (*plan.Query, error) {
	sel, err := viewText(v)
	if err != nil {
		return nil, err
	}
	return ViewSelect(s, v, sel)
}

// ViewSelect is ViewQuery with a tree of the text.
func ViewSelect(s *Session, v *catalog.Relation, sel *ast.SelectStmt) (*plan.Query, error) {
	b := newBinder(s)
	b.view, b.path, b.text = v, v.SearchPath, nil
	return b.wholeQuery(sel)
}

// Named finds the places in a view's text that name a relation of the catalog.
func Named(s *Session, v *catalog.Relation) (*ast.SelectStmt, map[*ast.RangeVar]types.OID, error) {
	sel, err := viewText(v)
	if err != nil {
		return nil, nil, err
	}
	b := newBinder(s).within(v)
	b.named = map[*ast.RangeVar]types.OID{}
	if _, err := (&scope{b: b}).query(sel, place{}, true); err != nil {
		return nil, nil, err
	}
	return sel, b.named, nil
}

func viewText(v *catalog.Relation) (*ast.SelectStmt, error) {
	list, err := parse.Parse(v.Query, parse.Dialect(v.Dialect))
	if err != nil {
		return nil, pgerr.Wrap(pgerr.InternalError, err, "the query of view \"%s\" cannot be read", v.Name)
	}
	if len(list) != 1 {
		return nil, pgerr.Internal("the query of view \"%s\" is not one statement", v.Name)
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("the query of view \"%s\" is a %T", v.Name, list[0].Node)
	}
	return sel, nil
}
