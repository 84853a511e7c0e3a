package opt

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// Validate checks the invariants of every plan: each column that a node reads is emitted below it,
// no id is emitted twice, by-position inputs fit. With final it also checks what optimisation
// promises: no Apply, no Subquery, conditions of joins in keys and residual. It returns the first
// violation.
func Validate(n plan.Node, final bool) error {
	return validate(n, nil, final)
}

func validate(n plan.Node, outer plan.ColSet, final bool) error {
	kids := n.Children()
	have := plan.ColSet{}
	seen := map[expr.ColID]bool{}
	for i, k := range kids {
		ko := outer
		if a, ok := n.(*plan.Apply); ok && i == 1 {
			ko = rewrite.Union(outer, plan.Emits(a.L))
		}
		if err := validate(k, ko, final); err != nil {
			return err
		}
		for _, c := range k.Schema() {
			have[c.ID] = true
			if len(kids) == 2 && i == 1 && seen[c.ID] {
				switch n.(type) {
				case *plan.SetOp:
				case *plan.Apply: // decorrelate separates them
				default:
					return fmt.Errorf("%T: both sides emit column %d (%s)", n, c.ID, c.Name)
				}
			}
		}
		for _, c := range k.Schema() {
			seen[c.ID] = true
		}
	}
	switch n := n.(type) {
	case *plan.Scan, *plan.Virtual, *plan.Source:
		for _, c := range n.Schema() {
			have[c.ID] = true
		}
	case *plan.SetOp:
		for i, k := range n.Inputs {
			if len(k.Schema()) != len(n.Cols) {
				return fmt.Errorf("set operation: input %d has %d columns, not %d", i, len(k.Schema()), len(n.Cols))
			}
			for j, c := range k.Schema() {
				if final && !c.Type.SamePhysical(n.Cols[j].Type) {
					return fmt.Errorf("set operation: input %d column %d is represented otherwise", i, j)
				}
			}
		}
	case *plan.RecursiveUnion:
		if len(n.Init.Schema()) != len(n.Cols) || len(n.Step.Schema()) != len(n.Cols) {
			return fmt.Errorf("recursive union: inputs and columns differ in number")
		}
	case *plan.Apply:
		if final {
			return fmt.Errorf("an Apply is left")
		}
	case *plan.Join:
		if final && len(n.On) > 0 {
			return fmt.Errorf("a join has conditions that are neither keys nor residual")
		}
		if len(n.LKeys) != len(n.RKeys) || len(n.LKeys) != len(n.NullSafe) {
			return fmt.Errorf("a join's key lists differ in length")
		}
		l, r := plan.Emits(n.L), plan.Emits(n.R)
		for i := range n.LKeys {
			if !rewrite.Subset(rewrite.ColumnsOf(n.LKeys[i]), l) || !rewrite.Subset(rewrite.ColumnsOf(n.RKeys[i]), r) {
				return fmt.Errorf("key %d of a join is not of its side", i)
			}
			if !n.LKeys[i].Type().SamePhysical(n.RKeys[i].Type()) && !(isText(n.LKeys[i].Type()) && isText(n.RKeys[i].Type())) {
				return fmt.Errorf("key %d of a join is represented otherwise on each side", i)
			}
		}
		if final && n.Kind == plan.AntiNull && (len(n.LKeys) != 1 || len(n.Residual) > 0) {
			return fmt.Errorf("NOT IN with %d keys", len(n.LKeys))
		}
	}
	for _, c := range rewrite.SortedIDs(outer) {
		have[c] = true
	}
	for _, e := range plan.Exprs(n) {
		if e == nil {
			continue
		}
		if final && rewrite.HasSubquery(e) {
			return fmt.Errorf("%T: a Subquery is left", n)
		}
		for _, c := range rewrite.SortedIDs(rewrite.ColumnsOf(e)) {
			if !have[c] {
				return fmt.Errorf("%T reads column %d, which nothing below emits", n, c)
			}
		}
	}
	emitted := plan.ColSet{}
	for _, c := range n.Schema() {
		if _, isApply := n.(*plan.Apply); emitted[c.ID] && !isApply {
			return fmt.Errorf("%T emits column %d (%s) twice", n, c.ID, c.Name)
		}
		emitted[c.ID] = true
	}
	return nil
}
