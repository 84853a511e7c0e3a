package plantest

import (
	"hash/fnv"

	"github.com/tributarydb/tributary/planner/plan"
)

// RunStaged runs a staged plan on n simulated nodes: each table's rows are distributed
// round-robin, and a stage's rows are sent as its Output says. The root's columns are
// in cols.
func (in *Interp) RunStaged(s *plan.Staged, n int) ([]Row, error) {
	received := make([]map[plan.StageID][]Row, n)
	for i := range received {
		received[i] = map[plan.StageID][]Row{}
	}
	for i := len(s.Stages) - 1; i >= 0; i-- {
		st := s.Stages[i]
		nodes := n
		if st.Where == plan.OnGateway {
			nodes = 1
		}
		var root []Row
		for node := range nodes {
			c := &Interp{Tables: in.Tables, Buffers: in.Buffers, Node: node, Nodes: n, Received: received[node]}
			if st.Where == plan.OnGateway && n == 1 {
				c.Nodes = 1
			}
			rows, err := c.Run(st.Root, nil)
			if err != nil {
				return nil, err
			}
			if st.Out == nil {
				root = rows
				continue
			}
			for j, r := range rows {
				if st.RuntimeFilter != nil {
					for k := range n {
						received[k][st.ID.RuntimeFilter()] = append(received[k][st.ID.RuntimeFilter()], r)
					}
				}
				var to []int
				switch st.Out.Kind {
				case plan.Gather:
					to = []int{0}
				case plan.Broadcast:
					for k := range n {
						to = append(to, k)
					}
				case plan.Spread:
					to = []int{j % n}
				case plan.HashBy:
					k, _, err := c.key(st.Out.Keys, r)
					if err != nil {
						return nil, err
					}
					h := fnv.New32a()
					h.Write([]byte(k))
					to = []int{int(h.Sum32()) % n}
				}
				for _, k := range to {
					received[k][st.ID] = append(received[k][st.ID], r)
				}
			}
		}
		if st.Out == nil {
			return root, nil
		}
	}
	return nil, nil
}
