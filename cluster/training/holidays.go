package training

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/model"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// holidays is the option that names a relation of holidays.
type holidays family.Arg

// holidays returns the option, where the statement has it and the family takes it; else nil.
func (s Statement) holidays(args []family.Arg) *holidays {
	f, _, err := train.FindFamily(s.Algorithm, args)
	if err != nil || !slices.Contains(f.Options(), family.Holidays) {
		return nil
	}
	for _, a := range args {
		if family.Find([]*family.Option{family.Holidays}, a.Name) != nil && a.Value != nil {
			o := holidays(a)
			return &o
		}
	}
	return nil
}

// over adds the column of holidays to the training query, which is bound as q, and returns the relation's name with its schema.
// What else is wrong with the statement is left to who reads it.
func (h *holidays) over(s *bind.Session, sel *ast.SelectStmt, q *plan.Query, args []family.Arg, by *grouping) (*ast.SelectStmt, string, error) {
	relation, err := family.Holidays.Read(family.Value{Arg: family.Arg(*h)})
	if err != nil {
		return nil, "", err
	}
	time := catalog.ModelFeature{}
	for _, c := range datasetColumns(q) {
		if c.Name == model.HolidayColumn {
			return nil, "", pgerr.New(pgerr.DuplicateColumn, "the training query has a column %q, which is what the option %q adds", c.Name, h.Name).At(h.Pos).
				WithHint("Give it another name in the query.")
		}
		for _, a := range args {
			if family.Find([]*family.Option{family.OrderBy}, a.Name) != nil && strings.EqualFold(c.Name, text(a)) && time.Name != c.Name {
				time = catalog.ModelFeature{Name: c.Name, Type: c.Type}
			}
		}
	}
	if time.Name == "" {
		return sel, "", nil
	}
	var keys []string
	if by != nil {
		keys = by.names
	}
	sel, name, err := bind.WithHolidays(s, sel, relation.(string), time, keys)
	if err != nil {
		return nil, "", pgerr.From(err).At(h.Pos)
	}
	return sel, name, nil
}

// text is the value of an option that is a word, or an array of one.
func text(a family.Arg) string {
	names, err := family.OrderBy.Read(family.Value{Arg: a})
	if list, ok := names.([]string); err == nil && ok && len(list) == 1 {
		return list[0]
	}
	return ""
}
