package build

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func (b *builder) join(ctx context.Context, n *plan.Join, need colSet) (rel, error) {
	conds := append(append([]expr.Expr(nil), n.Residual...), n.On...)
	reads := need.with(conds...)
	l, err := b.node(ctx, n.L, within(reads.with(n.LKeys...), n.L))
	if err != nil {
		return rel{}, err
	}
	r, err := b.node(ctx, n.R, within(reads.with(n.RKeys...), n.R))
	if err != nil {
		return rel{}, err
	}
	c := join.Config{Kind: n.Kind, LTypes: typesOf(l.cols), RTypes: typesOf(r.cols), NullSafe: n.NullSafe}
	if c.NullSafe == nil {
		c.NullSafe = make([]bool, len(n.LKeys))
	}
	lk, rk := make([]expr.Expr, len(n.LKeys)), make([]expr.Expr, len(n.LKeys))
	for i := range n.LKeys {
		t, err := commonType(n.LKeys[i].Type(), n.RKeys[i].Type())
		if err != nil {
			return rel{}, err
		}
		c.KeyTypes = append(c.KeyTypes, t)
		lk[i], rk[i] = castKey(n.LKeys[i], t), castKey(n.RKeys[i], t)
	}
	if c.LKeys, err = b.items(lk, l.cols); err != nil {
		return rel{}, err
	}
	if c.RKeys, err = b.items(rk, r.cols); err != nil {
		return rel{}, err
	}
	if c.Filters = b.keyFilters(n); !slices.ContainsFunc(c.Filters, func(f *op.KeyFilter) bool { return f != nil }) {
		c.Kept = b.step.table(n) // scans of the left side ask the table of their own round
	}
	if err := b.residual(&c, conds, l.cols, r.cols); err != nil {
		return rel{}, err
	}
	for _, x := range rewrite.JoinRanges(n) {
		c.Ranges = append(c.Ranges, join.Range{Left: find(l.cols, x.Left.ID), Right: find(r.cols, x.Right.ID), AtLeast: x.AtLeast})
	}
	var cols []plan.Column
	if n.Kind != plan.RightSemi && n.Kind != plan.RightAnti {
		for i, col := range l.cols {
			if need[col.ID] {
				c.LOut, cols = append(c.LOut, i), append(cols, col)
			}
		}
	}
	switch n.Kind {
	case plan.Semi, plan.Anti, plan.AntiNull:
	case plan.Mark:
		cols = append(cols, plan.Column{ID: n.MarkCol, Name: "mark", Type: types.Bool})
	default:
		for i, col := range r.cols {
			if need[col.ID] {
				c.ROut, cols = append(c.ROut, i), append(cols, col)
			}
		}
	}
	return rel{join.New(b.rt, b.statsOf(n), c, l.ops, r.ops), cols}, nil
}

// within returns the columns of need that n has.
func within(need colSet, n plan.Node) colSet {
	out := colSet{}
	for _, c := range n.Schema() {
		if need[c.ID] {
			out[c.ID] = true
		}
	}
	return out
}

// residual compiles the conditions over the columns they read alone.
func (b *builder) residual(c *join.Config, conds []expr.Expr, l, r []plan.Column) error {
	if len(conds) == 0 {
		return nil
	}
	reads := colSet{}.with(conds...)
	var in []plan.Column
	for i, col := range append(append([]plan.Column(nil), l...), r...) {
		if reads[col.ID] {
			c.ResidualCols, in = append(c.ResidualCols, i), append(in, col)
		}
	}
	if c.Kind != plan.Mark {
		var err error
		c.Residual, err = b.filters(conds, in)
		return err
	}
	e := conds[0]
	if len(conds) > 1 {
		e = &expr.And{Args: conds}
	}
	for thread := 0; thread < b.rt.Threads; thread++ {
		p, err := b.program(e, in)
		if err != nil {
			return err
		}
		c.ResidualValue = append(c.ResidualValue, p)
	}
	return nil
}

// castKey casts a key to the physical representation of both sides.
func castKey(e expr.Expr, t types.Type) expr.Expr {
	if samePhysicalType(e.Type(), t) {
		return e
	}
	return &expr.Cast{Arg: e, Typ: t}
}

// samePhysicalType reports whether columns of a and b represent equal values alike.
func samePhysicalType(a, b types.Type) bool {
	if a.OID == types.NumericOID || b.OID == types.NumericOID {
		return a.OID == b.OID && a.IsFixed() == b.IsFixed() && (!a.IsFixed() || a.Scale == b.Scale)
	}
	if ea, ok := a.Elem(); ok {
		eb, ok := b.Elem()
		return ok && samePhysicalType(ea, eb)
	}
	if a.IsString() && b.IsString() {
		return a.OID == b.OID || a.EqualByBytes() && b.EqualByBytes()
	}
	return a.OID == b.OID || arrow.TypeEqual(a.Arrow(), b.Arrow())
}

// commonType returns the type in which keys of types a and b can be compared as
// they are represented.
func commonType(a, b types.Type) (types.Type, error) {
	if samePhysicalType(a, b) {
		return a, nil
	}
	if a.Rank() > 0 && b.Rank() > 0 {
		switch {
		case a.IsFloat() || b.IsFloat():
			return types.Float8, nil
		case !a.IsInteger() || !b.IsInteger():
			return types.Numeric, nil
		case a.Rank() > b.Rank():
			return a, nil
		}
		return b, nil
	}
	switch {
	case a.OID == types.OIDOID && b.IsInteger() || b.OID == types.OIDOID && a.IsInteger():
		return types.Int8, nil
	case a.IsStamp() && b.IsStamp():
		if a.Class() == types.ClassTimestamptz || b.Class() == types.ClassTimestamptz {
			return types.Timestamptz, nil
		}
		return types.Timestamp, nil
	case a.IsArray() && b.IsArray():
		ea, _ := a.Elem()
		eb, _ := b.Elem()
		if e, err := commonType(ea, eb); err == nil {
			if t, ok := types.ArrayOf(e); ok {
				return t, nil
			}
		}
	}
	return types.Type{}, pgerr.Internal("join keys of types %s and %s have no common form", a.String(), b.String())
}
