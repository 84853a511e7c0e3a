package coord

import (
	"context"

	"github.com/tributarydb/tributary/cluster/txn"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// queryView is a query over a statement's view of the catalog.
type queryView struct {
	st *catalog.State
	b  *planner.Bound
	// unconfirmed is true if st is the last state that this node knows, which may be outdated.
	unconfirmed bool
}

// bindView binds a query over a statement's view. Where no majority confirms the newest
// committed state, a query that reads no table runs on the last state this node knows;
// other queries fail.
func (c *dispatcher) bindView(ctx context.Context, t *txn.Txn, bound func(*catalog.State) (*planner.Bound, error)) (queryView, error) {
	m := c.cfg.Meta
	known := func() (queryView, bool) {
		st := m.Current()
		if t.Begun() {
			var err error
			if st, err = t.State(); err != nil {
				return queryView{}, false
			}
		}
		b, err := bound(st)
		return queryView{st, b, true}, err == nil && readsNoTable(b.Query)
	}
	if m.Leaderless() {
		if v, ok := known(); ok {
			return v, nil
		}
	}
	st, err := t.Begin(ctx, m)
	if pgerr.CodeOf(err) == pgerr.CannotConnectNow && ctx.Err() == nil {
		if v, ok := known(); ok {
			return v, nil
		}
	}
	if err != nil {
		return queryView{}, err
	}
	b, err := bound(st)
	return queryView{st, b, false}, err
}

// readsNoTable reports whether a query reads no table, only constants, functions
// and what the catalog says.
func readsNoTable(q *plan.Query) bool {
	for _, b := range q.Buffers {
		if b.DML != nil {
			return false
		}
	}
	return len(q.Tables) == 0 && len(q.Locks) == 0
}

// readsCatalog reports whether a query shows the catalog or the nodes' state.
func readsCatalog(q *plan.Query) bool {
	found := false
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if _, ok := n.(*plan.Virtual); ok {
			found = true
		}
		for _, e := range plan.Exprs(n) {
			expr.Walk(e, func(x expr.Expr) bool {
				if s, ok := x.(*expr.Subquery); ok {
					if p, ok := s.Plan.(plan.Node); ok {
						walk(p)
					}
				}
				return !found
			})
		}
		for _, k := range n.Children() {
			if !found {
				walk(k)
			}
		}
	}
	walk(q.Root)
	for _, b := range q.Buffers {
		walk(b.Root)
	}
	return found
}

// warnUnconfirmed sends a warning where a query's result may be stale.
func (c *dispatcher) warnUnconfirmed(q *plan.Query) {
	if readsCatalog(q) {
		c.s.Notice(pgerr.New(pgerr.Warning, "the state of the cluster is not confirmed: this node reaches no leader").WithSeverity(pgerr.SevWarning).
			WithDetail("The rows are as this node knew them last."))
	}
}
