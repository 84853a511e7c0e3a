package worker

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/cluster/sched"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/prune"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Replicas implements planner/stage.Replicas: it tells the planner which nodes hold
// which parts of the tables. It belongs to a statement and is for the goroutine that
// plans it.
type Replicas struct {
	s         *Statement
	manifests map[*plan.Scan]*catalog.Manifest
	nodes     []Member
}

// Replicas returns the placement of tables on the nodes that take part now.
func (s *Statement) Replicas(manifests map[*plan.Scan]*catalog.Manifest) stage.Replicas {
	return &Replicas{s, manifests, s.g.nodes()}
}

// Everywhere implements stage.Replicas.
func (r *Replicas) Everywhere(n *plan.Scan) bool {
	for _, m := range r.nodes {
		if !holdsAll(r.s.manifest(n, r.manifests), m.ID) {
			return false
		}
	}
	return true
}

func holdsAll(m *catalog.Manifest, node uint64) bool {
	if m == nil {
		return true
	}
	for _, segs := range m.Partitions {
		for _, g := range segs {
			if g.Inline == nil && !slices.Contains(g.Nodes, node) {
				return false
			}
		}
	}
	return true
}

// Clustered implements stage.Replicas: it requires that at most a quarter of the rows,
// or only few, are read by two nodes.
func (r *Replicas) Clustered(n *plan.Scan, c plan.Column) bool {
	spans, ok := r.s.pin.Spans(context.Background(), r.s.manifest(n, r.manifests), c.Num, nil)
	if !ok {
		return false
	}
	var rows int64
	for _, s := range spans {
		rows += s.To - s.From
	}
	return store.Repeated(spans, store.Ranges(spans, c.Num, len(r.nodes))) <= max(rows/4, 2*int64(len(r.nodes)-1)*store.GroupRows)
}

// Distributed implements stage.Replicas.
func (r *Replicas) Distributed(n *plan.Scan) []expr.ColID {
	rel, m := r.s.st.RelationByOID(n.Table), r.s.manifest(n, r.manifests)
	if rel == nil || len(rel.DistributionKey) == 0 || m == nil {
		return nil
	}
	key := make([]expr.ColID, len(rel.DistributionKey))
	for i, num := range rel.DistributionKey {
		at := slices.IndexFunc(n.Cols, func(c plan.Column) bool { return c.Num == num })
		if at < 0 {
			return nil
		}
		key[i] = n.Cols[at].ID
	}
	ids := make([]uint64, len(r.nodes))
	for i, node := range r.nodes {
		ids[i] = node.ID
	}
	slices.Sort(ids) // the order in which flow.Writer sends rows by their hash
	for _, segs := range m.Partitions {
		for _, g := range segs {
			if g.Inline != nil {
				continue
			}
			first, last := 0, len(ids)-1
			if g.Of > 0 {
				first, last = kernel.Dests(g.Part, g.Of, len(ids))
			}
			for _, id := range ids[first : last+1] {
				if !slices.Contains(g.Nodes, id) {
					return nil
				}
			}
		}
	}
	return key
}

// distributed reports whether the columns that a scan is read by are its table's distribution
// key, so that segments' parts are of their hash.
func (s *Statement) distributed(n *plan.Scan) bool {
	rel := s.st.RelationByOID(n.Table)
	return rel != nil && len(n.ByHash) > 0 && slices.Equal(hashBy(n), rel.DistributionKey)
}

// reads reports whether a node holds its share of the tables whose own rows each node
// reads in a plan.
func (s *Statement) reads(p *plan.Staged, node uint64, manifests map[*plan.Scan]*catalog.Manifest) bool {
	for i := range p.Stages {
		for _, n := range build.Leaves(p.Stages[i].Root) {
			if sc, ok := n.(*plan.Scan); ok && sc.ReadsOwnRows() && !s.distributed(sc) && !holdsAll(s.manifest(sc, manifests), node) {
				return false
			}
		}
	}
	return true
}

// ranged is a scan that is read by ranges.
type ranged struct {
	num   int16
	spans []store.Span
	parts []op.Range // by node
}

// ranges divides a plan's range scans among the nodes; scans with the same number are
// divided alike.
func (s *Statement) ranges(ctx context.Context, p *plan.Staged, manifests map[*plan.Scan]*catalog.Manifest, nodes int) (map[*plan.Scan]*ranged, error) {
	out, all := map[*plan.Scan]*ranged{}, map[int][]store.Span{}
	for i := range p.Stages {
		for _, n := range build.Leaves(p.Stages[i].Root) {
			sc, ok := n.(*plan.Scan)
			if !ok || sc.Range == 0 || nodes == 1 {
				continue
			}
			r := &ranged{}
			for _, c := range sc.Cols {
				if c.ID == sc.By {
					r.num = c.Num
				}
			}
			pr := prune.NewPruner(sc, s.env)
			if r.spans, ok = s.pin.Spans(ctx, s.manifest(sc, manifests), r.num, pr.MayMatch); !ok || r.num == 0 {
				return nil, pgerr.Internal("table %s cannot be read by ranges", sc.Name)
			}
			out[sc] = r
			all[sc.Range] = append(all[sc.Range], r.spans...)
		}
	}
	for sc, r := range out {
		r.parts = store.Ranges(all[sc.Range], r.num, nodes)
	}
	return out, nil
}

// fixedSplits returns the splits of a scan of which each node reads a part, or all, where no
// other node may take them over.
func (s *Statement) fixedSplits(n *plan.Scan, leaf int, manifests map[*plan.Scan]*catalog.Manifest, nodes []sched.Node, ranges map[*plan.Scan]*ranged) (list []op.Split, places []sched.Split) {
	m := s.manifest(n, manifests)
	nums, distributed := hashBy(n), s.distributed(n)
	for i, node := range nodes {
		threads := max(node.Threads, 1)
		var own []op.Split
		if r := ranges[n]; r != nil {
			own = store.RangeSplits(r.spans, leaf, splitRows(m, threads*len(nodes)), r.parts[i])
		} else {
			if distributed {
				threads *= len(nodes)
			}
			own = s.splits(n, leaf, manifests, threads)
		}
		share := rank(nodes, node.ID)
		for _, sp := range own {
			if len(nums) > 0 {
				first, last := 0, len(nodes)-1
				if distributed && sp.Segment.Of > 0 {
					first, last = kernel.Dests(sp.Segment.Part, sp.Segment.Of, len(nodes))
				}
				if share < first || share > last {
					continue
				}
				if first < last {
					sp.HashBy, sp.Part, sp.Of = nums, share, len(nodes)
				}
			}
			part, _ := store.At(m, sp.Ordinal)
			list = append(list, sp)
			places = append(places, sched.Split{Partition: part, Rows: sp.To - sp.From, Replicas: []uint64{node.ID}})
		}
	}
	return list, places
}

// rank returns which part of hash-distributed rows a node has. It is by node id, so
// that it is the same whichever node is the gateway (flow.Writer).
func rank(nodes []sched.Node, id uint64) (n int) {
	for _, x := range nodes {
		if x.ID < id {
			n++
		}
	}
	return n
}

// hashBy returns the attributes by whose hash a scan is read.
func hashBy(n *plan.Scan) (nums []int16) {
	for _, id := range n.ByHash {
		for _, c := range n.Cols {
			if c.ID == id {
				nums = append(nums, c.Num)
			}
		}
	}
	return nums
}
