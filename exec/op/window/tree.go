package window

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/kernel"
)

// The rows of a leaf of a frameTree, and the nodes below an inner node.
const (
	treeLeaf  = 16
	treeRadix = 4
)

// frameTree holds the states of an aggregate over aligned runs of a partition's rows, or of chunks, whose states are the rows
// then, so that any interval of n rows is merged from O(log n) of them and the few rows at its ends (Leis et al., "Efficient
// Processing of Window Functions in Analytical SQL Queries", VLDB 2015):
//
//	level 1   [0..63]                          [64..127]
//	level 0   [0..15][16..31][32..47][48..63]  [64..79] …
//
// Only whole runs have a node. States are exact, so that merging them has the result of adding the
// rows one by one; they are merged in the rows' order, since of values that are equal but not alike
// min keeps the first.
type frameTree struct {
	leaves func(to agg.Agg, groups []uint32, s span) error // adds rows to groups
	levels []treeLevel
	left   []treeNodes // of one call of add
	right  []treeNodes
	same   []uint32 // the group of each row or node that is added
	ids    []uint32
}

type treeLevel struct {
	states agg.Agg
	coded  *array.Binary // where states must travel encoded
}

// treeNodes are nodes [from, to) of a level, or rows where level is -1.
type treeNodes struct {
	level    int
	from, to int64
}

// newFrameTree makes the tree of n rows. fresh returns an empty aggregate.
func newFrameTree(ctx context.Context, charge func(int64) error, fresh func() (agg.Agg, error), leaves func(agg.Agg, []uint32, span) error, n int) (*frameTree, error) {
	t := &frameTree{leaves: leaves, same: make([]uint32, treeLeaf), ids: make([]uint32, treeLeaf)}
	for nodes := n / treeLeaf; nodes > 0; nodes /= treeRadix {
		a, err := fresh()
		if err != nil {
			return nil, err
		}
		// Empty groups show what memory one takes; what values add is charged after.
		some := min(nodes, 1024)
		a.Resize(some)
		flat := a.Bytes() * int64(nodes) / int64(some)
		if err := charge(flat); err != nil {
			return nil, err
		}
		a.Resize(nodes)
		k := len(t.levels)
		for i := range nodes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if k == 0 {
				err = t.put(a, uint32(i), treeNodes{-1, int64(i * treeLeaf), int64((i + 1) * treeLeaf)})
			} else {
				err = t.put(a, uint32(i), treeNodes{k - 1, int64(i * treeRadix), int64((i + 1) * treeRadix)})
			}
			if err != nil {
				return nil, err
			}
		}
		l := treeLevel{states: a}
		held := a.Bytes() - flat
		if _, ok := a.(agg.Merger); !ok {
			arr, err := a.States(0, nodes)
			if err != nil {
				return nil, err
			}
			l.coded = arr.(*array.Binary)
			held += int64(len(l.coded.ValueBytes())) + 4*int64(nodes)
		}
		if err := charge(max(held, 0)); err != nil {
			return nil, err
		}
		t.levels = append(t.levels, l)
	}
	return t, nil
}

// add puts rows [s.from, s.to) into a group.
func (t *frameTree) add(to agg.Agg, group uint32, s span) error {
	if s.to <= s.from {
		return nil
	}
	t.left, t.right = t.left[:0], t.right[:0]
	from, end := (s.from+treeLeaf-1)/treeLeaf, s.to/treeLeaf
	if len(t.levels) == 0 || from >= end {
		return t.put(to, group, treeNodes{-1, s.from, s.to})
	}
	t.left = append(t.left, treeNodes{-1, s.from, from * treeLeaf})
	t.right = append(t.right, treeNodes{-1, end * treeLeaf, s.to})
	for k := 0; from < end; k++ {
		up, down := (from+treeRadix-1)/treeRadix, end/treeRadix
		if k == len(t.levels)-1 || up >= down {
			t.left = append(t.left, treeNodes{k, from, end})
			break
		}
		t.left = append(t.left, treeNodes{k, from, up * treeRadix})
		t.right = append(t.right, treeNodes{k, down * treeRadix, end})
		from, end = up, down
	}
	for _, p := range t.left {
		if err := t.put(to, group, p); err != nil {
			return err
		}
	}
	for i := len(t.right) - 1; i >= 0; i-- {
		if err := t.put(to, group, t.right[i]); err != nil {
			return err
		}
	}
	return nil
}

// put adds rows or nodes to a group.
func (t *frameTree) put(to agg.Agg, group uint32, p treeNodes) error {
	n := int(p.to - p.from)
	if n <= 0 {
		return nil
	}
	for len(t.same) < n {
		t.same, t.ids = append(t.same, 0), append(t.ids, 0)
	}
	for i := range n {
		t.same[i], t.ids[i] = group, uint32(p.from)+uint32(i)
	}
	if p.level < 0 {
		return t.leaves(to, t.same[:n], span{p.from, p.to})
	}
	l := t.levels[p.level]
	if l.coded != nil {
		return to.MergeStates(t.same[:n], array.NewSlice(l.coded, p.from, p.to).(*array.Binary))
	}
	return to.(agg.Merger).MergeFrom(t.same[:n], l.states, t.ids[:n])
}

// updateSpan adds a run of rows to groups.
func updateSpan(to agg.Agg, groups []uint32, args []arrow.Array, s span) error {
	sub := make([]arrow.Array, len(args))
	for k, c := range args {
		sub[k] = array.NewSlice(c, s.from, s.to)
	}
	return to.Update(groups, sub)
}

// passing returns the rows of args that a filter passes, and for each row and the end how many of
// those come before it.
func passing(pass *array.Boolean, args []arrow.Array, n int) ([]arrow.Array, []int32) {
	before := make([]int32, n+1)
	var kept []int32
	for i := range n {
		before[i] = int32(len(kept))
		if !pass.IsNull(i) && pass.Value(i) {
			kept = append(kept, int32(i))
		}
	}
	before[n] = int32(len(kept))
	out := make([]arrow.Array, len(args))
	for k, c := range args {
		out[k] = kernel.Take(c, kept)
	}
	return out, before
}
