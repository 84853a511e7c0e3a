package window

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// Sorting is an order of rows in which one or several windows are computed.
type Sorting struct {
	keys  []expr.Order
	split int   // rows that are equal in this many leading keys are sorted in one thread; 0: there is only one thread
	own   bool  // only one window uses this order
	give  []int // which of the sort's columns the windows read, or who reads these; nil: all
}

// Giving returns s for a sort of columns in, after which only those are needed for which need is true.
func (s Sorting) Giving(in []plan.Column, need map[expr.ColID]bool) Sorting {
	if len(s.keys) == 0 {
		return s
	}
	s.give = []int{}
	for i, c := range in {
		if need[c.ID] {
			s.give = append(s.give, i)
		}
	}
	return s
}

// Columns returns the columns of in that the sort gives.
func (s Sorting) Columns(in []plan.Column) []plan.Column {
	if s.give == nil {
		return in
	}
	var out []plan.Column
	for _, c := range s.give {
		out = append(out, in[c])
	}
	return out
}

// Reads returns what the sort reads.
func (s Sorting) Reads() (exprs []expr.Expr) {
	for _, k := range s.keys {
		exprs = append(exprs, k.Expr)
	}
	return exprs
}

// SortingOf returns the order for one window.
func SortingOf(n *plan.Window) Sorting {
	s := Sorting{split: len(n.PartitionBy)}
	for _, e := range n.PartitionBy {
		s.keys = append(s.keys, expr.Order{Expr: e})
	}
	s.keys = append(s.keys, n.OrderBy...)
	for _, it := range n.Items {
		if it.Call.Fn.Name == "ml_windows" {
			s.split = 0
		}
	}
	if s.own = s.split == 0 || n.Top > 0; countsOnly(n) {
		s.split = len(s.keys) // each thread has ranges of whole peer groups (ranked)
	}
	return s
}

// With returns an order in which another window of the same rows can be computed too, so that the rows
// are sorted once. The order of the other's partitions is free:
//
//	sum() OVER (PARTITION BY a, b, c)
//	rank() OVER (PARTITION BY a, b ORDER BY c, d)     a, b, c, d for both
//
// The other is below in the plan: a column that it computes must not be a key.
func (s Sorting) With(below *plan.Window) (Sorting, bool) {
	o := SortingOf(below)
	if s.own || o.own {
		return s, false
	}
	made := plan.ColSet{}
	for _, it := range below.Items {
		made[it.Col.ID] = true
	}
	for _, k := range slices.Concat(s.keys, o.keys) {
		if c, ok := rewrite.AsColumn(k.Expr); !ok || made[c.ID] {
			return s, false
		}
	}
	both := Sorting{split: min(s.split, o.split)}
	for _, p := range [][2]Sorting{{s, o}, {o, s}} {
		var ok bool
		if both.keys, ok = p[0].extended(p[1]); ok {
			return both, true
		}
	}
	return s, false
}

// extended returns the keys of s, followed by keys that o needs in addition, if the first keys of s
// are o's partition in any order and o's order continues the others.
func (s Sorting) extended(o Sorting) ([]expr.Order, bool) {
	if o.split > len(s.keys) || !within(o.keys[:o.split], s.keys[:o.split]) || !within(s.keys[:o.split], o.keys[:o.split]) {
		return nil, false
	}
	rest, more := s.keys[o.split:], o.keys[o.split:]
	for i := range min(len(rest), len(more)) {
		if rest[i].Desc != more[i].Desc || rest[i].NullsFirst != more[i].NullsFirst || !rewrite.Same(rest[i].Expr, more[i].Expr) {
			return nil, false
		}
	}
	if len(more) <= len(rest) {
		return s.keys, true
	}
	return slices.Concat(s.keys, more[len(rest):]), true
}

// within reports whether all expressions of a are among b's.
func within(a, b []expr.Order) bool {
	for _, k := range a {
		if !slices.ContainsFunc(b, func(x expr.Order) bool { return rewrite.Same(x.Expr, k.Expr) }) {
			return false
		}
	}
	return true
}
