package turn

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// TestRun: the runtime has a processor for each of many threads while they work, and those that work and those that answer
// may say so on any thread of the system.
func TestRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		Run(ctx, 2, 2)
	}()
	until := func(n int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); runtime.GOMAXPROCS(0) != n; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d processors, wanted %d", runtime.GOMAXPROCS(0), n)
			}
		}
	}
	one, eight := Work(2), Work(8)
	until(12)
	Give()
	Soon()
	eight()
	eight()
	until(4)
	one()
	if n := threads.Load(); n != 0 {
		t.Errorf("%d threads are left", n)
	}
	cancel()
	<-ran
}

// TestBusy: statements run while threads of theirs work, and for a while after one began.
func TestBusy(t *testing.T) {
	defer began.Store(began.Swap(0))
	if Busy() {
		t.Error("busy without a statement")
	}
	end := Work(1)
	if !Busy() {
		t.Error("not busy while a thread works")
	}
	end()
	Soon()
	if !Busy() {
		t.Error("not busy just after a statement")
	}
	began.Store(int64(time.Since(epoch) - 2*recently))
	if Busy() {
		t.Error("busy long after the last statement")
	}
}
