package props

import (
	"sort"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// forget forgets what holds of a table's rows before they are joined or grouped.
func (r *Relation) forget() *Relation {
	for id, c := range r.cols {
		if c.kept != nil {
			c.kept = nil
			r.cols[id] = c
		}
	}
	return r
}

// compares reports whether the kept values compare with a constant.
func (c Column) compares(k *expr.Const) bool {
	return c.kept != nil && (k.Typ.OID == c.typ.OID || isString(k.Val) && isString(c.min))
}

// share is the share of rows that have a value, by the commonest values that are kept.
func (c Column) share(k *expr.Const) (float64, bool) {
	if !c.compares(k) || len(c.kept.Common) == 0 {
		return 0, false
	}
	rest := 1 - c.null
	for i, v := range c.kept.Common {
		if types.Equal(c.typ, v, k.Val) {
			return c.kept.Freqs[i], true
		}
		rest -= c.kept.Freqs[i]
	}
	// Rows may have come since, so that none is left for the others; they are no commoner than the last.
	others := max(c.ndv-float64(len(c.kept.Common)), 1)
	return clamp(min(max(rest/others, 1e-9), c.kept.Freqs[len(c.kept.Freqs)-1])), true
}

// below is the share of the values below a constant, which is v as a number, by the histogram that is kept;
// false for a value outside it, where rows may have come since.
func (c Column) below(k *expr.Const, v float64) (float64, bool) {
	if !c.compares(k) || len(c.kept.Bounds) < 2 {
		return 0, false
	}
	b := c.kept.Bounds
	i := sort.Search(len(b), func(i int) bool { return types.Compare(c.typ, b[i], k.Val) >= 0 })
	if i == 0 || i == len(b) {
		return 0, false
	}
	within := 0.5
	lo, ok1 := scalar(b[i-1])
	hi, ok2 := scalar(b[i])
	if ok1 && ok2 && hi > lo {
		within = clamp((v - lo) / (hi - lo))
	}
	notNull := max(1-c.null, 1e-9)
	low, rest := 0.0, 1.0
	for j, f := range c.kept.Freqs {
		f /= notNull
		if rest -= f; types.Compare(c.typ, c.kept.Common[j], k.Val) < 0 {
			low += f
		}
	}
	return clamp(low + max(rest, 0)*(float64(i-1)+within)/float64(len(b)-1)), true
}
