package rule

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// Rename copies a tree and assigns a new id to every column that it makes, so that both may stand
// in one plan. It returns the new ids by the old ones.
func (r *Run) Rename(n plan.Node) (plan.Node, map[expr.ColID]expr.ColID) {
	rn := &renamer{r: r, ids: map[expr.ColID]expr.ColID{}, bufs: map[int]int{}}
	rn.collect(n)
	return rn.tree(n), rn.ids
}

// Reread copies a tree that reads other columns instead of some.
func (r *Run) Reread(n plan.Node, ids map[expr.ColID]expr.ColID) plan.Node {
	return (&renamer{r: r, ids: ids, bufs: map[int]int{}}).tree(n)
}

type renamer struct {
	r    *Run
	ids  map[expr.ColID]expr.ColID
	bufs map[int]int // working tables of recursive unions inside
}

func (rn *renamer) collect(n plan.Node) {
	for _, k := range n.Children() {
		rn.collect(k)
	}
	for _, c := range n.Schema() {
		if _, ok := rn.ids[c.ID]; !ok {
			rn.ids[c.ID] = rn.r.NewCol("", c.Type).ID
		}
	}
	if u, ok := n.(*plan.RecursiveUnion); ok {
		rn.bufs[u.ID] = rn.r.NextBuf
		rn.r.NextBuf++
	}
	for _, e := range plan.Exprs(n) {
		expr.Walk(e, func(x expr.Expr) bool {
			if s, ok := x.(*expr.Subquery); ok {
				rn.collect(s.Plan.(plan.Node))
			}
			return true
		})
	}
}

func (rn *renamer) id(c expr.ColID) expr.ColID {
	if m, ok := rn.ids[c]; ok {
		return m
	}
	return c
}

func (rn *renamer) cols(in []plan.Column) []plan.Column {
	out := append([]plan.Column(nil), in...)
	for i := range out {
		out[i].ID = rn.id(out[i].ID)
	}
	return out
}

func (rn *renamer) expr(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Col:
			if id := rn.id(x.ID); id != x.ID {
				c := *x
				c.ID = id
				return &c
			}
		case *expr.Subquery:
			c := *x
			c.Plan = rn.tree(x.Plan.(plan.Node))
			c.Cols = make([]expr.ColID, len(x.Cols))
			for i, id := range x.Cols {
				c.Cols[i] = rn.id(id)
			}
			return &c
		}
		return x
	})
}

func (rn *renamer) calls(in []plan.SetCall) []plan.SetCall {
	out := append([]plan.SetCall(nil), in...)
	for i := range out {
		out[i].Cols = rn.cols(out[i].Cols)
	}
	return out
}

func (rn *renamer) tree(n plan.Node) plan.Node {
	n = rn.r.MapChildren(n, rn.tree)
	n = plan.MapExprs(n, rn.expr)
	switch n := n.(type) {
	case *plan.Scan:
		c := *n
		c.Cols, c.RowID = rn.cols(n.Cols), rn.id(n.RowID)
		return &c
	case *plan.Values:
		c := *n
		c.Cols = rn.cols(n.Cols)
		return &c
	case *plan.Virtual:
		c := *n
		c.Cols = rn.cols(n.Cols)
		return &c
	case *plan.Source:
		c := *n
		c.Cols = rn.cols(n.Cols)
		return &c
	case *plan.FuncScan:
		c := *n
		c.Calls, c.Ordinality = rn.calls(n.Calls), rn.id(n.Ordinality)
		return &c
	case *plan.Buffer:
		c := *n
		c.Cols = rn.cols(n.Cols)
		if id, ok := rn.bufs[n.ID]; ok {
			c.ID = id
		}
		return &c
	case *plan.Project:
		c := *n
		c.Items = append([]plan.Item(nil), n.Items...)
		for i := range c.Items {
			c.Items[i].Col.ID = rn.id(c.Items[i].Col.ID)
		}
		return &c
	case *plan.ProjectSet:
		c := *n
		c.Calls, c.Ordinality = rn.calls(n.Calls), rn.id(n.Ordinality)
		return &c
	case *plan.Aggregate:
		c := *n
		c.Groups = append([]plan.Item(nil), n.Groups...)
		for i := range c.Groups {
			c.Groups[i].Col.ID = rn.id(c.Groups[i].Col.ID)
		}
		c.Aggs = append([]plan.AggItem(nil), n.Aggs...)
		for i := range c.Aggs {
			c.Aggs[i].Col.ID = rn.id(c.Aggs[i].Col.ID)
		}
		c.GroupingID, c.Regrouped = rn.id(n.GroupingID), rn.id(n.Regrouped)
		return &c
	case *plan.Window:
		c := *n
		c.Items = append([]plan.WindowItem(nil), n.Items...)
		for i := range c.Items {
			c.Items[i].Col.ID = rn.id(c.Items[i].Col.ID)
		}
		return &c
	case *plan.Join:
		c := *n
		c.MarkCol = rn.id(n.MarkCol)
		return &c
	case *plan.Apply:
		c := *n
		c.MarkCol = rn.id(n.MarkCol)
		return &c
	case *plan.SetOp:
		c := *n
		c.Cols = rn.cols(n.Cols)
		return &c
	case *plan.RecursiveUnion:
		c := *n
		c.Cols = rn.cols(n.Cols)
		if id, ok := rn.bufs[n.ID]; ok {
			c.ID = id
		}
		return &c
	}
	return n
}

// Disambiguate gives new ids to columns of n that only pass a column of taken on: in (SELECT … GROUP BY
// outer.x) the group has outer.x's id, which a relation that is joined with outer must not emit. It
// returns the new ids by the old ones.
func (r *Run) Disambiguate(n plan.Node, taken plan.ColSet) (plan.Node, map[expr.ColID]expr.ColID) {
	to := map[expr.ColID]expr.ColID{}
	n = r.MapChildren(n, func(k plan.Node) plan.Node {
		m, ids := r.Disambiguate(k, taken)
		for from, id := range ids {
			to[from] = id
		}
		return m
	})
	if len(to) > 0 {
		n = plan.MapExprs(n, func(e expr.Expr) expr.Expr {
			return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
				if c, ok := x.(*expr.Col); ok {
					if id, ok := to[c.ID]; ok {
						m := *c
						m.ID = id
						return &m
					}
				}
				return x
			})
		})
	}
	if Positional(n) {
		return n, nil
	}
	fresh := func(items []plan.Item) []plan.Item {
		var out []plan.Item
		for i, it := range items {
			if !taken[it.Col.ID] {
				continue
			}
			if out == nil {
				out = append(out, items...)
			}
			id, ok := to[it.Col.ID]
			if !ok {
				id = r.NewCol(it.Col.Name, it.Col.Type).ID
				to[it.Col.ID] = id
			}
			out[i].Col.ID = id
		}
		return out
	}
	switch x := n.(type) {
	case *plan.Project:
		if items := fresh(x.Items); items != nil {
			n = &plan.Project{Input: x.Input, Items: items}
		}
	case *plan.Aggregate:
		if groups := fresh(x.Groups); groups != nil {
			c := *x
			c.Groups = groups
			n = &c
		}
	}
	out := map[expr.ColID]expr.ColID{}
	emits := plan.Emits(n)
	for from, id := range to {
		if emits[id] {
			out[from] = id
		}
	}
	return n, out
}
