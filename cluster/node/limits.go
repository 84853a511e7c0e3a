package node

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/tributarydb/tributary/cluster/coord"
)

// programShare is the memory that the process needs besides what accounts count: the
// binary, the runtime, the catalog, connection buffers.
const programShare = 96 << 20

// limit sets what the node uses from now on. Running statements keep their threads, and
// release memory when they are asked to.
func (n *Node) limit(l coord.Limits) {
	n.limits.Store(&l)
	if l.Memory == 0 {
		n.pool.SetLimit(0)
		return
	}
	// The garbage collector works harder near the limit; accounts stop well below it,
	// which leaves it some headroom.
	debug.SetMemoryLimit(l.Memory * 9 / 10)
	// The live heap is small compared with what a statement allocates; where there is
	// memory, collecting less often saves a tenth to a quarter of the time. The
	// environment variable GOGC takes precedence.
	if os.Getenv("GOGC") == "" {
		if l.Memory >= 1<<30 {
			debug.SetGCPercent(300)
			// Small statements allocate tens of kilobytes each on a live heap of a few
			// megabytes, which would make collections frequent. The ballast, which is never
			// touched and so takes no physical memory, makes the live heap count as larger.
			if size := int(min(l.Memory/64, 64<<20)); len(n.ballast) != size {
				n.ballast = make([]byte, size)
			}
		} else {
			debug.SetGCPercent(100)
			n.ballast = nil
		}
	}
	n.pool.SetLimit(max(l.Memory/4, (l.Memory-programShare)*6/10))
}

// threads returns how many threads the node uses now.
func (n *Node) threads() int { return n.limits.Load().Threads }

// watchLimits applies the limits set in the catalog, of resource groups too: at the start those that no start option
// overrides, then every change.
func (n *Node) watchLimits(ctx context.Context, start bool) {
	asked := func() coord.Limits {
		st := n.raft.Current()
		m := st.Node(n.dir.ID)
		if m == nil {
			return n.asked // removed
		}
		memory, threads := st.Asked(m)
		return coord.Limits{Memory: memory, Threads: threads}
	}
	if start {
		n.asked = asked()
		first := n.asked
		if n.o.FixedMemory {
			first.Memory = 0
		}
		if n.o.FixedThreads {
			first.Threads = 0
		}
		n.applyLimits(first)
		return
	}
	for {
		changed := n.raft.Redefined()
		n.resources.Update()
		if a := asked(); a != n.asked {
			n.asked = a
			n.applyLimits(a)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// applyLimits applies the limits that are set, or else those that the node was started with,
// and announces them to the cluster.
func (n *Node) applyLimits(l coord.Limits) {
	if l.Memory == 0 {
		l.Memory = n.o.Memory
	}
	if l.Threads == 0 {
		l.Threads = n.o.Threads
	}
	if l == *n.limits.Load() {
		return
	}
	n.limit(l)
	n.o.Log.Info("the node's limits have changed", "memory", l.Memory, "threads", l.Threads)
	n.raft.Use(l.Memory, l.Threads)
}
