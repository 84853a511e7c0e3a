package stage

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Env is the environment of staging.
type Env struct {
	// Nodes is how many nodes take part, the gateway among them; 0 is 1.
	Nodes int
	// Threads is how many threads they have together; 0: one each.
	Threads int
	// State provides statistics where Stats is nil.
	State *catalog.State
	Stats props.Statistics
	// Replicas answers what may be read on the nodes that need it; nil: nothing.
	Replicas Replicas
	// Always begins every aggregation that can be below joins there, however many
	// groups that makes, and runtime filters for every join by hash: for tests.
	Always bool
	// Poll, where set, is called at each node; its error ends staging.
	Poll plan.Poll
}

// singleRows is how many rows a stage's leaves may have together for one thread
// to be the better choice: a batch or two.
const singleRows = 16384

// broadcastRows is up to how many rows a join's right side is sent to all nodes unconditionally.
const broadcastRows = 2000

// gatherGroups is how few groups are merged at the gateway instead of being
// spread once more.
const gatherGroups = 20000

// Stage makes the stages of a plan. The root stage returns exactly cols, in order, duplicates
// included; nil leaves the root's columns as they are.
func Stage(root plan.Node, cols []plan.Column, env *Env) (_ *plan.Staged, err error) {
	defer rule.CatchStop(&err)
	if env == nil {
		env = &Env{}
	}
	st := env.Stats
	if st == nil {
		st = props.FromState(env.State)
	}
	r := rule.NewRun(&rule.Env{Poll: env.Poll}, 0)
	p := &placer{run: r, nodes: max(env.Nodes, 1), threads: max(env.Threads, env.Nodes, 1), stats: st, rows: props.RowsFunc(st, r.Poll), next: highest(root) + 1, always: env.Always,
		replicas: env.Replicas, seen: map[*plan.Scan]int{}, ranged: map[int][]*plan.Scan{}, lying: map[*plan.Scan]bool{}}
	n := p.preaggregate(p.sortDistinctOn(root))
	p.count(n)
	if p.nodes > 1 {
		m, d, err := p.place(n)
		if err != nil {
			return nil, err
		}
		n = p.gather(m, d)
	}
	if cols != nil {
		n = exactly(n, cols)
	}
	return cut(n, p.rows), nil
}

// placer places the nodes of one plan.
type placer struct {
	nodes    int
	threads  int       // of the nodes together
	run      *rule.Run // whose Poll ends staging
	stats    props.Statistics
	rows     func(plan.Node) float64
	next     expr.ColID
	always   bool // see Env
	links    int  // the greatest number of a link
	replicas Replicas
	seen     map[*plan.Scan]int   // how often a scan occurs in the plan
	ranged   map[int][]*plan.Scan // by Scan.Range
	lying    map[*plan.Scan]bool  // read by their tables' distribution keys
	groups   int                  // the greatest of those
	asked    colSet               // the keys by which the aggregation above, if it is the parent, has its rows sent
	// inStep marks the step of a recursive union, which runs at the gateway
	// only.
	inStep bool
}

func (p *placer) newCol() expr.ColID {
	id := p.next
	p.next++
	return id
}

// dist is the distribution of a node's rows.
type dist struct {
	kind where
	// keys are, for hashed, the columns whose hash decides; each with those
	// that are equal to it.
	keys []colSet
	// group, where not 0, is a Scan.Range: the range that the key is in decides, not its hash.
	group int
	free  free // of rows that are spread
	// lies: rows are where their table's distribution key places them; each node may read all instead.
	lies bool
}

type where uint8

const (
	gateway where = iota
	spread
	hashed
)

type colSet = plan.ColSet

func (d dist) atGateway() bool { return d.kind == gateway }

// gather brings rows to the gateway.
func (p *placer) gather(n plan.Node, d dist) plan.Node {
	if d.atGateway() {
		return n
	}
	return &plan.Exchange{Input: n, Kind: plan.Gather}
}

// hashBy sends rows to the node of the hash of keys.
func (p *placer) hashBy(n plan.Node, keys []expr.Expr) (plan.Node, dist) {
	return &plan.Exchange{Input: n, Kind: plan.HashBy, Keys: keys}, hashDist(keys)
}

// hashDist returns the distribution by the hash of keys; it is known only where they are plain
// columns.
func hashDist(keys []expr.Expr) dist {
	d := dist{kind: hashed}
	for _, k := range keys {
		c, ok := k.(*expr.Col)
		if !ok {
			return dist{kind: spread}
		}
		d.keys = append(d.keys, colSet{c.ID: true})
	}
	return d
}

// within reports whether rows that agree in cols are on one node.
func (d dist) within(cols colSet) bool {
	if d.kind != hashed || len(d.keys) == 0 {
		return false
	}
	for _, k := range d.keys {
		ok := false
		for c := range k {
			ok = ok || cols[c]
		}
		if !ok {
			return false
		}
	}
	return true
}

// renamed follows a distribution through a projection.
func (d dist) renamed(items []plan.Item) dist {
	if d.kind == spread {
		return dist{kind: spread, free: d.free.renamed(items)}
	}
	if d.kind != hashed {
		return d
	}
	to := map[expr.ColID][]expr.ColID{}
	for _, it := range items {
		if c, ok := it.Expr.(*expr.Col); ok {
			to[c.ID] = append(to[c.ID], it.Col.ID)
		}
	}
	out := dist{kind: hashed, group: d.group}
	for _, k := range d.keys {
		m := colSet{}
		for c := range k {
			for _, t := range to[c] {
				m[t] = true
			}
		}
		if len(m) == 0 {
			return dist{kind: spread}
		}
		out.keys = append(out.keys, m)
	}
	return out
}

func with1(n, in plan.Node) plan.Node {
	if n.Children()[0] == in {
		return n
	}
	return n.WithChildren([]plan.Node{in})
}

// place returns n with the exchanges it needs, and where its rows are.
func (p *placer) place(n plan.Node) (plan.Node, dist, error) {
	p.run.Poll()
	switch n := n.(type) {
	case *plan.Scan, *plan.Source:
		if p.inStep {
			return nil, dist{}, pgerr.Unsupported("a table in the recursive term of WITH RECURSIVE must not be correlated with it on several nodes")
		}
		if s, ok := n.(*plan.Scan); ok {
			return n, p.scan(s), nil
		}
		return n, dist{kind: spread}, nil
	case *plan.Values, *plan.Virtual, *plan.FuncScan, *plan.Buffer, *plan.Receive:
		return n, dist{}, nil
	case *plan.Filter, *plan.ProjectSet:
		in, d, err := p.place(n.Children()[0])
		if err != nil {
			return nil, d, err
		}
		return with1(n, in), d, nil
	case *plan.Project:
		in, d, err := p.place(n.Input)
		if err != nil {
			return nil, d, err
		}
		out := d.renamed(n.Items)
		if d.lies && out.kind == hashed {
			out.lies, out.free = true, d.free.renamed(n.Items)
		}
		return with1(n, in), out, nil
	case *plan.TableWrite, *plan.Collect:
		in, d, err := p.place(n.Children()[0])
		if err != nil {
			return nil, d, err
		}
		if w, ok := n.(*plan.TableWrite); ok && w.Again && !d.atGateway() && !d.within(colSet{w.RowID: true}) {
			in, d = p.hashBy(in, []expr.Expr{&expr.Col{ID: w.RowID, Name: "rowid", Typ: types.Int8}})
		}
		if !d.atGateway() {
			d = dist{kind: spread}
		}
		return with1(n, in), d, nil
	case *plan.TrainGroups:
		m, d, err := p.together(n, n.By())
		if err == nil && !d.atGateway() {
			d = dist{kind: spread}
		}
		return m, d, err
	case *plan.Aggregate:
		return p.aggregate(n)
	case *plan.Window:
		return p.together(n, n.PartitionBy)
	case *plan.Sort:
		in, d, err := p.place(n.Input)
		if err != nil {
			return nil, d, err
		}
		s := with1(n, in)
		if d.atGateway() {
			return s, d, nil
		}
		return &plan.Exchange{Input: s, Kind: plan.Gather, Merge: n.Keys}, dist{}, nil
	case *plan.Limit:
		return p.limit(n)
	case *plan.DistinctOn:
		return p.distinctOn(n)
	case *plan.Max1Row:
		in, d, err := p.place(n.Input)
		if err != nil {
			return nil, d, err
		}
		return with1(n, p.gather(in, d)), dist{}, nil
	case *plan.Join:
		return p.join(n)
	case *plan.SetOp:
		return p.setOp(n)
	case *plan.RecursiveUnion:
		init, d, err := p.place(n.Init)
		if err != nil {
			return nil, d, err
		}
		was := p.inStep
		p.inStep = true
		step, ds, err := p.place(n.Step)
		p.inStep = was
		if err != nil {
			return nil, ds, err
		}
		return n.WithChildren([]plan.Node{p.gather(init, d), p.gather(step, ds)}), dist{}, nil
	}
	return nil, dist{}, pgerr.Internal("stage: a %T in an optimised plan", n)
}

// limit cuts each node's rows before they are brought together.
func (p *placer) limit(n *plan.Limit) (plan.Node, dist, error) {
	in, d, err := p.place(n.Input)
	if err != nil || d.atGateway() {
		if err != nil {
			return nil, d, err
		}
		return with1(n, in), d, nil
	}
	if !n.Ties {
		if k := rowsWanted(n); k != nil {
			in = &plan.Limit{Input: in, Count: k}
		}
	}
	return with1(n, p.gather(in, d)), dist{}, nil
}

// rowsWanted returns how many rows of each node may be needed; nil if not known.
func rowsWanted(n *plan.Limit) expr.Expr {
	if n.Count == nil {
		return nil
	}
	if n.Offset == nil {
		return n.Count
	}
	c, ok := n.Count.(*expr.Const)
	o, ok2 := n.Offset.(*expr.Const)
	if !ok || !ok2 {
		return nil
	}
	x, ok := c.Val.(int64)
	y, ok2 := o.Val.(int64)
	if !ok || !ok2 || x < 0 || y < 0 || x > 1<<62 || y > 1<<62 {
		return nil
	}
	return &expr.Const{Val: x + y, Typ: c.Typ}
}

// together brings the rows of n's input together that agree in by.
func (p *placer) together(n plan.Node, by []expr.Expr) (plan.Node, dist, error) {
	in, d, err := p.place(n.Children()[0])
	if err != nil {
		return nil, d, err
	}
	switch {
	case d.atGateway():
	case len(by) == 0:
		in, d = p.gather(in, d), dist{}
	default:
		var ok bool
		if d, ok = p.alignScans(d, by); !ok {
			in, d, _ = p.sendBy(in, d, by)
		}
	}
	return with1(n, in), d, nil
}

// columnsOf returns the plain columns among es.
func columnsOf(es []expr.Expr) colSet {
	out := colSet{}
	for _, e := range es {
		if c, ok := e.(*expr.Col); ok {
			out[c.ID] = true
		}
	}
	return out
}

// distinctOn keeps one row a key on each node, then one of all.
func (p *placer) distinctOn(n *plan.DistinctOn) (plan.Node, dist, error) {
	sorted, ok := n.Input.(*plan.Sort)
	if !ok {
		return nil, dist{}, pgerr.Internal("stage: DISTINCT ON over unsorted rows")
	}
	in, d, err := p.place(sorted.Input)
	if err != nil {
		return nil, d, err
	}
	local := &plan.DistinctOn{Input: with1(sorted, in), Keys: n.Keys, Order: n.Order}
	if d.atGateway() {
		return local, d, nil
	}
	return &plan.DistinctOn{Input: &plan.Exchange{Input: local, Kind: plan.Gather, Merge: sorted.Keys}, Keys: n.Keys, Order: n.Order}, dist{}, nil
}

// setOp brings equal rows together; UNION ALL, which has none, stays where it
// is.
func (p *placer) setOp(n *plan.SetOp) (plan.Node, dist, error) {
	kids := make([]plan.Node, len(n.Inputs))
	ds := make([]dist, len(n.Inputs))
	anywhere, here := false, true
	for i, in := range n.Inputs {
		var err error
		if kids[i], ds[i], err = p.place(in); err != nil {
			return nil, ds[i], err
		}
		anywhere = anywhere || !ds[i].atGateway()
		here = here && !ds[i].atGateway()
	}
	out := *n
	out.Inputs = kids
	switch {
	case !anywhere:
		return &out, dist{}, nil
	case n.Kind == plan.Union && n.All && here:
		return &out, dist{kind: spread}, nil
	case n.Kind == plan.Union && n.All:
		// Few rows are at the gateway (values, buffers): spread them over the nodes; the others go to the
		// gateway only if all must be gathered anyway.
		for i := range kids {
			if ds[i].atGateway() {
				kids[i] = &plan.Exchange{Input: kids[i], Kind: plan.Spread}
			}
		}
		return &out, dist{kind: spread}, nil
	}
	for i, k := range kids {
		s := k.Schema()
		keys := make([]expr.Expr, len(s))
		for j, c := range s {
			keys[j] = &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name}
		}
		if len(keys) == 0 {
			kids[i] = p.gather(k, ds[i])
			continue
		}
		kids[i], _ = p.hashBy(k, keys)
	}
	if len(n.Cols) == 0 {
		return &out, dist{}, nil
	}
	d := dist{kind: hashed}
	for _, c := range n.Cols {
		d.keys = append(d.keys, colSet{c.ID: true})
	}
	return &out, d, nil
}

// sortDistinctOn puts the sort under each DISTINCT ON that it needs.
func (p *placer) sortDistinctOn(n plan.Node) plan.Node {
	n = p.run.MapChildren(n, p.sortDistinctOn)
	d, ok := n.(*plan.DistinctOn)
	if !ok {
		return n
	}
	keys := d.Order
	if len(keys) == 0 {
		for _, k := range d.Keys {
			keys = append(keys, expr.Order{Expr: k})
		}
	}
	c := *d
	c.Input = &plan.Sort{Input: d.Input, Keys: keys, Limit: -1}
	return &c
}

// exactly returns n with exactly the columns cols.
func exactly(n plan.Node, cols []plan.Column) plan.Node {
	s := n.Schema()
	ok := len(s) == len(cols)
	for i := range cols {
		ok = ok && s[i].ID == cols[i].ID
	}
	if ok {
		return n
	}
	by := map[expr.ColID]plan.Column{}
	for _, c := range s {
		by[c.ID] = c
	}
	items := make([]plan.Item, len(cols))
	for i, c := range cols {
		have, known := by[c.ID]
		if !known {
			have = c
		}
		items[i] = plan.Item{Col: c, Expr: &expr.Col{ID: c.ID, Typ: have.Type, Name: c.Name}}
	}
	if p, isProject := n.(*plan.Project); isProject && len(p.Items) == len(items) && !repeats(cols) {
		// The same columns in another order: one projection does.
		own := map[expr.ColID]expr.Expr{}
		for _, it := range p.Items {
			own[it.Col.ID] = it.Expr
		}
		for i := range items {
			items[i].Expr = own[items[i].Col.ID]
		}
		n = p.Input
	}
	return &plan.Project{Input: n, Items: items}
}

func repeats(cols []plan.Column) bool {
	seen := colSet{}
	for _, c := range cols {
		if seen[c.ID] {
			return true
		}
		seen[c.ID] = true
	}
	return false
}

func highest(n plan.Node) expr.ColID {
	var top expr.ColID
	for _, c := range n.Schema() {
		top = max(top, c.ID)
	}
	for _, k := range n.Children() {
		top = max(top, highest(k))
	}
	return top
}
