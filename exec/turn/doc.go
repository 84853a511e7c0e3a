// Package turn has threads that work for long let those go first that answer soon: a statement of a few rows, a commit, a
// heartbeat.
//
//	few threads work    a processor of the runtime is idle and waits for the network   Give: the runtime's next goroutine
//	more than cores     each has a processor, the kernel divides the cores             Give: long slices, Soon: short ones
//
// Where more goroutines work than the runtime has processors, nobody looks at the network for up to ten milliseconds. With a
// processor for each, the kernel decides who runs, and one that was woken goes before those whose slices are longer. See
// docs/decisions/0111 and 0120.
package turn
