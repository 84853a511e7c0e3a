package build

import (
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// programs caches what a tree compiles, in order. The step of a recursion is built anew for each
// round, mostly of few rows, from the same plan: it compiles the same programs in the same order,
// and the round before is done with them.
type programs struct {
	list []any
	at   int
}

func (p *programs) rewind() *programs {
	p.at = 0
	return p
}

// compiled returns the result of f, or that of the time the tree was built before.
func compiled[T any](b *builder, f func() (T, error)) (T, error) {
	k := b.kept
	if k != nil && k.at < len(k.list) {
		p := k.list[k.at].(T)
		k.at++
		return p, nil
	}
	p, err := f()
	if err == nil && k != nil {
		k.list = append(k.list, p)
		k.at++
	}
	return p, err
}

func (b *builder) program(e expr.Expr, in []plan.Column) (*eval.Program, error) {
	return compiled(b, func() (*eval.Program, error) { return eval.Compile(e, in, b.Env) })
}
