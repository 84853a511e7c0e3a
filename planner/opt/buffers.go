package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
)

// filled is a buffer's query as it was optimised.
type filled struct {
	def  plan.BufferDef
	own  []plan.BufferDef // buffers that its query needs itself
	from plan.BufferDef   // as it was bound
}

// demand is what the readers of a buffer want of its rows.
type demand struct {
	all  bool            // some reader wants every row
	arms rewrite.ExprSet // else: the conditions of each reader
}

// fillBuffers optimises what fills the buffers, and then, once body has told who reads
// them, those queries again whose readers all want but some of the rows:
//
//	WITH q AS (…)  SELECT … FROM q x, q y WHERE x.m = 1 AND y.m = 2
//	Buffer q: …  WHERE m = 1 OR m = 2
//
// Readers keep their conditions. A buffer may read those before it, so they are
// looked at from the last on.
func fillBuffers(r *rule.Run, defs []plan.BufferDef, body func() (*demands, error)) ([]plan.BufferDef, error) {
	var list []*filled
	for _, d := range defs {
		f := &filled{from: d}
		if err := fillBuffer(r, f, d); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	read, err := body()
	if err != nil {
		return nil, err
	}
	last := takeBuffers(r)
	read.defs(last)
	for i := len(list) - 1; i >= 0; i-- {
		f := list[i]
		if cond := read.of(f.from); cond != nil {
			d := f.from
			d.Root = &plan.Filter{Input: d.Root, Conds: []expr.Expr{cond}}
			if err := fillBuffer(r, f, d); err != nil {
				return nil, err
			}
		}
		read.defs(f.own)
		read.defs([]plan.BufferDef{f.def})
	}
	var out []plan.BufferDef
	for _, f := range list {
		out = append(append(out, f.own...), f.def)
	}
	return append(out, last...), nil
}

// fillBuffer optimises d for f. Readers were bound to the columns' types, so those
// are restored.
func fillBuffer(r *rule.Run, f *filled, d plan.BufferDef) error {
	kept := takeBuffers(r)
	if d.DML != nil {
		dml, err := rewriteDML(r, d.DML)
		if err != nil {
			return err
		}
		d.DML = dml
	}
	if d.Root != nil {
		root, err := runPhases(r, d.Root, ids(d.Cols))
		if err != nil {
			return err
		}
		d.Root = arrange(restore(root, d.Cols), d.Cols)
		noteBuffer(r, d)
	}
	f.def, f.own = d, takeBuffers(r)
	r.Buffers = kept
	return nil
}

// noteBuffer notes the estimates of a buffer's rows for those that read it.
func noteBuffer(r *rule.Run, d plan.BufferDef) {
	if r.Filled == nil {
		r.Filled = map[int]*props.Buffer{}
	}
	in := r.Estimates().Of(d.Root)
	b := &props.Buffer{Rows: in.Rows}
	for _, c := range d.Root.Schema() {
		b.Cols = append(b.Cols, in.Cols[c.ID])
	}
	r.Filled[d.ID] = b
	r.Card = nil
}

// demands are those of all buffers of a statement.
type demands struct {
	cols map[int][]plan.Column // of each definition
	by   map[int]*demand
}

func newDemands(defs []plan.BufferDef) *demands {
	d := &demands{cols: map[int][]plan.Column{}, by: map[int]*demand{}}
	for _, b := range defs {
		d.cols[b.ID] = b.Cols
	}
	return d
}

// of is the condition that the rows which some reader wants satisfy; nil for none.
func (d *demands) of(def plan.BufferDef) expr.Expr {
	m := d.by[def.ID]
	if m == nil || m.all || def.Root == nil || def.Whole {
		return nil
	}
	return rewrite.OrOf(m.arms.List)
}

func (d *demands) defs(defs []plan.BufferDef) {
	for _, b := range defs {
		if b.DML != nil {
			d.dml(b.DML)
		}
		if b.Root != nil {
			d.tree(b.Root, nil)
		}
	}
}

func (d *demands) dml(m *plan.DML) {
	if m.Source != nil {
		d.tree(m.Source, nil)
	}
	d.defs(m.Buffers)
}

// tree notes the readers within n, whose rows must satisfy conds.
func (d *demands) tree(n plan.Node, conds []expr.Expr) {
	switch n := n.(type) {
	case *plan.Buffer:
		d.reader(n, conds)
	case *plan.Filter:
		d.tree(n.Input, rewrite.SplitAll(n.Conds))
		return
	}
	for _, k := range n.Children() {
		d.tree(k, nil)
	}
}

func (d *demands) reader(n *plan.Buffer, conds []expr.Expr) {
	cols, ok := d.cols[n.ID]
	if !ok || len(cols) != len(n.Cols) {
		return // the working table of a recursion
	}
	m := d.by[n.ID]
	if m == nil {
		m = &demand{}
		d.by[n.ID] = m
	}
	by := map[expr.ColID]expr.Expr{}
	for i, c := range n.Cols {
		by[c.ID] = rewrite.ColOf(cols[i])
	}
	emits := plan.Emits(n)
	var arm []expr.Expr
	for _, c := range conds {
		if rewrite.IsVolatile(c) {
			break
		}
		if !rewrite.Costly(c) && rewrite.Subset(rewrite.ColumnsOf(c), emits) {
			arm = append(arm, rewrite.Subst(c, by))
		}
	}
	if len(arm) == 0 {
		m.all = true
		return
	}
	m.arms.Add(rewrite.AndOf(arm))
}
