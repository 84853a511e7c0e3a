package props

import (
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// Groups that have few rows, or few different values, keep those of their DISTINCT counts themselves (exec/agg), which
// takes one pass over the rows and no further groups.
const (
	fewRows   = 256     // a group
	fewTexts  = 1 << 16 // different texts: they are numbered
	fewValues = 1 << 22 // of all groups together
)

// KeptDistinct reports whether the aggregates of DISTINCT are counts of values that groups keep, and do not have too many of.
func (e *Estimator) KeptDistinct(n *plan.Aggregate) bool {
	if len(n.Groups) == 0 {
		return false
	}
	in, groups := e.Of(n.Input), e.Of(n).Rows
	values := 0.0
	for _, a := range n.Aggs {
		if !a.Call.Distinct {
			continue
		}
		if a.Call.Fn.Name != "count" {
			return false
		}
		ndv := in.Ndv(a.Call.Args[0])
		if ndv <= 0 {
			ndv = in.Rows
		}
		values = max(values, ndv*groups)
		switch t := a.Call.Args[0].Type(); {
		case t.OID == types.TextOID || t.OID == types.VarcharOID:
			if ndv > fewTexts {
				return false
			}
		case t.IsInteger() || t.IsFixed() || t.OID == types.DateOID || t.OID == types.TimestampOID || t.OID == types.TimestamptzOID:
		default:
			return false
		}
	}
	return in.Rows > 0 && (in.Rows <= fewRows*groups || values <= fewValues)
}
