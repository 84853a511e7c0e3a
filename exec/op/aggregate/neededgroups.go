package aggregate

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// Needed says which groups a sort with a limit above may still return: by its first key, a key of the groups or an
// aggregate.
//
//	counts of 8,192 groups ─▶ those not below the tenth so far ─▶ their keys, their other results
//
// Of many groups nearly all are left out, so that no texts are copied for them and no averages divided.
type Needed struct {
	First *op.FirstRows
	By    expr.ColID

	group, agg int // its place in those of the aggregation; -1: it is not there
}

// of returns the groups that are needed of n; nil for all.
func (w *Needed) of(n *plan.Aggregate) *Needed {
	if w == nil || n.Phase == plan.AggPartial || len(n.Groups) == 0 {
		return nil
	}
	group := slices.IndexFunc(n.Groups, func(g plan.Item) bool { return g.Col.ID == w.By })
	at := slices.IndexFunc(n.Aggs, func(a plan.AggItem) bool { return a.Col.ID == w.By })
	if group < 0 && at < 0 {
		return nil
	}
	return &Needed{First: w.First, By: w.By, group: group, agg: at}
}

// firstResults is how many results a thread returns while the sort above does not know which it needs.
const firstResults = 1024

// most returns how many of so many groups are returned at once.
func (w *Needed) most(groups int) int {
	if w != nil && !w.First.Known() {
		return min(groups, firstResults)
	}
	return groups
}

// groupsOf are groups [from, to) of a table, but for those that are lost, and what finds their columns.
type groupsOf struct {
	from, to int
	lost     []bool
	calls    []plan.AggItem
	key      func(k int) arrow.Array           // of all
	keys     func(list []uint32) []arrow.Array // those that are read, of some
	result   func(i, from, to int) (arrow.Array, error)
}

// rows returns the rows of those groups that are needed; nil, without an error, where these are not few.
func (w *Needed) rows(g *groupsOf) (*batch.Batch, error) {
	if w == nil || !w.First.Known() {
		return nil, nil
	}
	var by arrow.Array
	if w.group >= 0 {
		by = g.key(w.group)
	} else {
		var err error
		if by, err = g.result(w.agg, g.from, g.to); err != nil {
			return nil, err
		}
	}
	rows := w.First.Select(by)
	if g.lost != nil {
		rows = slices.DeleteFunc(rows, func(i int32) bool { return g.lost[g.from+int(i)] })
	}
	if len(rows) > (g.to-g.from)/8 {
		return nil, nil
	}
	list := make([]uint32, len(rows)) // often none: then the columns do not matter
	for i, r := range rows {
		list[i] = uint32(g.from) + uint32(r)
	}
	var cols []arrow.Array
	if len(list) > 0 {
		cols = g.keys(list)
	}
	for i, it := range g.calls {
		var arr arrow.Array
		var err error
		switch {
		case i == w.agg:
			arr = kernel.Take(by, rows)
		case agg.Certain(it.Call):
			arr, err = g.some(i, list)
		default: // where one is an error, so it is whether or not it is needed
			if arr, err = g.result(i, g.from, g.to); err == nil {
				arr = kernel.Take(arr, rows)
			}
		}
		if err != nil {
			return nil, err
		}
		cols = append(cols, arr)
	}
	return batch.New(cols, len(rows)), nil
}

// some returns the results of aggregate i for a list of groups, run by run.
func (g *groupsOf) some(i int, list []uint32) (arrow.Array, error) {
	var parts []arrow.Array
	for at := 0; at < len(list); {
		end := at + 1
		for end < len(list) && list[end] == list[end-1]+1 {
			end++
		}
		part, err := g.result(i, int(list[at]), int(list[end-1])+1)
		if err != nil {
			return nil, err
		}
		parts, at = append(parts, part), end
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return kernel.Concat(parts[0].DataType(), parts), nil
}
