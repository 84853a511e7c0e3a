package opt

import (
	"slices"

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

// demand is what the readers of a buffer need of its rows.
type demand struct {
	all  bool            // some reader needs every row
	arms rewrite.ExprSet // else: the conditions of each reader
	cols []bool          // by position: some reader reads it
	dups bool            // some reader depends on duplicates
}

// fewerRows is the least number of rows for each distinct row for which an aggregation before the readers
// pays.
const fewerRows = 4

// fillBuffers optimises the queries that fill the buffers. Once body has returned what reads them,
// it optimises again those whose readers all need only some of the rows or columns, or ignore
// duplicates:
//
//	WITH q AS (…)  SELECT … FROM q x, q y WHERE x.m = 1 AND y.m = 2
//	Buffer q: …  WHERE m = 1 OR m = 2
//
// Readers keep their conditions, and get the remaining columns (demands.reads). A buffer may read the buffers
// before it, so buffers are processed from the last to the first.
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
		if d, less := read.of(r, f); less {
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
	out = append(out, last...)
	for i := range out {
		if out[i].Root != nil {
			out[i].Root = read.reads(r, out[i].Root)
		}
	}
	return out, nil
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
		d.Root = arrange(rule.Restore(root, d.Cols), d.Cols)
		noteBuffer(r, d)
	}
	f.def, f.own = d, takeBuffers(r)
	r.Buffers = kept
	return nil
}

// noteBuffer records the estimates of a buffer's rows for its readers.
func noteBuffer(r *rule.Run, d plan.BufferDef) {
	if r.Filled == nil {
		r.Filled = map[int]*props.Buffer{}
	}
	in := r.Estimates().Of(d.Root)
	b := &props.Buffer{Rows: in.Rows, Root: d.Root}
	for _, c := range d.Root.Schema() {
		b.Cols = append(b.Cols, in.Col(c.ID))
	}
	r.Filled[d.ID] = b
	r.Card = nil
}

// demands are those of all buffers of a statement.
type demands struct {
	cols map[int][]plan.Column // of each definition
	by   map[int]*demand
	kept map[int][]int // of definitions with fewer columns than were bound: those left
}

func newDemands(defs []plan.BufferDef) *demands {
	d := &demands{cols: map[int][]plan.Column{}, by: map[int]*demand{}, kept: map[int][]int{}}
	for _, b := range defs {
		d.cols[b.ID] = b.Cols
	}
	return d
}

// of returns a definition that produces what the readers need; less reports whether that is less than
// everything.
func (d *demands) of(r *rule.Run, f *filled) (def plan.BufferDef, less bool) {
	def = f.from
	m := d.by[def.ID]
	if m == nil || def.Root == nil || def.DML != nil || def.Whole {
		return def, false
	}
	if !m.all {
		def.Root, less = &plan.Filter{Input: def.Root, Conds: []expr.Expr{rewrite.OrOf(m.arms.List)}}, true
	}
	var kept []int
	for i, read := range m.cols {
		if read || i == len(m.cols)-1 && len(kept) == 0 { // rows without columns are not kept
			kept = append(kept, i)
		}
	}
	if len(kept) < len(def.Cols) {
		def.Cols = positions(def.Cols, kept)
		d.kept[def.ID], less = kept, true
	}
	if !m.dups {
		// Values that are equal but look different would become one.
		alike := !slices.ContainsFunc(def.Cols, func(c plan.Column) bool { return !c.Type.EqualIsSame() })
		est, groups := r.Estimates(), rewrite.PassItems(def.Cols)
		if rows := est.Of(f.def.Root).Rows; alike && rows > fewerRows*est.Of(&plan.Aggregate{Input: f.def.Root, Groups: groups}).Rows {
			def.Root, less = &plan.Aggregate{Input: def.Root, Groups: groups}, true
		}
	}
	return def, less
}

func positions(cols []plan.Column, at []int) []plan.Column {
	out := make([]plan.Column, len(at))
	for i, j := range at {
		out[i] = cols[j]
	}
	return out
}

// reads returns n with the buffers in it reduced to the remaining columns.
func (d *demands) reads(r *rule.Run, n plan.Node) plan.Node {
	if len(d.kept) == 0 {
		return n
	}
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		b, ok := n.(*plan.Buffer)
		if !ok || d.kept[b.ID] == nil || len(b.Cols) != len(d.cols[b.ID]) {
			return n
		}
		c := *b
		c.Cols = positions(b.Cols, d.kept[b.ID])
		return &c
	})
}

func (d *demands) defs(defs []plan.BufferDef) {
	for _, b := range defs {
		if b.DML != nil {
			d.dml(b.DML)
		}
		if b.Root != nil {
			d.root(b.Root, plan.Emits(b.Root))
		}
	}
}

func (d *demands) dml(m *plan.DML) {
	if m.Source != nil {
		d.whole(m.Source)
	}
	for _, b := range m.Buffers {
		if b.DML != nil {
			d.dml(b.DML)
		}
		if b.Root != nil {
			d.whole(b.Root)
		}
	}
}

// whole records the readers within n, which need all columns: a statement that writes keeps the
// trees it has.
func (d *demands) whole(n plan.Node) {
	read := columnsRead(n, plan.Emits(n))
	for _, b := range buffersIn(n, nil) {
		for _, c := range b.Cols {
			read[c.ID] = true
		}
	}
	d.tree(n, nil, read, false)
}

func buffersIn(n plan.Node, list []*plan.Buffer) []*plan.Buffer {
	if b, ok := n.(*plan.Buffer); ok {
		list = append(list, b)
	}
	for _, k := range n.Children() {
		list = buffersIn(k, list)
	}
	return list
}

// root records the readers within a tree, of which the columns want are read.
func (d *demands) root(n plan.Node, want plan.ColSet) { d.tree(n, nil, columnsRead(n, want), false) }

// columnsRead adds to want the columns that something within n reads.
func columnsRead(n plan.Node, want plan.ColSet) plan.ColSet {
	out := rewrite.Union(want, nil)
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		for _, e := range plan.Exprs(n) {
			plan.ExprColumns(e, out)
		}
		for _, k := range n.Children() {
			if rule.Positional(n) {
				for _, c := range k.Schema() {
					out[c.ID] = true
				}
			}
			walk(k)
		}
	}
	walk(n)
	return out
}

// tree records the readers within n. conds are conditions that n's rows must meet, read are the columns that
// are read, and once means that duplicates of n's rows have no effect.
func (d *demands) tree(n plan.Node, conds []expr.Expr, read plan.ColSet, once bool) {
	switch n := n.(type) {
	case *plan.Buffer:
		d.reader(n, conds, read, once)
	case *plan.Filter:
		d.tree(n.Input, rewrite.SplitAll(n.Conds), read, onceBelow(n, 0, once))
		return
	}
	for i, k := range n.Children() {
		d.tree(k, nil, read, onceBelow(n, i, once))
	}
}

func (d *demands) reader(n *plan.Buffer, conds []expr.Expr, read plan.ColSet, once bool) {
	cols, ok := d.cols[n.ID]
	if !ok || len(cols) != len(n.Cols) {
		return // the working table of a recursion
	}
	m := d.by[n.ID]
	if m == nil {
		m = &demand{cols: make([]bool, len(cols))}
		d.by[n.ID] = m
	}
	m.dups = m.dups || !once
	by := map[expr.ColID]expr.Expr{}
	for i, c := range n.Cols {
		by[c.ID] = rewrite.ColOf(cols[i])
		m.cols[i] = m.cols[i] || read[c.ID]
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
