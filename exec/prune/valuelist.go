package prune

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// maxListed is how many values a filter lists at most to be looked up.
const maxListed = 1 << 10

// Listed are the only values that a scan's filter passes of a column, few integers or
// dates.
type Listed struct {
	Col  int // counted over the scan's columns
	Keys []int64
}

// Listed finds them in a scan's filter: column = constant, column IN (constants).
func (c *Compiler) Listed(s *plan.Scan) (out []Listed) {
	for _, f := range s.Filter {
		var arg expr.Expr
		var list []expr.Expr
		switch f := f.(type) {
		case *expr.In:
			if f.Not || len(f.List) > maxListed {
				continue
			}
			arg, list = f.Arg, f.List
		case *expr.Call:
			if f.Op != "=" || len(f.Args) != 2 {
				continue
			}
			if arg, list = f.Args[0], f.Args[1:]; !c.isColumn(arg) {
				arg, list = f.Args[1], f.Args[:1]
			}
		}
		num, from, via, ok := c.Column(arg)
		if !ok || num < 0 || KindOf(from) != KindOf(via) || KindOf(from) != types.ClassInteger && KindOf(from) != types.ClassDate {
			continue
		}
		l := Listed{Col: slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.Num == num })}
		for _, e := range list {
			val, t, known := c.Constant(e)
			if ok = ok && known && (val == nil || KindOf(t) == KindOf(from)); !ok {
				break
			}
			if v, isInt := val.(int64); isInt {
				l.Keys = append(l.Keys, v)
			}
		}
		if ok {
			out = append(out, l)
		}
	}
	return out
}

func (c *Compiler) isColumn(e expr.Expr) bool {
	_, _, _, ok := c.Column(e)
	return ok
}
