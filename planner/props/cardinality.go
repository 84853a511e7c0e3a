package props

import (
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
)

// Estimator estimates relations, and caches estimates by node.
type Estimator struct {
	St    Statistics
	Facts *Facts
	cache map[plan.Node]*Relation
	Look  func() // called for each estimate that is made; nil for none
	// Filled are the buffers whose rows are known.
	Filled map[int]*Buffer
}

func New(st Statistics) *Estimator {
	return &Estimator{St: st, Facts: NewFacts(st), cache: map[plan.Node]*Relation{}}
}

// KeptRows estimates the most rows that one operator of n keeps, or returns from what it keeps; 0 if
// none keeps any. A join keeps its right side: the rows that pass by it are not kept, though there
// be many. So the look for one key in a large table counts for little.
func KeptRows(n plan.Node, st Statistics) float64 {
	e := New(st)
	most := 0.0
	var walk func(plan.Node)
	walk = func(n plan.Node) {
		if j, ok := n.(*plan.Join); ok {
			most = max(most, e.Of(j.R).Rows)
		} else if n.Traits().Holds {
			most = max(most, e.Of(n).Rows)
			for _, k := range n.Children() {
				most = max(most, e.Of(k).Rows)
			}
		}
		for _, k := range n.Children() {
			walk(k)
		}
	}
	walk(n)
	return most
}

func (e *Estimator) Of(n plan.Node) *Relation {
	if r, ok := e.cache[n]; ok {
		return r
	}
	if e.Look != nil {
		e.Look()
	}
	r := e.compute(n)
	if math.IsNaN(r.Rows) || r.Rows < 0 {
		r.Rows = 1
	}
	e.cache[n] = r
	return r
}

// Filtered applies conditions to an estimate.
func Filtered(in *Relation, conds []expr.Expr) *Relation {
	if len(conds) == 0 {
		return in
	}
	s := in.conds(conds)
	out := above(in.Rows*s, in)
	out.narrow(conds)
	out.cap(in.Rows)
	return out
}

// narrow moves the bounds of columns that conditions compare with constants.
func (r *Relation) narrow(conds []expr.Expr) {
	for _, c := range rewrite.SplitAll(conds) {
		switch x := c.(type) {
		case *expr.Call:
			if len(x.Args) != 2 {
				continue
			}
			op, l, k := x.Op, x.Args[0], x.Args[1]
			if rewrite.IsConstant(l) {
				op, l, k = rewrite.Mirrored[op], k, l
			}
			col, ok := rewrite.AsColumn(l)
			if !ok {
				continue
			}
			ce, known := r.lookup(col.ID)
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
			r.set(col.ID, ce)
		case *expr.In:
			if col, ok := rewrite.AsColumn(x.Arg); ok && !x.Not {
				if ce, known := r.lookup(col.ID); known {
					n := float64(len(x.List))
					if ce.ndv == 0 || ce.ndv > n {
						ce.ndv = n
					}
					r.set(col.ID, ce)
				}
			}
		}
	}
}

// cap lowers distinct counts after rows were dropped from before.
func (r *Relation) cap(before float64) {
	if before <= 0 || r.Rows >= before {
		return
	}
	left := r.Rows / before
	r.adjust(func(ndv float64) float64 {
		if ndv <= 1 {
			return ndv
		}
		// Each value has before/ndv rows; it is gone when all of them are.
		return max(1, ndv*(1-math.Pow(1-left, before/ndv)))
	})
}

func (e *Estimator) compute(n plan.Node) *Relation {
	switch n := n.(type) {
	case *plan.Scan:
		return Filtered(Scan(n, e.St), n.Filter).forget()
	case *plan.Values:
		return e.values(n)
	case *plan.Virtual:
		return Filtered(plain(200, n.Cols), n.Filter)
	case *plan.Source:
		return Filtered(plain(orElse(n.Rows, 1000), n.Cols), n.Filter)
	case *plan.FuncScan:
		rows := 1.0
		for _, c := range n.Calls {
			rows = max(rows, setRows(c))
		}
		return plain(rows, n.Schema())
	case *plan.Buffer:
		if b := e.Filled[n.ID]; b != nil {
			return b.read(n)
		}
		return plain(orElse(n.Rows, 1000), n.Cols)
	case *plan.Receive:
		return plain(orElse(n.Rows, 1000), n.Cols)
	case *plan.Filter:
		return Filtered(e.Of(n.Input), n.Conds)
	case *plan.Project:
		in := e.Of(n.Input)
		out := above(in.Rows)
		for _, it := range n.Items {
			if c, ok := rewrite.AsColumn(it.Expr); ok {
				ce := in.Col(c.ID)
				ce.typ = it.Col.Type
				out.set(it.Col.ID, ce)
				continue
			}
			out.set(it.Col.ID, Column{ndv: in.Ndv(it.Expr), typ: it.Col.Type})
		}
		return out
	case *plan.ProjectSet:
		in := e.Of(n.Input)
		per := 1.0
		for _, c := range n.Calls {
			per = max(per, setRows(c))
		}
		out := above(in.Rows*per, in)
		out.plain(n.Schema()[len(n.Input.Schema()):])
		return out
	case *plan.Aggregate:
		return e.aggregate(n)
	case *plan.Window:
		in := e.Of(n.Input)
		out := above(in.Rows, in)
		for _, it := range n.Items {
			out.set(it.Col.ID, Column{typ: it.Col.Type})
		}
		if n.Top > 0 {
			return limited(out, float64(n.Top)*groupCount(in, n.PartitionBy))
		}
		return out
	case *plan.Sort:
		in := e.Of(n.Input)
		if n.Limit >= 0 && float64(n.Limit) < in.Rows {
			return limited(in, float64(n.Limit))
		}
		return in
	case *plan.Limit:
		in := e.Of(n.Input)
		if c, ok := n.Count.(*expr.Const); ok {
			if v, ok := c.Val.(int64); ok && float64(v) < in.Rows {
				return limited(in, float64(v))
			}
		} else if n.Count != nil {
			return limited(in, min(in.Rows, max(1, in.Rows/10)))
		}
		return in
	case *plan.DistinctOn:
		in := e.Of(n.Input)
		return limited(in, groupCount(in, n.Keys))
	case *plan.Max1Row:
		return limited(e.Of(n.Input), 1)
	case *plan.Join:
		return e.Join(n.Kind, e.Of(n.L), e.Of(n.R), allConds(n), n.MarkCol)
	case *plan.Apply:
		return e.Join(n.Kind, e.Of(n.L), e.Of(n.R), n.On, n.MarkCol)
	case *plan.SetOp:
		return e.setOp(n)
	case *plan.RecursiveUnion:
		return plain(e.Of(n.Init).Rows*10, n.Cols)
	case *plan.TableWrite:
		return above(8)
	}
	if t := n.Traits().Rows; t.AtMostOnce() && t.KeepsColumns() {
		return e.Of(n.Children()[0])
	}
	return plain(1000, n.Schema())
}

func limited(in *Relation, rows float64) *Relation {
	rows = min(rows, in.Rows)
	out := above(rows, in)
	out.adjust(func(ndv float64) float64 { return min(ndv, rows) })
	return out
}

// setRows guesses how many rows a set-returning function returns.
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

func (e *Estimator) values(n *plan.Values) *Relation {
	out := above(float64(len(n.Rows)))
	for _, c := range n.Cols {
		out.set(c.ID, Column{ndv: max(1, out.Rows), typ: c.Type})
	}
	return out
}

// groupCount estimates how many different values keys have together.
func groupCount(in *Relation, keys []expr.Expr) float64 {
	if len(keys) == 0 {
		return 1
	}
	p := 1.0
	most := 1.0
	for _, k := range keys {
		n := in.Ndv(k)
		p *= n
		most = max(most, n)
	}
	if p >= in.Rows {
		// Columns are seldom independent: assume less than a row a group.
		if most < in.Rows/10 && len(keys) > 1 {
			return max(most, in.Rows/3)
		}
		return max(1, in.Rows)
	}
	return max(1, p)
}

func (e *Estimator) aggregate(n *plan.Aggregate) *Relation {
	in := e.Of(n.Input)
	keys := make([]expr.Expr, len(n.Groups))
	for i, g := range n.Groups {
		keys[i] = g.Expr
	}
	rows := 0.0
	if len(n.Sets) == 0 {
		rows = groupCount(in, keys)
		if len(n.Groups) > 0 {
			rows = min(rows, max(in.Rows, 0))
		}
	}
	for _, s := range n.Sets {
		var part []expr.Expr
		for _, i := range s {
			part = append(part, keys[i])
		}
		rows += groupCount(in, part)
	}
	out := above(rows)
	for i, g := range n.Groups {
		if c, ok := rewrite.AsColumn(g.Expr); ok {
			ce := in.Col(c.ID)
			if ce.ndv > 0 {
				ce.ndv = min(ce.ndv, rows)
			}
			out.set(g.Col.ID, ce)
			continue
		}
		out.set(g.Col.ID, Column{ndv: min(in.Ndv(keys[i]), rows), typ: g.Col.Type})
	}
	for _, a := range n.Aggs {
		out.set(a.Col.ID, Column{typ: a.Col.Type})
	}
	return out
}

func (e *Estimator) setOp(n *plan.SetOp) *Relation {
	var rows float64
	for i, in := range n.Inputs {
		r := e.Of(in).Rows
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
	out := above(rows)
	for j, c := range n.Cols {
		var ndv float64
		for _, in := range n.Inputs {
			s := in.Schema()
			if j < len(s) {
				ndv += e.Of(in).Col(s[j].ID).ndv
			}
		}
		out.set(c.ID, Column{ndv: min(ndv, rows), typ: c.Type})
	}
	return out
}

// allConds returns the conditions of a join in one list, before or after its keys were extracted.
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
func (e *Estimator) pairs(l, r *Relation, conds []expr.Expr) (keys [][2]expr.Expr, rest []expr.Expr) {
	side := func(x expr.Expr, of *Relation) bool {
		cols := rewrite.ColumnsOf(x)
		for c := range cols {
			if _, ok := of.lookup(c); !ok {
				return false
			}
		}
		return len(cols) > 0
	}
	for _, c := range rewrite.SplitAll(conds) {
		if b, ok := c.(*expr.BoolTest); ok && b.Kind == expr.IsTrue && !b.Not {
			c = b.Arg
		}
		a, b, ok := rewrite.Equality(c)
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

// Join estimates a join: |L||R| over the larger number of distinct values for
// each key, those of a single one before conditions, the further keys damped, since keys of one pair of tables are
// seldom independent.
func (e *Estimator) Join(kind plan.JoinKind, l, r *Relation, conds []expr.Expr, mark expr.ColID) *Relation {
	keys, rest := e.pairs(l, r, conds)
	both := above(0, l, r)
	sel := 1.0
	share := 1.0 // of left rows that have a match
	var lall, rall = 1.0, 1.0
	for _, k := range keys {
		ln, rn := l.Ndv(k[0]), r.Ndv(k[1])
		lall, rall = lall*ln, rall*rn
		share = min(share, rn/max(ln, rn, 1))
	}
	if len(keys) > 0 {
		// Together the keys have no more values than there are rows.
		lall, rall = min(lall, max(l.Rows, 1)), min(rall, max(r.Rows, 1))
		if len(keys) == 1 {
			a, b := keys[0][0], keys[0][1]
			lall, rall = max(lall, l.domain(a, r, b)), max(rall, r.domain(b, l, a))
		}
		sel = 1 / max(lall, rall, 1)
	}
	both.Rows = l.Rows * r.Rows * sel
	s := both.conds(rest)
	both.Rows *= s
	switch kind {
	case plan.Inner:
		for _, k := range keys {
			n := min(l.Ndv(k[0]), r.Ndv(k[1]))
			both.limit(k[0], n)
			both.limit(k[1], n)
		}
		both.cap(max(l.Rows*r.Rows*sel, both.Rows))
		most := both.Rows
		both.adjust(func(ndv float64) float64 {
			if ndv > most {
				return max(1, most)
			}
			return ndv
		})
		return both
	case plan.Left:
		both.Rows = max(both.Rows, l.Rows)
	case plan.Right:
		both.Rows = max(both.Rows, r.Rows)
	case plan.Full:
		both.Rows = max(both.Rows, l.Rows, r.Rows)
	case plan.Semi, plan.Anti, plan.AntiNull:
		m := matchShare(l, r, share, s, len(keys) > 0)
		if kind != plan.Semi {
			m = max(1-m, 0.05)
		}
		out := limited(l, max(l.Rows*m, min(1, l.Rows)))
		if kind == plan.Semi {
			for _, k := range keys {
				out.limit(k[0], r.Ndv(k[1]))
			}
		}
		return out
	case plan.RightSemi, plan.RightAnti:
		m := matchShare(r, l, shareOf(r, l, keys), s, len(keys) > 0)
		if kind == plan.RightAnti {
			m = max(1-m, 0.05)
		}
		return limited(r, max(r.Rows*m, min(1, r.Rows)))
	case plan.Mark:
		out := above(l.Rows, l)
		out.set(mark, Column{ndv: 2})
		return out
	case plan.Single:
		both.Rows = l.Rows
	}
	return both
}

// limit lowers the distinct values of a column that was compared with n values of another.
func (r *Relation) limit(e expr.Expr, n float64) {
	c, ok := rewrite.AsColumn(e)
	if !ok {
		return
	}
	if ce, ok := r.lookup(c.ID); ok && ce.ndv > n {
		ce.ndv = max(1, n)
		r.set(c.ID, ce)
	}
}

func shareOf(l, r *Relation, keys [][2]expr.Expr) float64 {
	share := 1.0
	for _, k := range keys {
		ln, rn := l.Ndv(k[1]), r.Ndv(k[0])
		share = min(share, rn/max(ln, rn, 1))
	}
	return share
}

// matchShare returns the share of left rows with a match: by the keys' values, then by the
// probability that one of a key's rows meets the other conditions.
func matchShare(l, r *Relation, share, rest float64, keyed bool) float64 {
	if r.Rows < 1 && r.Rows > 0 {
		share *= r.Rows
	}
	if rest >= 1 {
		return share
	}
	per := r.Rows
	if keyed {
		per = max(1, r.Rows/max(1, l.Rows*share))
	}
	return share * (1 - math.Pow(1-rest, min(per, 1000)))
}

// RowsFunc returns a function that estimates the rows of nodes; it caches by node, so it is for one
// plan.
// look is called for each estimate that is made; nil for none.
func RowsFunc(st Statistics, look func()) func(plan.Node) float64 {
	if st == nil {
		st = FromState(nil)
	}
	e := New(st)
	e.Look = look
	return func(n plan.Node) float64 { return e.Of(n).Rows }
}

// Buffer is the estimate of a buffer, by the positions of its columns.
type Buffer struct {
	Rows float64
	Cols []Column
	Root plan.Node // its query
}

// read returns the estimate of what n reads.
func (b *Buffer) read(n *plan.Buffer) *Relation {
	out := plain(b.Rows, n.Cols)
	for i, c := range n.Cols {
		if i < len(b.Cols) {
			ce := b.Cols[i]
			ce.typ = c.Type
			out.set(c.ID, ce)
		}
	}
	return out
}

func orElse(x, y float64) float64 {
	if x > 0 {
		return x
	}
	return y
}
