package prune

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Pruner finds by zone maps which runs of rows a scan's filter may pass. In doubt a run is read. It
// is read-only once made.
type Pruner struct {
	tests []test
	tid   bool // ctid is read
}

// test reports whether a row of a run with these zones may pass.
type test func(zones []catalog.Zone, rows int64) bool

// NewPruner understands comparisons of a column with a constant or parameter,
// IN lists, IS NULL, and AND and OR of them.
func NewPruner(s *plan.Scan, env *function.Env) *Pruner { return NewCompiler(s, env).Pruner(s) }

// NewCompiler makes a Compiler for a scan's filter. env has the statement's parameters.
func NewCompiler(s *plan.Scan, env *function.Env) *Compiler {
	c := &Compiler{cols: make(map[expr.ColID]plan.Column, len(s.Cols)), env: env}
	for _, col := range s.Cols {
		c.cols[col.ID] = col
	}
	return c
}

// Pruner makes the tests of the filter's conditions.
func (c *Compiler) Pruner(s *plan.Scan) *Pruner {
	p := &Pruner{tid: slices.ContainsFunc(s.Cols, func(c plan.Column) bool { return c.Num == plan.CTID })}
	for _, f := range s.Filter {
		if t := c.test(f); t != nil {
			p.tests = append(p.tests, t)
		}
	}
	return p
}

// MayMatchSegment reports whether some row of a segment may pass the filter.
func (p *Pruner) MayMatchSegment(g *catalog.Segment) bool {
	return p.MayMatch(p.Zones(g, g.Zones, 0, g.Rows), g.Rows)
}

// Zones returns the zones of a segment's rows from from on, with that of ctid where the scan reads it.
func (p *Pruner) Zones(g *catalog.Segment, zones []catalog.Zone, from, rows int64) []catalog.Zone {
	if !p.tid || g.First == 0 || rows == 0 {
		return zones
	}
	at := g.First - 1 + uint64(from)
	return append(zones[:len(zones):len(zones)], catalog.Zone{Column: plan.CTID, Min: types.TIDAt(at), Max: types.TIDAt(at + uint64(rows) - 1)})
}

// MayMatch reports whether some row of a run may pass the filter.
func (p *Pruner) MayMatch(zones []catalog.Zone, rows int64) bool {
	for _, t := range p.tests {
		if !t(zones, rows) {
			return false
		}
	}
	return true
}

// Compiler reads conditions of a scan's columns.
type Compiler struct {
	cols map[expr.ColID]plan.Column
	env  *function.Env
}

// test returns nil for what it does not understand.
func (c *Compiler) test(e expr.Expr) test {
	switch e := e.(type) {
	case *expr.Const:
		if pass, ok := e.Val.(bool); e.Val == nil || ok && !pass {
			return func([]catalog.Zone, int64) bool { return false }
		}
	case *expr.And:
		var all []test
		for _, a := range e.Args {
			if t := c.test(a); t != nil {
				all = append(all, t)
			}
		}
		if len(all) > 0 {
			return func(z []catalog.Zone, n int64) bool {
				for _, t := range all {
					if !t(z, n) {
						return false
					}
				}
				return true
			}
		}
	case *expr.Or:
		var some []test
		for _, a := range e.Args {
			t := c.test(a)
			if t == nil {
				return nil
			}
			some = append(some, t)
		}
		return anyOf(some)
	case *expr.IsNull:
		if col, ok := e.Arg.(*expr.Col); ok {
			if pc, ok := c.cols[col.ID]; ok {
				return nullTest(pc.Num, e.Not)
			}
		}
	case *expr.Call:
		if len(e.Args) == 2 {
			if t := c.compare(e.Op, e.Args[0], e.Args[1]); t != nil {
				return t
			}
			return c.compare(mirrored[e.Op], e.Args[1], e.Args[0])
		}
	case *expr.In:
		if e.Not {
			return nil
		}
		var some []test
		for _, x := range e.List {
			t := c.compare("=", e.Arg, x)
			if t == nil {
				return nil
			}
			some = append(some, t)
		}
		return anyOf(some)
	case *expr.AnyAll:
		// Between the least and the greatest: there may be many.
		val, t, ok := c.Constant(e.Array)
		a, isArray := val.(types.Array)
		el, _ := t.Elem()
		if !ok || !isArray || e.Op != "=" || e.All {
			return nil
		}
		known := slices.DeleteFunc(slices.Clone(a.Elems), func(d types.Datum) bool { return d == nil })
		if len(known) == 0 {
			return func([]catalog.Zone, int64) bool { return false }
		}
		by := func(a, b types.Datum) int { return types.Compare(el, a, b) }
		least := c.compare(">=", e.Arg, &expr.Const{Typ: el, Val: slices.MinFunc(known, by)})
		most := c.compare("<=", e.Arg, &expr.Const{Typ: el, Val: slices.MaxFunc(known, by)})
		if least == nil || most == nil {
			return nil
		}
		return func(z []catalog.Zone, n int64) bool { return least(z, n) && most(z, n) }
	}
	return nil
}

// anyOf passes a run that one of the tests passes.
func anyOf(tests []test) test {
	return func(z []catalog.Zone, n int64) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(z, n) })
	}
}

var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func nullTest(num int16, not bool) test {
	return func(zones []catalog.Zone, rows int64) bool {
		for i := range zones {
			if zones[i].Column == num {
				if not {
					return zones[i].Nulls < rows
				}
				return zones[i].Nulls > 0
			}
		}
		return true // a missing column has its fill-in
	}
}

// compare makes the test of "column op constant".
func (c *Compiler) compare(op string, l, r expr.Expr) test {
	switch op {
	case "=", "<", "<=", ">", ">=":
	default:
		return nil
	}
	num, from, via, ok := c.Column(l)
	if !ok {
		return nil
	}
	val, vt, ok := c.Constant(r)
	if !ok {
		return nil
	}
	if val == nil {
		return func([]catalog.Zone, int64) bool { return false } // NULL passes nothing
	}
	bound, ok := comparableBound(from, via, vt)
	if !ok {
		return nil
	}
	if d, isInt := val.(int64); isInt && KindOf(vt) == types.ClassInteger && (KindOf(via) == types.ClassNumeric) {
		val, vt = number.DecimalFromInt64(d, 0), types.Numeric
	} else if isInt && vt.OID == types.DateOID && via.OID == types.TimestampOID {
		if val, ok = dateMicros(d); !ok {
			return nil
		}
		vt = via
	}
	return func(zones []catalog.Zone, rows int64) bool {
		for i := range zones {
			z := &zones[i]
			if z.Column != num {
				continue
			}
			if z.Nulls == rows {
				return false
			}
			if op != ">" && op != ">=" && z.Min != nil {
				if lo, ok := bound(z.Min); ok {
					if d := types.Compare(vt, lo, val); d > 0 || d == 0 && op == "<" {
						return false
					}
				}
			}
			if op != "<" && op != "<=" && z.Max != nil {
				if hi, ok := bound(z.Max); ok {
					if d := types.Compare(vt, hi, val); d < 0 || d == 0 && op == ">" {
						return false
					}
				}
			}
			return true
		}
		return true
	}
}

// Column looks through casts of a column that keep the order: via is the type it is compared as.
func (c *Compiler) Column(e expr.Expr) (num int16, from, via types.Type, ok bool) {
	switch e := e.(type) {
	case *expr.Col:
		col, ok := c.cols[e.ID]
		return col.Num, col.Type, col.Type, ok
	case *expr.Cast:
		if col, isCol := e.Arg.(*expr.Col); isCol && (e.Typ.Mod == -1 || e.Typ.OID == col.Typ.OID && e.Typ.Mod == col.Typ.Mod) {
			pc, ok := c.cols[col.ID]
			return pc.Num, pc.Type, e.Typ, ok
		}
	}
	return 0, types.Type{}, types.Type{}, false
}

// Constant returns the value and type of a constant or parameter.
func (c *Compiler) Constant(e expr.Expr) (types.Datum, types.Type, bool) {
	switch e := e.(type) {
	case *expr.Const:
		return e.Val, e.Typ, true
	case *expr.Param:
		if c.env != nil && e.N >= 1 && e.N <= len(c.env.Params) {
			return c.env.Params[e.N-1], e.Typ, true
		}
	case *expr.Cast:
		// A constant the planner left in another physical type.
		if k, t, ok := c.Constant(e.Arg); ok && e.Typ.Mod == -1 && t.OID == e.Typ.OID {
			return k, e.Typ, true
		}
	}
	return nil, types.Type{}, false
}

// comparableBound returns the conversion of a column's bound to what a constant
// of type k compares with, where the column is compared as via.
func comparableBound(from, via, k types.Type) (func(types.Datum) (types.Datum, bool), bool) {
	same := func(d types.Datum) (types.Datum, bool) { return d, true }
	a, b := KindOf(via), KindOf(k)
	switch {
	case a == types.ClassOther || b == types.ClassOther:
		return nil, false
	case from.OID == types.BpcharOID && via.OID != types.BpcharOID || k.OID == types.BpcharOID && via.OID != types.BpcharOID:
		// Blanks count or not, by the operator.
		return nil, false
	}
	var conv func(types.Datum) (types.Datum, bool)
	switch f := KindOf(from); {
	case f == a:
		conv = same
	case f == types.ClassInteger && a == types.ClassNumeric:
		conv = intDecimal
	case f == types.ClassInteger && a == types.ClassFloat && via.Form() == types.FormFloat64:
		conv = func(d types.Datum) (types.Datum, bool) { i, ok := d.(int64); return float64(i), ok }
	case f == types.ClassDate && a == types.ClassTimestamp:
		conv = dateTimestamp
	default:
		return nil, false
	}
	switch {
	case a == b, a == types.ClassNumeric && b == types.ClassInteger, a == types.ClassTimestamp && b == types.ClassDate:
		return conv, true
	case a == types.ClassInteger && b == types.ClassNumeric && KindOf(from) == types.ClassInteger:
		return intDecimal, true
	case a == types.ClassDate && b == types.ClassTimestamp && KindOf(from) == types.ClassDate:
		return dateTimestamp, true
	}
	return nil, false
}

func intDecimal(d types.Datum) (types.Datum, bool) {
	i, ok := d.(int64)
	return number.DecimalFromInt64(i, 0), ok
}

func dateTimestamp(d types.Datum) (types.Datum, bool) {
	days, ok := d.(int64)
	if !ok {
		return nil, false
	}
	return dateMicros(days)
}

// dateMicros returns midnight of a date; not for the infinities.
func dateMicros(days int64) (types.Datum, bool) {
	const day = 86_400_000_000
	if days <= math.MinInt32 || days >= math.MaxInt32 || days > math.MaxInt64/day || days < math.MinInt64/day {
		return nil, false
	}
	return days * day, true
}
