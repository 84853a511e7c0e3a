package opt

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/types"
)

// ruleLateColumns defers grouping columns that are only shown in the result and are determined by a key among
// the grouping columns. They are read for the first rows of a sort only (late materialisation):
//
//	Sort revenue limit 20                    Sort revenue
//	└─ γ custkey, name, comment, nation      └─ ⋈ nation
//	   └─ lineitem ⋈ orders                     └─ ⋈ customer
//	      ⋈ customer ⋈ nation                      └─ Sort revenue limit 20
//	                                                  └─ γ custkey
//	                                                     └─ as before
//
// The tables are read once more, for the few keys of the first rows.
func ruleLateColumns(r *rule.Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	if r.InStep {
		return n, nil
	}
	return r.BottomUp(n, func(n plan.Node) plan.Node {
		if s, ok := n.(*plan.Sort); ok && s.Limit > 0 {
			if l := newLateColumns(r, s); l != nil {
				return l.rebuild()
			}
		}
		return n
	}), nil
}

const (
	// lateFactor is the least number of groups for each row that the sort returns.
	lateFactor = 8
	// lateScanCost is the cost of reading a row of a table again, in units of grouping a row by a text. It is
	// far higher than the real cost, since the number of grouped rows is an estimate.
	lateScanCost = 2
)

// lateColumns is a sort with a limit over a grouping, of which some columns are read late.
type lateColumns struct {
	r    *rule.Run
	sort *plan.Sort
	path []plan.Node // projections and filters between, the lowest first
	agg  *plan.Aggregate
	// groups are the groups that are columns, by the input's column; shown are their columns in the
	// sort's result, by the sort's column.
	groups map[expr.ColID]int
	shown  map[expr.ColID]int
	fixed  map[int]bool // groups that are read before the sort returns its rows
	scans  []*plan.Scan // of the input: their rows are in it as they are
	equal  map[expr.ColID][]expr.ColID

	anchor int // the group that determines the late ones
	chain  []lateScan
	late   map[int]int // groups that are late: place in chain
	worth  float64     // the cost saved in rows, above that of reading them late
}

// lateScan is a table that is read once more: a key of it equals column x, of place from
// of the chain, or is the anchor (-1).
type lateScan struct {
	scan   *plan.Scan
	key, x expr.ColID
	from   int
}

// newLateColumns returns nil where nothing is saved.
func newLateColumns(r *rule.Run, s *plan.Sort) *lateColumns {
	l := &lateColumns{r: r, sort: s, groups: map[expr.ColID]int{}, shown: map[expr.ColID]int{}, fixed: map[int]bool{}, equal: map[expr.ColID][]expr.ColID{}}
	for in := s.Input; l.agg == nil; {
		switch x := in.(type) {
		case *plan.Project, *plan.Filter:
			l.path = append(l.path, in)
			in = x.Children()[0]
		case *plan.Aggregate:
			l.agg = x
		default:
			return nil
		}
	}
	slices.Reverse(l.path)
	a := l.agg
	if a.Phase != plan.AggSingle || len(a.Sets) > 0 || a.GroupingID != 0 || a.Regrouped != 0 || len(a.Groups) < 2 {
		return nil
	}
	est := r.Estimates()
	rows := est.Of(a.Input).Rows
	if rows < reduceRows || est.Of(a).Rows < lateFactor*float64(s.Limit) {
		return nil
	}
	l.follow()
	l.collect(a.Input)
	for _, g := range a.Groups {
		if c, ok := rewrite.AsColumn(g.Expr); ok && c.Typ.EqualIsSame() {
			if m := l.from(c.ID, rows); m.worth > l.worth {
				l = m
			}
		}
	}
	if l.worth <= 0 {
		return nil
	}
	return l
}

// follow finds where the groups' columns are among the sort's, and which are read before.
func (l *lateColumns) follow() {
	for i, g := range l.agg.Groups {
		if c, ok := rewrite.AsColumn(g.Expr); ok {
			l.groups[c.ID] = i
		}
		l.shown[g.Col.ID] = i
	}
	reads := func(es ...expr.Expr) {
		for c := range rewrite.ColumnsOf(es...) {
			if g, ok := l.shown[c]; ok {
				l.fixed[g] = true
			}
		}
	}
	for _, n := range l.path {
		p, ok := n.(*plan.Project)
		if !ok {
			reads(plan.Exprs(n)...)
			continue
		}
		above := map[expr.ColID]int{}
		for _, it := range p.Items {
			c, ok := rewrite.AsColumn(it.Expr)
			if !ok {
				reads(it.Expr)
			} else if g, ok := l.shown[c.ID]; ok {
				above[it.Col.ID] = g
			}
		}
		l.shown = above
	}
	reads(plan.Exprs(l.sort)...)
}

// collect finds the scans below whose rows are in those of n as they are, and which
// columns are equal in all rows.
func (l *lateColumns) collect(n plan.Node) {
	conds := func(es []expr.Expr) {
		for _, e := range rewrite.SplitAll(es) {
			a, b, ok := rewrite.Equality(e)
			if !ok {
				continue
			}
			x, xok := rewrite.AsColumn(a)
			y, yok := rewrite.AsColumn(b)
			if xok && yok && x.Typ.EqualIsSame() && x.Typ.OID == y.Typ.OID {
				l.equal[x.ID] = append(l.equal[x.ID], y.ID)
				l.equal[y.ID] = append(l.equal[y.ID], x.ID)
			}
		}
	}
	switch n := n.(type) {
	case *plan.Scan:
		l.scans = append(l.scans, n)
	case *plan.Filter:
		conds(n.Conds)
		l.collect(n.Input)
	case *plan.Project:
		l.collect(n.Input)
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			conds(n.On)
			l.collect(n.L)
			l.collect(n.R)
		case plan.Left, plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.Single:
			l.collect(n.L)
		case plan.Right, plan.RightSemi, plan.RightAnti:
			l.collect(n.R)
		}
	}
}

// from finds what a group, column id of the input, determines.
func (l *lateColumns) from(id expr.ColID, rows float64) *lateColumns {
	m := *l
	m.anchor, m.chain, m.late, m.worth = l.groups[id], nil, map[int]int{}, 0
	has := map[expr.ColID]int{id: -1} // what is determined: place in chain
	in := make([]bool, len(l.scans))
	for again := true; again; {
		again = false
		for i, s := range l.scans {
			if in[i] {
				continue
			}
			next, ok := m.link(s, has)
			if !ok {
				continue
			}
			in[i], again = true, true
			for _, c := range s.Cols {
				if _, known := has[c.ID]; !known {
					has[c.ID] = len(m.chain)
				}
			}
			m.chain = append(m.chain, next)
		}
	}
	needed := make([]bool, len(m.chain))
	for _, g := range m.agg.Groups {
		c, ok := rewrite.AsColumn(g.Expr)
		if !ok {
			continue
		}
		at, ok := has[c.ID]
		if i := m.groups[c.ID]; ok && at >= 0 && !m.fixed[i] {
			m.late[i] = at
			m.worth += rows * groupCost(c.Typ)
			for ; at >= 0; at = m.chain[at].from {
				needed[at] = true
			}
		}
	}
	var chain []lateScan
	place := make([]int, len(m.chain))
	for i, c := range m.chain {
		if !needed[i] {
			continue
		}
		place[i] = len(chain)
		if c.from >= 0 {
			c.from = place[c.from]
		}
		chain = append(chain, c)
		m.worth -= lateScanCost * props.Scan(c.scan, m.r.Env.Stats).Rows
	}
	for g, at := range m.late {
		m.late[g] = place[at]
	}
	m.chain = chain
	return &m
}

// groupCost returns what grouping a row by a further column of type t costs.
func groupCost(t types.Type) float64 {
	if t.IsString() || t.OID == types.NumericOID {
		return 1
	}
	return 0.3
}

// link finds a key of s among the columns that are determined.
func (l *lateColumns) link(s *plan.Scan, has map[expr.ColID]int) (lateScan, bool) {
	t := l.r.Env.Stats.Table(s.Table)
	if t == nil {
		return lateScan{}, false
	}
	for _, c := range s.Cols {
		if !c.Type.EqualIsSame() {
			continue
		}
		for _, x := range append([]expr.ColID{c.ID}, l.equal[c.ID]...) {
			if at, ok := has[x]; ok && t.Key(c.Num) {
				return lateScan{scan: s, key: c.ID, x: x, from: at}, true
			}
		}
	}
	return lateScan{}, false
}

// rebuild makes the sort without the late columns, and joins these to it.
func (l *lateColumns) rebuild() plan.Node {
	agg := *l.agg
	agg.Groups = nil
	for i, g := range l.agg.Groups {
		if _, late := l.late[i]; !late {
			agg.Groups = append(agg.Groups, g)
		}
	}
	anchor, below := l.agg.Groups[l.anchor].Col, plan.Node(&agg)
	for _, n := range l.path {
		p, ok := n.(*plan.Project)
		if !ok {
			below = n.WithChildren([]plan.Node{below})
			continue
		}
		var items []plan.Item
		has, key := plan.Emits(below), rewrite.PassThrough(anchor)
		for _, it := range p.Items {
			c, ok := rewrite.AsColumn(it.Expr)
			if ok && !has[c.ID] {
				continue
			}
			if ok && c.ID == anchor.ID {
				key = it
			}
			items = append(items, it)
		}
		if !slices.ContainsFunc(items, func(it plan.Item) bool { return it.Col.ID == key.Col.ID }) {
			items = append(items, key)
		}
		anchor = key.Col
		below = &plan.Project{Input: below, Items: items}
	}
	first := *l.sort
	first.Input = below
	out := plan.Node(&first)
	ids := make([]map[expr.ColID]expr.ColID, len(l.chain))
	for i, c := range l.chain {
		scan := l.lookupScan(i)
		copied, renamed := l.r.Rename(scan)
		ids[i] = renamed
		x := rewrite.ColOf(anchor)
		if c.from >= 0 {
			x = rewrite.ColOf(columnOf(l.chain[c.from].scan, c.x))
			x.ID = ids[c.from][c.x]
		}
		key := rewrite.ColOf(columnOf(c.scan, c.key))
		key.ID = renamed[c.key]
		eq := rewrite.Equals(key, x)
		if eq == nil {
			return l.sort
		}
		out = &plan.Join{Kind: plan.Inner, L: copied, R: out, On: []expr.Expr{eq}}
	}
	shown := &plan.Project{Input: out}
	for _, c := range l.sort.Schema() {
		it := rewrite.PassThrough(c)
		if g, ok := l.shown[c.ID]; ok {
			if at, late := l.late[g]; late {
				from := *l.agg.Groups[g].Expr.(*expr.Col)
				from.ID = ids[at][from.ID]
				it.Expr = &from
			}
		}
		shown.Items = append(shown.Items, it)
	}
	last := *l.sort
	last.Input = shown
	return &last
}

// lookupScan returns a scan of the chain that reads the columns that are needed now; its conditions
// hold for the keys that are looked up.
func (l *lateColumns) lookupScan(i int) *plan.Scan {
	need := plan.ColSet{l.chain[i].key: true}
	for g, at := range l.late {
		if at == i {
			need[l.agg.Groups[g].Expr.(*expr.Col).ID] = true
		}
	}
	for _, c := range l.chain {
		if c.from == i {
			need[c.x] = true
		}
	}
	s := *l.chain[i].scan
	s.Cols, s.Missing = rewrite.KeepColumns(s.Cols, s.Missing, need)
	s.Filter, s.RowID = nil, 0
	return &s
}

func columnOf(s *plan.Scan, id expr.ColID) plan.Column {
	return s.Cols[slices.IndexFunc(s.Cols, func(c plan.Column) bool { return c.ID == id })]
}
