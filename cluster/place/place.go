package place

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/tributarydb/tributary/exec/kernel"
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
	Zone     string // the failure domain; "" is a zone like any other
	Short    bool   // little space is left, or a copy to it has just failed
	Heir     uint64 // for a draining node: the node that takes over its files, where it can
}

// File is a file and its holders. Where its rows are partitioned by the hash of a key,
// it holds part Part of Of; else Of is 0.
type File struct {
	ID       catalog.SegmentID
	Bytes    int64
	Nodes    []uint64
	Part, Of int
	// Stored: the cluster's storage has it. Then nothing is copied: its nodes are those that read it, by which work is spread.
	Stored bool
}

// Options are the options of Plan. The zero value is usable.
type Options struct {
	Replicas int           // 0: the package's
	Grace    time.Duration // how long a dead node's files are not copied; 0: 10 s
	Limit    int           // the most actions; 0: 64
}

// Action is one step for one file: copy it to To, which is then a holder (0: nothing to
// copy), then record Nodes in the catalog as its holders.
type Action struct {
	File  int      // index of the file
	From  []uint64 // live holders to copy from, best first
	To    uint64
	Nodes []uint64 // the holders afterwards
}

// score returns the rendezvous hash (highest random weight: Thaler and Ravishankar,
// 1998) of a file and a node.
func score(id catalog.SegmentID, node uint64) uint64 {
	h := binary.LittleEndian.Uint64(id[:]) ^ node*0x9e3779b97f4a7c15
	h ^= binary.LittleEndian.Uint64(id[8:]) * 0xc2b2ae3d27d4eb4f
	h ^= h >> 31
	h *= 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// Targets returns where a new file goes: the nodes to copy it to, best first, without
// the writer, which holds it already; and how many holders, the writer included, must
// have it before it counts as written (a majority of those it should have).
func Targets(f File, writer uint64, nodes []Node, replicas int) (to []uint64, majority int) {
	if replicas <= 0 {
		replicas = Replicas
	}
	members := 0
	r := newRanker(nodes)
	var ids []uint64
	for _, n := range nodes {
		if n.Alive && !n.Draining {
			ids = append(ids, n.ID)
		}
	}
	slices.Sort(ids)
	r.homes = homes(f, ids)
	for _, n := range nodes {
		if !n.Draining || n.ID == writer {
			members++
		}
		if n.Alive && !n.Draining && n.ID != writer {
			to = append(to, n.ID)
		}
	}
	want := max(min(replicas, members), 1)
	have := []uint64{writer}
	for len(have) < want && len(have) <= len(to) {
		have = append(have, r.best(f.ID, to, have))
	}
	return have[1:], want/2 + 1
}

// homes returns the nodes to which rows with the hash of f's rows are sent: one, or a
// few where f's part crosses a boundary. ids are the nodes that take part in
// statements, in order. Tables with the same distribution are joined there without
// sending rows (planner/stage.Replicas).
func homes(f File, ids []uint64) []uint64 {
	if f.Of <= 0 || len(ids) == 0 {
		return nil
	}
	first, last := kernel.Dests(f.Part, f.Of, len(ids))
	return ids[first : last+1]
}

// ranker orders the nodes that a file may go to.
type ranker struct {
	nodes map[uint64]Node
	homes []uint64 // of the file
}

func newRanker(nodes []Node) ranker {
	r := ranker{nodes: map[uint64]Node{}}
	for _, n := range nodes {
		r.nodes[n.ID] = n
	}
	return r
}

// best returns the node of among that should get a copy of a file held by have:
// preferably one with free space, then a home of the file, then in the zone with the
// fewest holders, then by score. It returns 0 when all of them have it.
func (r ranker) best(id catalog.SegmentID, among, have []uint64) (best uint64) {
	better := func(a, b uint64) bool {
		x, y := r.nodes[a], r.nodes[b]
		return cmp.Or(cmpBool(x.Short, y.Short), -cmpBool(slices.Contains(r.homes, a), slices.Contains(r.homes, b)),
			cmp.Compare(r.sharing(x.Zone, have), r.sharing(y.Zone, have)), cmp.Compare(score(id, b), score(id, a)), cmp.Compare(a, b)) < 0
	}
	for _, n := range among {
		if !slices.Contains(have, n) && (best == 0 || better(n, best)) {
			best = n
		}
	}
	return best
}

// sharing returns how many of the holders are in a zone.
func (r ranker) sharing(zone string, have []uint64) (n int) {
	for _, id := range have {
		if x, ok := r.nodes[id]; ok && x.Zone == zone {
			n++
		}
	}
	return n
}

// spread returns how many zones the holders are in.
func (r ranker) spread(have []uint64) int {
	zones := map[string]bool{}
	for _, id := range have {
		zones[r.nodes[id].Zone] = true
	}
	return len(zones)
}

// Plan returns the steps towards every file having its holders, the most urgent first:
// files with the fewest live copies, then those with too many holders, then those with
// two in one zone and none in another, then moves that even out the bytes. The same
// input gives the same plan.
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
	p := &planner{o: o, ranker: newRanker(nodes), load: map[uint64]int64{}, busy: map[int]bool{}}
	for _, n := range nodes {
		if p.keeps(n.ID) {
			p.members++
			p.keeping = append(p.keeping, n.ID)
		}
		if n.Alive && !n.Draining {
			p.eligible = append(p.eligible, n.ID)
		}
	}
	slices.Sort(p.eligible)
	slices.Sort(p.keeping)
	for i, f := range files {
		p.file(i, f)
	}
	slices.SortStableFunc(p.urgent, func(a, b ranked) int { return cmp.Compare(a.live, b.live) })
	var out []Action
	for _, r := range p.urgent {
		out = append(out, r.Action)
		p.busy[r.File] = true
	}
	if len(out) < o.Limit {
		out = append(out, p.balance(files, o.Limit-len(out))...)
	}
	return out[:min(len(out), o.Limit)]
}

type ranked struct {
	Action
	live int // copies that can be read now
}

type planner struct {
	ranker
	o        Options
	members  int
	eligible []uint64
	keeping  []uint64 // who counts as a holder
	load     map[uint64]int64
	urgent   []ranked
	busy     map[int]bool // files that have an action
}

// keeps reports whether a node still counts as a holder of its files.
func (p *planner) keeps(id uint64) bool {
	n, ok := p.nodes[id]
	return ok && !n.Draining && (n.Alive || n.DeadFor < p.o.Grace)
}

func (p *planner) file(i int, f File) {
	p.homes = homes(f, p.keeping)
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
		p.load[id] += cost(f)
	}
	want := max(min(p.o.Replicas, p.members), 1)
	switch {
	case len(live) == 0 && !f.Stored:
		// Nothing to copy from: wait for a holder to come back.
	case len(good) < want:
		to := p.successor(f)
		if to == 0 {
			to = p.best(f.ID, p.eligible, f.Nodes)
		}
		if to == 0 {
			return
		}
		after := append(slices.Clone(good), to)
		for next := to; f.Stored && len(after) < want && next != 0; {
			if next = p.best(f.ID, p.eligible, after); next != 0 {
				after = append(after, next)
			}
		}
		if len(after) < want && !f.Stored {
			after = union(after, f.Nodes) // nobody is dropped before all have the file
		}
		p.load[to] += cost(f)
		p.urgent = append(p.urgent, ranked{Action{File: i, From: live, To: to, Nodes: after}, len(live)})
	case len(good) > want || len(good) < len(f.Nodes):
		// Drop the lowest-ranked holders: nodes that are no longer members or are drained
		// first, then those that are not a home or share a zone, then by score; but never the
		// last live copies.
		var keep []uint64
		for len(keep) < want {
			keep = append(keep, slices.MinFunc(without(good, keep), func(a, b uint64) int {
				return cmp.Or(-cmpBool(p.nodes[a].Alive, p.nodes[b].Alive), -cmpBool(slices.Contains(p.homes, a), slices.Contains(p.homes, b)), cmp.Compare(p.sharing(p.nodes[a].Zone, keep), p.sharing(p.nodes[b].Zone, keep)),
					cmp.Compare(score(f.ID, b), score(f.ID, a)))
			}))
		}
		if !slices.ContainsFunc(keep, func(id uint64) bool { return p.nodes[id].Alive }) {
			return
		}
		slices.Sort(keep)
		p.urgent = append(p.urgent, ranked{Action{File: i, Nodes: keep}, 1 << 20})
	default:
		if p.home(i, f, good, live) {
			return
		}
		// There are enough copies, but two share a zone while another zone has none.
		to := p.best(f.ID, p.eligible, f.Nodes)
		if to == 0 || p.nodes[to].Short || p.sharing(p.nodes[to].Zone, good) > 0 {
			return
		}
		for _, id := range good {
			if p.sharing(p.nodes[id].Zone, good) > 1 && !slices.Contains(p.homes, id) {
				p.load[id] -= cost(f)
				p.load[to] += cost(f)
				p.urgent = append(p.urgent, ranked{Action{File: i, From: live, To: to, Nodes: append(without(good, []uint64{id}), to)}, 1 << 21})
				return
			}
		}
	}
}

// home moves a file to a home that does not have it, from the lowest-ranked holder.
func (p *planner) home(i int, f File, good, live []uint64) bool {
	from := without(good, p.homes)
	if len(from) == 0 {
		return false
	}
	for _, to := range p.homes {
		if n := p.nodes[to]; slices.Contains(f.Nodes, to) || !n.Alive || n.Draining || n.Short {
			continue
		}
		id := slices.MaxFunc(from, func(a, b uint64) int {
			return cmp.Or(cmp.Compare(p.sharing(p.nodes[a].Zone, good), p.sharing(p.nodes[b].Zone, good)), cmp.Compare(score(f.ID, b), score(f.ID, a)))
		})
		p.load[id] -= cost(f)
		p.load[to] += cost(f)
		p.urgent = append(p.urgent, ranked{Action{File: i, From: live, To: to, Nodes: append(without(good, []uint64{id}), to)}, 1 << 21})
		return true
	}
	return false
}

// successor returns the node that takes over a draining holder's copy; 0 for none.
func (p *planner) successor(f File) uint64 {
	for _, id := range f.Nodes {
		n := p.nodes[id]
		if h := n.Heir; n.Draining && slices.Contains(p.eligible, h) && !slices.Contains(f.Nodes, h) && !p.nodes[h].Short {
			return h
		}
	}
	return 0
}

// cost returns what a file counts for in balancing. Small files have a minimum, since
// each costs its reader some work.
func cost(f File) int64 { return max(f.Bytes, 64<<10) }

func without(a, b []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(a), func(x uint64) bool { return slices.Contains(b, x) })
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

// balance moves files from the fullest nodes to the emptiest while they differ by more
// than a fifth of the mean, as long as no file ends up in fewer zones.
func (p *planner) balance(files []File, limit int) []Action {
	var to []uint64
	for _, id := range p.eligible {
		if !p.nodes[id].Short {
			to = append(to, id)
		}
	}
	if len(to) == 0 || len(p.eligible) < 2 || len(p.eligible) <= p.o.Replicas {
		return nil // every node has every file
	}
	var total int64
	for _, id := range p.eligible {
		total += p.load[id]
	}
	mean := total / int64(len(p.eligible))
	least := func(a, b uint64) int { return cmp.Compare(p.load[a], p.load[b]) }
	from := slices.Clone(p.eligible)
	var out []Action
	for len(out) < limit && len(from) > 0 {
		full, empty := slices.MaxFunc(from, least), slices.MinFunc(to, least)
		gap := p.load[full] - p.load[empty]
		if gap <= mean/5 {
			break
		}
		best, after := p.move(files, full, empty, gap)
		if best < 0 {
			from = without(from, []uint64{full}) // none of its files can move there
			continue
		}
		f := files[best]
		p.busy[best] = true
		var live []uint64
		for _, id := range f.Nodes {
			if p.nodes[id].Alive {
				live = append(live, id)
			}
		}
		out = append(out, Action{File: best, From: live, To: empty, Nodes: after})
		p.load[full] -= cost(f)
		p.load[empty] += cost(f)
	}
	return out
}

// move picks the largest file whose move from one node to another narrows their
// gap, and its holders afterwards; -1 for none.
func (p *planner) move(files []File, full, empty uint64, gap int64) (best int, after []uint64) {
	best = -1
	for i, f := range files {
		if p.busy[i] || cost(f) > gap/2 || !slices.Contains(f.Nodes, full) || slices.Contains(f.Nodes, empty) || best >= 0 && cost(f) <= cost(files[best]) {
			continue
		}
		if slices.Contains(homes(f, p.keeping), full) {
			continue
		}
		if moved := append(without(f.Nodes, []uint64{full}), empty); p.spread(moved) >= p.spread(f.Nodes) {
			best, after = i, moved
		}
	}
	return best, after
}
