package build

import (
	"slices"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/op/join"
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

// step is what the rounds of a recursion keep for each other.
type step struct {
	working int                       // the buffer that differs in each round
	tables  map[*plan.Join]*join.Kept // nil where the right rows are not the same in each round
}

// table returns what keeps the table of a join whose right rows are the same in each round; nil if they are not.
func (s *step) table(n *plan.Join) *join.Kept {
	if s == nil {
		return nil
	}
	k, known := s.tables[n]
	if !known {
		if sameEachRound(n, s.working) {
			k = &join.Kept{}
		}
		s.tables[n] = k
	}
	return k
}

func sameEachRound(n *plan.Join, working int) bool {
	switch n.Kind {
	case plan.Inner, plan.Left, plan.Semi, plan.Anti:
	default:
		return false
	}
	same := !slices.ContainsFunc(n.RKeys, expr.Volatile)
	walk(n.R, 0, func(in plan.Node, _ int) {
		buf, ok := in.(*plan.Buffer)
		same = same && !(ok && buf.ID == working) && !slices.ContainsFunc(plan.Exprs(in), expr.Volatile)
	})
	return same
}

func (s *step) close() {
	for _, k := range s.tables {
		k.Close()
	}
}
