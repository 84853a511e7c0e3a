package subplan

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rule"
)

const (
	// leastReads is how many rows a subplan must read to be worth a buffer.
	leastReads = 50000
	// groupingShare and joinShare are how many it must read for each row of its result.
	groupingShare = 4
	joinShare     = 8
	// mostSpread is the most rows of such a buffer where several nodes would make
	// them side by side: all of a buffer's rows are at the gateway.
	mostSpread = 20000
)

// Share lets subplans that read many rows and are the same fill one buffer, which it adds to the
// run's:
//
//	SELECT … FROM (SELECT k, sum(x) s FROM t GROUP BY k) a,
//	              (SELECT avg(s) v FROM (SELECT k, sum(x) s FROM t GROUP BY k) b) c
//
// It works on an optimised plan, in which what is used differently has different forms.
func Share(r *rule.Run, n plan.Node) plan.Node {
	return shareJoins(r, shareGroupings(r, n))
}

// worth reports whether to keep n's rows costs less than to make them again.
func worth(r *rule.Run, n plan.Node, share float64) bool {
	est := r.Estimates()
	reads, rows := est.Reads(n), est.Of(n).Rows
	return reads >= leastReads && reads >= share*rows && (r.Env.Nodes <= 1 || rows <= mostSpread)
}

// Form returns a string that is the same for plans that differ in the ids of their columns only, and
// those ids. ok is false if rows depend on more than the plan and its tables.
func Form(n plan.Node) (form string, ids map[expr.ColID]expr.ColID, ok bool) {
	next := expr.ColID(1 << 29)
	env := rule.Env{NextCol: &next}
	same, ids := rule.NewRun(&env, 1<<20).Rename(n)
	id, ok := (&plan.Query{Root: same}).Identity(func(*plan.Source) bool { return false })
	return string(id.Plan), ids, ok
}

// define adds a buffer of n's rows.
func define(r *rule.Run, n plan.Node) plan.BufferDef {
	def := plan.BufferDef{ID: r.NextBuf, Name: "shared", Root: n, Cols: n.Schema()}
	r.NextBuf++
	r.Buffers = append(r.Buffers, def)
	return def
}

// reader reads a buffer under its own columns, one for each of the buffer's.
func reader(r *rule.Run, def plan.BufferDef, cols []plan.Column) plan.Node {
	return &plan.Buffer{ID: def.ID, Name: def.Name, Cols: cols, Rows: r.Estimates().Of(def.Root).Rows}
}
