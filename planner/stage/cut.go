package stage

import "github.com/tributarydb/tributary/planner/plan"

// cut makes stages of a tree: what is below an Exchange becomes a stage of its
// own, and a Receive stands in its place.
func cut(root plan.Node, rows func(plan.Node) float64) *plan.Staged {
	c := &cutter{rows: rows, out: &plan.Staged{}}
	c.stage(root, nil)
	return c.out
}

type cutter struct {
	rows func(plan.Node) float64
	out  *plan.Staged
}

// stage adds a stage and those below it, and gives its id.
func (c *cutter) stage(root plan.Node, to *plan.Output) plan.StageID {
	id := plan.StageID(len(c.out.Stages))
	c.out.Stages = append(c.out.Stages, plan.Stage{ID: id, Out: to})
	where := plan.OnGateway
	var leaves float64
	var walk func(n plan.Node) plan.Node
	walk = func(n plan.Node) plan.Node {
		switch n := n.(type) {
		case *plan.Exchange:
			sub := c.stage(n.Input, &plan.Output{To: id, Kind: n.Kind, Keys: n.Keys})
			if n.Kind != plan.Gather {
				where = plan.OnAll
			}
			leaves += c.rows(n.Input)
			return &plan.Receive{From: sub, Cols: n.Schema(), Merge: n.Merge}
		case *plan.Scan:
			where = plan.OnAll
			leaves += max(n.Rows, c.rows(n))
			return n
		case *plan.Source:
			where = plan.OnAll
			leaves += max(n.Rows, c.rows(n))
			return n
		case *plan.RecursiveUnion:
			leaves += singleRows // rounds are not known
		case *plan.FuncScan, *plan.ProjectSet, *plan.Buffer:
			leaves += c.rows(n)
		}
		kids := n.Children()
		var out []plan.Node
		for i, k := range kids {
			m := walk(k)
			if m != k && out == nil {
				out = append(make([]plan.Node, 0, len(kids)), kids[:i]...)
			}
			if out != nil {
				out = append(out, m)
			}
		}
		if out != nil {
			return n.WithChildren(out)
		}
		return n
	}
	n := walk(root)
	s := &c.out.Stages[id]
	s.Root = n
	s.Where = where
	if to == nil {
		s.Where = plan.OnGateway
	}
	s.Single = leaves <= singleRows
	return id
}
