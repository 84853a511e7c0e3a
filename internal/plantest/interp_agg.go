package plantest

import (
	"fmt"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// tuple is the arguments of one call of an aggregate; a partial state is a list
// of them.
type tuple []types.Datum

type group struct {
	vals   []types.Datum
	inputs [][]tuple // by aggregate
}

func (in *Interp) aggregate(n *plan.Aggregate, rows []Row, outer Row) ([]Row, error) {
	exprs := make([]expr.Expr, len(n.Groups))
	for i, g := range n.Groups {
		exprs[i] = g.Expr
	}
	sets := n.Sets
	if len(sets) == 0 {
		all := make([]int, len(exprs))
		for i := range all {
			all[i] = i
		}
		sets = [][]int{all}
	}
	var out []Row
	for _, set := range sets {
		var keys []expr.Expr
		for _, i := range set {
			keys = append(keys, exprs[i])
		}
		groups := map[string]*group{}
		var order []string
		for _, r := range rows {
			env := merge(outer, r)
			k, vals, err := in.key(keys, env)
			if err != nil {
				return nil, err
			}
			g := groups[k]
			if g == nil {
				g = &group{vals: vals, inputs: make([][]tuple, len(n.Aggs))}
				groups[k] = g
				order = append(order, k)
			}
			for i, a := range n.Aggs {
				if n.Phase == plan.AggFinal {
					if a.Call.Filter != nil {
						if v, err := in.Eval(a.Call.Filter, env); err != nil {
							return nil, err
						} else if v != true {
							continue
						}
					}
					st, _ := r[n.States[i]].([]tuple)
					g.inputs[i] = append(g.inputs[i], st...)
					continue
				}
				t, ok, err := in.args(a.Call, env)
				if err != nil {
					return nil, err
				}
				if ok {
					g.inputs[i] = append(g.inputs[i], t)
				}
			}
		}
		if len(keys) == 0 && len(order) == 0 && (len(n.Sets) > 0 || len(n.Groups) == 0) {
			groups[""] = &group{inputs: make([][]tuple, len(n.Aggs))}
			order = append(order, "")
		}
		for _, k := range order {
			g := groups[k]
			r := Row{}
			mask := int64(1)<<len(n.Groups) - 1
			for i := range n.Groups {
				r[n.Groups[i].Col.ID] = nil
			}
			for j, i := range set {
				r[n.Groups[i].Col.ID] = g.vals[j]
				mask &^= 1 << (len(n.Groups) - 1 - i)
			}
			if n.GroupingID != 0 {
				r[n.GroupingID] = mask
			}
			for i, a := range n.Aggs {
				if n.Phase == plan.AggPartial {
					r[n.States[i]] = g.inputs[i]
					continue
				}
				v, err := finish(a.Call, g.inputs[i])
				if err != nil {
					return nil, err
				}
				r[a.Col.ID] = v
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// args evaluates a call's arguments and the keys of its order; ok is false if
// its filter drops the row.
func (in *Interp) args(c expr.AggCall, env Row) (tuple, bool, error) {
	if c.Filter != nil {
		v, err := in.Eval(c.Filter, env)
		if err != nil || v != true {
			return nil, false, err
		}
	}
	var t tuple
	for _, a := range c.Args {
		v, err := in.Eval(a, env)
		if err != nil {
			return nil, false, err
		}
		t = append(t, v)
	}
	for _, o := range c.OrderBy {
		v, err := in.Eval(o.Expr, env)
		if err != nil {
			return nil, false, err
		}
		t = append(t, v)
	}
	return t, true, nil
}

// finish computes an aggregate of its inputs.
func finish(c expr.AggCall, inputs []tuple) (types.Datum, error) {
	if len(c.OrderBy) > 0 {
		n := len(c.Args)
		for i := 1; i < len(inputs); i++ {
			for j := i; j > 0 && compareKeys(c.OrderBy, inputs[j][n:], inputs[j-1][n:]) < 0; j-- {
				inputs[j], inputs[j-1] = inputs[j-1], inputs[j]
			}
		}
	}
	if c.Distinct {
		seen := map[string]bool{}
		var uniq []tuple
		for _, t := range inputs {
			k := keyText(c.Args[0].Type(), t[0])
			if !seen[k] {
				seen[k] = true
				uniq = append(uniq, t)
			}
		}
		inputs = uniq
	}
	if c.Star || len(c.Args) == 0 {
		return int64(len(inputs)), nil
	}
	if c.Fn.Name == "array_agg" {
		if len(inputs) == 0 {
			return nil, nil
		}
		elem, _ := c.Typ.Elem()
		a := types.Array{Elem: elem}
		for _, t := range inputs {
			a.Elems = append(a.Elems, t[0])
		}
		return a, nil
	}
	var vals []types.Datum
	for _, t := range inputs {
		if t[0] != nil {
			vals = append(vals, t[0])
		}
	}
	if c.Fn.Name == "count" {
		return int64(len(vals)), nil
	}
	if len(vals) == 0 {
		return nil, nil
	}
	typ := c.Args[0].Type()
	switch c.Fn.Name {
	case "min", "max":
		best := vals[0]
		for _, v := range vals[1:] {
			if d := types.Compare(typ, v, best); d < 0 && c.Fn.Name == "min" || d > 0 && c.Fn.Name == "max" {
				best = v
			}
		}
		return best, nil
	case "sum", "avg":
		sum := number.DecimalFromInt64(0, 0)
		for _, v := range vals {
			d, ok := v.(number.Decimal)
			if !ok {
				d = number.DecimalFromInt64(v.(int64), 0)
			}
			var err error
			if sum, err = sum.Add(d); err != nil {
				return nil, err
			}
		}
		if c.Fn.Name == "avg" {
			return sum.Div(number.DecimalFromInt64(int64(len(vals)), 0))
		}
		if c.Typ.OID == types.Int8OID {
			i, _ := sum.Int64()
			return i, nil
		}
		return sum, nil
	}
	return nil, fmt.Errorf("interpreter: aggregate %s", c.Fn.Name)
}

// window supports row_number, rank, last_value and aggregates.
func (in *Interp) window(n *plan.Window, rows []Row, outer Row) ([]Row, error) {
	rows, err := in.sort(rows, n.OrderBy, outer)
	if err != nil {
		return nil, err
	}
	parts := map[string][]Row{}
	var order []string
	for _, r := range rows {
		k, _, err := in.key(n.PartitionBy, merge(outer, r))
		if err != nil {
			return nil, err
		}
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], r)
	}
	var out []Row
	for _, k := range order {
		part := parts[k]
		for i, r := range part {
			o := merge(r)
			for _, it := range n.Items {
				switch it.Call.Fn.Name {
				case "row_number":
					o[it.Col.ID] = int64(i + 1)
				case "rank":
					first := i
					for first > 0 {
						_, a, err := in.key(orders(n.OrderBy), merge(outer, part[first-1]))
						if err != nil {
							return nil, err
						}
						_, b, err := in.key(orders(n.OrderBy), merge(outer, r))
						if err != nil {
							return nil, err
						}
						if compareKeys(n.OrderBy, a, b) != 0 {
							break
						}
						first--
					}
					o[it.Col.ID] = int64(first + 1)
				default:
					frame, err := in.frame(n, it.Frame, part, i, outer)
					if err != nil {
						return nil, err
					}
					var ts []tuple
					for _, p := range frame {
						t, ok, err := in.args(it.Call, merge(outer, p))
						if err != nil {
							return nil, err
						}
						if ok {
							ts = append(ts, t)
						}
					}
					var v types.Datum
					if it.Call.Fn.Name != "last_value" {
						v, err = finish(it.Call, ts)
					} else if len(ts) > 0 {
						v = ts[len(ts)-1][0]
					}
					if err != nil {
						return nil, err
					}
					o[it.Col.ID] = v
				}
			}
			out = append(out, o)
		}
	}
	return out, nil
}
