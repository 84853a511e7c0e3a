package train

import (
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestRoomOfAStep: a step is charged for its own memory, not that of the step before, and uses
// fewer goroutines if there is no memory for all.
func TestRoomOfAStep(t *testing.T) {
	pool := mem.NewPool("n", 32<<20)
	w, err := NewWorker(mustJob(t, "linear_regression", "y", mixed(1, 0, 1)), WorkerConfig{Pool: pool, Temp: t.TempDir(), Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.share(nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pass, used int64
		threads    int
	}{{3 << 20, 12 << 20, 2}, {12 << 20, 24 << 20, 1}, {20 << 20, 24 << 20, 0}, {2 << 20, 8 << 20, 2}, {1 << 20, 4 << 20, 2}} {
		threads, err := w.room(c.pass, c.pass, 2, 2, true)
		if threads != c.threads || (err != nil) != (threads == 0) {
			t.Fatal(threads, err)
		}
		if used := pool.Used(); used > c.used {
			t.Errorf("%d bytes are charged for passes of %d", used, c.pass)
		}
	}
	if err := w.Close(); err != nil || pool.Used() != 0 {
		t.Errorf("%v, %d bytes", err, pool.Used())
	}
}
