package subplan

import (
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// groupings is of those that are the same but for the ids of their columns.
type groupings struct {
	r     *rule.Run
	forms map[*plan.Aggregate]string // of candidates
	times map[string]int             // how often there is one of a form
	defs  map[string]plan.BufferDef
}

func shareGroupings(r *rule.Run, n plan.Node) plan.Node {
	s := &groupings{r: r, forms: map[*plan.Aggregate]string{}, times: map[string]int{}, defs: map[string]plan.BufferDef{}}
	var list []*plan.Aggregate
	if s.candidates(n, &list); len(list) < 2 {
		return n
	}
	for _, a := range list {
		if form, _, ok := Form(a); ok {
			s.forms[a] = form
		}
	}
	s.count(n)
	return s.replace(n)
}

// count counts the forms of what will be there: below a grouping that is read from a buffer there is
// nothing.
func (s *groupings) count(n plan.Node) {
	if a, ok := n.(*plan.Aggregate); ok && s.forms[a] != "" {
		if s.times[s.forms[a]]++; s.times[s.forms[a]] > 1 {
			return
		}
	}
	for _, k := range n.Children() {
		s.count(k)
	}
}

// candidates adds the groupings that may be worth a buffer to list. The step of a recursion runs
// repeatedly, over other rows.
func (s *groupings) candidates(n plan.Node, list *[]*plan.Aggregate) {
	switch n := n.(type) {
	case *plan.RecursiveUnion:
		return
	case *plan.Aggregate:
		if len(n.Groups) > 0 && worth(s.r, n, groupingShare) && !rewrite.PlanVolatile(n) {
			*list = append(*list, n)
		}
	}
	for _, k := range n.Children() {
		s.candidates(k, list)
	}
}

func (s *groupings) replace(n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || s.times[s.forms[a]] < 2 {
		return s.r.MapChildren(n, s.replace)
	}
	form := s.forms[a]
	def, ok := s.defs[form]
	if !ok {
		def = define(s.r, s.r.MapChildren(n, s.replace))
		s.defs[form] = def
	}
	return reader(s.r, def, n.Schema())
}
