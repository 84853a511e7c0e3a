package training

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/tributarydb/tributary/ml/train"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
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

// refuses refuses commits as long as there is no leader.
type refuses struct {
	Catalog
	down bool
	got  []catalog.ModelTrial
}

func (c *refuses) Commit(_ context.Context, changes []catalog.Change) error {
	if c.down {
		return pgerr.New(pgerr.CannotConnectNow, "there is no leader")
	}
	c.got = append(c.got, changes[0].(*catalog.JobProgress).Trials...)
	return nil
}

// TestTrialsAreToldOnce: each change of a trial is committed once, those of a commit that failed with the
// next one.
func TestTrialsAreToldOnce(t *testing.T) {
	c := &refuses{down: true}
	r := newRecord(&Jobs{cfg: Config{Catalog: c, Log: slog.New(slog.DiscardHandler)}}, &catalog.Job{}, nil)
	tell := func(number int, state train.TrialState) {
		r.last = r.last.Add(-time.Hour) // a commit is due
		r.event(train.Event{Trial: &train.Trial{Number: number, State: state, Args: []train.NamedText{{Name: "alpha", Value: "1"}}}})
	}
	tell(1, train.TrialRunning)
	tell(1, train.TrialSucceeded)
	r.settle()
	c.down = false
	tell(2, train.TrialFailed)
	tell(3, train.TrialRunning)
	r.settle()
	var got []string
	for _, x := range c.got {
		got = append(got, fmt.Sprint(x.Number, x.State, x.Args))
	}
	want := []string{"1running[{alpha 1}]", "1succeeded[{alpha 1}]", "2failed[{alpha 1}]", "3running[{alpha 1}]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("committed %v, not %v", got, want)
	}
}
