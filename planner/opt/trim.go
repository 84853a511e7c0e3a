package opt

import (
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// ruleTrim adds a Project above or below a join that drops columns which nothing above reads: keys that only
// the join needed, and columns that only a filter read. The executor then gathers only the columns of the
// Project.
func ruleTrim(r *rule.Run, n plan.Node, want plan.ColSet) (plan.Node, error) {
	t := &trimmer{r: r, sent: r.Env.Nodes > 1}
	return t.trim(n, want, false), nil
}

// trimmer knows whether the left side of a join may be sent to other nodes. On one node its rows are
// streamed, and superfluous columns cost nothing.
type trimmer struct {
	r    *rule.Run
	sent bool
}

// trim rewrites n, of whose columns those in need are read. With drop, other columns would cost something and
// are removed.
func (t *trimmer) trim(n plan.Node, need plan.ColSet, drop bool) plan.Node {
	t.r.Poll()
	used := rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...))
	var out plan.Node
	switch n := n.(type) {
	case *plan.Join:
		l := t.trim(n.L, both(used, plan.Emits(n.L)), t.sent)
		rr := t.trim(n.R, both(used, plan.Emits(n.R)), true)
		out = n
		if l != n.L || rr != n.R {
			out = n.WithChildren([]plan.Node{l, rr})
		}
		drop = true
	case *plan.Project:
		in := rewrite.ColumnsOf(plan.Exprs(n)...)
		m := t.trim(n.Input, in, false)
		// A Project that only passes on, over a join, is just what trim adds.
		return rule.With1(n, m)
	case *plan.SetOp, *plan.RecursiveUnion, *plan.TableWrite:
		return t.r.MapChildren(n, func(k plan.Node) plan.Node { return t.trim(k, plan.Emits(k), false) })
	case *plan.Aggregate:
		return rule.With1(n, t.trim(n.Input, rewrite.ColumnsOf(plan.Exprs(n)...), t.sent))
	case *plan.Sort:
		out = rule.With1(n, t.trim(n.Input, used, true))
	default:
		kids := n.Children()
		if len(kids) == 1 {
			out = rule.With1(n, t.trim(kids[0], used, drop))
		} else {
			out = t.r.MapChildren(n, func(k plan.Node) plan.Node { return t.trim(k, plan.Emits(k), false) })
		}
	}
	if !drop {
		return out
	}
	if _, isJoin := out.(*plan.Join); !isJoin {
		switch out.(type) {
		case *plan.Scan, *plan.Filter:
		default:
			return out
		}
	}
	s := out.Schema()
	var keep []plan.Column
	for _, c := range s {
		if need[c.ID] {
			keep = append(keep, c)
		}
	}
	if len(keep) == len(s) {
		return out
	}
	return &plan.Project{Input: out, Items: rewrite.PassItems(keep)}
}

// ruleRows records the estimates in the nodes that have a field for them: stage chooses exchanges
// by them and EXPLAIN prints them.
func ruleRows(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	est := r.Estimates()
	var walk func(plan.Node) plan.Node
	walk = func(n plan.Node) plan.Node {
		rows := est.Of(n).Rows
		base := rows
		if s, ok := n.(*plan.Scan); ok {
			base = props.Scan(s, r.Env.Stats).Rows
		}
		n = r.MapChildren(n, walk)
		switch n := n.(type) {
		case *plan.Scan:
			c := *n
			c.Rows = base
			return &c
		case *plan.Join:
			c := *n
			c.Rows = rows
			return &c
		case *plan.Aggregate:
			c := *n
			c.Rows = rows
			return &c
		case *plan.Buffer:
			c := *n
			c.Rows = rows
			return &c
		}
		return n
	}
	return walk(n), nil
}

// ruleStepBuffers replaces tables in the step of a recursive union by buffers when there are
// several nodes: the step runs each round, at the gateway, and an exchange can only be read once.
// What the step reads besides its own rows is brought to the gateway before.
func ruleStepBuffers(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	if r.Env.Nodes <= 1 || r.InStep {
		return n, nil
	}
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		u, ok := n.(*plan.RecursiveUnion)
		if !ok {
			return n
		}
		step := bufferTables(r, u.Step, u.ID)
		if step == u.Step {
			return n
		}
		c := *u
		c.Step = step
		return &c
	}), nil
}

// bufferTables replaces the largest subtrees of n that read tables and not the
// buffer id.
func bufferTables(r *rule.Run, n plan.Node, id int) plan.Node {
	if !readsTables(n) {
		return n
	}
	if rule.ReadsBuffer(n, id) {
		return r.MapChildren(n, func(k plan.Node) plan.Node { return bufferTables(r, k, id) })
	}
	buf := r.NextBuf
	r.NextBuf++
	cols := n.Schema()
	r.Buffers = append(r.Buffers, plan.BufferDef{ID: buf, Name: "step", Root: n, Cols: cols})
	return &plan.Buffer{ID: buf, Name: "step", Cols: cols, Rows: r.Estimates().Of(n).Rows}
}

func readsTables(n plan.Node) bool {
	switch n.(type) {
	case *plan.Scan, *plan.Source:
		return true
	}
	for _, k := range n.Children() {
		if readsTables(k) {
			return true
		}
	}
	return false
}

// ruleStepSides puts the side of a join that is the same in each round of a recursive union on the right, where its
// table is built once and kept (join.Kept), whichever side is smaller:
//
//	WITH RECURSIVE … e JOIN d ON d.day = e.day + 1    365 rounds of 18 rows, beside the 6,588 of d
//
// Not if it reads tables: a round of few rows finds theirs by an index, or passes its keys to the scan.
func ruleStepSides(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		u, ok := n.(*plan.RecursiveUnion)
		if !ok {
			return n
		}
		step := r.BottomUp(u.Step, func(n plan.Node) plan.Node {
			j, ok := n.(*plan.Join)
			if !ok || j.Kind != plan.Inner || len(j.LKeys) == 0 || readsTables(j.L) || rule.ReadsBuffer(j.L, u.ID) ||
				!rule.ReadsBuffer(j.R, u.ID) || r.Estimates().Of(j.L).Rows > mostKept {
				return n
			}
			return commuted(j, plan.Inner)
		})
		if step == u.Step {
			return n
		}
		c := *u
		c.Step = step
		return &c
	}), nil
}

// mostKept is how many rows the side has at most: a table that memory does not hold is not kept.
const mostKept = 1 << 22
