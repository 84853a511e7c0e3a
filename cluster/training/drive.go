package training

import (
	"context"
	"sync"
	"time"

	"github.com/tributarydb/tributary/cluster/query"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// drive is a job being driven: its statement in one execution, over one state.
type drive struct {
	j         *Jobs
	statement Statement
	x         *query.Execution
	state     *catalog.State
	plan      *Plan
	query     *plan.Query // the plan's, until it is used
	rec       *record
	show      *query.Explain // set by EXPLAIN

	result  *train.Result
	reused  bool          // the dataset of a training before
	reading time.Duration // that the dataset stage and the distributing took
	planned string        // the dataset stage as it ran, for EXPLAIN
	members []uint64      // nodes of the workers
}

// reading is the query of the dataset, optimised to be read once.
type reading struct {
	*query.Executor
	query *plan.Query
	close func()
}

// read begins a reading, which must be closed.
func (d *drive) read(ctx context.Context) (*reading, error) {
	q := d.query
	if d.query = nil; q == nil { // the optimiser has changed it: each reading binds anew
		p, err := d.j.Plan(ctx, d.statement, d.x.Context, d.state)
		if err != nil {
			return nil, err
		}
		q = p.Query
	}
	run := d.x.Open(d.state)
	p, err := run.Optimize(ctx, planner.Once(q))
	if err != nil {
		run.Close()
		return nil, err
	}
	return &reading{run, p.Query, sync.OnceFunc(run.Close)}, nil
}

// dataset is the plan of the dataset stage. Its buffers are filled here.
func (d *drive) dataset(ctx context.Context, r *reading, name string) (*plan.Collect, error) {
	o, next := r.query, r.query.NextCol
	if err := r.Buffers(ctx, o.Buffers, nil); err != nil {
		return nil, err
	}
	pick := &plan.Project{Input: o.Root}
	for i, c := range o.Cols {
		var e expr.Expr = &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}
		want := d.plan.Job.Columns[i].Type
		if !c.Type.SamePhysical(want) {
			e = &expr.Cast{Arg: e, Typ: want}
		}
		pick.Items = append(pick.Items, plan.Item{Col: plan.Column{ID: next, Name: c.Name, Type: want}, Expr: e})
		next++
	}
	return &plan.Collect{Input: pick, Name: name, Out: plan.Column{ID: next, Name: "rows", Type: types.Int8}}, nil
}
