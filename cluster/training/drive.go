package training

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// drive is the state of a job while this node drives it: its statement's execution over one state of the
// catalog.
type drive struct {
	j         *Jobs
	statement Statement
	x         *query.Run
	state     *catalog.State
	plan      *Plan
	query     *plan.Query // the plan's; nil once it was optimised
	rec       *jobRecord
	show      *query.Explain        // set by EXPLAIN
	base      *catalog.ModelVersion // the version that a warm start goes on from; nil for none
	chance    bool                  // of a verification: the query's rows depend on more than its tables
	chooses   bool                  // likewise: it leaves rows out by their order

	result  *train.Result
	groups  *catalog.ModelGroups // of a training of groups
	runs    *groupRuns           // likewise
	only    *group               // the group that is trained alone; nil: all rows are trained on
	reused  bool                 // trained on the cached dataset of an earlier training
	reading time.Duration        // duration of the dataset stage and of distributing the rows
	planned string               // the dataset stage as it ran, for EXPLAIN
	members []uint64             // nodes of the workers
	trips   trips
}

// trips counts the round trips of a training: the tasks that the driver gave to all workers, one after the other,
// and how long it waited for their sums.
type trips struct {
	train.Laned
	alone bool // trials may not run side by side
	mu    sync.Mutex
	n     int
	took  time.Duration
}

// Reduce implements train.Reducer.
func (t *trips) Reduce(ctx context.Context, task train.Task) (family.Message, error) {
	return t.count(ctx, t.Laned, task)
}

// Lane implements train.Laned.
func (t *trips) Lane(lane int) train.Reducer { return t.lane(t.Laned, lane) }

func (t *trips) lane(of train.Laned, lane int) train.Reducer {
	if t.alone {
		return nil
	}
	return &inLane{of.Lane(lane), t}
}

// inLane counts the trips of a lane.
type inLane struct {
	train.Reducer
	trips *trips
}

// Reduce implements train.Reducer.
func (t *inLane) Reduce(ctx context.Context, task train.Task) (family.Message, error) {
	return t.trips.count(ctx, t.Reducer, task)
}

func (t *trips) count(ctx context.Context, red train.Reducer, task train.Task) (family.Message, error) {
	since := time.Now()
	m, err := red.Reduce(ctx, task)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n, t.took = t.n+1, t.took+time.Since(since)
	return m, err
}

// alsoTrips counts those of further workers among a training's.
type alsoTrips struct {
	train.Laned
	trips *trips
}

// Reduce implements train.Reducer.
func (t *alsoTrips) Reduce(ctx context.Context, task train.Task) (family.Message, error) {
	return t.trips.count(ctx, t.Laned, task)
}

// Lane implements train.Laned.
func (t *alsoTrips) Lane(lane int) train.Reducer { return t.trips.lane(t.Laned, lane) }

// reading is the query of the dataset, optimised for one execution.
type reading struct {
	*query.Executor
	query *plan.Query
	close func()
}

// job returns the job that is trained now: the plan's, or that of trials of a search for all groups.
func (d *drive) job() *train.Job {
	if d.runs != nil && d.runs.job != nil {
		return d.runs.job
	}
	return d.plan.Job
}

// read starts a reading, which must be closed.
func (d *drive) read(ctx context.Context) (*reading, error) {
	q := d.query
	if d.query = nil; q == nil { // optimising changes a query, so each reading binds it again
		p, err := d.j.Plan(ctx, d.statement, d.x.Caller, d.state)
		if err != nil {
			return nil, err
		}
		q = p.Query
	}
	d.within(q)
	st := d.state
	if d.runs != nil && d.runs.part != nil {
		st = d.runs.part
	}
	run := d.x.Open(st)
	p, err := run.Optimize(ctx, planner.Once(q))
	if err != nil {
		run.Close()
		return nil, err
	}
	if d.rec != nil && d.rec.job.Verify != 0 {
		_, same := p.Query.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
		d.chance, d.chooses = !same, p.Query.Chooses()
	}
	return &reading{run, p.Query, sync.OnceFunc(run.Close)}, nil
}

// picked fills the buffers of the query and returns the plan of the columns that are trained on, and the next
// column's ID.
func (d *drive) picked(ctx context.Context, r *reading) (*plan.Project, expr.ColID, error) {
	o, next := r.query, r.query.NextCol
	if err := r.Buffers(ctx, o.Buffers, nil); err != nil {
		return nil, 0, err
	}
	pick := &plan.Project{Input: o.Root}
	for i, at := range d.plan.rows {
		c, want := o.Cols[at], d.job().Columns[i].Type
		pick.Items = append(pick.Items, plan.Item{Col: plan.Column{ID: next, Name: c.Name, Type: want}, Expr: columnAs(c, want)})
		next++
	}
	return pick, next, nil
}

// columnAs returns a column as a type.
func columnAs(c plan.Column, want types.Type) expr.Expr {
	var e expr.Expr = &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}
	if !c.Type.SamePhysical(want) {
		e = &expr.Cast{Arg: e, Typ: want}
	}
	return e
}

// dataset returns the plan of the dataset stage.
func (d *drive) dataset(ctx context.Context, r *reading, name string) (plan.Node, error) {
	pick, next, err := d.picked(ctx, r)
	if err != nil {
		return nil, err
	}
	return &plan.Collect{Input: pick, Name: name, Out: plan.Column{ID: next, Name: "rows", Type: types.Int8}}, nil
}
