package main

import (
	"os"
	"runtime"
)

// cores is how many the machine, the cgroup or GOMAXPROCS gives the process, and so the default of --threads.
var cores = runtime.GOMAXPROCS(0)

// spareProcessors has the runtime use two processors more than there are cores, unless GOMAXPROCS says how many. A runtime
// whose processors all work looks at the network every ten milliseconds only; with one that is idle it waits in the kernel,
// which lets the short statement go before those that work. See docs/decisions/0111-spare-processors.md.
func spareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(cores + 2)
	}
}
