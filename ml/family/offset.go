package family

import (
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// Offset names a column that blocks keep as it is: see PlanOffset.
var Offset = &Option{Names: []string{"offset", "offset_column", "base_margin", "init_score"}, Type: "column", Default: "none",
	Doc:  "A number column that is added to the margin as it is, such as the logarithm of an exposure. It is not a feature, but predictions need it too; NULL counts as its mean.",
	Read: ColumnName}

// PlanOffset plans the column of the option Offset, if the statement gives it.
func PlanOffset(r *Request, p *Plan) error {
	name := r.Options.Text("offset", "")
	if name == "" {
		return nil
	}
	for _, c := range r.Columns {
		switch {
		case !strings.EqualFold(c.Name, name):
		case !c.Type.IsNumber():
			return pgerr.New(pgerr.DatatypeMismatch, "offset column %q must be of a numeric type", c.Name).OnColumn(c.Name)
		default:
			p.Plain = []string{c.Name}
		}
	}
	if p.Plain == nil {
		return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist in the training query, or is no feature", name).At(r.Options.Pos("offset"))
	}
	return nil
}

// Offset returns the dense column of offsets, -1 for none.
func (s *Setup) Offset() int {
	if len(s.Plan.Plain) > 0 {
		for j, slot := range s.Fitted.Slots()[:s.Fitted.Dense] {
			if slot.Column == s.Plan.Plain[0] {
				return j
			}
		}
	}
	return -1
}
