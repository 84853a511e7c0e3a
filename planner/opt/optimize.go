package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/subplan"
	"github.com/tributarydb/tributary/sql/types"
)

// Optimize rewrites a query. q is not changed.
func Optimize(q *plan.Query, env *rule.Env) (_ *plan.Query, err error) {
	defer rule.CatchStop(&err)
	out := *q
	next := q.NextCol
	e := withNext(env, &next)
	var maxBuf int
	for _, b := range q.Buffers {
		maxBuf = max(maxBuf, b.ID+1)
	}
	r := rule.NewRun(e, max(maxBuf, highestBuffer(q.Root)+1))
	read := newDemands(q.Buffers)
	out.Buffers, err = fillBuffers(r, q.Buffers, func() (*demands, error) {
		var err error
		if out.Root, err = runPhases(r, q.Root, ids(q.Cols)); err == nil {
			want := plan.ColSet{}
			for _, c := range q.Cols {
				want[c.ID] = true
			}
			out.Root = subplan.Share(r, out.Root)
			read.root(out.Root, want)
		}
		return read, err
	})
	if err != nil {
		return nil, err
	}
	out.Root = read.reads(r, out.Root)
	out.Cols = retyped(q.Cols, out.Root)
	out.NextCol = next
	return &out, nil
}

// DML rewrites a data-modifying statement.
func DML(d *plan.DML, env *rule.Env) (_ *plan.DML, err error) {
	defer rule.CatchStop(&err)
	next := d.NextCol
	var maxBuf int
	for _, b := range d.Buffers {
		maxBuf = max(maxBuf, b.ID+1)
	}
	return rewriteDML(rule.NewRun(withNext(env, &next), maxBuf), d)
}

// rewriteDML rewrites a data-modifying statement, or one in a WITH.
func rewriteDML(r *rule.Run, d *plan.DML) (*plan.DML, error) {
	out := *d
	*r.Env.NextCol = max(*r.Env.NextCol, d.NextCol)
	if d.Source != nil {
		r.NextBuf = max(r.NextBuf, highestBuffer(d.Source)+1)
	}
	read := newDemands(d.Buffers)
	var err error
	out.Buffers, err = fillBuffers(r, d.Buffers, func() (*demands, error) {
		if d.Source == nil {
			return read, nil
		}
		want := d.Source.Schema()
		var need []expr.ColID
		seen := plan.ColSet{}
		used := dmlColumns(d)
		for _, c := range want {
			if used[c.ID] && !seen[c.ID] {
				seen[c.ID] = true
				need = append(need, c.ID)
			}
		}
		src, err := runPhases(r, d.Source, need)
		if err != nil {
			return nil, err
		}
		out.Source = rule.Restore(src, want)
		read.whole(out.Source)
		return read, nil
	})
	if err != nil {
		return nil, err
	}
	out.NextCol = *r.Env.NextCol
	return &out, nil
}

func withNext(env *rule.Env, next *expr.ColID) *rule.Env {
	e := rule.Env{}
	if env != nil {
		e = *env
	}
	if *next == 0 {
		*next = 1 << 20
	}
	e.NextCol = next
	if e.Stats == nil {
		e.Stats = props.FromState(e.State)
	}
	return &e
}

func takeBuffers(r *rule.Run) []plan.BufferDef {
	b := r.Buffers
	r.Buffers = nil
	return b
}

// runPhases runs all phases over a tree.
func runPhases(r *rule.Run, root plan.Node, need []expr.ColID) (plan.Node, error) {
	want := plan.ColSet{}
	for _, c := range need {
		want[c] = true
	}
	n := root
	for _, p := range phases {
		r.Poll()
		m, err := p.run(r, n, want)
		if err == nil {
			err = r.Err
		}
		if err != nil {
			return nil, err
		}
		if m != n && r.Env.Trace != nil {
			r.Env.Trace(p.name, m)
		}
		n = m
		r.Card = nil // estimates are of nodes that may be gone
		if err := fillOuter(r); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// fillOuter optimises the queries of buffers that a phase has made.
func fillOuter(r *rule.Run) error {
	defs := r.Outer
	r.Outer = nil
	for _, d := range defs {
		f := &filled{}
		if err := fillBuffer(r, f, d); err != nil {
			return err
		}
		r.Buffers = append(append(r.Buffers, f.own...), f.def)
	}
	return nil
}

func ids(cols []plan.Column) []expr.ColID {
	out := make([]expr.ColID, len(cols))
	for i, c := range cols {
		out[i] = c.ID
	}
	return out
}

// retyped returns cols with the types that root emits: narrow may have changed how a numeric is
// represented.
func retyped(cols []plan.Column, root plan.Node) []plan.Column {
	by := map[expr.ColID]types.Type{}
	for _, c := range root.Schema() {
		by[c.ID] = c.Type
	}
	out := append([]plan.Column(nil), cols...)
	for i := range out {
		if t, ok := by[out[i].ID]; ok && t.OID == out[i].Type.OID {
			out[i].Type.Prec, out[i].Type.Scale = t.Prec, t.Scale
		}
	}
	return out
}

// arrange makes n emit exactly cols, in order.
func arrange(n plan.Node, cols []plan.Column) plan.Node {
	have := n.Schema()
	if len(have) == len(cols) {
		ok := true
		for i := range cols {
			ok = ok && have[i].ID == cols[i].ID
		}
		if ok {
			return n
		}
	}
	by := map[expr.ColID]plan.Column{}
	for _, c := range have {
		by[c.ID] = c
	}
	items := make([]plan.Item, len(cols))
	for i, c := range cols {
		if h, ok := by[c.ID]; ok {
			c.Type = h.Type
		}
		items[i] = rewrite.PassThrough(c)
	}
	if p, ok := n.(*plan.Project); ok {
		// Compose at once: the columns are the project's own.
		own := map[expr.ColID]plan.Item{}
		for _, it := range p.Items {
			own[it.Col.ID] = it
		}
		out := make([]plan.Item, len(cols))
		for i, c := range cols {
			out[i] = own[c.ID]
		}
		if len(out) >= len(p.Items) && !rule.AnyVolatile(p.Items) || len(out) == len(p.Items) {
			return &plan.Project{Input: p.Input, Items: out}
		}
	}
	return &plan.Project{Input: n, Items: items}
}

// dmlColumns returns the columns of a DML's source that something reads.
func dmlColumns(d *plan.DML) plan.ColSet {
	s := plan.ColSet{}
	for _, list := range [][]expr.ColID{d.Values, d.OldKeys(), {d.RowID, d.Action}} {
		for _, c := range list {
			s[c] = true
		}
	}
	for _, c := range d.Checks {
		plan.ExprColumns(c.Expr, s)
	}
	for _, it := range d.Returning {
		plan.ExprColumns(it.Expr, s)
	}
	if c := d.OnConflict; c != nil {
		for _, list := range [][]expr.ColID{c.Excluded, c.Existing} {
			for _, id := range list {
				s[id] = true
			}
		}
		for _, e := range c.Set {
			if e != nil {
				plan.ExprColumns(e, s)
			}
		}
		if c.Where != nil {
			plan.ExprColumns(c.Where, s)
		}
	}
	return s
}

func highestBuffer(n plan.Node) int {
	top := -1
	switch n := n.(type) {
	case *plan.Buffer:
		top = n.ID
	case *plan.RecursiveUnion:
		top = n.ID
	}
	for _, e := range plan.Exprs(n) {
		expr.Walk(e, func(x expr.Expr) bool {
			if s, ok := x.(*expr.Subquery); ok {
				top = max(top, highestBuffer(s.Plan.(plan.Node)))
			}
			return true
		})
	}
	for _, k := range n.Children() {
		top = max(top, highestBuffer(k))
	}
	return top
}
