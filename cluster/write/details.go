package write

import (
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// What the detail of an error says of rows must be no way to read what the role may not: a
// key that is there already, or a row that a trigger or a default completed.

// hidden returns the columns of a table that the detail about a row may not show: those that
// the role may not read and did not write itself. partial says that it may not read all.
func (r *Executor) hidden(rel *catalog.Relation, uses []plan.TableUse) (hidden []int16, partial bool) {
	role := r.x.Caller.Role
	if r.st.May(role, rel.Object(), 'r') {
		return nil, false
	}
	for _, c := range rel.Live() {
		wrote := slices.ContainsFunc(uses, func(u plan.TableUse) bool {
			return u.OID == rel.OID && (u.Priv == 'a' || u.Priv == 'w') && slices.Contains(u.Columns, c.Num)
		})
		if !wrote && !r.st.MayColumn(role, rel, &c, 'r') {
			hidden = append(hidden, c.Num)
		}
	}
	return hidden, true
}

// shows reports whether the detail of an error may show a key of these columns; 0 stands for an
// expression.
func (r *Executor) shows(rel *catalog.Relation, columns []int16) bool {
	role := r.x.Caller.Role
	if r.st.May(role, rel.Object(), 'r') {
		return true
	}
	return !slices.ContainsFunc(columns, func(num int16) bool {
		c := rel.ColumnNum(num)
		return c == nil || !r.st.MayColumn(role, rel, c, 'r')
	})
}
