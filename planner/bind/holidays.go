package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/model"
	"github.com/tributarydb/tributary/sql/catalog"
)

// WithHolidays returns a training query with the column that a relation of holidays adds (model.Holidays), and that relation's name
// with its schema. Errors have no position.
func WithHolidays(s *Session, q *ast.SelectStmt, relation string, time catalog.ModelFeature, keys []string) (*ast.SelectStmt, string, error) {
	h, err := model.ReadHolidays(newBinder(s), relation, keys)
	if err != nil {
		return nil, "", err
	}
	q, err = h.Over(q, time)
	return q, h.Relation, err
}
