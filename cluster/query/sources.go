package query

import (
	"context"
	"time"

	"github.com/tributarydb/tributary/exec/source"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
)

// Sources are the table functions that read or make rows in bulk.
type Sources interface {
	Source(ctx context.Context, name string, args []plan.Arg, r source.Reader) (*plan.Source, error)
}

// readableSources are the table functions for who runs a statement.
type readableSources struct {
	all    Sources
	reader source.Reader
	poll   plan.Poll
}

// pollEvery is how soon planning that waits for an object store notices that its statement was cancelled.
const pollEvery = 50 * time.Millisecond

// Source implements bind.SourceCatalog.
func (r readableSources) Source(name string, args []plan.Arg) (*plan.Source, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if r.poll != nil && source.IsFile(name) && source.Remote(args) {
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			t := time.NewTicker(pollEvery)
			defer t.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-t.C:
					if err := r.poll(); err != nil {
						cancel(err)
					}
				}
			}
		}()
	}
	defer cancel(nil)
	return r.all.Source(ctx, name, args, r.reader)
}

// sources returns the table functions that a statement may use.
func sources(all Sources, st *catalog.State, c *Caller, poll plan.Poll) bind.SourceCatalog {
	return readableSources{all, source.Reader{Role: c.Role, Server: st.Inherits(c.Role, catalog.ReadFilesOID), Shared: c.Shared}, poll}
}
