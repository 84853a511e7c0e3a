package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

const (
	// onceShare is how many rows a grouping must read for each row of its result to be worth a buffer
	// where another is the same.
	onceShare = 4
	// onceSpread is the most rows of such a buffer where several nodes would make
	// them side by side: all of a buffer's rows are at the gateway.
	onceSpread = 20000
)

// computeOnce lets groupings that read many rows and are the same, but for the ids of
// their columns, fill one buffer:
//
//	SELECT … FROM (SELECT k, sum(x) s FROM t GROUP BY k) a,
//	              (SELECT avg(s) v FROM (SELECT k, sum(x) s FROM t GROUP BY k) b) c
//
// It works on an optimised plan, in which groupings that are used differently have different forms.
func computeOnce(r *rule.Run, n plan.Node) plan.Node {
	s := &onlyOnce{r: r, keys: map[*plan.Aggregate]string{}, times: map[string]int{}, defs: map[string]plan.BufferDef{}}
	var list []*plan.Aggregate
	if s.candidates(n, &list); len(list) < 2 {
		return n
	}
	for _, a := range list {
		if key, _, ok := formOf(a); ok {
			s.keys[a] = key
			s.times[key]++
		}
	}
	return s.replace(n)
}

type onlyOnce struct {
	r     *rule.Run
	keys  map[*plan.Aggregate]string // the forms of candidates
	times map[string]int             // how often there is one of a form
	defs  map[string]plan.BufferDef
}

// candidates adds the groupings that may be worth a buffer to list. The step of a recursion runs
// repeatedly, over other rows.
func (s *onlyOnce) candidates(n plan.Node, list *[]*plan.Aggregate) {
	switch n := n.(type) {
	case *plan.RecursiveUnion:
		return
	case *plan.Aggregate:
		est := s.r.Estimates()
		reads, rows := work(n, est), est.Of(n).Rows
		if len(n.Groups) > 0 && reads >= reduceRows && reads >= onceShare*rows && (s.r.Env.Nodes <= 1 || rows <= onceSpread) && !rewrite.PlanVolatile(n) {
			*list = append(*list, n)
		}
	}
	for _, k := range n.Children() {
		s.candidates(k, list)
	}
}

// formOf returns a string that is the same for plans that differ in the ids of their columns only, and those ids.
func formOf(n plan.Node) (form string, ids map[expr.ColID]expr.ColID, ok bool) {
	next := expr.ColID(1 << 29)
	env := rule.Env{NextCol: &next}
	same, ids := rule.NewRun(&env, 1<<20).Rename(n)
	id, ok := (&plan.Query{Root: same}).Identity(func(*plan.Source) bool { return false })
	return string(id.Plan), ids, ok
}

func (s *onlyOnce) replace(n plan.Node) plan.Node {
	a, ok := n.(*plan.Aggregate)
	if !ok || s.times[s.keys[a]] < 2 {
		return s.r.MapChildren(n, s.replace)
	}
	key := s.keys[a]
	def, ok := s.defs[key]
	if !ok {
		def = plan.BufferDef{ID: s.r.NextBuf, Name: "shared", Root: n, Cols: n.Schema()}
		s.r.NextBuf++
		s.defs[key] = def
		s.r.Buffers = append(s.r.Buffers, def)
	}
	return &plan.Buffer{ID: def.ID, Name: def.Name, Cols: n.Schema(), Rows: s.r.Estimates().Of(n).Rows}
}
