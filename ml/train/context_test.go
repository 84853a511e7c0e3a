package train

import (
	"context"
	"errors"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestWorkerEnds: work that is not started by a call with a context ends with the context of the
// job: rows read a second time, rows being sent.
func TestWorkerEnds(t *testing.T) {
	tb := mixed(110000, 2, 3)
	all := batches(tb)
	type key struct{}
	job := mustJob(t, "mlp", "y", tb, "hidden_units", int64(3), "max_iterations", int64(3), "batch_size", int64(5000), "checkpoint_every", int64(1))
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, true))
	defer cancel()
	l := &Local{}
	for i := range 2 {
		w, err := NewWorker(job, WorkerConfig{Context: ctx, Pool: mem.NewPool("node", 5<<20), Temp: t.TempDir(), Threads: 1, Workers: 2, Self: i, Rescan: true,
			Send: func(ctx context.Context, to int, each func(func([]byte) error) error) error {
				if ctx.Value(key{}) == nil {
					t.Error("rows are sent without the context of the job")
				}
				return l.sender(ctx, to, each)
			}})
		if err != nil {
			t.Fatal(err)
		}
		l.Workers = append(l.Workers, w)
	}
	defer l.Close()
	s := &source{rows: all, l: l}
	if err := s.read(context.Background()); err != nil {
		t.Fatal(err)
	}
	rows, err := l.Distribute(context.Background())
	if err != nil || !l.Rescan {
		t.Fatal(err, l.Rescan)
	}
	in := Input{Job: job, Rows: rows}
	in.Rescan = func(ctx context.Context) error {
		if err := s.read(ctx); err != nil {
			return err
		}
		cancel()
		return s.read(ctx)
	}
	if _, err := Run(context.Background(), in, l); !errors.Is(err, context.Canceled) {
		t.Errorf("the job has ended on its node: %v", err)
	}
}
