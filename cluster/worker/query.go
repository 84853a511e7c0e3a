package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/cluster/flow"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/sched"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// errRestart stops an attempt that will be restarted.
var errRestart = errors.New("a node was lost; the plan starts again")

// maxRepairs bounds how often a plan is restarted after a damaged file was repaired.
const maxRepairs = 3

// query runs a plan, over as many attempts as it takes, and is the reader of its rows.
type query struct {
	s         *Statement
	name      string
	plan      *plan.Staged
	buffers   map[int]*op.Buffer // those that were there when it began
	manifests map[*plan.Scan]*catalog.Manifest
	writes    bool
	admit     admitMode    // how the next attempt takes its tickets
	restart   func() error // starts the next attempt, if one is due

	mu       sync.Mutex
	repairs  int          // attempts that met damage
	members  []sched.Node // of the next attempt
	sched    *sched.Scheduler
	names    map[uint64]string
	cur      *attempt
	attempts int
	left     bool
	ended    bool
	closed   sync.Once
}

// leafWork is a leaf of the plan and its splits.
type leafWork struct {
	id     leafID
	splits []op.Split
}

func newQuery(s *Statement, name string, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest) *query {
	q := &query{s: s, name: name, plan: p, manifests: manifests, buffers: s.filled(), names: map[uint64]string{}}
	bound, writes, spread := inspect(p, s.common())
	q.writes = writes
	for i, m := range s.g.nodes() {
		if i > 0 && (bound || !spread || !s.reads(p, m.ID, manifests)) {
			continue
		}
		q.members = append(q.members, sched.Node{ID: m.ID, Threads: s.threads(m.Threads)})
		q.names[m.ID] = m.Name
	}
	return q
}

// distribute returns the leaves' splits for an attempt on the query's members, and the
// scheduler that hands them out.
func (q *query) distribute(ctx context.Context) ([]leafWork, *sched.Scheduler, error) {
	s, c := q.s, sched.Config{Saturation: q.s.o.Saturation, Nodes: q.members}
	threads := 0
	for _, m := range q.members {
		threads += max(m.Threads, 1)
	}
	if len(q.members) == 1 {
		threads = 0
	}
	ranges, err := s.ranges(ctx, q.plan, q.manifests, len(q.members))
	if err != nil {
		return nil, nil, err
	}
	var leaves []leafWork
	for i := range q.plan.Stages {
		st := &q.plan.Stages[i]
		for leaf, n := range build.Leaves(st.Root) {
			w := leafWork{id: leafID{st.ID, leaf}}
			l := sched.Leaf{Gateway: st.Where == plan.OnGateway, Single: st.Single, Stays: sendsNothing(st.Root)}
			if len(q.members) > 1 {
				l.Portion = maxSplit
			}
			if sc, ok := n.(*plan.Scan); ok && len(q.members) > 1 && sc.ReadsOwnRows() {
				l.Stays = true
				w.splits, l.Splits = s.fixedSplits(sc, leaf, q.manifests, q.members, ranges)
			} else {
				w.splits = s.splits(n, leaf, q.manifests, threads)
				l.Splits = s.places(n, w.splits, q.manifests)
			}
			leaves = append(leaves, w)
			c.Leaves = append(c.Leaves, l)
		}
	}
	return leaves, sched.New(c), nil
}

// manifest returns the manifest that a scan reads.
func (s *Statement) manifest(n *plan.Scan, manifests map[*plan.Scan]*catalog.Manifest) *catalog.Manifest {
	if m := manifests[n]; m != nil {
		return m
	}
	return s.st.Manifest(n.Table)
}

// sendsNothing reports whether a stage's rows stay where they are made.
func sendsNothing(n plan.Node) bool {
	if _, ok := n.(*plan.Collect); ok {
		return true
	}
	return slices.ContainsFunc(n.Children(), sendsNothing)
}

// minSplit is the fewest rows that are worth a split.
const minSplit = 1024

// maxSplit is the most rows of a split that is handed to another node, which costs a
// message each way, and of several smaller ones that are handed out together.
const maxSplit = 4 * store.SplitRows

// splitRows returns the number of rows per split for a table that so many threads of
// several nodes read: small enough that every holder of a replica gets a share and
// faster nodes can take over what others have not begun, and no smaller. 0 is the
// default.
func splitRows(m *catalog.Manifest, threads int) int64 {
	if m == nil || threads == 0 {
		return 0
	}
	of := func(n int64) int64 { return (m.Rows() + n - 1) / n }
	return min(max(min(of(int64(2*threads)), max(of(int64(4*threads)), store.SplitRows)), minSplit), maxSplit)
}

// splits lists a leaf's work for its tasks, which have so many threads on several nodes,
// 0 on one.
func (s *Statement) splits(n plan.Node, leaf int, manifests map[*plan.Scan]*catalog.Manifest, threads int) (list []op.Split) {
	switch n := n.(type) {
	case *plan.Scan:
		pr, m := prune.NewPruner(n, s.env), s.manifest(n, manifests)
		if n.Sample > 0 {
			return store.Sampled(m, leaf, n.Sample, pr.MayMatchSegment)
		}
		list = store.Splits(m, leaf, splitRows(m, threads), pr.MayMatchSegment)
	case *plan.Source:
		of := 1
		if s.g.w.cfg.Parts != nil {
			of = max(s.g.w.cfg.Parts(n), 1)
		}
		for p := range of {
			list = append(list, op.Split{Scan: leaf, Part: p, Of: of})
		}
	}
	return list
}

// places converts a leaf's splits to the scheduler's.
func (s *Statement) places(n plan.Node, list []op.Split, manifests map[*plan.Scan]*catalog.Manifest) []sched.Split {
	out := make([]sched.Split, len(list))
	switch n := n.(type) {
	case *plan.Scan:
		m := s.manifest(n, manifests)
		for i, sp := range list {
			part, _ := store.At(m, sp.Ordinal)
			out[i] = sched.Split{Partition: part, Rows: sp.To - sp.From}
			if sp.Segment.Inline == nil {
				out[i].Replicas = sp.Segment.Holders()
			}
		}
	case *plan.Source:
		var at []uint64 // nil: anywhere
		if s.g.w.cfg.Local != nil && s.g.w.cfg.Local(n) {
			at = []uint64{s.g.w.cfg.Self}
		}
		for i, sp := range list {
			out[i] = sched.Split{Partition: sp.Part, Rows: int64(max(n.Rows, 0)) / int64(sp.Of), Replicas: at}
		}
	}
	return out
}

// begin makes attempts until one runs. They end with ctx at the latest.
func (q *query) begin(ctx context.Context) error {
	if q.s.o.Admission != nil && q.plan.Holds {
		q.admit = admitTry
	}
	q.restart = func() error {
		for {
			a, err := q.attempt(ctx)
			if err == nil || !a.isRestart() {
				return err
			}
		}
	}
	return q.restart()
}

// attempt starts the plan on the nodes of the scheduler.
func (q *query) attempt(ctx context.Context) (*attempt, error) {
	q.mu.Lock()
	leaves, sc, err := q.distribute(ctx)
	if err == nil {
		q.sched = sc
	}
	nodes := make([]uint64, len(q.members))
	for i, m := range q.members {
		nodes[i] = m.ID
	}
	q.attempts++
	a := newAttempt(q, fmt.Sprintf("%s.%d", q.name, q.attempts), nodes, leaves)
	q.cur = a
	q.mu.Unlock()
	if err == nil {
		err = a.open(ctx)
	}
	if err == nil {
		q.mu.Lock()
		if q.writes && !q.left {
			q.left = true
			q.act(a, q.sched.Step(sched.Left{}))
		}
		q.mu.Unlock()
		if err = a.start(); err == nil {
			q.mu.Lock()
			for _, n := range a.nodes {
				q.act(a, q.sched.Step(sched.Ready{Node: n}))
			}
			q.mu.Unlock()
			return a, nil
		}
	}
	a.fail(err)
	a.stop()
	return a, a.error()
}

// full handles a node's refusal of a ticket: the next attempt waits.
func (q *query) full(a *attempt) {
	q.mu.Lock()
	q.admit = admitWait
	q.mu.Unlock()
	a.fail(errRestart)
}

// event passes an event of an attempt to the scheduler.
func (q *query) event(a *attempt, ev sched.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cur == a && !a.over() {
		q.act(a, q.sched.Step(ev))
	}
}

// act carries out the scheduler's actions; q.mu is held.
func (q *query) act(a *attempt, actions []sched.Action) {
	for _, x := range actions {
		switch x := x.(type) {
		case sched.Assign:
			a.assign(x.Node, &a.leaves[x.Leaf], x.Portions)
		case sched.End:
			a.end(x.Node, a.leaves[x.Leaf].id)
		case sched.Restart:
			q.members = slices.DeleteFunc(slices.Clone(q.members), func(m sched.Node) bool { return !slices.Contains(x.Nodes, m.ID) })
			a.fail(errRestart)
		case sched.Fail:
			a.fail(q.lost(x.Node))
		}
	}
}

// lost returns the error of a statement that cannot go on without a node.
func (q *query) lost(node uint64) error {
	name := q.names[node]
	if name == "" {
		name = fmt.Sprint(node)
	}
	return pgerr.New(pgerr.AdminShutdown, "terminating statement because node \"%s\" was lost", name).
		WithDetail("A part of the result had been sent or written already.").
		WithHint("Run the statement again.")
}

// handleError handles an error of an attempt: a lost node, or damage that was repaired, is
// for the scheduler to decide on; anything else ends the attempt.
func (q *query) handleError(a *attempt, node uint64, err error) {
	var lost *flow.LostError
	var repaired *store.RepairedError
	switch {
	case errors.As(err, &repaired) && !a.over() && q.countRepair():
		q.event(a, sched.Repaired{})
		a.fail(err) // unless another attempt has begun
	case errors.As(err, &lost):
		q.event(a, sched.Lost{Node: lost.Node})
	case node != 0 && (rpc.Unreachable(err) || pgerr.Is(err, pgerr.AdminShutdown) || pgerr.Is(err, pgerr.CannotConnectNow)):
		// The node is gone, or shutting down.
		q.event(a, sched.Lost{Node: node})
	default:
		a.fail(err)
	}
}

// countRepair reports whether a plan may restart after another repair: a disk that keeps
// failing must not make it restart for ever.
func (q *query) countRepair() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.repairs++
	return q.repairs <= maxRepairs
}

// remoteError handles an error of a task on another node. A node that cannot reach this
// one is of no use to the statement: it counts as lost.
func (q *query) remoteError(a *attempt, from uint64, err error) {
	var lost *flow.LostError
	if errors.As(err, &lost) && lost.Node == q.s.g.w.cfg.Self {
		err = &flow.LostError{Node: from, Err: lost.Err}
	}
	q.handleError(a, 0, err)
}

// Next implements op.BatchReader.
func (q *query) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if q.ended {
			return nil, io.EOF
		}
		a := q.cur
		b, err := a.root().Next(ctx)
		var bad *store.CorruptError
		if errors.As(err, &bad) {
			// The error may come from another task here, which may not have reported it yet.
			q.handleError(a, 0, q.s.g.w.cfg.Store.Repair(ctx, err))
		}
		if err == nil {
			// Either a row is returned or the attempt is restarted, never both.
			q.mu.Lock()
			restarting := a.isRestart()
			if !restarting && !q.left {
				q.left = true
				q.act(a, q.sched.Step(sched.Left{}))
			}
			q.mu.Unlock()
			if !restarting {
				return b, nil
			}
		}
		switch {
		case a.isRestart():
			a.stop()
			if err := q.s.again(); err != nil {
				return nil, err
			}
			if err := q.restart(); err != nil {
				return nil, err
			}
		case err == io.EOF:
			q.ended = true
			a.stop()
			return nil, io.EOF
		default:
			// The error of a task here may only follow from one elsewhere.
			if first := a.error(); first != nil && ctx.Err() == nil {
				err = first
			}
			return nil, err
		}
	}
}

// Close implements op.BatchReader.
func (q *query) Close() error {
	q.ended = true
	q.cur.stop()
	q.closed.Do(q.s.unset)
	return nil
}

func (q *query) actuals() stage.Actuals {
	q.mu.Lock()
	a := q.cur
	q.mu.Unlock()
	if a == nil {
		return stage.Actuals{}
	}
	return a.actuals()
}
