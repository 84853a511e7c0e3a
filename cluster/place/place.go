package place

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
)

// Replicas is how many nodes hold a file, where there are as many.
const Replicas = 3

// Node is a member as the planner sees it.
type Node struct {
	ID       uint64
	Alive    bool
	DeadFor  time.Duration // while not Alive
	Draining bool
}

// File is a file and its holders.
type File struct {
	ID    catalog.SegmentID
	Bytes int64
	Nodes []uint64
}

// Options of Plan. The zero value is usable.
type Options struct {
	Replicas int           // 0: the package's
	Grace    time.Duration // how long a dead node's files are not copied; 0: 10 s
	Limit    int           // the most actions; 0: 64
}

// Action is one step for one file: copy it to To, which is then a holder
// (To 0: nothing to copy), and have Nodes in the catalog.
type Action struct {
	File  int      // index of the file
	From  []uint64 // live holders to copy from, best first
	To    uint64
	Nodes []uint64 // the holders afterwards
}

// score is the rendezvous hash of a file and a node.
func score(id catalog.SegmentID, node uint64) uint64 {
	h := binary.LittleEndian.Uint64(id[:]) ^ node*0x9e3779b97f4a7c15
	h ^= binary.LittleEndian.Uint64(id[8:]) * 0xc2b2ae3d27d4eb4f
	h ^= h >> 31
	h *= 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// Targets says where a new file goes: the nodes to copy it to, best first,
// without the writer, which holds it already; and how many holders, the writer
// included, must have it before it counts as written (a majority of those it
// should have).
func Targets(id catalog.SegmentID, writer uint64, nodes []Node, replicas int) (to []uint64, majority int) {
	if replicas <= 0 {
		replicas = Replicas
	}
	members := 0
	for _, n := range nodes {
		if !n.Draining || n.ID == writer {
			members++
		}
		if n.Alive && !n.Draining && n.ID != writer {
			to = append(to, n.ID)
		}
	}
	want := max(min(replicas, members), 1)
	byScore(id, to)
	return to[:min(len(to), want-1)], want/2 + 1
}

func byScore(id catalog.SegmentID, nodes []uint64) {
	slices.SortFunc(nodes, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(score(id, b), score(id, a)), cmp.Compare(a, b))
	})
}

// Plan gives the steps towards every file having its holders, the most urgent
// first: files with the fewest live copies, then those with a holder too many,
// then moves that even out the bytes. The same input gives the same plan.
func Plan(nodes []Node, files []File, o Options) []Action {
	if o.Replicas <= 0 {
		o.Replicas = Replicas
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	if o.Limit <= 0 {
		o.Limit = 64
	}
	p := &planner{o: o, nodes: map[uint64]Node{}, load: map[uint64]int64{}}
	for _, n := range nodes {
		p.nodes[n.ID] = n
		if p.keeps(n.ID) {
			p.members++
		}
		if n.Alive && !n.Draining {
			p.eligible = append(p.eligible, n.ID)
		}
	}
	slices.Sort(p.eligible)
	for i, f := range files {
		p.file(i, f)
	}
	slices.SortStableFunc(p.urgent, func(a, b ranked) int { return cmp.Compare(a.live, b.live) })
	var out []Action
	for _, r := range p.urgent {
		out = append(out, r.Action)
	}
	if len(out) == 0 {
		out = p.balance(files)
	}
	return out[:min(len(out), o.Limit)]
}

type ranked struct {
	Action
	live int // copies that can be read now
}

type planner struct {
	o        Options
	nodes    map[uint64]Node
	members  int
	eligible []uint64
	load     map[uint64]int64
	urgent   []ranked
}

// keeps tells whether a node counts as a holder of what it has.
func (p *planner) keeps(id uint64) bool {
	n, ok := p.nodes[id]
	return ok && !n.Draining && (n.Alive || n.DeadFor < p.o.Grace)
}

func (p *planner) file(i int, f File) {
	var good, live []uint64
	for _, id := range f.Nodes {
		if p.keeps(id) {
			good = append(good, id)
		}
		if n, ok := p.nodes[id]; ok && n.Alive {
			live = append(live, id)
		}
	}
	for _, id := range good {
		p.load[id] += f.Bytes
	}
	want := max(min(p.o.Replicas, p.members), 1)
	switch {
	case len(live) == 0:
		// Nothing to copy from: wait for a holder to come back.
	case len(good) < want:
		to := slices.DeleteFunc(slices.Clone(p.eligible), func(id uint64) bool { return slices.Contains(f.Nodes, id) })
		byScore(f.ID, to)
		if len(to) == 0 {
			return
		}
		after := append(slices.Clone(good), to[0])
		if len(after) < want {
			after = union(after, f.Nodes) // nobody is let go before all are there
		}
		p.load[to[0]] += f.Bytes
		p.urgent = append(p.urgent, ranked{Action{File: i, From: live, To: to[0], Nodes: after}, len(live)})
	case len(good) > want || len(good) < len(f.Nodes):
		// Let go of those with the least claim: nodes that are not members any
		// more or drained, then by score; but never of the last live copies.
		keep := slices.Clone(good)
		slices.SortFunc(keep, func(a, b uint64) int {
			return cmp.Or(-cmpBool(p.nodes[a].Alive, p.nodes[b].Alive), cmp.Compare(score(f.ID, b), score(f.ID, a)))
		})
		keep = keep[:want]
		if !slices.ContainsFunc(keep, func(id uint64) bool { return p.nodes[id].Alive }) {
			return
		}
		slices.Sort(keep)
		p.urgent = append(p.urgent, ranked{Action{File: i, Nodes: keep}, 1 << 20})
	}
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func union(a, b []uint64) []uint64 {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// balance moves files from the fullest nodes to the emptiest while they differ
// by more than a fifth of the mean, and by more than is worth a copy.
func (p *planner) balance(files []File) []Action {
	const worth = 64 << 20
	if len(p.eligible) < 2 || len(p.eligible) <= p.o.Replicas {
		return nil // every node has every file
	}
	var total int64
	for _, id := range p.eligible {
		total += p.load[id]
	}
	mean := total / int64(len(p.eligible))
	var out []Action
	moved := map[int]bool{}
	for len(out) < p.o.Limit {
		full := slices.MaxFunc(p.eligible, func(a, b uint64) int { return cmp.Compare(p.load[a], p.load[b]) })
		empty := slices.MinFunc(p.eligible, func(a, b uint64) int { return cmp.Compare(p.load[a], p.load[b]) })
		gap := p.load[full] - p.load[empty]
		if gap <= worth || gap <= mean/5 {
			break
		}
		best := -1
		for i, f := range files {
			if moved[i] || f.Bytes == 0 || f.Bytes > gap/2 || !slices.Contains(f.Nodes, full) || slices.Contains(f.Nodes, empty) {
				continue
			}
			if best < 0 || f.Bytes > files[best].Bytes {
				best = i
			}
		}
		if best < 0 {
			break
		}
		f := files[best]
		moved[best] = true
		var live []uint64
		for _, id := range f.Nodes {
			if p.nodes[id].Alive {
				live = append(live, id)
			}
		}
		after := slices.DeleteFunc(slices.Clone(f.Nodes), func(id uint64) bool { return id == full })
		out = append(out, Action{File: best, From: live, To: empty, Nodes: append(after, empty)})
		p.load[full] -= f.Bytes
		p.load[empty] += f.Bytes
	}
	return out
}

// Drained tells whether no file needs a node any more.
func Drained(node uint64, files []File) bool {
	for _, f := range files {
		if slices.Contains(f.Nodes, node) {
			return false
		}
	}
	return true
}
