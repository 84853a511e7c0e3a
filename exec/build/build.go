package build

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/aggregate"
	"github.com/tributarydb/tributary/exec/op/window"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Config is a stage and what its operators need. What the stage does not need may be nil.
type Config struct {
	Stage    *plan.Stage
	Runtime  *op.Runtime
	Env      *function.Env
	Splits   op.Splits
	Tables   op.Tables
	Virtuals op.Virtuals
	Sources  op.Sources
	Writers  op.Writers
	Collects op.Collectors
	Groups   op.GroupTrainers
	Exchange op.Exchange
	Buffers  map[int]*op.Buffer // by the ID of plan.Buffer
}

// Tree is the operators of a stage.
type Tree struct {
	Root  []op.Operator // by thread
	Cols  []plan.Column
	Stats []*op.Stats
}

// Leaves lists the leaves of a stage that are read by splits, tables and
// sources, in the order that op.Split.Scan counts them.
func Leaves(root plan.Node) []plan.Node {
	var out []plan.Node
	walk(root, 0, func(n plan.Node, _ int) {
		if isLeaf(n) {
			out = append(out, n)
		}
	})
	return out
}

func isLeaf(n plan.Node) bool {
	switch n.(type) {
	case *plan.Scan, *plan.Source:
		return true
	}
	return false
}

func walk(n plan.Node, depth int, f func(n plan.Node, depth int)) {
	f(n, depth)
	for _, c := range n.Children() {
		walk(c, depth+1, f)
	}
}

// Stage makes the operators of a stage. ctx is for what is evaluated on the
// way: LIMIT, VALUES.
func Stage(ctx context.Context, c Config) (*Tree, error) {
	root := c.Stage.Root
	hook := Hooked.Load()
	if hook != nil && hook.Config != nil {
		hook.Config(&c)
	}
	env := function.Env{}
	if c.Env != nil {
		env = *c.Env
	}
	env.Ctx, c.Env = ctx, &env
	s := &state{Config: c, hook: hook}
	n := 0
	walk(root, 0, func(plan.Node, int) { n++ })
	all, leaves := make([]op.Stats, n), 0
	s.stats, s.leaves = make([]*op.Stats, 0, n), make([]int, 0, n)
	walk(root, 0, func(n plan.Node, depth int) {
		st := &all[len(s.stats)]
		st.Node, st.ID, st.Depth = n, len(s.stats), depth
		s.stats, s.leaves = append(s.stats, st), append(s.leaves, leaves)
		if isLeaf(n) {
			leaves++
		}
	})
	if len(s.stats) > fewNodes {
		s.at = make(map[plan.Node]int, len(s.stats))
		for i, st := range s.stats {
			s.at[st.Node] = i
		}
	}
	b := &builder{state: s, rt: c.Runtime, buffers: c.Buffers, splits: c.Splits, exchange: c.Exchange}
	if c.Stage.Single && b.rt.Threads > 1 {
		one := *b.rt
		one.Threads = 1
		b.rt = &one
	}
	want := root.Schema()
	out, err := b.exactly(ctx, root, want)
	if err != nil {
		return nil, err
	}
	return &Tree{Root: out, Cols: want, Stats: s.stats}, nil
}

// Hook changes what stages are made of, for tests that make operators, sources and system views fail.
type Hook struct {
	Config func(*Config)
	Node   func(n plan.Node, threads []op.Operator) []op.Operator
}

// Hooked is the hook of all stages that are made from now on. Only tests set it.
var Hooked atomic.Pointer[Hook]

// state is shared by the builders of one stage.
type state struct {
	Config
	hook   *Hook             // nil: none
	stats  []*op.Stats       // of the stage's nodes, in the order of walk
	leaves []int             // by the same place, how many leaves come before
	at     map[plan.Node]int // the places of many; nil for a few, which are found sooner without
}

const fewNodes = 16

// place returns the place of a node in stats; -1 for one that the builder has made itself.
func (s *state) place(n plan.Node) int {
	if s.at != nil {
		if i, ok := s.at[n]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.stats, func(st *op.Stats) bool { return st.Node == n })
}

// statsOf returns the counters of a node; nil for one that the builder has made itself.
func (s *state) statsOf(n plan.Node) *op.Stats {
	if i := s.place(n); i >= 0 {
		return s.stats[i]
	}
	return nil
}

// leafOf returns the place of a leaf among Leaves.
func (s *state) leafOf(n plan.Node) int { return s.leaves[s.place(n)] }

// builder builds for a number of threads.
type builder struct {
	*state
	rt       *op.Runtime
	buffers  map[int]*op.Buffer
	splits   op.Splits
	exchange op.Exchange
	kept     *programs // nil: built once
	step     *step     // nil: not the step of a recursion
	keys     map[*plan.Scan][]op.ScanKeys
	needed   map[*plan.Aggregate]*aggregate.Needed // of those whose groups are sorted, and only the first returned
	sortings map[*plan.Window]window.Sorting       // of windows below others that their rows are sorted for
	firsts   map[*plan.Sort]int                    // of sorts below DISTINCT ON: how many keys it has
	below    [][]op.Operator                       // of the nodes that the one being built reads
}

type colSet map[expr.ColID]bool

func setOf(cols []plan.Column) colSet {
	s := colSet{}
	for _, c := range cols {
		s[c.ID] = true
	}
	return s
}

// with returns the union of s and the columns that exprs read.
func (s colSet) with(exprs ...expr.Expr) colSet {
	out := make(colSet, len(s)+4)
	for id := range s {
		out[id] = true
	}
	for _, e := range exprs {
		if e != nil {
			expr.Columns(e, out)
		}
	}
	return out
}

// rel is a built node: one operator a thread, and the columns that they return.
type rel struct {
	ops  []op.Operator
	cols []plan.Column
}

func find(cols []plan.Column, id expr.ColID) int {
	for i, c := range cols {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// places returns find over cols, for n calls: by a map where there are many.
func places(cols []plan.Column, n int) func(expr.ColID) int {
	if len(cols) <= 64 || n <= 64 {
		return func(id expr.ColID) int { return find(cols, id) }
	}
	at := make(map[expr.ColID]int, len(cols))
	for i := len(cols) - 1; i >= 0; i-- {
		at[cols[i].ID] = i
	}
	return func(id expr.ColID) int {
		if i, ok := at[id]; ok {
			return i
		}
		return -1
	}
}

func typesOf(cols []plan.Column) []types.Type {
	out := make([]types.Type, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

// node builds n such that at least the columns need are returned.
func (b *builder) node(ctx context.Context, n plan.Node, need colSet) (rel, error) {
	if ctx.Err() != nil {
		return rel{}, context.Cause(ctx)
	}
	beside := b.below
	b.below = nil
	r, err := b.build(ctx, n, need)
	if err != nil {
		return rel{}, err
	}
	if h := b.hook; h != nil && h.Node != nil {
		r.ops = h.Node(n, r.ops)
	}
	if st := b.statsOf(n); st != nil {
		r.ops = op.Count(st, r.ops, b.below)
	}
	b.below = append(beside, r.ops)
	return r, nil
}

func (b *builder) build(ctx context.Context, n plan.Node, need colSet) (rel, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return b.scan(n)
	case *plan.Source:
		return b.source(n)
	case *plan.Values:
		return b.values(ctx, n)
	case *plan.Virtual:
		return b.virtual(n)
	case *plan.FuncScan:
		return b.funcScan(n)
	case *plan.Buffer:
		return b.buffer(n, need)
	case *plan.Receive:
		return b.receive(n)
	case *plan.Filter:
		return b.filter(ctx, n, need)
	case *plan.Project:
		return b.project(ctx, n, need)
	case *plan.ProjectSet:
		return b.projectSet(ctx, n, need)
	case *plan.Aggregate:
		return b.aggregate(ctx, n, need)
	case *plan.Window:
		return b.window(ctx, n, need)
	case *plan.Sort:
		return b.sort(ctx, n, need)
	case *plan.Limit:
		return b.limit(ctx, n, need)
	case *plan.DistinctOn:
		return b.distinctOn(ctx, n, need)
	case *plan.Max1Row:
		in, err := b.node(ctx, n.Input, need)
		return rel{op.NewMax1Row(in.ops), in.cols}, err
	case *plan.Join:
		return b.join(ctx, n, need)
	case *plan.SetOp:
		return b.setOp(ctx, n, need)
	case *plan.RecursiveUnion:
		return b.recursive(n)
	case *plan.TableWrite:
		return b.tableWrite(ctx, n)
	case *plan.Collect:
		return b.collect(ctx, n)
	case *plan.TrainGroups:
		return trainGroups(ctx, b, n)
	}
	return rel{}, pgerr.Internal("the plan has a %T where operators are made", n)
}

// exactly builds n with exactly the columns want, in this order.
func (b *builder) exactly(ctx context.Context, n plan.Node, want []plan.Column) ([]op.Operator, error) {
	r, err := b.node(ctx, n, setOf(want))
	if err != nil {
		return nil, err
	}
	return arrange(r, want)
}

// arrange puts the columns of r in the order of want.
func arrange(r rel, want []plan.Column) ([]op.Operator, error) {
	same := len(want) == len(r.cols)
	items := make([]op.Item, len(want))
	place := places(r.cols, len(want))
	for i, c := range want {
		at := place(c.ID)
		if at < 0 {
			return nil, pgerr.Internal("the plan has no column %d (%s)", c.ID, c.Name)
		}
		same = same && at == i
		items[i] = op.Item{Col: at}
	}
	if same {
		return r.ops, nil
	}
	all := make([][]op.Item, len(r.ops))
	for i := range all {
		all[i] = items
	}
	return op.NewProject(r.ops, all), nil
}

// items compiles expressions for every thread; a plain column is itself.
func (b *builder) items(es []expr.Expr, in []plan.Column) ([][]op.Item, error) {
	out := make([][]op.Item, b.rt.Threads)
	for thread := range out {
		var err error
		if out[thread], err = b.threadItems(es, in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *builder) threadItems(es []expr.Expr, in []plan.Column) ([]op.Item, error) {
	out := make([]op.Item, len(es))
	var computed []int
	var list []expr.Expr
	place := places(in, len(es))
	for i, e := range es {
		if c, ok := e.(*expr.Col); ok {
			if at := place(c.ID); at >= 0 {
				out[i] = op.Item{Col: at}
				continue
			}
		}
		computed, list = append(computed, i), append(list, e)
	}
	if len(list) == 0 {
		return out, nil
	}
	ps, err := compiled(b, func() ([]*eval.Program, error) { return eval.CompileColumns(list, in, b.Env) })
	for k, p := range ps {
		out[computed[k]] = op.Item{Program: p}
	}
	return out, err
}

// filters compiles conditions for every thread.
func (b *builder) filters(conds []expr.Expr, in []plan.Column) ([]op.Filter, error) {
	out := make([]op.Filter, b.rt.Threads)
	for thread := range out {
		f, err := compiled(b, func() (*eval.Filter, error) { return eval.CompileFilter(conds, in, b.Env) })
		if err != nil {
			return nil, err
		}
		out[thread] = f
	}
	return out, nil
}

// filtered puts conditions on top of r.
func (b *builder) filtered(r rel, conds []expr.Expr) (rel, error) {
	if len(conds) == 0 {
		return r, nil
	}
	fs, err := b.filters(conds, r.cols)
	if err != nil {
		return rel{}, err
	}
	return rel{op.NewFilter(r.ops, fs), r.cols}, nil
}
