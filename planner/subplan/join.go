package subplan

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// tables is a tree of inner joins of tables.
type tables struct {
	top   plan.Node    // in the plan
	scans []*plan.Scan // its leaves, from the left
	bare  plan.Node    // with the columns alone that it reads itself
}

// shareJoins lets the inputs of aggregates that join the same tables in the same way fill one
// buffer, which has the columns that any of them reads:
//
//	SELECT k, sum(x) FROM t JOIN u ON … GROUP BY k HAVING sum(x) > (SELECT avg(x) FROM t JOIN u ON …)
//
// Joins that are joined again are left: a filter of the other side's keys may save most of their
// rows.
func shareJoins(r *rule.Run, n plan.Node) plan.Node {
	var list []*tables
	if aggregated(r, n, &list); len(list) < 2 {
		return n
	}
	by := map[string][]*tables{}
	var forms []string
	for _, t := range list {
		form, _, ok := Form(t.bare)
		if !ok {
			continue
		}
		if by[form] == nil {
			forms = append(forms, form)
		}
		by[form] = append(by[form], t)
	}
	readers := map[plan.Node]plan.Node{}
	for _, form := range forms {
		if len(by[form]) > 1 {
			shareTables(r, by[form], readers)
		}
	}
	if len(readers) == 0 {
		return n
	}
	var replace func(plan.Node) plan.Node
	replace = func(n plan.Node) plan.Node {
		if by, ok := readers[n]; ok {
			return by
		}
		return r.MapChildren(n, replace)
	}
	return replace(n)
}

// aggregated adds the joins within n that may be worth a buffer to list.
func aggregated(r *rule.Run, n plan.Node, list *[]*tables) {
	switch n := n.(type) {
	case *plan.RecursiveUnion:
		return
	case *plan.Aggregate:
		in := n.Input
		for {
			if t := (&tables{top: in}); t.strip() {
				if len(t.scans) > 1 && worth(r, in, joinShare) && !rewrite.PlanVolatile(in) {
					*list = append(*list, t)
				}
				return
			}
			p, ok := in.(*plan.Project)
			if !ok {
				break
			}
			in = p.Input
		}
	}
	for _, k := range n.Children() {
		aggregated(r, k, list)
	}
}

// strip makes bare and scans; ok is false if the tree has other nodes.
func (t *tables) strip() (ok bool) {
	t.bare, ok = t.without(t.top, plan.ColSet{})
	return ok
}

// without returns n with the columns need, and those that it reads itself.
func (t *tables) without(n plan.Node, need plan.ColSet) (plan.Node, bool) {
	if p, ok := n.(*plan.Project); ok {
		if !passes(p) {
			return nil, false
		}
		return t.without(p.Input, need)
	}
	need = rewrite.Union(need, rewrite.ColumnsOf(plan.Exprs(n)...))
	switch n := n.(type) {
	case *plan.Filter:
		in, ok := t.without(n.Input, need)
		if !ok {
			return nil, false
		}
		return n.WithChildren([]plan.Node{in}), true
	case *plan.Join:
		if n.Kind != plan.Inner {
			return nil, false
		}
		l, ok := t.without(n.L, need)
		if !ok {
			return nil, false
		}
		right, ok := t.without(n.R, need)
		if !ok {
			return nil, false
		}
		return n.WithChildren([]plan.Node{l, right}), true
	case *plan.Scan:
		t.scans = append(t.scans, n)
		return scanOf(n, func(c plan.Column) bool { return need[c.ID] }), n.RowID == 0 && !n.ReadsOwnRows()
	}
	return nil, false
}

// passes reports whether a Project only drops columns.
func passes(p *plan.Project) bool {
	return !slices.ContainsFunc(p.Items, func(it plan.Item) bool {
		c, ok := rewrite.AsColumn(it.Expr)
		return !ok || c.ID != it.Col.ID
	})
}

// scanOf returns a scan with some of its columns, in the table's order.
func scanOf(n *plan.Scan, keep func(plan.Column) bool) *plan.Scan {
	at := make([]int, 0, len(n.Cols))
	for i, c := range n.Cols {
		if keep(c) {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(i, j int) int { return int(n.Cols[i].Num) - int(n.Cols[j].Num) })
	out := *n
	out.Cols, out.Missing = nil, nil
	for _, i := range at {
		out.Cols = append(out.Cols, n.Cols[i])
		out.Missing = append(out.Missing, missing(n, i))
	}
	return &out
}

func missing(n *plan.Scan, i int) types.Datum {
	if n.Missing == nil {
		return nil
	}
	return n.Missing[i]
}

// shareTables makes a buffer of the columns that any of the list reads, and a reader of it for
// each; none where they read a column as different types.
func shareTables(r *rule.Run, list []*tables, readers map[plan.Node]plan.Node) {
	first := list[0]
	more := make([]*plan.Scan, len(first.scans)) // the first's, with the columns of all
	for i, s := range first.scans {
		more[i] = scanOf(s, func(plan.Column) bool { return true })
	}
	same := make([]map[expr.ColID]expr.ColID, len(list)) // the first's columns to those of each
	want := plan.Emits(first.top)
	for k, t := range list {
		same[k] = map[expr.ColID]expr.ColID{}
		emits := plan.Emits(t.top)
		for i, s := range t.scans {
			for at, c := range s.Cols {
				to := more[i]
				j := slices.IndexFunc(to.Cols, func(x plan.Column) bool { return x.Num == c.Num })
				if j < 0 {
					j = len(to.Cols)
					x := c
					x.ID = r.NewCol(c.Name, c.Type).ID
					to.Cols = append(to.Cols, x)
					to.Missing = append(to.Missing, missing(s, at))
				}
				if to.Cols[j].Type != c.Type {
					return
				}
				same[k][to.Cols[j].ID] = c.ID
				if emits[c.ID] {
					want[to.Cols[j].ID] = true
				}
			}
		}
	}
	w := &widener{scans: more, want: want}
	def := define(r, w.with(first.top))
	for k, t := range list {
		cols := make([]plan.Column, len(def.Cols))
		for i, c := range def.Cols {
			id, ok := same[k][c.ID]
			if !ok {
				id = r.NewCol(c.Name, c.Type).ID
			}
			c.ID = id
			cols[i] = c
		}
		readers[t.top] = reader(r, def, cols)
	}
}

// widener puts scans in the place of a tree's, from the left, and lets want through its Projects.
type widener struct {
	scans []*plan.Scan
	want  plan.ColSet
}

func (w *widener) with(n plan.Node) plan.Node {
	if _, ok := n.(*plan.Scan); ok {
		s := w.scans[0]
		w.scans = w.scans[1:]
		return s
	}
	out := plan.MapChildren(n, w.with)
	p, ok := out.(*plan.Project)
	if !ok {
		return out
	}
	m := *p
	m.Items = slices.Clone(p.Items)
	has := plan.Emits(p)
	for _, c := range p.Input.Schema() {
		if w.want[c.ID] && !has[c.ID] {
			m.Items = append(m.Items, rewrite.PassItems([]plan.Column{c})...)
		}
	}
	return &m
}
