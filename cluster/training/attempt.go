package training

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/version"
)

// maxAttempts bounds how often a training is tried because nodes are lost. The wait between attempts
// grows to a second; a node that is dead is known to be dead after a few.
const maxAttempts = 20

// run trains. It tries again, from the last checkpoint, if a node is lost or has repaired a damaged
// file.
func (d *drive) run(ctx context.Context) (err error) {
	rec, rescan := d.rec, true
	defer func() {
		if cerr := d.closeGroups(); err == nil {
			err = cerr
		}
	}()
	for n := 1; ; n++ {
		err = d.attempt(ctx, fmt.Sprintf("%d.%d.%x.%d", rec.job.OID, rec.job.Epoch, d.j.started.UnixNano(), n), rescan)
		var repaired *store.RepairedError
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.As(err, &repaired) && n < maxAttempts:
			rec.log().Warn("training begins again over a repaired file", "segment", repaired.Segment)
			continue
		case pgerr.Is(err, pgerr.RowsNotHeld) && rescan:
			rec.log().Info("training holds its rows", "why", err)
			rescan = false
			continue
		case rec.resume != nil && pgerr.CodeOf(err) == pgerr.DataCorrupted:
			// The query may return other rows each time, as with random().
			rec.log().Warn("training starts anew: its checkpoint cannot be read, or is of other rows", "error", err)
			rec.resume = nil
			continue
		case n == maxAttempts || !nodeLost(err):
			return err
		}
		rec.log().Info("training goes on without a node", "attempt", n+1, "iteration", rec.saved, "error", err)
		select {
		case <-time.After(min(time.Duration(n)*100*time.Millisecond, time.Second)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// nodeLost reports whether an error is of a lost node, so that a training without it may succeed.
func nodeLost(err error) bool {
	switch pgerr.CodeOf(err) {
	case pgerr.ConnectionFailure, pgerr.AdminShutdown, pgerr.CannotConnectNow:
		return true
	}
	return false
}

// attempt trains on the nodes that are alive, from the last checkpoint if there is one.
func (d *drive) attempt(ctx context.Context, name string, rescan bool) error {
	d.rec.forget()
	switch {
	case d.plan.Groups != nil:
		return d.attemptGroups(ctx, name, rescan)
	case d.rec.resume == nil:
		return d.attemptFrom(ctx, name, rescan, nil)
	}
	return d.j.cfg.Blobs.Read(ctx, d.rec.resume, func(state []byte) error { return d.attemptFrom(ctx, name, rescan, state) })
}

func (d *drive) attemptFrom(ctx context.Context, name string, rescan bool, resume []byte) error {
	since := time.Now()
	r, err := d.read(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	in := train.Input{Job: d.job(), Part: d.only != nil, Resume: resume, Progress: d.rec.event, Cancelled: d.rec.cancelled}
	if d.only == nil && (d.runs == nil || d.runs.search == nil) { // a checkpoint is of all groups, or of the model of all rows before them
		in.Save = d.rec
	}
	_, same := r.query.Identity(func(s *plan.Source) bool { return !source.IsFile(s.Name) })
	src := d.source(r.query)
	g, over, err := d.openCached(ctx, name, src)
	if err == nil && g == nil {
		g, err = d.j.cfg.Trainer.Open(ctx, name, d.job(), rescan, d.x.Caller.SessionUser)
	}
	if err != nil {
		return err
	}
	defer g.Close()
	in.Profile = d.plan.Groups == nil && d.show == nil && d.rec.job.Verify == 0 && d.state.Finalized() >= version.Binary
	in.Cached, d.members = over, g.Members()
	d.rec.reduces(d.members)
	done, err := d.begin(ctx, &in)
	if err != nil {
		return err
	}
	defer done()
	if over != nil {
		d.rec.phase("iterate", over.Rows())
	} else {
		d.rec.phase("read", 0)
		if err := d.collect(ctx, r, name); err != nil {
			return err
		}
		if in.Rows, err = g.Distribute(ctx); err != nil {
			return err
		}
		d.rec.phase("fit", in.Rows)
	}
	r.close() // hours of training must not pin the segments that the query has read
	d.reading = time.Since(since)
	in.Rescan = d.rescan(g, name)
	opened := 0
	in.Open = func(ctx context.Context, job *train.Job, first int) (*train.Group, error) {
		opened++
		return d.open(ctx, fmt.Sprintf("%s.%d", name, opened), job, rescan, first)
	}
	if same {
		in.Workers = len(d.members)
	}
	d.trips.Laned, d.trips.alone = g, d.state.Finalized() < version.Binary
	res, err := train.Run(ctx, in, &d.trips)
	if err != nil {
		return err
	}
	res.Elapsed += d.reading
	d.result, d.reused = res, over != nil
	if d.show == nil && d.plan.Groups == nil {
		if err := d.rec.keep(ctx, res.Model.Write); err != nil {
			return err
		}
		for _, t := range res.Kept {
			if err := d.rec.keep(ctx, t.Model.Write); err != nil {
				return err
			}
		}
	}
	if src != nil && res.Encoded != nil {
		if err := g.Keep(ctx, src, res.Encoded); err != nil {
			d.rec.log().Debug("a training's dataset is not kept", "error", err)
		}
	}
	return nil
}

// rescan returns what reads the query once more for workers that do not hold their rows; nil where they do.
func (d *drive) rescan(g Training, name string) func(context.Context) error {
	if !g.Rescan() {
		return nil
	}
	return func(ctx context.Context) error {
		r, err := d.read(ctx)
		if err != nil {
			return err
		}
		defer r.close()
		if err := d.collect(ctx, r, name); err != nil {
			return err
		}
		return g.DistributeRescan(ctx)
	}
}

// open reads the query for trials that want its rows encoded in another way than those before.
func (d *drive) open(ctx context.Context, name string, job *train.Job, rescan bool, first int) (_ *train.Group, err error) {
	r, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	g, err := d.j.cfg.Trainer.Open(ctx, name, job, rescan, d.x.Caller.SessionUser)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	if err := d.collect(ctx, r, name); err != nil {
		return nil, err
	}
	rows, err := g.DistributeFrom(ctx, first)
	if err != nil {
		return nil, err
	}
	return &train.Group{Reducer: &alsoTrips{g, &d.trips}, Rows: rows, Rescan: d.rescan(g, name), Close: g.Close}, nil
}

// collect is the dataset stage: it runs the query, and the nodes that produce its rows keep them.
func (d *drive) collect(ctx context.Context, r *reading, name string) error {
	root, err := d.dataset(ctx, r, name)
	if err != nil {
		return err
	}
	rows, err := r.Start(ctx, root, root.Schema(), nil)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = rows.Next(ctx)
	}
	if cerr := rows.Close(); err == io.EOF {
		err = cerr
	}
	// Gives up the admission: other statements are admitted while this one trains, perhaps for hours.
	// The memory that it has charged still counts.
	d.x.Admission.Rest()
	if err == nil && d.show != nil && d.only == nil {
		d.planned = r.Show(*d.show, nil)
	}
	return err
}
