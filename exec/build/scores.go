package build

import (
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// projected is items for a projection, which computes all of them in their order
// for each batch: predictions of one model for the same features are scored once.
func (b *builder) projected(es []expr.Expr, in []plan.Column) ([][]op.Item, error) {
	all := sharedScores(es)
	rest := make([]expr.Expr, 0, len(es))
	for i, e := range es {
		if all[i] == nil {
			rest = append(rest, e)
		}
	}
	out := make([][]op.Item, b.rt.Threads)
	for thread := range out {
		items, err := b.threadItems(rest, in)
		if err != nil {
			return nil, err
		}
		out[thread] = make([]op.Item, len(es))
		for i, with := range all {
			switch {
			case with == nil:
				out[thread][i], items = items[0], items[1:]
			case with[0] == i:
				if err := b.scoreOnce(out[thread], es, with, in); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// scoreOnce compiles the expressions at these places, which read the same scores.
func (b *builder) scoreOnce(items []op.Item, es []expr.Expr, at []int, in []plan.Column) error {
	asked := make([]*expr.Predict, len(at))
	for k, i := range at {
		asked[k] = es[i].(*expr.Predict)
	}
	programs, err := compiled(b, func() ([]*eval.Program, error) { return eval.CompileScores(asked, in, b.Env) })
	if err != nil {
		return err
	}
	for k, i := range at {
		items[i] = op.Item{Program: programs[k]}
	}
	return nil
}

// sharedScores returns for each expression the places of all that read the scores
// that it reads, where there are others; else nil.
func sharedScores(es []expr.Expr) [][]int {
	out := make([][]int, len(es))
	for i, e := range es {
		p, ok := e.(*expr.Predict)
		if !ok || out[i] != nil {
			continue
		}
		same := []int{i}
		for k := i + 1; k < len(es); k++ {
			if q, ok := es[k].(*expr.Predict); ok && eval.SameScores(p, q) {
				same = append(same, k)
			}
		}
		if len(same) == 1 {
			continue
		}
		for _, k := range same {
			out[k] = same
		}
	}
	return out
}
