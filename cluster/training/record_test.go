package training

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
)

// commits counts commits, and has no state.
type commits struct {
	Catalog
	n int
}

func (c *commits) Commit(context.Context, []catalog.Change) error { c.n++; return nil }

// puts counts the files that are stored.
type puts struct {
	Blobs
	n int
}

func (p *puts) Put(context.Context, func(io.Writer) error) (*catalog.Segment, error) {
	p.n++
	return &catalog.Segment{Inline: []byte{1}}, nil
}
func (*puts) Hold() func() { return func() {} }

// TestSaveAfterProgress: a checkpoint is due by the time since the last one. Iterations of more than
// a second commit progress right before each, which must not count.
func TestSaveAfterProgress(t *testing.T) {
	c, p := &commits{}, &puts{}
	r := newRecord(&Jobs{cfg: Config{Catalog: c, Blobs: p, Log: slog.New(slog.DiscardHandler)}}, &catalog.Job{}, nil)
	save := func(iteration int) {
		t.Helper()
		before := c.n
		r.event(train.Event{Iteration: &train.Iteration{Number: iteration}})
		r.settle()
		if c.n != before+1 {
			t.Fatalf("iteration %d: no progress is committed", iteration)
		}
		if err := r.Save(context.Background(), iteration, func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i <= 3; i++ {
		r.last, r.kept = r.last.Add(-time.Hour), r.kept.Add(-time.Hour)
		if save(i); p.n != i || r.saved != i {
			t.Errorf("iteration %d: %d checkpoints, the last of iteration %d", i, p.n, r.saved)
		}
	}
	r.last = r.last.Add(-time.Hour)
	if save(4); p.n != 3 {
		t.Error("a checkpoint right after another")
	}
}
