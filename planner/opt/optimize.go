package opt

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Folder evaluates an expression that reads no column.
type Folder interface {
	Fold(e expr.Expr) (types.Datum, error)
}

// Env is what a run of the optimiser may ask.
type Env struct {
	// State gives statistics and constraints where Stats is nil.
	State *catalog.State
	Stats props.Statistics
	// Folder evaluates constants; nil folds nothing.
	Folder Folder
	// Params are the values of $1…, put in as constants where given: then the
	// plan is good for them only.
	Params []types.Datum
	// NextCol is the first free column id; it grows as rules make columns.
	NextCol *expr.ColID
	// Nodes is how many nodes will run the plan; 0 is 1.
	Nodes int
	// Poll, where set, is asked at short intervals whether the statement may go
	// on; its error ends the run.
	Poll plan.Poll
	// Trace, where set, sees the tree after each rule that changed it.
	Trace func(rule string, n plan.Node)
}

// run is the state of one optimisation.
type run struct {
	env     *Env
	buffers []plan.BufferDef      // new ones
	filled  map[int]*props.Buffer // of the buffers that are optimised
	nextBuf int
	inStep  bool // below RecursiveUnion's Step: no new buffers
	card    *props.Estimator
	err     error
}

// Optimize rewrites a query. The query it is given stays as it was.
func Optimize(q *plan.Query, env *Env) (_ *plan.Query, err error) {
	defer caught(&err)
	out := *q
	next := q.NextCol
	e := withNext(env, &next)
	var maxBuf int
	for _, b := range q.Buffers {
		maxBuf = max(maxBuf, b.ID+1)
	}
	r := newRun(e, max(maxBuf, highestBuffer(q.Root)+1))
	read := newDemands(q.Buffers)
	out.Buffers, err = r.fill(q.Buffers, func() (*demands, error) {
		var err error
		if out.Root, err = r.relation(q.Root, ids(q.Cols)); err == nil {
			read.tree(out.Root, nil)
		}
		return read, err
	})
	if err != nil {
		return nil, err
	}
	out.Cols = retyped(q.Cols, out.Root)
	out.NextCol = next
	return &out, nil
}

// DML rewrites a data-modifying statement.
func DML(d *plan.DML, env *Env) (_ *plan.DML, err error) {
	defer caught(&err)
	next := d.NextCol
	var maxBuf int
	for _, b := range d.Buffers {
		maxBuf = max(maxBuf, b.ID+1)
	}
	return newRun(withNext(env, &next), maxBuf).dml(d)
}

// dml rewrites a data-modifying statement, or one in a WITH.
func (r *run) dml(d *plan.DML) (*plan.DML, error) {
	out := *d
	*r.env.NextCol = max(*r.env.NextCol, d.NextCol)
	if d.Source != nil {
		r.nextBuf = max(r.nextBuf, highestBuffer(d.Source)+1)
	}
	read := newDemands(d.Buffers)
	var err error
	out.Buffers, err = r.fill(d.Buffers, func() (*demands, error) {
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
		src, err := r.relation(d.Source, need)
		if err != nil {
			return nil, err
		}
		out.Source = restore(src, want)
		read.tree(out.Source, nil)
		return read, nil
	})
	if err != nil {
		return nil, err
	}
	out.NextCol = *r.env.NextCol
	return &out, nil
}

// Relation rewrites one tree that must give the columns of need.
func Relation(root plan.Node, need []expr.ColID, env *Env) (_ plan.Node, err error) {
	defer caught(&err)
	next := expr.ColID(1)
	if env != nil && env.NextCol != nil {
		next = *env.NextCol
	} else {
		next = highestColumn(root) + 1
	}
	e := withNext(env, &next)
	r := newRun(e, highestBuffer(root)+1)
	r.inStep = true // there is no one to run a new buffer
	n, err := r.relation(root, need)
	if env != nil && env.NextCol != nil {
		*env.NextCol = next
	}
	return n, err
}

func withNext(env *Env, next *expr.ColID) *Env {
	e := Env{}
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

func newRun(env *Env, nextBuf int) *run { return &run{env: env, nextBuf: nextBuf} }

func (r *run) takeBuffers() []plan.BufferDef {
	b := r.buffers
	r.buffers = nil
	return b
}

// relation runs all phases over a tree.
func (r *run) relation(root plan.Node, need []expr.ColID) (plan.Node, error) {
	want := plan.ColSet{}
	for _, c := range need {
		want[c] = true
	}
	n := root
	for _, p := range phases {
		r.look()
		m, err := p.run(r, n, want)
		if err == nil {
			err = r.err
		}
		if err != nil {
			return nil, err
		}
		if m != n && r.env.Trace != nil {
			r.env.Trace(p.name, m)
		}
		n = m
		r.card = nil // estimates are of nodes that may be gone
	}
	return n, nil
}

// estimates gives the estimator of this phase.
func (r *run) estimates() *props.Estimator {
	if r.card == nil {
		r.card = props.New(r.env.Stats)
		r.card.Look, r.card.Filled = r.look, r.filled
	}
	return r.card
}

// newCol makes a column.
func (r *run) newCol(name string, t types.Type) plan.Column {
	id := *r.env.NextCol
	*r.env.NextCol++
	return plan.Column{ID: id, Name: name, Type: t}
}

// fail keeps the first error of a rule whose shape has no room for one.
func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func ids(cols []plan.Column) []expr.ColID {
	out := make([]expr.ColID, len(cols))
	for i, c := range cols {
		out[i] = c.ID
	}
	return out
}

// retyped gives cols the types that root emits them with: narrow may have
// changed how a numeric is carried.
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

// restore casts columns of n back to the carriage that want has.
func restore(n plan.Node, want []plan.Column) plan.Node {
	by := map[expr.ColID]types.Type{}
	for _, c := range want {
		by[c.ID] = c.Type
	}
	items := make([]plan.Item, 0, len(n.Schema()))
	changed := false
	for _, c := range n.Schema() {
		it := rewrite.PassThrough(c)
		if t, ok := by[c.ID]; ok && !rewrite.CarriedAlike(t, c.Type) && t.OID == c.Type.OID {
			it.Col.Type = t
			it.Expr = &expr.Cast{Arg: it.Expr, Typ: t}
			changed = true
		}
		items = append(items, it)
	}
	if !changed {
		return n
	}
	return &plan.Project{Input: n, Items: items}
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
		if len(out) >= len(p.Items) && !anyVolatile(p.Items) || len(out) == len(p.Items) {
			return &plan.Project{Input: p.Input, Items: out}
		}
	}
	return &plan.Project{Input: n, Items: items}
}

func anyVolatile(items []plan.Item) bool {
	for _, it := range items {
		if rewrite.IsVolatile(it.Expr) {
			return true
		}
	}
	return false
}

// dmlColumns are the columns of a DML's source that something reads.
func dmlColumns(d *plan.DML) plan.ColSet {
	s := plan.ColSet{}
	for _, list := range [][]expr.ColID{d.Values, d.Old, {d.RowID, d.Action}} {
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

func highestColumn(n plan.Node) expr.ColID {
	var top expr.ColID
	for _, c := range n.Schema() {
		top = max(top, c.ID)
	}
	for _, e := range plan.Exprs(n) {
		for c := range rewrite.ColumnsOf(e) {
			top = max(top, c)
		}
		expr.Walk(e, func(x expr.Expr) bool {
			if s, ok := x.(*expr.Subquery); ok {
				top = max(top, highestColumn(s.Plan.(plan.Node)))
			}
			return true
		})
	}
	for _, k := range n.Children() {
		top = max(top, highestColumn(k))
	}
	return top
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

// bottomUp rebuilds a tree from the leaves: f gets each node with its children
// already rewritten.
func (r *run) bottomUp(n plan.Node, f func(plan.Node) plan.Node) plan.Node {
	return f(r.mapChildren(n, func(k plan.Node) plan.Node { return r.bottomUp(k, f) }))
}

// mapChildren rewrites the inputs of n; n comes back if none changed.
func (r *run) mapChildren(n plan.Node, f func(plan.Node) plan.Node) plan.Node {
	r.look()
	return plan.MapChildren(n, f)
}

func internal(format string, args ...any) error { return pgerr.Internal(format, args...) }

// with1 puts another input below n; n comes back if it is the same.
func with1(n, in plan.Node) plan.Node {
	if n.Children()[0] == in {
		return n
	}
	return n.WithChildren([]plan.Node{in})
}
