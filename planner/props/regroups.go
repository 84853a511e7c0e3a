package props

import (
	"slices"

	"github.com/tributarydb/tributary/planner/plan"
)

// regroupFactor is how many parts the groups have at least, on average, for the other aggregates not to be
// computed for each of these: then rows find their groups twice, but once among few.
const regroupFactor = 8

// Regroups reports whether inner, which groups by the argument of n's DISTINCT aggregates too, is to compute
// the others by n's groups alone (plan.Aggregate.Regrouped).
func Regroups(e *Estimator, n, inner *plan.Aggregate) bool {
	return len(inner.Aggs) > 0 && !slices.ContainsFunc(n.Aggs, readsNulls) && regroupFactor*e.Of(n).Rows <= e.Of(inner).Rows
}

// readsNulls reports whether an aggregate of DISTINCT values depends on whether NULL is among them.
func readsNulls(a plan.AggItem) bool {
	if !a.Call.Distinct {
		return false
	}
	switch a.Call.Fn.Name {
	case "count", "sum", "avg", "min", "max":
		return false
	}
	return true
}
