package node

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/tributarydb/tributary/cluster/coord"
)

// programShare is what the process needs beside what accounts count: the
// binary, the runtime, the catalog, buffers of connections.
const programShare = 96 << 20

// limit has the node use so much from now on. What runs keeps its threads, and gives
// memory back as it is asked to.
func (n *Node) limit(l coord.Limits) {
	n.limits.Store(&l)
	if l.Memory == 0 {
		n.pool.SetLimit(0)
		return
	}
	// The collector works harder as the limit nears; accounts stop well below it,
	// so that there is something left to collect.
	debug.SetMemoryLimit(l.Memory * 9 / 10)
	// What lives is small beside what a statement goes through; where there is
	// room, collecting less often saves a tenth to a quarter of the time. A variable
	// of the environment has the last word.
	if os.Getenv("GOGC") == "" {
		if l.Memory >= 1<<30 {
			debug.SetGCPercent(300)
			// Small statements leave tens of kilobytes each beside a few megabytes that live: these
			// bytes, which are never touched and so take no memory, count as living.
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

// threads is how many the node uses now.
func (n *Node) threads() int { return n.limits.Load().Threads }

// heed takes the limits that the catalog asks for: at the start those that no
// option of the start overrides, then each that is asked for anew.
func (n *Node) heed(ctx context.Context, start bool) {
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
		n.take(first)
		return
	}
	for {
		changed := n.raft.Redefined()
		if a := asked(); a != n.asked {
			n.asked = a
			n.take(a)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// take has the node use what is asked for, or else what it was started with, and
// tells the cluster.
func (n *Node) take(l coord.Limits) {
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
