package opt

import (
	"maps"
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
)

// estimator estimates relations and remembers by node.
type estimator struct {
	st    Statistics
	cache map[plan.Node]*relEst
	look  func() // at each estimate that is made; nil for none
	// filled are the buffers whose rows are known.
	filled map[int]*bufferEst
}

func newEstimator(st Statistics) *estimator {
	return &estimator{st: st, cache: map[plan.Node]*relEst{}}
}

// Estimate is the number of rows that n is thought to give.
func Estimate(n plan.Node, st Statistics) float64 {
	if st == nil {
		st = FromState(nil)
	}
	return newEstimator(st).of(n).rows
}

// Kept is the most rows that one operator of n is thought to take in and keep,
// or to give from what it keeps; 0 if none keeps any.
func Kept(n plan.Node, st Statistics) float64 {
	e := newEstimator(st)
	most := 0.0
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if n.Traits().Holds {
			most = max(most, e.of(n).rows)
			for _, k := range n.Children() {
				most = max(most, e.of(k).rows)
			}
		}
		for _, k := range n.Children() {
			walk(k)
		}
	}
	walk(n)
	return most
}

func (e *estimator) of(n plan.Node) *relEst {
	if r, ok := e.cache[n]; ok {
		return r
	}
	if e.look != nil {
		e.look()
	}
	r := e.compute(n)
	if math.IsNaN(r.rows) || r.rows < 0 {
		r.rows = 1
	}
	e.cache[n] = r
	return r
}

// filtered applies conditions to an estimate.
func filtered(in *relEst, conds []expr.Expr) *relEst {
	if len(conds) == 0 {
		return in
	}
	s := in.conds(conds)
	out := &relEst{rows: in.rows * s, cols: maps.Clone(in.cols)}
	out.narrow(conds)
	out.cap(in.rows)
	return out
}

// narrow moves the bounds of columns that conditions compare with constants.
func (r *relEst) narrow(conds []expr.Expr) {
	for _, c := range splitAll(conds) {
		switch x := c.(type) {
		case *expr.Call:
			if len(x.Args) != 2 {
				continue
			}
			op, l, k := x.Op, x.Args[0], x.Args[1]
			if isConstant(l) {
				op, l, k = mirrored[op], k, l
			}
			col, ok := asColumn(l)
			if !ok {
				continue
			}
			ce, known := r.cols[col.ID]
			kc, isK := k.(*expr.Const)
			if !known || !isK || kc.Val == nil || kc.Typ.OID != ce.typ.OID {
				continue
			}
			_, lo, hi, inRange := r.bound(x)
			switch op {
			case "=":
				ce.ndv, ce.min, ce.max, ce.null = 1, kc.Val, kc.Val, 0
			case "<", "<=":
				if inRange {
					ce.ndv, ce.max, ce.null = max(1, ce.ndv*(hi-lo)), kc.Val, 0
				}
			case ">", ">=":
				if inRange {
					ce.ndv, ce.min, ce.null = max(1, ce.ndv*(hi-lo)), kc.Val, 0
				}
			}
			r.cols[col.ID] = ce
		case *expr.In:
			if col, ok := asColumn(x.Arg); ok && !x.Not {
				if ce, known := r.cols[col.ID]; known {
					n := float64(len(x.List))
					if ce.ndv == 0 || ce.ndv > n {
						ce.ndv = n
					}
					r.cols[col.ID] = ce
				}
			}
		}
	}
}

// cap lowers distinct counts after rows were dropped from before.
func (r *relEst) cap(before float64) {
	if before <= 0 || r.rows >= before {
		return
	}
	for id, c := range r.cols {
		if c.ndv > 1 {
			// Each value has before/ndv rows; it is gone when all of them are.
			per := before / c.ndv
			c.ndv = max(1, c.ndv*(1-math.Pow(1-r.rows/before, per)))
			r.cols[id] = c
		}
	}
}

func (e *estimator) compute(n plan.Node) *relEst {
	switch n := n.(type) {
	case *plan.Scan:
		return filtered(scanEst(n, e.st), n.Filter)
	case *plan.Values:
		return e.values(n)
	case *plan.Virtual:
		return filtered(&relEst{rows: 200, cols: plainCols(n.Cols)}, n.Filter)
	case *plan.Source:
		return filtered(&relEst{rows: orElse(n.Rows, 1000), cols: plainCols(n.Cols)}, n.Filter)
	case *plan.FuncScan:
		rows := 1.0
		for _, c := range n.Calls {
			rows = max(rows, setRows(c))
		}
		return &relEst{rows: rows, cols: plainCols(n.Schema())}
	case *plan.Buffer:
		if b := e.filled[n.ID]; b != nil {
			return b.read(n)
		}
		return &relEst{rows: orElse(n.Rows, 1000), cols: plainCols(n.Cols)}
	case *plan.Receive:
		return &relEst{rows: 1000, cols: plainCols(n.Cols)}
	case *plan.Filter:
		return filtered(e.of(n.Input), n.Conds)
	case *plan.Project:
		in := e.of(n.Input)
		out := &relEst{rows: in.rows, cols: map[expr.ColID]colEst{}}
		for _, it := range n.Items {
			if c, ok := asColumn(it.Expr); ok {
				ce := in.cols[c.ID]
				ce.typ = it.Col.Type
				out.cols[it.Col.ID] = ce
				continue
			}
			out.cols[it.Col.ID] = colEst{ndv: in.ndv(it.Expr), typ: it.Col.Type}
		}
		return out
	case *plan.ProjectSet:
		in := e.of(n.Input)
		per := 1.0
		for _, c := range n.Calls {
			per = max(per, setRows(c))
		}
		out := &relEst{rows: in.rows * per, cols: maps.Clone(in.cols)}
		maps.Copy(out.cols, plainCols(n.Schema()[len(n.Input.Schema()):]))
		return out
	case *plan.Aggregate:
		return e.aggregate(n)
	case *plan.Window:
		in := e.of(n.Input)
		out := &relEst{rows: in.rows, cols: maps.Clone(in.cols)}
		for _, it := range n.Items {
			out.cols[it.Col.ID] = colEst{typ: it.Col.Type}
		}
		return out
	case *plan.Sort:
		in := e.of(n.Input)
		if n.Limit >= 0 && float64(n.Limit) < in.rows {
			return limited(in, float64(n.Limit))
		}
		return in
	case *plan.Limit:
		in := e.of(n.Input)
		if c, ok := n.Count.(*expr.Const); ok {
			if v, ok := c.Val.(int64); ok && float64(v) < in.rows {
				return limited(in, float64(v))
			}
		} else if n.Count != nil {
			return limited(in, min(in.rows, max(1, in.rows/10)))
		}
		return in
	case *plan.DistinctOn:
		in := e.of(n.Input)
		return limited(in, groupCount(in, n.Keys))
	case *plan.Max1Row:
		return limited(e.of(n.Input), 1)
	case *plan.Join:
		return e.join(n.Kind, e.of(n.L), e.of(n.R), allConds(n), n.MarkCol)
	case *plan.Apply:
		return e.join(n.Kind, e.of(n.L), e.of(n.R), n.On, n.MarkCol)
	case *plan.SetOp:
		return e.setOp(n)
	case *plan.RecursiveUnion:
		return &relEst{rows: e.of(n.Init).rows * 10, cols: plainCols(n.Cols)}
	case *plan.TableWrite:
		return &relEst{rows: 8, cols: map[expr.ColID]colEst{}}
	}
	if t := n.Traits().Rows; t.AtMostOnce() && t.KeepsColumns() {
		return e.of(n.Children()[0])
	}
	return &relEst{rows: 1000, cols: plainCols(n.Schema())}
}

func limited(in *relEst, rows float64) *relEst {
	out := &relEst{rows: min(rows, in.rows), cols: maps.Clone(in.cols)}
	for id, c := range out.cols {
		c.ndv = min(c.ndv, out.rows)
		out.cols[id] = c
	}
	return out
}

func orElse(x, y float64) float64 {
	if x > 0 {
		return x
	}
	return y
}

func plainCols(cols []plan.Column) map[expr.ColID]colEst {
	out := map[expr.ColID]colEst{}
	for _, c := range cols {
		out[c.ID] = colEst{typ: c.Type}
	}
	return out
}

// setRows guesses how many rows a set-returning function gives.
func setRows(c plan.SetCall) float64 {
	if c.Fn != nil && c.Fn.Name == "generate_series" && len(c.Args) >= 2 {
		a, ok := c.Args[0].(*expr.Const)
		b, ok2 := c.Args[1].(*expr.Const)
		if ok && ok2 {
			x, ok := a.Val.(int64)
			y, ok2 := b.Val.(int64)
			if ok && ok2 && y >= x && a.Typ.Mod == -1 {
				return float64(y-x) + 1
			}
		}
		return 1000
	}
	return 10
}

func (e *estimator) values(n *plan.Values) *relEst {
	out := &relEst{rows: float64(len(n.Rows)), cols: map[expr.ColID]colEst{}}
	for _, c := range n.Cols {
		out.cols[c.ID] = colEst{ndv: max(1, out.rows), typ: c.Type}
	}
	return out
}

// groupCount estimates how many different values keys have together.
func groupCount(in *relEst, keys []expr.Expr) float64 {
	if len(keys) == 0 {
		return 1
	}
	p := 1.0
	most := 1.0
	for _, k := range keys {
		n := in.ndv(k)
		p *= n
		most = max(most, n)
	}
	if p >= in.rows {
		// Columns are seldom independent: assume less than a row a group.
		if most < in.rows/10 && len(keys) > 1 {
			return max(most, in.rows/3)
		}
		return max(1, in.rows)
	}
	return max(1, p)
}

func (e *estimator) aggregate(n *plan.Aggregate) *relEst {
	in := e.of(n.Input)
	keys := make([]expr.Expr, len(n.Groups))
	for i, g := range n.Groups {
		keys[i] = g.Expr
	}
	rows := 0.0
	if len(n.Sets) == 0 {
		rows = groupCount(in, keys)
		if len(n.Groups) > 0 {
			rows = min(rows, max(in.rows, 0))
		}
	}
	for _, s := range n.Sets {
		var part []expr.Expr
		for _, i := range s {
			part = append(part, keys[i])
		}
		rows += groupCount(in, part)
	}
	out := &relEst{rows: rows, cols: map[expr.ColID]colEst{}}
	for i, g := range n.Groups {
		if c, ok := asColumn(g.Expr); ok {
			ce := in.cols[c.ID]
			if ce.ndv > 0 {
				ce.ndv = min(ce.ndv, rows)
			}
			out.cols[g.Col.ID] = ce
			continue
		}
		out.cols[g.Col.ID] = colEst{ndv: min(in.ndv(keys[i]), rows), typ: g.Col.Type}
	}
	for _, a := range n.Aggs {
		out.cols[a.Col.ID] = colEst{typ: a.Col.Type}
	}
	return out
}

func (e *estimator) setOp(n *plan.SetOp) *relEst {
	var rows float64
	for i, in := range n.Inputs {
		r := e.of(in).rows
		switch {
		case n.Kind == plan.Union:
			rows += r
		case i == 0:
			rows = r
		case n.Kind == plan.Intersect:
			rows = min(rows, r) / 2
		case n.Kind == plan.Except:
			rows = max(rows-r/2, rows/2)
		}
	}
	out := &relEst{rows: rows, cols: plainCols(n.Cols)}
	for j, c := range n.Cols {
		var ndv float64
		for _, in := range n.Inputs {
			s := in.Schema()
			if j < len(s) {
				ndv += e.of(in).cols[s[j].ID].ndv
			}
		}
		out.cols[c.ID] = colEst{ndv: min(ndv, rows), typ: c.Type}
	}
	return out
}

// allConds gives the conditions of a join in one list, before or after its
// keys were taken out.
func allConds(n *plan.Join) []expr.Expr {
	if len(n.LKeys) == 0 && len(n.Residual) == 0 {
		return n.On
	}
	out := append([]expr.Expr(nil), n.On...)
	for i := range n.LKeys {
		out = append(out, &expr.Distinct{L: n.LKeys[i], R: n.RKeys[i], Not: true})
	}
	return append(out, n.Residual...)
}

// pairs splits a join's conditions in equalities of the sides and the rest.
func (e *estimator) pairs(l, r *relEst, conds []expr.Expr) (keys [][2]expr.Expr, rest []expr.Expr) {
	side := func(x expr.Expr, of *relEst) bool {
		cols := columnsOf(x)
		for c := range cols {
			if _, ok := of.cols[c]; !ok {
				return false
			}
		}
		return len(cols) > 0
	}
	for _, c := range splitAll(conds) {
		if b, ok := c.(*expr.BoolTest); ok && b.Kind == expr.IsTrue && !b.Not {
			c = b.Arg
		}
		a, b, ok := equality(c)
		if d, isD := c.(*expr.Distinct); isD && d.Not {
			a, b, ok = d.L, d.R, true
		}
		switch {
		case ok && side(a, l) && side(b, r):
			keys = append(keys, [2]expr.Expr{a, b})
		case ok && side(a, r) && side(b, l):
			keys = append(keys, [2]expr.Expr{b, a})
		default:
			rest = append(rest, c)
		}
	}
	return keys, rest
}

// join estimates a join: |L||R| over the larger number of distinct values for
// each key, the further keys damped, since keys of one pair of tables are
// seldom independent.
func (e *estimator) join(kind plan.JoinKind, l, r *relEst, conds []expr.Expr, mark expr.ColID) *relEst {
	keys, rest := e.pairs(l, r, conds)
	both := &relEst{cols: maps.Clone(l.cols)}
	if both.cols == nil {
		both.cols = map[expr.ColID]colEst{}
	}
	maps.Copy(both.cols, r.cols)
	sel := 1.0
	share := 1.0 // of left rows that have a match
	var lall, rall = 1.0, 1.0
	for _, k := range keys {
		ln, rn := l.ndv(k[0]), r.ndv(k[1])
		lall, rall = lall*ln, rall*rn
		share = min(share, rn/max(ln, rn, 1))
	}
	if len(keys) > 0 {
		// Together the keys have no more values than there are rows.
		lall, rall = min(lall, max(l.rows, 1)), min(rall, max(r.rows, 1))
		sel = 1 / max(lall, rall, 1)
	}
	both.rows = l.rows * r.rows * sel
	s := both.conds(rest)
	both.rows *= s
	switch kind {
	case plan.Inner:
		for _, k := range keys {
			n := min(l.ndv(k[0]), r.ndv(k[1]))
			both.limit(k[0], n)
			both.limit(k[1], n)
		}
		both.cap(max(l.rows*r.rows*sel, both.rows))
		for id, c := range both.cols {
			if c.ndv > both.rows {
				c.ndv = max(1, both.rows)
				both.cols[id] = c
			}
		}
		return both
	case plan.Left:
		both.rows = max(both.rows, l.rows)
	case plan.Right:
		both.rows = max(both.rows, r.rows)
	case plan.Full:
		both.rows = max(both.rows, l.rows, r.rows)
	case plan.Semi, plan.Anti, plan.AntiNull:
		m := matchShare(l, r, share, s, len(keys) > 0)
		if kind != plan.Semi {
			m = max(1-m, 0.05)
		}
		out := limited(l, max(l.rows*m, min(1, l.rows)))
		if kind == plan.Semi {
			for _, k := range keys {
				out.limit(k[0], r.ndv(k[1]))
			}
		}
		return out
	case plan.RightSemi, plan.RightAnti:
		m := matchShare(r, l, shareOf(r, l, keys), s, len(keys) > 0)
		if kind == plan.RightAnti {
			m = max(1-m, 0.05)
		}
		return limited(r, max(r.rows*m, min(1, r.rows)))
	case plan.Mark:
		out := &relEst{rows: l.rows, cols: maps.Clone(l.cols)}
		out.cols[mark] = colEst{ndv: 2}
		return out
	case plan.Single:
		both.rows = l.rows
	}
	return both
}

// limit lowers the distinct values of a column that met n values of another.
func (r *relEst) limit(e expr.Expr, n float64) {
	c, ok := asColumn(e)
	if !ok {
		return
	}
	if ce, ok := r.cols[c.ID]; ok && ce.ndv > n {
		ce.ndv = max(1, n)
		r.cols[c.ID] = ce
	}
}

func shareOf(l, r *relEst, keys [][2]expr.Expr) float64 {
	share := 1.0
	for _, k := range keys {
		ln, rn := l.ndv(k[1]), r.ndv(k[0])
		share = min(share, rn/max(ln, rn, 1))
	}
	return share
}

// matchShare is the share of left rows with a match: by the keys' values, then
// by the chance that one of a key's rows meets the other conditions.
func matchShare(l, r *relEst, share, rest float64, keyed bool) float64 {
	if r.rows < 1 && r.rows > 0 {
		share *= r.rows
	}
	if rest >= 1 {
		return share
	}
	per := r.rows
	if keyed {
		per = max(1, r.rows/max(1, l.rows*share))
	}
	return share * (1 - math.Pow(1-rest, min(per, 1000)))
}

// Estimator gives a function that estimates the rows of nodes; it remembers
// what it saw, so it is for one plan.
func Estimator(st Statistics) func(plan.Node) float64 {
	if st == nil {
		st = FromState(nil)
	}
	e := newEstimator(st)
	return func(n plan.Node) float64 { return e.of(n).rows }
}
