package bind

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Seen records the current columns of the relations that a bound query reads, for a view of it.
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

// ViewQuery binds the text of a materialised view to fill it.
func ViewQuery(s *Session, v *catalog.Relation) (*plan.Query, error) {
	sel, err := query.ViewText(v)
	if err != nil {
		return nil, err
	}
	return ViewSelect(s, v, sel)
}

// ViewSelect is ViewQuery with the parsed text.
func ViewSelect(s *Session, v *catalog.Relation, sel *ast.SelectStmt) (*plan.Query, error) {
	b := newBinder(s)
	b.View, b.Path, b.Text = v, v.SearchPath, nil
	return wholeQuery(b, sel)
}

// Named finds the places in a view's text that name a relation or a model of the catalog.
func Named(s *Session, v *catalog.Relation) (*ast.SelectStmt, *scope.Named, error) {
	sel, err := query.ViewText(v)
	if err != nil {
		return nil, nil, err
	}
	b := newBinder(s).OfView(v)
	b.Named = &scope.Named{Relations: map[*ast.RangeVar]types.OID{}, Models: map[types.OID][]func(string){}}
	if _, err := query.Bind(&scope.Scope{Binder: b}, sel, scope.Place{}, true); err != nil {
		return nil, nil, err
	}
	return sel, b.Named, nil
}
