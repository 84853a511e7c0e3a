package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// ruleJoinKeys makes joins what the executor runs: equalities of one side's
// expression with the other's become hash keys, the rest the residual, and the
// smaller side goes to the right, where the hash table is built.
//
// NOT IN whose sides cannot be NULL is a plain anti-join. The mark of x IN (S)
// has its one key; with further conditions the equality, which may be NULL,
// goes to the residual unless it cannot be.
func ruleJoinKeys(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		j, ok := n.(*plan.Join)
		if !ok {
			return n
		}
		return commuteJoin(r, joinKeys(r, j))
	}), nil
}

func joinKeys(r *rule.Run, n *plan.Join) *plan.Join {
	j := *n
	j.On, j.LKeys, j.RKeys, j.NullSafe, j.Residual = nil, nil, nil, nil, nil
	l, rr := plan.Emits(n.L), plan.Emits(n.R)
	on := rewrite.SplitAll(n.On)
	var solid plan.ColSet // columns that are never NULL, computed on demand
	never := func(e expr.Expr) bool {
		if solid == nil {
			solid = rewrite.Union(props.NotNull(n.L, r.Env.Stats), props.NotNull(n.R, r.Env.Stats))
		}
		return props.NeverNull(e, solid)
	}
	for _, c := range on {
		a, b, safe, ok := keyPair(c, l, rr)
		if ok && n.Kind == plan.Mark && !safe && len(on) > 1 {
			// Only conditions that are never NULL may select the candidates of a mark.
			if t, wrapped := c.(*expr.BoolTest); !(wrapped && t.Kind == expr.IsTrue) && !(never(a) && never(b)) {
				ok = false
			}
		}
		if !ok {
			j.Residual = append(j.Residual, c)
			continue
		}
		j.LKeys = append(j.LKeys, a)
		j.RKeys = append(j.RKeys, b)
		j.NullSafe = append(j.NullSafe, safe)
	}
	if j.Kind == plan.AntiNull {
		switch {
		case len(j.LKeys) != 1 || len(j.Residual) > 0:
			// Types without a common hash: compare row by row.
			j.Kind = plan.Anti
			j.LKeys, j.RKeys, j.NullSafe = nil, nil, nil
			j.Residual = rule.NotFalse(on)
		case never(j.LKeys[0]) && never(j.RKeys[0]):
			j.Kind = plan.Anti
		}
	}
	return &j
}

// keyPair finds an equality of the two sides.
func keyPair(c expr.Expr, l, r plan.ColSet) (a, b expr.Expr, nullSafe, ok bool) {
	if t, isTest := c.(*expr.BoolTest); isTest && t.Kind == expr.IsTrue && !t.Not {
		c = t.Arg
	}
	a, b, ok = rewrite.Equality(c)
	if d, isD := c.(*expr.Distinct); isD && d.Not {
		a, b, ok, nullSafe = d.L, d.R, true, true
	}
	if !ok || rewrite.IsVolatile(c) {
		return nil, nil, false, false
	}
	ca, cb := rewrite.ColumnsOf(a), rewrite.ColumnsOf(b)
	if len(ca) == 0 || len(cb) == 0 {
		return nil, nil, false, false
	}
	switch {
	case rewrite.Subset(ca, l) && rewrite.Subset(cb, r):
	case rewrite.Subset(ca, r) && rewrite.Subset(cb, l):
		a, b = b, a
	default:
		return nil, nil, false, false
	}
	a, b, ok = toCommonPhysical(a, b)
	return a, b, nullSafe, ok
}

// toCommonPhysical casts two keys to one physical representation, in which equal values have equal hashes.
func toCommonPhysical(a, b expr.Expr) (expr.Expr, expr.Expr, bool) {
	ta, tb := a.Type(), b.Type()
	if ta.SamePhysical(tb) {
		return a, b, true
	}
	to := func(t types.Type) (expr.Expr, expr.Expr, bool) {
		return rewrite.CastTo(a, t), rewrite.CastTo(b, t), true
	}
	switch {
	case ta.Class() == types.ClassNumeric && tb.Class() == types.ClassNumeric:
		return to(types.Numeric)
	case ta.IsInteger() && tb.IsInteger():
		return to(types.Int8)
	case ta.IsFloat() && tb.IsFloat():
		return to(types.Float8)
	case isText(ta) && isText(tb):
		return a, b, true
	case ta.IsArray() && tb.IsArray(), ta.OID == types.RecordOID, ta.OID == tb.OID:
		return a, b, ta.OID == tb.OID
	}
	return nil, nil, false
}

// isText reports whether t is one of the types whose equality is that of their bytes.
func isText(t types.Type) bool {
	return t.OID == types.TextOID || t.OID == types.VarcharOID || t.OID == types.NameOID
}

// commuteJoin puts the smaller side on the right, or the side whose runtime filter saves a large scan many
// rows.
func commuteJoin(r *rule.Run, j *plan.Join) plan.Node {
	if len(j.LKeys) == 0 && j.Kind != plan.Inner {
		return j
	}
	if j.Kind == plan.Inner {
		if savesRows(r, j) {
			return j
		}
		if c := commuted(j, plan.Inner); savesRows(r, c) {
			return c
		}
	}
	est := r.Estimates()
	l, rr := est.Of(j.L).Rows, est.Of(j.R).Rows
	var kind plan.JoinKind
	switch {
	case j.Kind == plan.Inner && l < rr:
		kind = plan.Inner
	case j.Kind == plan.Full && l < rr:
		kind = plan.Full
	case j.Kind == plan.Left && 2*l < rr:
		kind = plan.Right
	case j.Kind == plan.Semi && 2*l < rr:
		kind = plan.RightSemi
	case j.Kind == plan.Anti && 2*l < rr:
		kind = plan.RightAnti
	default:
		return j
	}
	return commuted(j, kind)
}

// commuted returns a join with its sides swapped.
func commuted(j *plan.Join, kind plan.JoinKind) *plan.Join {
	c := *j
	c.Kind = kind
	c.L, c.R = j.R, j.L
	c.LKeys, c.RKeys = j.RKeys, j.LKeys
	return &c
}

const (
	// sparedRows and sparedWork limit when a side stays on the right for the runtime filter of a scan: the
	// scan must have at least sparedRows rows for each row of the right side, and sparedWork for each row
	// that the right side reads.
	sparedRows = 2048
	sparedWork = 8
	// sparedShare is the greatest share of the key's values that the right side may have. Filtering each sale
	// by a sixth of all addresses cost more than it saved (TPC-DS 48); a range without known bounds is
	// estimated to leave a ninth.
	sparedShare = 0.125
)

// savesRows reports whether the right side of a join has few of the keys of a large scan on the left. The
// right side must be small by what it reads, not by what joins are estimated to leave of it. For example, if
// few items, and so few sales, remain, the days of a quarter should still be read first, since they filter
// the scan of sales, even if there are more days than remaining sales. Groupings on the left were reduced
// where it pays (ruleReduce).
func savesRows(r *rule.Run, j *plan.Join) bool {
	if aggregateIn(j.L) != nil {
		return false
	}
	est := r.Estimates()
	right := est.Of(j.R)
	read := -1.0
	for i, k := range j.RKeys {
		found := false
		props.SparedScans(j, i, func(s *plan.Scan, _ int, _ bool) {
			all := props.Scan(s, est.St)
			if found || right.Rows*sparedRows > all.Rows || right.Left(k) > sparedShare {
				return
			}
			if read < 0 {
				read = est.Reads(j.R)
			}
			found = read*sparedWork <= all.Rows
		})
		if found {
			return true
		}
	}
	return false
}
