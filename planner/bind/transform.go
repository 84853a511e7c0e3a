package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var inTransform = place{name: "TRANSFORM"}

// Derive checks an expression of TRANSFORM over the columns of the training
// query, and tells which of them it reads. Whoever predicts must get what
// training got: it can hold no subquery, no parameter and nothing volatile.
func Derive(s *Session, n ast.Node, cols []catalog.ModelFeature) (reads []int, err error) {
	b := newBinder(s)
	b.plain = true
	from := make([]expr.Expr, len(cols))
	at := map[expr.ColID]int{}
	lv := &level{depth: 1}
	for i, c := range cols {
		nc := b.newCol(lv, c.Name, c.Type)
		at[nc.ID], from[i] = i, col(nc)
	}
	e, err := b.derived(n, cols, from, lv)
	switch {
	case err != nil:
		return nil, err
	case hasSubquery(e):
		return nil, pgerr.Unsupported("subqueries in TRANSFORM are not supported").WithHint("Compute them in the query.").At(b.posExpr(n))
	case volatile(e):
		return nil, pgerr.New(pgerr.InvalidParameterValue, "an expression of TRANSFORM must give the same for the same row").
			WithHint("Leave out volatile functions such as random().").At(b.posExpr(n))
	}
	seen := make([]bool, len(cols))
	b.eachCol(e, func(id expr.ColID) { seen[at[id]] = true })
	for i, ok := range seen {
		if ok {
			reads = append(reads, i)
		}
	}
	return reads, nil
}

// derived binds an expression over columns, for which others stand.
func (b *binder) derived(n ast.Node, cols []catalog.ModelFeature, from []expr.Expr, lv *level) (expr.Expr, error) {
	rl := &rel{open: true}
	for i, c := range cols {
		rl.cols = append(rl.cols, relCol{name: c.Name, e: from[i]})
	}
	e, err := (&scope{b: b, lv: lv, rels: []*rel{rl}}).expr(n, inTransform)
	if err != nil {
		return nil, err
	}
	return b.known(e)
}

// inputs are what the encoders of a model take, computed of its features.
func (sc *scope) inputs(m *model, features []expr.Expr, pos spot) ([]expr.Expr, error) {
	if m.v.Inputs == nil {
		return features, nil
	}
	b := &binder{s: sc.b.s, st: sc.b.st, path: sc.b.path, as: sc.b.as, depth: sc.b.depth, plain: true}
	plans := map[*expr.Subquery]bool{}
	out := make([]expr.Expr, len(m.v.Inputs))
	for i, in := range m.v.Inputs {
		n, err := parseExpr(in.Expr)
		if err != nil {
			return nil, err
		}
		e, err := b.derived(n, m.v.Features, features, sc.lv)
		if err != nil {
			return nil, sc.b.at(err, pos)
		}
		want := in.Type
		want.Mod = -1
		if e, err = b.coerce(e, want, fn.AssignmentCast, spot{}); err != nil {
			return nil, sc.b.at(err, pos)
		}
		again := false
		expr.Walk(e, func(x expr.Expr) bool {
			if q, ok := x.(*expr.Subquery); ok {
				again = again || plans[q] // a subquery's plan may stand once only
				plans[q] = true
			}
			return true
		})
		if again {
			return nil, pgerr.Unsupported("model \"%s\" computes several columns of a feature that a subquery gives", m.name).
				WithHint("Compute the feature in FROM.").At(pos.at())
		}
		out[i] = b.recarry(e, want)
	}
	return out, nil
}
