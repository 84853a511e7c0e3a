package coord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// maxAttempts bounds how often a training is begun again because nodes went
// away. Attempts are a second apart at most, and a dead node is known as dead
// after a few.
const maxAttempts = 20

// drive trains, and trains again from the last checkpoint when a node is lost,
// or met damage in a file that it has repaired by now.
func (t *training) drive(ctx context.Context, x *execution, st *catalog.State, p *trainPlan, rec *jobRecord) (*train.Result, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%d.%d.%x.%d", rec.job.OID, rec.job.Epoch, t.s.engine.started.UnixNano(), n)
		res, err := t.attempt(ctx, x, st, p, rec, name)
		var mended *store.MendedError
		switch {
		case err == nil || ctx.Err() != nil:
			return res, err
		case errors.As(err, &mended) && n < maxAttempts:
			rec.log().Warn("training begins again over a repaired file", "segment", mended.Segment)
			continue
		case rec.resume != nil && pgerr.CodeOf(err) == pgerr.DataCorrupted:
			// A query with random() reads other rows each time.
			rec.log().Warn("training starts anew: its checkpoint is of other rows", "error", err)
			rec.resume = nil
			continue
		case n == maxAttempts || !nodeLost(err):
			return nil, err
		}
		rec.log().Info("training goes on without a node", "attempt", n+1, "iteration", rec.saved, "error", err)
		select {
		case <-time.After(min(time.Duration(n)*100*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// nodeLost tells whether what failed may be done without the node that failed.
func nodeLost(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.ConnectionFailure, pgerr.AdminShutdown, pgerr.CannotConnectNow:
		return true
	}
	return false
}

// attempt trains on the nodes that are alive now.
func (t *training) attempt(ctx context.Context, x *execution, st *catalog.State, p *trainPlan, rec *jobRecord, name string) (*train.Result, error) {
	since := time.Now()
	g, err := t.s.engine.cfg.Trainer.Open(ctx, name, p.job)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	t.members = g.Members()
	rec.phase("read", 0)
	in := train.Input{Job: p.job, Resume: rec.resume, Save: rec, Progress: rec.event}
	done, err := t.begin(ctx, x, st, p, rec.job, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := t.collect(ctx, x, st, p, name); err != nil {
		return nil, err
	}
	if in.Rows, err = g.Deal(ctx); err != nil {
		return nil, err
	}
	rec.phase("fit", in.Rows)
	t.reading = time.Since(since)
	res, err := train.Run(ctx, in, g)
	if err != nil {
		return nil, err
	}
	res.Seconds += t.reading.Seconds()
	return res, nil
}

// collect is the dataset stage: it runs the query once, leaving its rows on the
// nodes that made them.
func (t *training) collect(ctx context.Context, x *execution, st *catalog.State, p *trainPlan, name string) error {
	outer := x.ctx
	x.ctx = ctx
	defer func() { x.ctx = outer }()
	r := t.s.newRun(x, st)
	defer r.close()
	root, err := t.dataset(r, p, name)
	if err != nil {
		return err
	}
	rows, err := r.start(root, root.Schema(), nil)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = rows.Next(ctx)
	}
	if cerr := rows.Close(); err == io.EOF {
		err = cerr
	}
	// What the training holds from here on counts as it is; hours of it keep nobody
	// out.
	x.admission.Rest()
	if err == nil && t.explain != nil {
		t.planned, err = r.format(*t.explain)
	}
	return err
}

// dataset is the plan of the dataset stage. Its buffers are filled here.
func (t *training) dataset(r *run, p *trainPlan, name string) (*plan.Collect, error) {
	// The optimiser changes the tree it is given, so each attempt binds anew.
	q, err := t.bind(r.x.ctx, r.st, r.x.ptypes)
	if err != nil {
		return nil, err
	}
	o, next, err := r.optimize(q.query)
	if err != nil {
		return nil, err
	}
	if err := r.buffers(o.Buffers); err != nil {
		return nil, err
	}
	pick := &plan.Project{Input: o.Root}
	for i, c := range o.Cols {
		var e expr.Expr = colRef(c)
		if want := p.job.Columns[i].Type; !carriedAlike(c.Type, want) {
			e = &expr.Cast{Arg: e, Typ: want}
		}
		pick.Items = append(pick.Items, plan.Item{Col: plan.Column{ID: next, Name: c.Name, Type: p.job.Columns[i].Type}, Expr: e})
		next++
	}
	return &plan.Collect{Input: pick, Name: name, Out: plan.Column{ID: next, Name: "rows", Type: types.Int8}}, nil
}
