package stage

import "github.com/tributarydb/tributary/planner/plan"

// cut divides a tree into stages: the subtree below an Exchange becomes a stage of its own, and a
// Receive takes its place.
func cut(root plan.Node, rows func(plan.Node) float64) *plan.Staged {
	c := &cutter{rows: rows, out: &plan.Staged{}, links: map[int]link{}}
	c.stage(root, nil)
	return c.out
}

type cutter struct {
	rows func(plan.Node) float64
	out  *plan.Staged
	// links are the Receives of runtime filters, which lie below the left side of the
	// join whose right side these are, and so come first.
	links map[int]link
}

type link struct {
	at   *plan.Receive
	read plan.StageID
}

// stage adds a stage and those below it, and returns its id.
func (c *cutter) stage(root plan.Node, to *plan.Output) plan.StageID {
	id := plan.StageID(len(c.out.Stages))
	c.out.Stages = append(c.out.Stages, plan.Stage{ID: id, Out: to})
	where := plan.OnGateway
	var leaves float64
	bulk, heavy, short := false, false, to == nil
	var walk func(n plan.Node) plan.Node
	walk = func(n plan.Node) plan.Node {
		switch n.(type) {
		case *plan.Scan, *plan.Values:
		default:
			t := n.Traits()
			short = short && len(n.Children()) > 0 && t.Rows != plan.Expanded && !t.Outside
		}
		switch n := n.(type) {
		case *plan.Receive:
			m := *n
			m.Link = 0
			c.links[n.Link] = link{&m, id}
			return &m
		case *plan.Exchange:
			sub := c.stage(n.Input, &plan.Output{To: id, Kind: n.Kind, Keys: n.Keys})
			if l := c.links[n.Link]; n.Link != 0 {
				l.at.From = sub.RuntimeFilter()
				c.out.Stages[sub].RuntimeFilter = &plan.Output{To: l.read, Kind: plan.Broadcast, Keys: n.FilterKeys}
			}
			if n.Kind != plan.Gather {
				where, bulk = plan.OnAll, true
			}
			leaves += c.rows(unfiltered(n.Input))
			return &plan.Receive{From: sub, Cols: n.Schema(), Merge: n.Merge, Rows: c.rows(n.Input)}
		case *plan.Scan:
			where, bulk = plan.OnAll, true
			leaves += max(n.Rows, c.rows(n))
			return n
		case *plan.Source:
			where, bulk = plan.OnAll, true
			leaves += max(n.Rows, c.rows(n))
			return n
		case *plan.FuncScan, *plan.ProjectSet, *plan.Buffer, *plan.RecursiveUnion:
			leaves += c.rows(n)
		case *plan.Aggregate, *plan.Join, *plan.TableWrite, *plan.Collect, *plan.Sort, *plan.Window, *plan.TrainGroups:
			heavy = true
		}
		return plan.MapChildren(n, walk)
	}
	n := walk(root)
	s := &c.out.Stages[id]
	s.Root = n
	s.Where = where
	if to == nil {
		s.Where = plan.OnGateway
	}
	// Threads help with rows from one place only where there is work to share; without, one thread
	// keeps them in order.
	s.Single = leaves <= singleRows || !bulk && !heavy
	s.Short = short && leaves <= singleRows
	return id
}
