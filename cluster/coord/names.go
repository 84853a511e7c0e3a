package coord

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// findRelation finds a relation as a statement names it.
func (s *Session) findRelation(st *catalog.State, rv *ast.RangeVar) (*catalog.Relation, error) {
	r, err := s.binding(st).Relation(rv)
	if err != nil || r != nil {
		return r, err
	}
	name := rv.RelName
	if rv.SchemaName != "" {
		name = rv.SchemaName + "." + name
	}
	return nil, pgerr.New(pgerr.UndefinedTable, "relation \"%s\" does not exist", name)
}
