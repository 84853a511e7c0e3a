package main

import (
	"context"
	"os"
	"runtime"

	"github.com/tributarydb/tributary/exec/turn"
)

// cores is how many the machine, the cgroup or GOMAXPROCS gives the process, and so the default of --threads.
var cores = runtime.GOMAXPROCS(0)

// spare is how many processors the runtime has more than there are cores. A runtime whose processors all work looks at the
// network every ten milliseconds only; with one that is idle it waits in the kernel, which lets the short statement go before those
// that work. See docs/decisions/0111-spare-processors.md.
const spare = 2

// processors sets how many processors the runtime has, unless GOMAXPROCS does, until stop is called.
func processors() (stop func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		turn.Run(ctx, cores, spare)
	}()
	return func() {
		cancel()
		<-done
	}
}
