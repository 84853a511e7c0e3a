package planner

import (
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Env is what a plan is made for: a catalog, who asks, the parameters, the nodes.
type Env struct {
	State  *catalog.State
	Role   types.OID // whose privileges are checked
	Params []types.Datum
	Nodes  int // how many take part in plans that are worth it
	// Threads is how many these have together; 0: not known.
	Threads int
	// Folder evaluates constants, parameters among them.
	Folder rule.Folder
	// WithoutParams is Folder for a generic plan: it knows no parameters, and calls
	// readNow where a value depends on the time. nil: no generic plans.
	WithoutParams func(readNow func()) rule.Folder
	// NodesFor is how many of the nodes a tree is worth; nil: all.
	NodesFor func(root plan.Node) int
	// Local reports whether this node has all that a tree of few rows reads.
	Local func(root plan.Node) bool
	// Replicas says what of the tables lies where; nil: nothing is known.
	Replicas stage.Replicas
	// Weigh has plans that take long marked.
	Weigh bool
	// Scarce reports whether memory is short; nil: it is not.
	Scarce func() bool
	// Stats are statistics, where they are not the state's.
	Stats props.Statistics
	// Poll, where set, is asked at short intervals whether the statement may go on.
	Poll plan.Poll
}

func (e *Env) stats() props.Statistics {
	if e.Stats != nil {
		return e.Stats
	}
	return props.FromState(e.State)
}

// Planned is an optimised statement. It may be a generic plan, which is shared:
// then its tree is not staged again.
type Planned struct {
	Query *plan.Query // or DML
	DML   *plan.DML
	// Staged are the stages of a query, and of the source of a statement that
	// writes where they are the same for all parameters; else nil.
	Staged *plan.Staged
	// Few is FewJoinOf the source of a generic plan that writes.
	Few     *FewJoin
	idle    Idle
	generic bool
}

// Idle returns what keeps things from one run of a generic plan for the next; nil of another plan, which is run once.
func (p *Planned) Idle() *Idle {
	if p == nil || !p.generic {
		return nil
	}
	return &p.idle
}

// Plan checks the statement's privileges and plans it. Buffers are staged when they
// are filled.
func Plan(b *Bound, e *Env) (*Planned, error) {
	g, err := b.genericPlan(e)
	if err != nil {
		return nil, err
	}
	if g.Staged != nil && e.Local(g.Staged.Stages[0].Root) {
		return g, plan.Authorize(e.State, e.Role, b.uses())
	}
	p, err := Optimize(b, e)
	if err == nil && p.Query != nil {
		p.Staged, err = Stage(p.Query.Root, p.Query.Cols, e)
	}
	return p, err
}

// KnownGeneric returns the generic plan of a statement where one has been made and this node has all that
// it reads, without what making one takes.
func KnownGeneric(b *Bound, st *catalog.State, role types.OID, local func(root plan.Node) bool) (*Planned, error) {
	g := b.generic.Load()
	if g == nil || g.Staged == nil || !local(g.Staged.Stages[0].Root) {
		return nil, nil
	}
	return g, plan.Authorize(st, role, b.uses())
}

// Generic returns the generic plan of a statement, nil where it has none. That is known, and e may be nil, once the
// statement has been planned.
func Generic(b *Bound, e *Env) (p *Planned, known bool, err error) {
	if p = b.generic.Load(); p == nil && e == nil {
		return nil, false, nil
	}
	if p == nil {
		p, err = b.genericPlan(e)
	}
	if err != nil || p.Staged == nil {
		p = nil
	}
	return p, true, err
}

// Optimize is the only way from a bound statement to a tree that can run: it checks
// the privileges that the statement needs. What it is given stays as it was.
func Optimize(b *Bound, e *Env) (*Planned, error) {
	if err := plan.Authorize(e.State, e.Role, b.uses()); err != nil {
		return nil, err
	}
	return optimize(b, &rule.Env{State: e.State, Stats: e.Stats, Folder: e.Folder, Params: e.Params, Nodes: e.Nodes, Poll: e.Poll})
}

func optimize(b *Bound, e *rule.Env) (*Planned, error) {
	p := &Planned{}
	var err error
	if b.DML != nil {
		p.DML, err = opt.DML(b.DML, e)
	} else {
		p.Query, err = opt.Optimize(b.Query, e)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// heldRows is how many rows a plan may keep without being admitted to the nodes
// where it runs: a megabyte or two, unless they are long. What most applications
// ask never queues, but where memory is short already.
const heldRows = 20000

// fewRows is how many it may keep where memory is short: a tenth of a megabyte. Without them a
// single row that is written would wait for its unique key behind reports of minutes.
const fewRows = 1000

// longWork is from how much work on (see props.Work) a plan is long: twenty milliseconds of a thread or so.
const longWork = 20e6

// Stage makes the stages of an optimised tree, whose columns are cols. It changes
// the tree.
func Stage(root plan.Node, cols []plan.Column, e *Env) (*plan.Staged, error) {
	stats := e.stats()
	kept, nodes := props.KeptRows(root, stats), e.Nodes
	long := e.Weigh && props.Work(root, stats) > longWork // before the tree is cut
	if nodes > 1 && e.NodesFor != nil {
		nodes = e.NodesFor(root)
	}
	s, err := stage.Stage(root, cols, &stage.Env{Nodes: nodes, Threads: e.Threads, Stats: stats, Replicas: e.Replicas, Poll: e.Poll})
	if err != nil {
		return nil, err
	}
	s.Long = long
	s.Holds = kept > heldRows || kept > fewRows && e.Scarce != nil && e.Scarce()
	return s, nil
}

// SingleStage makes one stage, for the caller's goroutine, of an optimised tree that reads and returns
// few rows, all of this node.
func SingleStage(root plan.Node, cols []plan.Column, stats props.Statistics) (*plan.Staged, error) {
	s, err := stage.Stage(root, cols, &stage.Env{Nodes: 1, Stats: stats})
	if err != nil {
		return nil, err
	}
	s.Stages[0].Single, s.Stages[0].Short = true, true
	return s, nil
}

// genericPlan returns the plan of a statement that is the same whatever its
// parameters are (opt.Keyed), made once for all; without stages where there is none.
// It is of definitions that the state has; statistics served as estimates only. It
// stays on this node.
func (b *Bound) genericPlan(e *Env) (*Planned, error) {
	if g := b.generic.Load(); g != nil {
		return g, nil
	}
	var stop error // of Poll: that a statement was cancelled says nothing of its plan
	g := b.makeGeneric(e, func() error {
		if stop == nil && e.Poll != nil {
			stop = e.Poll()
		}
		return stop
	})
	if stop != nil {
		return nil, stop
	}
	b.generic.Store(g)
	return g, nil
}

// genericNodes is up to how many nodes a tree has for which a generic plan is looked for: statements that look
// rows up by keys are smaller, and planning others twice takes long.
const genericNodes = 64

func (b *Bound) makeGeneric(e *Env, poll plan.Poll) *Planned {
	none := &Planned{}
	if e.WithoutParams == nil {
		return none
	}
	switch {
	case b.DML != nil && (b.DML.Source == nil || len(b.DML.Buffers) > 0),
		b.Query != nil && (len(b.Query.Buffers) > 0 || len(b.Query.Locks) > 0 && !b.isWide):
		return none
	}
	if left := genericNodes; !fewNodes(b.tree(), &left) {
		return none
	}
	moment := false
	stats := props.Estimates(e.stats())
	p, err := optimize(b, &rule.Env{State: e.State, Stats: stats, Folder: e.WithoutParams(func() { moment = true }), Poll: poll})
	if err != nil {
		return none
	}
	var root plan.Node
	var cols []plan.Column
	if p.DML != nil {
		root, cols = p.DML.Source, p.DML.Source.Schema()
	} else {
		root, cols = p.Query.Root, p.Query.Cols
	}
	if p.DML != nil {
		p.Few = FewJoinOf(root, stats)
	}
	keyed := p.Few != nil || opt.Keyed(root, stats)
	if p.DML != nil && p.DML.OnConflict != nil {
		_, keyed = root.(*plan.Values)
	}
	if moment || !keyed || len(p.buffers()) > 0 {
		return none
	}
	s, err := SingleStage(root, cols, stats)
	if err != nil || len(s.Stages) != 1 {
		return none
	}
	p.Staged, p.generic = s, true
	return p
}

// tree is the tree of a query, or what a statement that writes reads.
func (b *Bound) tree() plan.Node {
	if b.DML != nil {
		return b.DML.Source
	}
	return b.Query.Root
}

// fewNodes reports whether a tree, without the plans of its subqueries, has no more nodes than are left.
func fewNodes(n plan.Node, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	for _, k := range n.Children() {
		if !fewNodes(k, left) {
			return false
		}
	}
	return true
}

func (p *Planned) buffers() []plan.BufferDef {
	if p.DML != nil {
		return p.DML.Buffers
	}
	return p.Query.Buffers
}
