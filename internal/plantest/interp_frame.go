package plantest

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// frame returns the rows of row i's frame: those so far, by rows, or those around it in the order of one integer.
func (in *Interp) frame(n *plan.Window, f plan.Frame, part []Row, i int, outer Row) ([]Row, error) {
	if len(n.OrderBy) == 0 {
		return part, nil
	}
	if f.Mode == 'r' && f.Start.Kind == plan.UnboundedPreceding && f.End.Kind == plan.CurrentRow && f.Exclude == 0 {
		return part[:i+1], nil
	}
	if f.Mode != 'v' || len(n.OrderBy) != 1 || n.OrderBy[0].Desc || f.Exclude != 0 && f.Exclude != 'g' {
		return nil, fmt.Errorf("interpreter: frame %+v", f)
	}
	value := func(r Row) (types.Datum, error) { return in.Eval(n.OrderBy[0].Expr, merge(outer, r)) }
	distance := func(b plan.FrameBound, sign int64) (int64, error) {
		if b.Kind == plan.CurrentRow {
			return 0, nil
		}
		d, err := in.Eval(b.Offset, outer)
		if err != nil {
			return 0, err
		}
		return sign * d.(int64), nil
	}
	from, err := distance(f.Start, -1)
	if err != nil {
		return nil, err
	}
	to, err := distance(f.End, 1)
	if err != nil {
		return nil, err
	}
	at, err := value(part[i])
	if err != nil {
		return nil, err
	}
	var out []Row
	for _, r := range part {
		v, err := value(r)
		if err != nil {
			return nil, err
		}
		switch {
		case v == nil || at == nil:
			if (v == nil) != (at == nil) || f.Exclude == 'g' {
				continue
			}
		case v.(int64) < at.(int64)+from || v.(int64) > at.(int64)+to || f.Exclude == 'g' && v.(int64) == at.(int64):
			continue
		}
		out = append(out, r)
	}
	return out, nil
}
