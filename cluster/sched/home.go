package sched

import "slices"

// Node is a node that takes part.
type Node struct {
	ID      uint64
	Threads int
}

// Leaf is a table or source that a stage reads.
type Leaf struct {
	// Gateway says that only the first node reads it.
	Gateway bool
	// Single says that its tasks have one thread.
	Single bool
	// Stays says that no node takes over another's splits, because the rows are kept where
	// they are read, or because each node must read its own. So a node gets all of them at
	// once.
	Stays bool
	// Portion is the number of rows worth a message to a node and one back: as many splits
	// are handed out at a time as have that many rows, fewer as the leaf nears its end. 0:
	// one split at a time.
	Portion int64
	Splits  []Split
}

// Split is a part of a leaf. A split without Replicas may be read anywhere.
type Split struct {
	Partition int
	Rows      int64
	Replicas  []uint64
}

// family is a range of neighbouring splits that one node should read.
type family struct {
	from, to  int // split numbers
	partition int
	rows      int64
}

// homes distributes the splits of a leaf to the nodes' queues.
func homes(l Leaf, nodes []Node) [][]int {
	out := make([][]int, len(nodes))
	if l.Gateway {
		nodes = nodes[:1]
	}
	load := make([]float64, len(nodes))
	last := map[int]int{} // the node that got a partition's last family
	fair := fairShare(l, nodes)
	for _, f := range families(l, len(nodes)) {
		best := -1
		for pass := 0; pass < 2 && best < 0; pass++ {
			for at, n := range nodes {
				// First those that hold it; if nobody does, anyone.
				if pass == 0 && !holds(l.Splits[f.from], n.ID) {
					continue
				}
				if best < 0 || load[at] < load[best] {
					best = at
				}
			}
		}
		if was, ok := last[f.partition]; ok && was != best && holds(l.Splits[f.from], nodes[was].ID) &&
			load[was]+weight(f.rows, nodes[was]) <= fair {
			best = was
		}
		last[f.partition] = best
		load[best] += weight(f.rows, nodes[best])
		for i := f.from; i < f.to; i++ {
			out[best] = append(out[best], i)
		}
	}
	return out
}

func weight(rows int64, n Node) float64 { return float64(rows) / float64(max(n.Threads, 1)) }

// fairShare returns the rows per thread if all threads had the same.
func fairShare(l Leaf, nodes []Node) float64 {
	var rows, threads int64
	for _, s := range l.Splits {
		rows += s.Rows + 1
	}
	for _, n := range nodes {
		threads += int64(max(n.Threads, 1))
	}
	return float64(rows) / float64(max(threads, 1))
}

// families divides a leaf into families: at the bounds of partitions, where the
// replicas change, and so that none exceeds a small node's share, to the nearest split.
func families(l Leaf, nodes int) []family {
	var out []family
	var rows int64
	for _, s := range l.Splits {
		rows += s.Rows + 1
	}
	most := rows/int64(max(nodes, 1)) + 1
	for i, s := range l.Splits {
		n := s.Rows + 1
		if k := len(out) - 1; k >= 0 && out[k].partition == s.Partition && out[k].rows+n/2 <= most &&
			slices.Equal(l.Splits[out[k].from].Replicas, s.Replicas) {
			out[k].to, out[k].rows = i+1, out[k].rows+n
			continue
		}
		out = append(out, family{from: i, to: i + 1, partition: s.Partition, rows: n})
	}
	return out
}

func holds(sp Split, node uint64) bool {
	return len(sp.Replicas) == 0 || slices.Contains(sp.Replicas, node)
}
