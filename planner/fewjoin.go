package planner

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// fewGiven is how many rows are few for a FewJoin.
const fewGiven = 8

// FewJoin is a join of few given rows with the rows of a table that have their keys, as of a MERGE … USING
// (VALUES …) or an UPDATE … FROM (VALUES …).
type FewJoin struct {
	Given plan.Node
	Scan  *plan.Scan
	Keys  []plan.Column // of Scan
	At    []int         // the columns of Given's schema that they are equal to
}

// FewJoinOf returns the join of an optimised tree whose other nodes only filter and compute, if it is one
// of few rows by a whole key whatever the parameters; nil otherwise.
func FewJoinOf(root plan.Node, st props.Statistics) *FewJoin {
	n := root
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			n = x.Input
		case *plan.Join:
			return fewJoin(x, st)
		default:
			return nil
		}
	}
}

func fewJoin(j *plan.Join, st props.Statistics) *FewJoin {
	f := &FewJoin{}
	mine, theirs := j.LKeys, j.RKeys
	switch {
	case (j.Kind == plan.Inner || j.Kind == plan.Left) && areFew(j.L):
		f.Given, f.Scan = j.L, asScan(j.R)
	case (j.Kind == plan.Inner || j.Kind == plan.Right) && areFew(j.R):
		f.Given, f.Scan = j.R, asScan(j.L)
		mine, theirs = theirs, mine
	}
	if f.Scan == nil {
		return nil
	}
	given, bound := f.Given.Schema(), plan.ColSet{}
	for i := range theirs {
		key, ok1 := theirs[i].(*expr.Col)
		val, ok2 := mine[i].(*expr.Col)
		if !ok1 || !ok2 || j.NullSafe[i] {
			continue
		}
		c := slices.IndexFunc(f.Scan.Cols, func(c plan.Column) bool { return c.ID == key.ID })
		at := slices.IndexFunc(given, func(c plan.Column) bool { return c.ID == val.ID })
		if c < 0 || at < 0 || f.Scan.Cols[c].Type.OID != given[at].Type.OID || rewrite.Operator("=", f.Scan.Cols[c].Type, f.Scan.Cols[c].Type) == nil {
			continue
		}
		f.Keys, f.At, bound[key.ID] = append(f.Keys, f.Scan.Cols[c]), append(f.At, at), true
	}
	if !props.CoversKey(props.UniqueKeys(f.Scan, st), bound) {
		return nil
	}
	return f
}

func asScan(n plan.Node) *plan.Scan {
	s, _ := n.(*plan.Scan)
	return s
}

// areFew reports whether a tree gives the rows of a small VALUES.
func areFew(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Values:
		return len(x.Rows) <= fewGiven
	case *plan.Project:
		return areFew(x.Input)
	case *plan.Filter:
		return areFew(x.Input)
	}
	return false
}
