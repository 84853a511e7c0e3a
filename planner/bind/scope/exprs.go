package scope

import (
	"hash/maphash"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// Exprs finds expressions that EqualExpr takes for the same, by hash once there are more than a few: a
// statement may have thousands, each a subquery. The zero value is empty.
type Exprs struct {
	list   []exprAt
	at     map[uint64][]exprAt       // the same by hash; nil while there are few
	hashed map[*expr.Subquery]uint64 // what is known of subqueries
}

type exprAt struct {
	e expr.Expr
	i int
}

// fewExprs is up to how many are compared one by one.
const fewExprs = 8

var shapeSeed = maphash.MakeSeed()

func (x *Exprs) hash(e expr.Expr) uint64 {
	return expr.HashWith(e, func(s *expr.Subquery) uint64 {
		h, ok := x.hashed[s]
		if !ok {
			h = maphash.String(shapeSeed, shapeOf(s.Plan.(plan.Node)))
			if x.hashed == nil {
				x.hashed = map[*expr.Subquery]uint64{}
			}
			x.hashed[s] = h
		}
		return h
	})
}

// Add notes e with a number of the caller's.
func (x *Exprs) Add(e expr.Expr, i int) {
	x.list = append(x.list, exprAt{e, i})
	if len(x.list) <= fewExprs {
		return
	}
	fresh := x.list[len(x.list)-1:]
	if x.at == nil {
		x.at, fresh = map[uint64][]exprAt{}, x.list
	}
	for _, a := range fresh {
		h := x.hash(a.e)
		x.at[h] = append(x.at[h], a)
	}
}

// Find returns the number of the first expression added that is the same as e, -1 if there is none.
func (x *Exprs) Find(e expr.Expr) int {
	list := x.list
	if x.at != nil {
		list = x.at[x.hash(e)]
	}
	for _, had := range list {
		if EqualExpr(had.e, e) {
			return had.i
		}
	}
	return -1
}
