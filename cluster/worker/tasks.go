package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/task"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TaskInfo describes a task of this node: a stage of a plan that runs here.
type TaskInfo struct {
	Statement string
	Gateway   uint64
	User      types.OID // who runs the statement
	PID       int32     // of the session, at the gateway
	Query     string
	Started   time.Time
	Stage     plan.StageID
	Number    int // of the node in the run, the gateway's being 0
	Done      bool
	// SplitsTotal is how many splits the task got so far.
	SplitsDone, SplitsTotal int
	Rows                    int64 // returned
	// Used and Spilled are bytes of the statement on this node; they are set for its first
	// task only, so that tasks may be summed.
	Used, Spilled int64
}

// Tasks lists the tasks of this node, for its own sessions' statements and for
// others, by statement and stage.
func (w *Worker) Tasks() []TaskInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []TaskInfo
	for s := range w.statements {
		out = append(out, s.tasks()...)
	}
	for _, r := range w.runs {
		out = append(out, r.tasks()...)
	}
	slices.SortFunc(out, func(a, b TaskInfo) int {
		return cmp.Or(cmp.Compare(a.Statement, b.Statement), cmp.Compare(a.Stage, b.Stage))
	})
	return out
}

// describe fills in what the tasks of a statement share.
func describe(list []TaskInfo, t TaskInfo, session *function.Session, pool *mem.Pool) []TaskInfo {
	if session != nil {
		t.User, t.PID, t.Query, t.Started = session.SessionUser, session.PID, session.Query, session.StatementStart
	}
	for i := range list {
		x := &list[i]
		x.Statement, x.Gateway, x.Number = t.Statement, t.Gateway, t.Number
		x.User, x.PID, x.Query, x.Started = t.User, t.PID, t.Query, t.Started
	}
	if len(list) > 0 {
		first := 0
		for i := range list {
			if list[i].Stage < list[first].Stage {
				first = i
			}
		}
		list[first].Used, list[first].Spilled = pool.Used(), pool.Spilled()
	}
	return list
}

func (s *Statement) tasks() []TaskInfo {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return nil
	}
	var session *function.Session
	if s.env.Host != nil {
		session = s.env.Host.Session()
	}
	return describe(last.tasks(), TaskInfo{Statement: s.id, Gateway: s.g.w.cfg.Self}, session, s.pool)
}

func (r *run) tasks() []TaskInfo {
	t := TaskInfo{Statement: r.m.Statement, Gateway: r.gateway, Number: slices.Index(r.m.Nodes, r.self)}
	return describe(r.part.info(), t, r.m.Session, r.pool)
}

func (q *query) tasks() []TaskInfo {
	q.mu.Lock()
	a := q.cur
	q.mu.Unlock()
	if a == nil {
		return nil
	}
	a.mu.Lock()
	p := a.part
	a.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.info()
}

func (r *singleStage) tasks() []TaskInfo {
	running, q := r.now()
	t := taskOf(r.root.ID, running)
	t.SplitsTotal, t.SplitsDone = r.splits, r.splits-q.left()
	return []TaskInfo{t}
}

// info returns the TaskInfo of the part's tasks.
func (p *part) info() []TaskInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []TaskInfo
	for i, t := range p.tasks {
		s := p.stages[len(p.stages)-1-i]
		x := taskOf(s.ID, t)
		x.SplitsDone, x.SplitsTotal = p.feeds[s.ID].progress()
		out = append(out, x)
	}
	return out
}

func taskOf(id plan.StageID, t *task.Task) TaskInfo {
	x := TaskInfo{Stage: id}
	select {
	case <-t.Done():
		x.Done = true
	default:
	}
	if i := slices.IndexFunc(t.Stats(), func(s *op.Stats) bool { return s.ID == 0 }); i >= 0 {
		x.Rows = t.Stats()[i].Rows.Load()
	}
	return x
}
