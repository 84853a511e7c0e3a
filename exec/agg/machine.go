package agg

import (
	"bytes"
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// machine runs the state machine of an aggregate of a user. Its programs compute the k-th row of many groups at
// once:
//
//	group A: a1 a2 a3     step 1: next(A, a1) next(B, b1) next(C, c1)
//	group B: b1           step 2: next(A, a2)             next(C, c2)
//	group C: c1 c2        step 3: next(A, a3)
type machine struct {
	*expr.Machine
	ctx                         context.Context
	state                       types.Type
	next, first, final, combine *eval.Program
}

func newMachine(m *expr.Machine, env *function.Env) (*machine, error) {
	out := &machine{Machine: m, ctx: env.Context(), state: m.State.Typ}
	col := func(c *expr.Col) plan.Column { return plan.Column{ID: c.ID, Type: c.Typ} }
	in := []plan.Column{col(m.State)}
	for _, a := range m.Args {
		in = append(in, col(a))
	}
	for _, x := range []struct {
		to *(*eval.Program)
		e  expr.Expr
		in []plan.Column
	}{{&out.next, m.Next, in}, {&out.first, m.First, in}, {&out.final, m.Final, in[:1]}, {&out.combine, m.Combine, []plan.Column{col(m.State), col(m.Other)}}} {
		if x.e == nil {
			continue
		}
		p, err := eval.Compile(x.e, x.in, env)
		if err != nil {
			return nil, err
		}
		*x.to = p
	}
	return out, nil
}

// initial are the states of n groups without rows.
func (m *machine) initial(n int) (arrow.Array, error) {
	return datumColumn(m.state, 0, n, func(int) (types.Datum, error) { return m.Init, nil })
}

// step computes states from states and a row for each.
func (m *machine) step(p *eval.Program, states arrow.Array, row []arrow.Array) (arrow.Array, error) {
	b := batch.New(append([]arrow.Array{states}, row...), states.Len())
	return p.Eval(m.ctx, b)
}

// results are the results of states.
func (m *machine) results(states arrow.Array) (arrow.Array, error) {
	return m.step(m.final, states, nil)
}

// run adds rows of cols to states: to each its list of rows, in order. begun says which had a row before.
func (m *machine) run(p *eval.Program, states arrow.Array, begun func(g int) bool, rows [][]int32, cols []arrow.Array) (arrow.Array, error) {
	// Those with the most rows first, so that the ones that are not done are the first.
	by := make([]int32, len(rows))
	for g := range by {
		by[g] = int32(g)
	}
	slices.SortStableFunc(by, func(a, b int32) int { return len(rows[b]) - len(rows[a]) })
	cur := kernel.Take(kernel.Flatten(states), by)
	for i, c := range cols {
		cols[i] = kernel.Flatten(c)
	}
	var done []arrow.Array // from the last group on
	left := len(by)
	var at []int32
	for k := 0; ; k++ {
		n := left
		for n > 0 && len(rows[by[n-1]]) == k {
			n--
		}
		if n < left {
			done = append(done, array.NewSlice(cur, int64(n), int64(left)))
			cur, left = array.NewSlice(cur, 0, int64(n)), n
		}
		if left == 0 {
			break
		}
		if left == 1 && (k > 0 || m.first == nil || p != m.next || begun(int(by[0]))) { // one after the other from here on
			var err error
			if cur, err = p.Fold(m.ctx, cur, cols, rows[by[0]][k:]); err != nil {
				return nil, err
			}
			done = append(done, cur)
			break
		}
		at = at[:0]
		for _, g := range by[:left] {
			at = append(at, rows[g][k])
		}
		row := make([]arrow.Array, len(cols))
		for i, c := range cols {
			if left == 1 {
				row[i] = array.NewSlice(c, int64(at[0]), int64(at[0])+1)
			} else {
				row[i] = kernel.Take(c, at)
			}
		}
		var err error
		if cur, err = m.stepAll(p, k, by[:left], begun, cur, row); err != nil {
			return nil, err
		}
	}
	slices.Reverse(done)
	all := kernel.Concat(m.state.Arrow(), done)
	back := make([]int32, len(by))
	for i, g := range by {
		back[g] = int32(i)
	}
	return kernel.Take(all, back), nil
}

// stepAll is step, of groups of which some may have their first row.
func (m *machine) stepAll(p *eval.Program, k int, groups []int32, begun func(g int) bool, cur arrow.Array, row []arrow.Array) (arrow.Array, error) {
	if k > 0 || m.first == nil || p != m.next {
		return m.step(p, cur, row)
	}
	var fresh, old []int32
	for i, g := range groups {
		if begun(int(g)) {
			old = append(old, int32(i))
		} else {
			fresh = append(fresh, int32(i))
		}
	}
	switch {
	case len(old) == 0:
		return m.step(m.first, cur, row)
	case len(fresh) == 0:
		return m.step(p, cur, row)
	}
	part := func(p *eval.Program, at []int32) (arrow.Array, error) {
		some := make([]arrow.Array, len(row))
		for i, c := range row {
			some[i] = kernel.Take(c, at)
		}
		return m.step(p, kernel.Take(cur, at), some)
	}
	a, err := part(m.first, fresh)
	if err != nil {
		return nil, err
	}
	b, err := part(p, old)
	if err != nil {
		return nil, err
	}
	back := make([]int32, len(groups))
	for i, at := range append(fresh, old...) {
		back[at] = int32(i)
	}
	return kernel.Take(kernel.Concat(m.state.Arrow(), []arrow.Array{a, b}), back), nil
}

// machineFold is a machine of one group, whose rows come some at a time.
type machineFold struct {
	m     *machine
	args  []types.Type
	state arrow.Array // nil: no row
	rows  []types.Row
	bytes int64 // of them
}

func (f *machineFold) add(row types.Row) error {
	f.rows = append(f.rows, slices.Clone(row[:len(f.args)]))
	for _, d := range row {
		f.bytes += 16 + types.DatumBytes(d)
	}
	if len(f.rows) < replayRows && f.bytes < chunk {
		return nil
	}
	return f.flush()
}

func (f *machineFold) flush() (err error) {
	begun := f.state != nil
	if !begun {
		if f.state, err = f.m.initial(1); err != nil {
			return err
		}
	}
	if len(f.rows) == 0 {
		if !begun {
			defer func() { f.state = nil }()
		}
		return nil
	}
	cols := make([]arrow.Array, len(f.args))
	all := make([]int32, len(f.rows))
	for k, t := range f.args {
		if cols[k], err = datumColumn(t, 0, len(f.rows), func(i int) (types.Datum, error) { return f.rows[i][k], nil }); err != nil {
			return err
		}
	}
	for i := range all {
		all[i] = int32(i)
	}
	f.rows, f.bytes = f.rows[:0], 0
	f.state, err = f.m.run(f.m.next, f.state, func(int) bool { return begun }, [][]int32{all}, cols)
	return err
}

func (f *machineFold) result() (types.Datum, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	state := f.state
	if state == nil {
		var err error
		if state, err = f.m.initial(1); err != nil {
			return nil, err
		}
	}
	out, err := f.m.results(state)
	if err != nil {
		return nil, err
	}
	return types.DatumAt(f.m.final.Type(), out, 0), nil
}

func (f *machineFold) held() int64 {
	if f.state == nil {
		return f.bytes
	}
	return f.bytes + batch.ArrayBytes(f.state)
}

// machineRows is about how many rows of small groups go through a machine at once.
const machineRows = 8192

// machines computes the results of groups [from, to).
func (c *collect) machines(from, to int) (arrow.Array, error) {
	var out []arrow.Array
	for from < to {
		end, n := from, 0
		for end < to && (end == from || n+c.rows[end].N <= machineRows) {
			n += c.rows[end].N
			end++
		}
		arr, err := c.together(from, end, n)
		if err != nil {
			return nil, err
		}
		out, from = append(out, arr), end
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return kernel.Concat(c.call.Typ.Arrow(), out), nil
}

// together computes the results of some groups, which have n rows in all.
func (c *collect) together(from, to, n int) (arrow.Array, error) {
	into := make([]array.Builder, len(c.layout))
	for k, t := range c.layout {
		into[k] = array.NewBuilder(memory.DefaultAllocator, t.Arrow())
		into[k].Reserve(n)
	}
	group := make([]int32, 0, n)
	for g := from; g < to; g++ {
		if err := c.rows[g].Each(c.layout, func(row types.Row) error {
			for k, d := range row {
				if err := types.AppendDatum(into[k], c.layout[k], d); err != nil {
					return err
				}
			}
			group = append(group, int32(g-from))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	cols := make([]arrow.Array, len(into))
	for k, b := range into {
		cols[k] = b.NewArray()
	}
	rows := make([][]int32, to-from)
	if c.sorts() {
		c.sortRows(group, cols, rows)
	} else {
		for i, g := range group {
			rows[g] = append(rows[g], int32(i))
		}
	}
	states, err := c.machine.initial(to - from)
	if err != nil {
		return nil, err
	}
	if states, err = c.machine.run(c.machine.next, states, func(int) bool { return false }, rows, cols[:len(c.args)]); err != nil {
		return nil, err
	}
	return c.machine.results(states)
}

// sortRows lists the rows of each group as the call arranges them.
func (c *collect) sortRows(group []int32, cols []arrow.Array, rows [][]int32) {
	specs, by := []kernel.KeySpec{{Type: types.Int4}}, []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int32, group, nil)}
	for _, k := range c.SortKeys() {
		specs, by = append(specs, k.KeySpec), append(by, cols[k.Col])
	}
	var keys kernel.Keys
	kernel.NewKeyEncoder(specs).Append(&keys, by, len(group))
	last := -1
	for _, i := range kernel.Order(&keys, nil) {
		if c.call.Distinct && last >= 0 && bytes.Equal(keys.At(int(i)), keys.At(last)) {
			continue
		}
		last = int(i)
		rows[group[i]] = append(rows[group[i]], int32(i))
	}
}

// combined is an aggregate of a user whose states can be merged, so that it keeps no rows.
type combined struct {
	m     *machine
	args  []types.Type
	ret   types.Type
	s     []types.Datum
	begun []bool
	bytes int64
}

func (c *combined) Resize(groups int) {
	was := len(c.s)
	c.s, c.begun = grown(c.s, groups), grown(c.begun, groups)
	for g := was; g < groups; g++ {
		c.s[g] = c.m.Init
	}
}

// Bytes counts a state twice, as the new one is made beside the old one.
func (c *combined) Bytes() int64 { return 2*c.bytes + 17*int64(cap(c.s)) }

func (c *combined) Update(groups []uint32, args []arrow.Array) error {
	args = args[:len(c.args)]
	which, rows := byGroup(groups, func(i int) bool {
		return c.m.Strict && slices.ContainsFunc(args, func(a arrow.Array) bool { return a.IsNull(i) })
	})
	// Many rows of a group go through the machine side by side, as rows of different groups do.
	var of []uint32
	var lanes, few [][]int32
	var little []uint32
	for k, g := range which {
		n := min(len(rows[k])/laneRows, maxLanes)
		if n < 2 {
			little, few = append(little, g), append(few, rows[k])
			continue
		}
		for l := range n {
			of, lanes = append(of, g), append(lanes, rows[k][l*len(rows[k])/n:(l+1)*len(rows[k])/n])
		}
	}
	if err := c.add(c.m.next, little, few, args); err != nil || len(lanes) == 0 {
		return err
	}
	states, err := c.m.initial(len(lanes))
	if err != nil {
		return err
	}
	if states, err = c.m.run(c.m.next, states, func(int) bool { return false }, lanes, slices.Clone(args)); err != nil {
		return err
	}
	return c.mergeLanes(of, states)
}

// laneRows is the fewest rows of a lane, maxLanes the most lanes of a group.
const (
	laneRows = 32
	maxLanes = 64
)

// mergeLanes merges states of the same groups, which are neighbours, in pairs, and then into the groups.
func (c *combined) mergeLanes(of []uint32, states arrow.Array) error {
	for {
		var left, right, keep []int32 // keep: the places of pairs and single ones in the next round
		var next []uint32
		var single []int32
		for i := 0; i < len(of); i++ {
			next = append(next, of[i])
			if i+1 < len(of) && of[i+1] == of[i] {
				keep = append(keep, int32(len(left)))
				left, right = append(left, int32(i)), append(right, int32(i+1))
				i++
			} else {
				keep, single = append(keep, int32(-1-len(single))), append(single, int32(i))
			}
		}
		if len(left) == 0 {
			break
		}
		pairs, err := c.m.step(c.m.combine, kernel.Take(states, left), []arrow.Array{kernel.Take(states, right)})
		if err != nil {
			return err
		}
		for i, k := range keep {
			if k < 0 {
				keep[i] = int32(len(left)) + (-1 - k)
			}
		}
		states = kernel.Take(kernel.Concat(c.m.state.Arrow(), []arrow.Array{pairs, kernel.Take(states, single)}), keep)
		of = next
	}
	from := make([]types.Datum, len(of))
	for i := range from {
		from[i] = types.DatumAt(c.m.state, states, i)
	}
	return c.merge(of, from)
}

// byGroup are the rows that are not skipped, by their groups in the order of the first rows.
func byGroup(groups []uint32, skip func(i int) bool) (which []uint32, rows [][]int32) {
	at := map[uint32]int{}
	for i, g := range groups {
		if skip(i) {
			continue
		}
		k, ok := at[g]
		if !ok {
			k = len(which)
			at[g] = k
			which, rows = append(which, g), append(rows, nil)
		}
		rows[k] = append(rows[k], int32(i))
	}
	return which, rows
}

// add runs p for rows of cols, some for each of which.
func (c *combined) add(p *eval.Program, which []uint32, rows [][]int32, cols []arrow.Array) error {
	if len(which) == 0 {
		return nil
	}
	states, err := datumColumn(c.m.state, 0, len(which), func(k int) (types.Datum, error) { return c.s[which[k]], nil })
	if err != nil {
		return err
	}
	states, err = c.m.run(p, states, func(k int) bool { return c.begun[which[k]] }, rows, slices.Clone(cols))
	if err != nil {
		return err
	}
	for k, g := range which {
		d := types.DatumAt(c.m.state, states, k)
		c.bytes += types.DatumBytes(d) - types.DatumBytes(c.s[g])
		c.s[g], c.begun[g] = d, true
	}
	return nil
}

func (c *combined) layout() rowLayout { return rowLayout{types.Bool, c.m.state} }

func (c *combined) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		return c.layout().Append(dst, types.Row{c.begun[g], c.s[g]}), true
	}), nil
}

// MergeStates combines states that had rows; a group that has none takes the first as it is.
func (c *combined) MergeStates(groups []uint32, states *array.Binary) error {
	var to []uint32
	var from []types.Datum
	for g, b := range stored(groups, states) {
		if err := c.layout().Each(b, func(row types.Row) error {
			if had, _ := row[0].(bool); had {
				to, from = append(to, g), append(from, row[1])
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return c.merge(to, from)
}

func (c *combined) merge(to []uint32, from []types.Datum) error {
	var groups []uint32
	var others []types.Datum
	for i, g := range to {
		if c.begun[g] {
			groups, others = append(groups, g), append(others, from[i])
			continue
		}
		c.bytes += types.DatumBytes(from[i]) - types.DatumBytes(c.s[g])
		c.s[g], c.begun[g] = from[i], true
	}
	col, err := datumColumn(c.m.state, 0, len(others), func(i int) (types.Datum, error) { return others[i], nil })
	if err != nil {
		return err
	}
	which, rows := byGroup(groups, func(int) bool { return false })
	return c.add(c.m.combine, which, rows, []arrow.Array{col})
}

// MergeFrom implements Merger.
func (c *combined) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*combined)
	var to []uint32
	var states []types.Datum
	for i, g := range groups {
		if o.begun[ids[i]] {
			to, states = append(to, g), append(states, o.s[ids[i]])
		}
	}
	return c.merge(to, states)
}

func (c *combined) Results(from, to int) (arrow.Array, error) {
	states, err := datumColumn(c.m.state, from, to, func(g int) (types.Datum, error) { return c.s[g], nil })
	if err != nil {
		return nil, err
	}
	return c.m.results(states)
}
