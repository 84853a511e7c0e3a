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
