package worker

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// anywhere lists the volatile functions that do not depend on the session.
var anywhere = map[string]bool{"random": true, "gen_random_uuid": true, "clock_timestamp": true, "timeofday": true}

// needsSession reports whether a function reads or changes state that only the
// session's node has: sequences, locks, settings.
func needsSession(f *fn.Func) bool {
	return f != nil && (f.Vol == fn.Volatile && !anywhere[f.Name] || f.Name == "current_setting")
}

// inspect reports whether stages of a plan that would run on all nodes must run on the
// session's node, whether the plan writes, and whether it has stages for all nodes.
// known is the part of the catalog that all nodes know.
func inspect(p *plan.Staged, known common) (bound, writes, spread bool) {
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
					bound = bound || !known.model(x.Ref)
				}
				bound = bound || !known.typ(x.Type())
				return true
			})
		}
		for _, c := range n.Schema() {
			bound = bound || !known.typ(c.Type)
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
			bound = was // it runs there already
		}
		spread = spread || s.Where == plan.OnAll
	}
	return bound, writes, spread
}

// common tells which part of a statement's catalog all nodes know. What its transaction
// has created or changed is known only to the session, until it commits.
type common struct{ own, all *catalog.State }

// common returns the statement's catalog along with the one without its transaction.
func (s *Statement) common() common {
	all, err := s.g.w.cfg.State(context.Background(), 0) // the current state: nothing to wait for
	if err != nil {
		all = catalog.New()
	}
	return common{s.st, all}
}

func (c common) model(ref expr.ModelRef) bool {
	if m := c.all.ModelByOID(ref.OID); m != nil {
		v := m.Find(ref.Number)
		return v != nil && v.SHA256 == ref.SHA256
	}
	return false
}

// typ returns false for an enum whose labels differ on other nodes: there its values
// would be compared by other positions, or have none.
func (c common) typ(t types.Type) bool {
	if c.own.Definitions() == c.all.Definitions() {
		return true
	}
	if e, ok := t.Elem(); ok {
		t = e
	}
	own := c.own.EnumByOID(t.OID)
	if own == nil {
		return true
	}
	all := c.all.EnumByOID(t.OID)
	return all != nil && slices.Equal(own.Labels, all.Labels)
}
