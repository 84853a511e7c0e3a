package worker

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/cluster/sched"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Replicas tells the planner what of the tables lies where (planner/stage.Replicas).
// It is of a statement, for the goroutine that plans it.
type Replicas struct {
	s         *Statement
	manifests map[*plan.Scan]*catalog.Manifest
	nodes     []Member
}

// Replicas looks at where tables lie on the nodes that take part now.
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

// Clustered implements stage.Replicas: a quarter of the rows at most are read by two nodes,
// or few.
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

// reads tells whether a node has the tables of which a plan has each node read its own rows.
func (s *Statement) reads(p *plan.Staged, node uint64, manifests map[*plan.Scan]*catalog.Manifest) bool {
	for i := range p.Stages {
		for _, n := range build.Leaves(p.Stages[i].Root) {
			if sc, ok := n.(*plan.Scan); ok && sc.Apart() && !holdsAll(s.manifest(sc, manifests), node) {
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
	parts []op.Range // of the nodes
}

// ranges divides among the nodes what a plan reads by ranges, the scans of a number together.
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
			pr := store.NewPruner(sc, s.env)
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

// apart lists the splits of a scan that each node reads a part of, or all, that no other
// node may take over.
func (s *Statement) apart(n *plan.Scan, leaf int, manifests map[*plan.Scan]*catalog.Manifest, nodes []sched.Node, ranges map[*plan.Scan]*ranged) (list []op.Split, places []sched.Split) {
	m := s.manifest(n, manifests)
	for i, node := range nodes {
		threads := max(node.Threads, 1)
		var own []op.Split
		if r := ranges[n]; r != nil {
			own = store.RangeSplits(r.spans, leaf, splitRows(m, threads*len(nodes)), r.parts[i])
		} else {
			own = s.splits(n, leaf, manifests, threads)
		}
		if len(n.ByHash) > 0 {
			nums := hashBy(n)
			for j := range own {
				own[j].HashBy, own[j].Part, own[j].Of = nums, i, len(nodes)
			}
		}
		for _, sp := range own {
			part, _ := store.At(m, sp.Ordinal)
			list = append(list, sp)
			places = append(places, sched.Split{Partition: part, Rows: sp.To - sp.From, Replicas: []uint64{node.ID}})
		}
	}
	return list, places
}

// hashBy are the attributes by whose hash a scan is read.
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
