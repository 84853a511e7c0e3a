package worker

import (
	"context"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
)

// anywhere are the volatile functions that need nothing of the session.
var anywhere = map[string]bool{"random": true, "gen_random_uuid": true, "clock_timestamp": true, "timeofday": true}

// needsSession tells whether a function asks or changes what only the
// session's node has: sequences, locks, settings.
func needsSession(f *fn.Func) bool {
	return f != nil && (f.Vol == fn.Volatile && !anywhere[f.Name] || f.Name == "current_setting")
}

// look tells of a plan whether its stages for all nodes are bound to the
// session's, whether it writes, and whether it has stages for all nodes. known tells
// whether all nodes have a model: one of an open transaction is the session's alone.
func look(p *plan.Staged, known func(expr.ModelRef) bool) (bound, writes, spread bool) {
	var walk func(n plan.Node)
	calls := func(list []plan.SetCall) {
		for _, c := range list {
			bound = bound || needsSession(c.Fn)
		}
	}
	walk = func(n plan.Node) {
		switch n := n.(type) {
		case *plan.TableWrite, *plan.Collect:
			writes = true
		case *plan.FuncScan:
			calls(n.Calls)
		case *plan.ProjectSet:
			calls(n.Calls)
		}
		for _, e := range plan.Exprs(n) {
			expr.Walk(e, func(x expr.Expr) bool {
				switch x := x.(type) {
				case *expr.Call:
					bound = bound || needsSession(x.Fn)
				case *expr.Predict:
					bound = bound || !known(x.Ref)
				}
				return true
			})
		}
		for _, k := range n.Children() {
			walk(k)
		}
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		was := bound
		walk(s.Root)
		if s.Where == plan.OnGateway {
			bound = was // it is there already
		}
		spread = spread || s.Where == plan.OnAll
	}
	return bound, writes, spread
}

// known tells whether a model is there without the statement's transaction.
func (s *Statement) known(ref expr.ModelRef) bool {
	st, err := s.g.w.cfg.State(context.Background(), 0) // as it is: nothing to wait for
	if err != nil {
		return false
	}
	m := st.ModelByOID(ref.OID)
	if m == nil {
		return false
	}
	v := m.Find(ref.Number)
	return v != nil && v.SHA256 == ref.SHA256
}
