package worker

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/observe"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Member is a node that is alive.
type Member struct {
	ID      uint64
	Name    string
	Threads int
}

// Gateway runs statements of this node's sessions on all nodes. Its methods may
// be called from any goroutine.
type Gateway struct {
	w       *Worker
	members func() []Member
}

// Gateway makes the node's gateway. members lists the nodes that are alive and
// take work; this one takes part in any case.
func (w *Worker) Gateway(members func() []Member) *Gateway { return &Gateway{w: w, members: members} }

// nodes returns the nodes that take part in a statement that starts now, this one
// first, the rest by id.
func (g *Gateway) nodes() []Member {
	out := []Member{{ID: g.w.cfg.Self, Threads: g.w.cfg.Threads()}}
	for _, m := range g.members() {
		if m.ID == out[0].ID {
			out[0].Name = m.Name
			continue
		}
		out = append(out, m)
	}
	slices.SortFunc(out[1:], func(a, b Member) int { return int(int64(a.ID - b.ID)) })
	return out
}

// Nodes returns how many nodes take part in a statement that starts now.
func (g *Gateway) Nodes() int { return len(g.nodes()) }

// Threads returns how many threads these have together.
func (g *Gateway) Threads() (n int) {
	for _, m := range g.nodes() {
		n += max(m.Threads, 1)
	}
	return n
}

// Options are the settings of a statement's execution.
type Options struct {
	BatchSize  int
	Saturation float64 // see cluster/sched
	Virtual    op.Virtuals
	Admission  *Admission // of the statement; nil: its plans need none
}

// Statement is a statement's resources on the gateway: pins on segments, a
// spill directory, buffers. It runs plans, one after the other or nested. It is
// for one goroutine, except that a run's reader may have its own.
type Statement struct {
	g    *Gateway
	id   string
	st   *catalog.State
	pool *mem.Pool
	env  *function.Env
	o    Options
	pin  *store.Pin
	dir  *spill.Dir

	began time.Time

	mu      sync.Mutex
	plans   int // whose readers are open
	buffers map[int]*op.Buffer
	last    running // nil before the first run
	runs    int     // so far
	keep    bool    // the operators of all runs
	past    []observe.Operator
	sent    int64 // by the runs before the last
}

// running is a running plan, as seen by Actuals and Tasks.
type running interface {
	actuals() stage.Actuals
	tasks() []TaskInfo
	observed() (p *plan.Staged, nodes []nodeActuals, done, total int)
}

// Statement opens a statement over a view of the catalog. It must be closed, after all
// its readers.
func (g *Gateway) Statement(id string, st *catalog.State, pool *mem.Pool, env *function.Env, o Options) *Statement {
	c := &g.w.cfg
	s := &Statement{g: g, id: id, st: st, pool: pool, env: env, o: o, buffers: map[int]*op.Buffer{},
		pin: c.Store.Pin(o.BatchSize), dir: g.dir(pool), began: time.Now()}
	g.w.mu.Lock()
	g.w.statements[s] = struct{}{}
	g.w.mu.Unlock()
	return s
}

func (g *Gateway) dir(pool *mem.Pool) *spill.Dir {
	c := &g.w.cfg
	return spill.NewDir(spill.Options{Parent: c.Temp, Pool: pool, Budget: c.Budget})
}

// Spill implements query.Runner.
func (g *Gateway) Spill(pool *mem.Pool) *spill.Dir { return g.dir(pool) }

// Buffer makes a buffer that outlives a statement's plans. It must be closed.
func (g *Gateway) Buffer(pool *mem.Pool, ts []types.Type) *op.Buffer {
	return op.NewOwnBuffer(pool, g.dir(pool), ts)
}

func (s *Statement) runtime() *op.Runtime {
	return &op.Runtime{Threads: s.threads(s.g.w.cfg.Threads()), BatchSize: s.o.BatchSize, Pool: s.pool, Spill: s.dir}
}

// threads returns how many of a node's threads the statement uses.
func (s *Statement) threads(n int) int {
	if a := s.o.Admission; a != nil {
		n = a.group.Threads(n)
	}
	return n
}

// Execute starts a plan and returns a reader of the root stage's rows; closing it stops the
// plan everywhere. The plan ends with ctx at the latest. A manifest in manifests
// replaces the state's manifest for its scan.
func (s *Statement) Execute(ctx context.Context, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest) (op.BatchReader, error) {
	a := s.o.Admission
	if a != nil && (p.Holds || p.Long) {
		if err := a.enter(ctx); err != nil {
			return nil, err
		}
	}
	if len(p.Stages) == 1 {
		if a != nil && p.Holds {
			if _, err := a.here(ctx, a.mode(admitWait)); err != nil {
				return nil, err
			}
			a.start(nil)
		}
		r, err := newSingleStage(ctx, s, &p.Stages[0], manifests)
		if err != nil {
			return nil, err
		}
		s.set(r)
		return r, nil
	}
	// Several statements may have the same id at a time: one execution opens one after the other,
	// and those of the functions that its threads call.
	q := newQuery(s, fmt.Sprintf("%s/%d", s.id, s.g.w.queries.Add(1)), p, manifests)
	s.set(q)
	if err := q.begin(ctx); err != nil {
		s.unset()
		return nil, err
	}
	return q, nil
}

func (s *Statement) set(r running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe()
	s.last = r
	s.runs++
	s.plans++
	s.g.w.cfg.Resources.Work(1)
}

func (s *Statement) unset() {
	s.mu.Lock()
	s.plans--
	s.mu.Unlock()
	s.g.w.cfg.Resources.Work(-1)
}

// again returns an error if a plan that met damage cannot be run again: rows of the damaged file may also
// be in a buffer, or with another plan.
func (s *Statement) again() error {
	s.mu.Lock()
	only := s.plans == 1
	for _, b := range s.buffers {
		only = only && b.Rows() == 0
	}
	s.mu.Unlock()
	return s.pin.BeforeRerun(only)
}

// filled returns a copy of the buffers, for a plan to read. It must be a copy: while
// the plan's threads run, and a recursion builds the operators of its rounds, the
// plan's own rows may be added as a buffer.
func (s *Statement) filled() map[int]*op.Buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.buffers)
}

// Fill runs a reader to its end into buffer id, which later plans read. A buffer that had the id before
// is closed: writes in WITH use the same ones in turn.
func (s *Statement) Fill(ctx context.Context, id int, cols []plan.Column, in op.BatchReader) (err error) {
	defer func() {
		if cerr := in.Close(); err == nil {
			err = cerr
		}
	}()
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	buf := op.NewBuffer(s.runtime(), ts)
	s.setBuffer(id, buf)
	for {
		b, err := in.Next(ctx)
		if err == io.EOF {
			return buf.Finish(ctx)
		}
		if err != nil {
			return err
		}
		if b.Rows() == 0 {
			continue
		}
		if err := buf.Append(ctx, &batch.Batch{Cols: b.Cols[:len(cols)], N: b.N, Sel: b.Sel, Seq: b.Seq}); err != nil {
			return err
		}
	}
}

// Stream makes buffer id one whose rows the next plan reads as in gives them.
func (s *Statement) Stream(id int, in op.BatchReader) { s.setBuffer(id, op.NewStream(in)) }

func (s *Statement) setBuffer(id int, buf *op.Buffer) {
	s.mu.Lock()
	old := s.buffers[id]
	s.buffers[id] = buf
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// Actuals returns the counters of the last plan, summed over the nodes. Those of other
// nodes are complete once the plan's reader is at its end.
func (s *Statement) Actuals() stage.Actuals {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return stage.Actuals{}
	}
	return last.actuals()
}

// Close frees what the statement holds.
func (s *Statement) Close() {
	s.g.w.mu.Lock()
	delete(s.g.w.statements, s)
	s.g.w.mu.Unlock()
	for _, b := range s.filled() {
		b.Close()
	}
	_ = s.pin.Close()
	_ = s.dir.Close()
}
