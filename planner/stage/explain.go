package stage

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/types"
)

// Key names a node of a staged plan: its number in the stage, depth first from
// 0, inputs left to right.
type Key struct {
	Stage plan.StageID
	Node  int
}

// NodeStats are the counts of a node, summed over the tasks that ran it.
type NodeStats struct {
	Rows, Batches   int64
	Time            time.Duration // inputs included, summed over threads
	Memory, Spilled int64         // bytes
	Tasks           int
	// Sent are the bytes of a stage's rows, counted at its root, or of its runtime filter, that went
	// to other nodes.
	Sent, Messages int64
	Threads        int // that Time is summed over
}

// Actuals are the counts of a run.
type Actuals map[Key]NodeStats

// Part is a plan that runs before the main one: a CTE or a buffer.
type Part struct {
	Name   string
	Plan   *plan.Staged
	Writes *plan.DML // the DML that its rows are for; nil for a query
	// Actuals of the part; nil where the statement was not run.
	Actuals Actuals
}

// Options say what EXPLAIN prints.
type Options struct {
	// Rows estimates a node's rows (props.Estimator over the statement's statistics); with nil the
	// estimates in the nodes are used.
	Rows    func(plan.Node) float64
	Nodes   int
	Verbose bool
	NoCosts bool
	Parts   []Part
	// Actuals, where set, are printed beside the estimates (ANALYZE).
	Actuals             Actuals
	Planning, Execution time.Duration
	// Writes is the DML that the plan's rows are for; nil for a query.
	Writes *plan.DML
}

// entry is a node as EXPLAIN shows it; text, JSON and DOT are made of it.
type entry struct {
	title string // "Hash Join", "Seq Scan on t"
	kind  string // PostgreSQL's "Node Type"
	verb  string // and its "Operation"
	join  string // its "Join Type"
	of    string // its "Parent Relationship"
	rel   string
	alias string
	props []prop
	rows  float64
	width int
	cost  float64
	stat  *NodeStats
	sent  *NodeStats // of an exchange: what came from other nodes
	stage plan.StageID
	num   int // in the stage
	kids  []*entry
}

type prop struct {
	name string
	text string
	list []string // for JSON
}

func (e *entry) add(name string, list ...string) {
	if len(list) > 0 {
		e.props = append(e.props, prop{name: name, text: strings.Join(list, ", "), list: list})
	}
}

// describer makes entries of one staged plan.
type describer struct {
	s    *plan.Staged
	o    *Options
	act  Actuals
	rows func(plan.Node) float64
	next map[plan.StageID]int
	// names are the printed names of columns: with their relation's name where the plan reads several.
	names map[expr.ColID]string
}

// describe returns the entries of a plan, under one for the DML that writes its rows, if any.
func (o *Options) describe(p Part) *entry {
	root := describe(p.Plan, o, p.Actuals)
	if p.Writes == nil {
		return root
	}
	e := *root
	e.props, e.alias, e.kids = nil, "", []*entry{root}
	if e.modify(p.Writes.Kind.String(), p.Writes.Table.Name); e.title == root.title {
		return root // the nodes write
	}
	return &e
}

// modify names the entry after the DML.
func (e *entry) modify(verb, table string) {
	e.kind, e.verb, e.rel, e.title = "ModifyTable", verb, table, verb+" on "+table
}

// parts returns the plans that fill buffers and are not empty.
func (o *Options) parts() iter.Seq2[string, *entry] {
	return func(yield func(string, *entry) bool) {
		for _, p := range o.Parts {
			if p.Plan != nil && len(p.Plan.Stages) > 0 && !yield(p.Name, o.describe(p)) {
				return
			}
		}
	}
}

func describe(s *plan.Staged, o *Options, act Actuals) *entry {
	d := &describer{s: s, o: o, act: act, next: map[plan.StageID]int{}}
	d.rows = o.Rows
	if d.rows == nil {
		d.rows = props.RowsFunc(nil, nil)
	}
	d.qualify()
	return d.node(s.Stages[0].Root, 0)[0]
}

// qualify names the columns of relations after them, if there are several.
func (d *describer) qualify() {
	d.names = map[expr.ColID]string{}
	relations := 0
	var walk func(n plan.Node)
	walk = func(n plan.Node) {
		var name string
		switch n := n.(type) {
		case *plan.Scan:
			name = orName(n.Alias, n.Name)
		case *plan.Virtual:
			name = orName(n.Alias, n.Name)
		case *plan.Buffer:
			name = n.Name
		}
		if name != "" {
			relations++
			for _, c := range n.Schema() {
				d.names[c.ID] = name + "." + c.Name
			}
		}
		for _, k := range n.Children() {
			walk(k)
		}
	}
	for _, st := range d.s.Stages {
		walk(st.Root)
	}
	if relations < 2 {
		d.names = nil
	}
}

func orName(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// named sets the names that columns are printed with.
func (d *describer) named(e expr.Expr) expr.Expr {
	if len(d.names) == 0 {
		return e
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok && d.names[c.ID] != "" {
			m := *c
			m.Name = d.names[c.ID]
			return &m
		}
		return x
	})
}

func (d *describer) str(e expr.Expr) string { return plan.ExprString(d.named(e), false) }

// node returns the entry of n, or those of its inputs where n is not worth a
// line.
func (d *describer) node(n plan.Node, st plan.StageID) []*entry {
	num := d.next[st]
	d.next[st]++
	e := &entry{stage: st, num: num, rows: d.rows(n), width: width(n)}
	if s, ok := d.act[Key{st, num}]; ok {
		e.stat = &s
	}
	var kids []*entry
	for _, k := range n.Children() {
		kids = append(kids, d.node(k, st)...)
	}
	if p, ok := n.(*plan.Project); ok && len(kids) == 1 && picksOnly(p) {
		d.pick(p, kids[0])
		return kids
	}
	if r, ok := n.(*plan.Receive); ok {
		if s, ok := d.act[Key{Stage: r.From}]; ok {
			e.sent = &s
		}
		for i := range d.s.Stages {
			switch s := &d.s.Stages[i]; s.ID {
			case r.From:
				kids = append(kids, d.node(s.Root, s.ID)...)
				e.rows = d.rows(s.Root)
				d.exchange(e, r, s)
			case r.From.Sender():
				e.kind, e.title = "Exchange", fmt.Sprintf("Runtime Filter of %s from stage %d", strings.Join(d.exprList(s.RuntimeFilter.Keys), ", "), s.ID)
				e.rows = d.rows(s.Root)
			}
		}
	} else {
		d.fill(e, n)
	}
	if d.o.Verbose {
		var out []string
		for _, c := range n.Schema() {
			out = append(out, d.name(c.ID, c.Name))
		}
		e.add("Output", out...)
	}
	e.kids = kids
	for i, k := range kids {
		e.cost += k.cost
		switch {
		case e.kind == "Append":
			k.of = "Member"
		case i == 0:
			k.of = "Outer"
		default:
			k.of = "Inner"
		}
	}
	e.cost += work(n, e.rows, kids)
	return []*entry{e}
}

// pick gives a node the output of a projection above it that computes nothing: as PostgreSQL's nodes,
// which project themselves, it then says what leaves it, by the names of the columns where they come from.
func (d *describer) pick(p *plan.Project, e *entry) {
	var out []string
	for _, it := range p.Items {
		c := it.Expr.(*expr.Col)
		name := d.name(c.ID, c.Name)
		if d.names != nil {
			d.names[it.Col.ID] = name
		}
		out = append(out, name)
	}
	for i := range e.props {
		if e.props[i].name == "Output" {
			e.props = slices.Delete(e.props, i, i+1)
			e.add("Output", out...)
			break
		}
	}
}

func (d *describer) name(id expr.ColID, plain string) string {
	if s := d.names[id]; s != "" {
		return s
	}
	return plain
}

// picksOnly reports whether a projection computes nothing.
func picksOnly(p *plan.Project) bool {
	for _, it := range p.Items {
		if _, ok := it.Expr.(*expr.Col); !ok {
			return false
		}
	}
	return true
}

func (d *describer) exchange(e *entry, r *plan.Receive, s *plan.Stage) {
	e.kind = "Exchange"
	how := map[plan.ExchangeKind]string{plan.Gather: "Gather", plan.HashBy: "Repartition", plan.Broadcast: "Broadcast", plan.Spread: "Spread"}[s.Out.Kind]
	if len(r.Merge) > 0 {
		how = "Gather Merge"
		e.add("Sort Key", d.keyList(r.Merge)...)
	}
	from := "the gateway"
	if s.Where == plan.OnAll {
		from = "all nodes"
		if d.o.Nodes > 0 {
			from = fmt.Sprintf("%d nodes", d.o.Nodes)
		}
	}
	e.title = fmt.Sprintf("%s from stage %d on %s", how, s.ID, from)
	e.add("Hash Key", d.exprList(s.Out.Keys)...)
}

func (d *describer) fill(e *entry, n plan.Node) {
	named := func(kind string) { e.kind, e.title = kind, kind }
	switch n := n.(type) {
	case *plan.Scan:
		named("Seq Scan")
		e.rel, e.alias = n.Name, n.Alias
		e.title = "Seq Scan on " + relation(n.Name, n.Alias)
		e.add("Filter", d.condText(n.Filter)...)
		switch {
		case n.Whole:
			e.add("Read", "all rows by each node")
		case n.Range > 0:
			for _, c := range n.Cols {
				if c.ID == n.By {
					e.add("Read", fmt.Sprintf("by each node its range %d of %s", n.Range, d.str(&expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name})))
				}
			}
		case len(n.ByHash) > 0:
			var cols []string
			for _, by := range n.ByHash {
				for _, c := range n.Cols {
					if c.ID == by {
						cols = append(cols, d.str(&expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}))
					}
				}
			}
			e.add("Read", "by each node its part by the hash of "+strings.Join(cols, ", "))
		}
	case *plan.Values:
		named("Values Scan")
		if len(n.Cols) == 0 && len(n.Rows) == 1 {
			named("Result")
		} else if len(n.Rows) == 0 {
			named("Result")
			e.add("One-Time Filter", "false")
		}
	case *plan.Virtual:
		named("Function Scan")
		e.rel, e.alias = n.Schema_+"."+n.Name, n.Alias
		e.title = "Function Scan on " + relation(e.rel, n.Alias)
		e.add("Filter", d.condText(n.Filter)...)
	case *plan.Source:
		named("Function Scan")
		e.rel = n.Name
		e.title = "Function Scan on " + n.Name
		e.add("Filter", d.condText(n.Filter)...)
	case *plan.FuncScan:
		named("Function Scan")
		if len(n.Calls) > 0 && n.Calls[0].Fn != nil {
			e.title = "Function Scan on " + n.Calls[0].Fn.Name
		}
	case *plan.Buffer:
		named("CTE Scan")
		e.title = "CTE Scan on " + n.Name
		e.rel = n.Name
	case *plan.Filter:
		named("Filter")
		e.add("Filter", d.condText(n.Conds)...)
	case *plan.Project:
		named("Project")
	case *plan.ProjectSet:
		named("ProjectSet")
	case *plan.Aggregate:
		d.aggregate(e, n)
	case *plan.Window:
		named("WindowAgg")
		e.add("Partition Key", d.exprList(n.PartitionBy)...)
		e.add("Order Key", d.keyList(n.OrderBy)...)
		if n.Top != 0 {
			e.add("Run Condition", fmt.Sprintf("rank <= %d", n.Top))
		}
	case *plan.TrainGroups:
		named("TrainGroups")
		e.add("Group Key", d.exprList(n.By())...)
	case *plan.Sort:
		named("Sort")
		e.add("Sort Key", d.keyList(n.Keys)...)
		if n.Limit >= 0 {
			e.add("Sort Method", fmt.Sprintf("top-N heapsort of %d", n.Limit))
		}
	case *plan.Limit:
		named("Limit")
	case *plan.DistinctOn:
		named("Unique")
		e.add("Unique Key", d.exprList(n.Keys)...)
	case *plan.Max1Row:
		named("Max1Row")
	case *plan.Join:
		d.join(e, n)
	case *plan.SetOp:
		if n.Kind == plan.Union {
			named("Append")
			if !n.All {
				named("Union")
			}
			break
		}
		named("SetOp")
		e.title = "HashSetOp " + [...]string{"Union", "Intersect", "Except"}[n.Kind]
		if n.All {
			e.title += " All"
		}
	case *plan.RecursiveUnion:
		named("Recursive Union")
	case *plan.TableWrite:
		e.modify(n.Kind.String(), n.Table.Name)
	default:
		named(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."))
	}
}

func (d *describer) aggregate(e *entry, n *plan.Aggregate) {
	e.kind, e.title = "Aggregate", "Aggregate"
	if len(n.Groups) > 0 {
		e.title = "HashAggregate"
	}
	switch n.Phase {
	case plan.AggPartial:
		e.title = "Partial " + e.title
	case plan.AggFinal:
		e.title = "Finalize " + e.title
	}
	groups := make([]expr.Expr, len(n.Groups))
	for i, g := range n.Groups {
		groups[i] = g.Expr
	}
	if len(n.Sets) == 0 {
		e.add("Group Key", d.exprList(groups)...)
	}
	for _, s := range n.Sets {
		keys := make([]string, len(s))
		for i, x := range s {
			keys[i] = d.str(groups[x])
		}
		if len(keys) == 0 {
			keys = []string{"()"}
		}
		e.add("Group Key", keys...)
	}
	if d.o.Verbose {
		var calls []string
		for _, a := range n.Aggs {
			calls = append(calls, plan.AggString(a.Call, false))
		}
		e.add("Aggregates", calls...)
	}
}

func (d *describer) join(e *entry, n *plan.Join) {
	kind := map[plan.JoinKind]string{plan.Inner: "", plan.Left: "Left ", plan.Right: "Right ", plan.Full: "Full ", plan.Semi: "Semi ",
		plan.Anti: "Anti ", plan.AntiNull: "Anti ", plan.Mark: "Mark ", plan.Single: "Single ", plan.RightSemi: "Right Semi ", plan.RightAnti: "Right Anti "}[n.Kind]
	e.join = cmp.Or(strings.TrimSpace(kind), "Inner")
	e.kind = "Hash Join"
	e.title = "Hash " + kind + "Join"
	ranges := rewrite.JoinRanges(n)
	switch {
	case len(n.LKeys) > 0:
		if d.rows(pairsOf(n)) < rewrite.LongLists*d.rows(n.L) { // joins decide by the rows that there are
			ranges = nil
		}
	case len(ranges) > 0:
		e.kind = "Range Join"
		e.title = "Range " + kind + "Join"
	default:
		e.kind = "Nested Loop"
		e.title = "Nested Loop"
		if kind != "" {
			e.title += " " + kind + "Join"
		}
	}
	conds := make([]string, len(n.LKeys))
	for i := range n.LKeys {
		op := " = "
		if n.NullSafe[i] {
			op = " IS NOT DISTINCT FROM "
		}
		conds[i] = "(" + d.str(n.LKeys[i]) + op + d.str(n.RKeys[i]) + ")"
	}
	e.add("Hash Cond", andText(conds)...)
	below := map[expr.ColID]expr.Expr{} // what was computed for the condition
	for _, k := range n.Children() {
		if p, ok := k.(*plan.Project); ok {
			for _, it := range p.Items {
				below[it.Col.ID] = it.Expr
			}
		}
	}
	var within, filter []expr.Expr
	for _, c := range n.Residual {
		list := &filter
		if slices.ContainsFunc(ranges, func(x rewrite.JoinRange) bool { return x.Cond == c }) {
			list = &within
		}
		*list = append(*list, rewrite.Subst(c, below))
	}
	e.add("Range Cond", d.condText(within)...)
	e.add("Join Filter", d.condText(filter)...)
}

// pairsOf is the join of all pairs with equal keys.
func pairsOf(n *plan.Join) *plan.Join {
	c := *n
	c.Kind, c.Residual = plan.Inner, nil
	return &c
}

// relation returns a relation's name with its alias.
func relation(name, alias string) string {
	if alias != "" && alias != name {
		return name + " " + alias
	}
	return name
}

func (d *describer) exprList(es []expr.Expr) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = d.str(e)
	}
	return out
}

func (d *describer) keyList(ks []expr.Order) []string {
	out := make([]string, len(ks))
	for i, k := range ks {
		k.Expr = d.named(k.Expr)
		out[i] = plan.KeysString([]expr.Order{k}, false)
	}
	return out
}

// condText joins conditions to one, as PostgreSQL prints them.
func (d *describer) condText(conds []expr.Expr) []string { return andText(d.exprList(conds)) }

func andText(conds []string) []string {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds
	}
	return []string{"(" + strings.Join(conds, " AND ") + ")"}
}

// width guesses the bytes of a row.
func width(n plan.Node) int {
	w := 0
	for _, c := range n.Schema() {
		w += typeWidth(c.Type)
	}
	return w
}

func typeWidth(t types.Type) int {
	if n := t.OID.Len(); n > 0 {
		return int(n)
	}
	if t.Mod > 4 && t.IsText() {
		return min(int(t.Mod-4), 256)
	}
	if t.IsString() {
		return 32
	}
	return 8
}

// work returns what a node adds to the cost, in PostgreSQL's unit: a sequential page, which holds
// about 100 rows.
func work(n plan.Node, rows float64, kids []*entry) float64 {
	in := 0.0
	for _, k := range kids {
		in += k.rows
	}
	switch n := n.(type) {
	case *plan.Scan:
		return max(n.Rows, rows) * 0.02
	case *plan.Join:
		if len(n.LKeys) == 0 && len(kids) == 2 && len(rewrite.JoinRanges(n)) == 0 {
			return kids[0].rows*kids[1].rows*0.0025 + rows*0.01
		}
		return in*0.02 + rows*0.01
	case *plan.Aggregate:
		return in*0.02 + rows*0.01
	case *plan.Sort:
		return in * 0.03
	case *plan.Receive:
		return rows * 0.05
	case *plan.Values, *plan.Virtual, *plan.FuncScan, *plan.Source, *plan.Buffer:
		return 0.01 + rows*0.01
	}
	return in * 0.0025
}
