package worker

import (
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
// session's, whether it writes, and whether it has stages for all nodes.
func look(p *plan.Staged) (bound, writes, spread bool) {
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
				if c, ok := x.(*expr.Call); ok {
					bound = bound || needsSession(c.Fn)
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
