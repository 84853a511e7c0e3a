package rule

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
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

// Env is the environment of a run of the optimiser.
type Env struct {
	// State provides statistics and constraints where Stats is nil.
	State *catalog.State
	Stats props.Statistics
	// Folder evaluates constants; nil folds nothing.
	Folder Folder
	// Params are the values of $1…, which are substituted as constants where given: then the plan is
	// valid for them only.
	Params []types.Datum
	// NextCol is the first free column id; it grows as rules make columns.
	NextCol *expr.ColID
	// Nodes is how many nodes will run the plan; 0 is 1.
	Nodes int
	// Poll, where set, is called at short intervals; its error ends the run.
	Poll plan.Poll
	// Trace, where set, is called with the tree after each rule that changed it.
	Trace func(rule string, n plan.Node)
}

// Run is the state of one optimisation.
type Run struct {
	Env     *Env
	Buffers []plan.BufferDef      // new ones, optimised
	Outer   []plan.BufferDef      // new ones, not optimised yet
	Filled  map[int]*props.Buffer // of the buffers that are optimised
	NextBuf int
	InStep  bool // below RecursiveUnion's Step: no new buffers
	Card    *props.Estimator
	Err     error
}

func NewRun(env *Env, nextBuf int) *Run { return &Run{Env: env, NextBuf: nextBuf} }

// Estimates returns the estimator of this phase.
func (r *Run) Estimates() *props.Estimator {
	if r.Card == nil {
		r.Card = props.New(r.Env.Stats)
		r.Card.Look, r.Card.Filled = r.Poll, r.Filled
	}
	return r.Card
}

// Statistics is what is known of tables, and of the buffers that are filled.
func (r *Run) Statistics() props.Statistics { return props.Filled(r.Env.Stats, r.Filled) }

// NewCol makes a column.
func (r *Run) NewCol(name string, t types.Type) plan.Column {
	id := *r.Env.NextCol
	*r.Env.NextCol++
	return plan.Column{ID: id, Name: name, Type: t}
}

// Fail records the first error of a rule that cannot return one.
func (r *Run) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// BottomUp rebuilds a tree from the leaves: f is called with each node, its children already
// rewritten.
func (r *Run) BottomUp(n plan.Node, f func(plan.Node) plan.Node) plan.Node {
	return f(r.MapChildren(n, func(k plan.Node) plan.Node { return r.BottomUp(k, f) }))
}

// MapChildren rewrites the inputs of n; it returns n if none changed.
func (r *Run) MapChildren(n plan.Node, f func(plan.Node) plan.Node) plan.Node {
	r.Poll()
	n = plan.MapChildren(n, f)
	r.Poll() // on the way up too: there most rules do their work
	return n
}

func Internal(format string, args ...any) error { return pgerr.Internal(format, args...) }

// With1 replaces the one input of n; it returns n if it is the same.
func With1(n, in plan.Node) plan.Node {
	if n.Children()[0] == in {
		return n
	}
	return n.WithChildren([]plan.Node{in})
}

func AnyVolatile(items []plan.Item) bool {
	for _, it := range items {
		if rewrite.IsVolatile(it.Expr) {
			return true
		}
	}
	return false
}

func ReadsBuffer(n plan.Node, id int) bool {
	if b, ok := n.(*plan.Buffer); ok && b.ID == id {
		return true
	}
	for _, k := range n.Children() {
		if ReadsBuffer(k, id) {
			return true
		}
	}
	return false
}

// AtMostOne reports whether a left row matches at most one row of n under conds: they bind a unique
// key of n.
func (r *Run) AtMostOne(n plan.Node, conds []expr.Expr) bool {
	facts := r.Estimates().Facts
	if facts.AtMostOneRow(n) {
		return true
	}
	keys := facts.UniqueKeys(n)
	if len(keys) == 0 {
		return false
	}
	own := plan.Emits(n)
	bound := plan.ColSet{}
	for _, c := range rewrite.SplitAll(conds) {
		l, rr, ok := rewrite.Equality(c)
		if d, isD := c.(*expr.Distinct); isD && d.Not {
			l, rr, ok = d.L, d.R, true
		}
		if !ok {
			continue
		}
		for _, p := range [][2]expr.Expr{{l, rr}, {rr, l}} {
			if col, ok := rewrite.AsColumn(p[0]); ok && own[col.ID] && !rewrite.Intersects(rewrite.ColumnsOf(p[1]), own) {
				bound[col.ID] = true
			}
		}
	}
	return props.CoversKey(keys, bound)
}

func Positional(n plan.Node) bool {
	switch n.(type) {
	case *plan.SetOp, *plan.RecursiveUnion, *plan.TableWrite:
		return true
	}
	return false
}

// Restore casts columns of n back to the physical representation in want.
func Restore(n plan.Node, want []plan.Column) plan.Node {
	by := map[expr.ColID]types.Type{}
	for _, c := range want {
		by[c.ID] = c.Type
	}
	items := make([]plan.Item, 0, len(n.Schema()))
	changed := false
	for _, c := range n.Schema() {
		it := rewrite.PassThrough(c)
		if t, ok := by[c.ID]; ok && !t.SamePhysical(c.Type) && t.OID == c.Type.OID {
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

// Aggregate returns an aggregate of one argument, whose type must have it.
func Aggregate(name string, arg expr.Expr) expr.AggCall {
	for _, f := range fn.Lookup(name) {
		if len(f.Args) == 1 && (f.Args[0] == arg.Type().OID || f.Args[0] == types.AnyOID) {
			physical, ret := f.BindArgs([]types.Type{arg.Type()})
			return expr.AggCall{Fn: f, Args: []expr.Expr{rewrite.ToPhysical(arg, physical[0])}, Typ: ret}
		}
	}
	panic("BUG: planner: there is no " + name + " of " + arg.Type().String())
}
