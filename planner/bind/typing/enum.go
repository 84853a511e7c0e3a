package typing

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Enums are represented as their labels, which aggregates compare as strings. What
// depends on their order is bound over their places instead:
//
//	min(e)                                          →  label(min(place(e)))
//	percentile_disc(f) WITHIN GROUP (ORDER BY e)    →  label(percentile_disc(f) WITHIN GROUP (ORDER BY place(e)))

// enumPlace returns the place of an enum's value among its labels, from 1.
func (b *Resolver) enumPlace(e expr.Expr) (expr.Expr, error) {
	out := &expr.Case{Typ: types.Int4}
	for i, l := range b.State.EnumByOID(e.Type().OID).Labels {
		same, err := b.Operator("=", e, &expr.Const{Val: l, Typ: e.Type()}, Position{})
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: same, Then: IntLit(int64(i + 1))})
	}
	if len(out.Whens) == 0 {
		return &expr.Const{Typ: types.Int4}, nil
	}
	return out, nil
}

// enumLabel is the inverse of enumPlace.
func (b *Resolver) enumLabel(place expr.Expr, t types.Type) (expr.Expr, error) {
	out := &expr.Case{Typ: t}
	for i, l := range b.State.EnumByOID(t.OID).Labels {
		same, err := b.Operator("=", place, IntLit(int64(i+1)), Position{})
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, expr.When{Cond: same, Then: &expr.Const{Val: l, Typ: t}})
	}
	if len(out.Whens) == 0 {
		return &expr.Const{Typ: t}, nil
	}
	return out, nil
}

// EnumExtreme recognises min and max of an enum, and binds them over places: result turns the
// aggregate's result into a label.
func (b *Resolver) EnumExtreme(call *expr.AggCall) (result func(expr.Expr, error) (expr.Expr, error), err error) {
	if len(call.Args) != 1 || call.Fn.Name != "min" && call.Fn.Name != "max" || !b.IsEnum(call.Args[0].Type().OID) {
		return nil, nil
	}
	t := call.Args[0].Type()
	for _, f := range fn.Lookup(call.Fn.Name) {
		if len(f.Args) != 1 || f.Args[0] != types.Int4OID {
			continue
		}
		place, err := b.enumPlace(call.Args[0])
		if err != nil {
			return nil, err
		}
		call.Fn, call.Typ, call.Args = f, types.Int4, []expr.Expr{place}
		return func(e expr.Expr, err error) (expr.Expr, error) {
			if err != nil {
				return nil, err
			}
			return b.enumLabel(e, t)
		}, nil
	}
	return nil, pgerr.Internal("there is no %s(integer)", call.Fn.Name)
}

// EnumOrder replaces enums in the sort keys of an aggregate by their places.
func (b *Resolver) EnumOrder(call *expr.AggCall, pos Position) error {
	for i := range call.OrderBy {
		k := &call.OrderBy[i]
		if !b.IsEnum(k.Expr.Type().OID) {
			continue
		}
		if call.Distinct {
			return pgerr.Unsupported("an aggregate with DISTINCT over enums cannot be ordered by them").At(pos.At())
		}
		var err error
		if k.Expr, err = b.enumPlace(k.Expr); err != nil {
			return err
		}
	}
	return nil
}

// EnumOrdered binds an ordered-set aggregate over an enum, percentile_disc or mode, over places,
// where it is one; result is as for EnumExtreme.
func (b *Resolver) EnumOrdered(call *expr.AggCall, pos Position) (result func(expr.Expr, error) (expr.Expr, error), err error) {
	last := len(call.Args) - 1
	if call.Fn.Hypothetical || !b.IsEnum(call.Args[last].Type().OID) {
		return nil, nil
	}
	t := call.Args[last].Type()
	if call.Typ != t {
		return nil, pgerr.Unsupported("%s of several fractions over enums is not supported", call.Fn.Name).At(pos.At())
	}
	if call.Args[last], err = b.enumPlace(call.Args[last]); err != nil {
		return nil, err
	}
	call.Typ = types.Int4
	return func(e expr.Expr, err error) (expr.Expr, error) {
		if err != nil {
			return nil, err
		}
		return b.enumLabel(e, t)
	}, nil
}
