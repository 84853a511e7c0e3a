package agg

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// collect keeps the argument rows of each group and computes the aggregate
// from all of them at the end: DISTINCT, ORDER BY inside the call, ordered-set
// and hypothetical-set aggregates, and those whose result holds every row
// (array_agg, string_agg, json_agg).
//
//	row = [arguments… | order keys…]
type collect struct {
	call  expr.AggCall
	args  []types.Type
	order []types.Type
	env   *types.Env
	// layout is args, then order.
	layout rowLayout
	inner  func() Agg // DISTINCT or ordered forms of plain aggregates
	// machine is of an aggregate of a user.
	machine *machine
	rows    []rowList
	bytes   int64 // of them
}

func newCollect(call expr.AggCall, args []types.Type, env *function.Env, m *machine) (Agg, error) {
	c := &collect{call: call, args: args, env: env.TypesEnv(), machine: m}
	for _, o := range call.OrderBy {
		c.order = append(c.order, o.Expr.Type())
	}
	c.layout = slices.Concat(c.args, c.order)
	if m != nil {
		if len(c.layout) == 0 {
			c.layout = rowLayout{types.Bool} // rows without values are counted by one
		}
		return c, nil
	}
	if a := plain(call.Fn.Name, args, call.Typ); a != nil {
		c.inner = func() Agg { return plain(call.Fn.Name, args, call.Typ) }
	} else if err := c.known(); err != nil {
		return nil, err
	}
	if call.Fn.Name == "concordance_index" {
		return concordance{c}, nil
	}
	if k := newKeyed(c); k != nil {
		return k, nil
	}
	if len(c.layout) > 0 && (c.sorts() || c.inner == nil && c.holdsRows()) {
		return newOrdered(c), nil
	}
	return c, nil
}

// holdsRows reports whether the result has every row, in the order in which they came.
func (c *collect) holdsRows() bool {
	switch c.call.Fn.Name {
	case "array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		return true
	}
	return false
}

func (c *collect) Resize(groups int) { c.rows = grown(c.rows, groups) }

func (c *collect) Update(groups []uint32, args []arrow.Array) error {
	if len(args) == 0 {
		args = []arrow.Array{batch.Nulls(c.layout[0].Arrow(), len(groups))}
	}
	for i, g := range groups {
		if !c.skips(args, i) {
			c.bytes += c.rows[g].Append(1, func(dst []byte) []byte { return c.layout.AppendFrom(dst, args, i) })
		}
	}
	return nil
}

// skips reports whether row i never counts: a NULL argument of all but the aggregates
// that keep NULLs.
func (c *collect) skips(args []arrow.Array, i int) bool {
	if c.machine != nil && !c.machine.Strict {
		return false
	}
	switch c.call.Fn.Name {
	case "array_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg", "rank", "dense_rank", "percent_rank", "cume_dist":
		return false
	case "string_agg":
		return args[0].IsNull(i)
	case "percentile_cont", "percentile_disc", "mode":
		// The ordered argument is the sort key.
		return len(c.order) > 0 && args[len(c.args)].IsNull(i)
	}
	return slices.ContainsFunc(args[:len(c.args)], func(a arrow.Array) bool { return a.IsNull(i) })
}

func (c *collect) Bytes() int64 {
	return c.bytes + int64(cap(c.rows))*int64(unsafe.Sizeof(rowList{}))
}

// values returns the bytes of the values of groups [from, to), how many there are, and the most rows
// of a group.
func (c *collect) values(from, to int) (size, n int64, most int) {
	for i := range c.rows[from:to] {
		r := &c.rows[from+i]
		size, n, most = size+r.Len(), n+int64(r.N*len(c.layout)), max(most, r.N)
	}
	return size - 4*n, n, most
}

// Takes implements Holistic. A batch's rows may share one long string, but each keeps a copy.
func (c *collect) Takes(args []arrow.Array, n int) int64 {
	size := int64(n) * (24 + 32*int64(len(args)))
	for _, a := range args {
		d, ok := a.(*array.Dictionary)
		if !ok {
			size += batch.ArrayBytes(a)
			continue
		}
		s, ok := d.Dictionary().(*array.String)
		for i := range d.Len() {
			if ok && d.IsValid(i) {
				size += int64(s.ValueLen(d.GetValueIndex(i)))
			}
		}
	}
	return size
}

// Need implements Holistic. Strings are written once; what goes through datums and
// Arrow's builders, which double, takes more, and trees of jsonb most.
func (c *collect) Need(from, to int, states bool) int64 {
	size, n, most := c.values(from, to)
	if states {
		return size + 8*n
	}
	var arranged int64 // one group after the other
	if c.sorts() {
		arranged = int64(most) * (24 + 40*int64(len(c.layout)))
	}
	switch c.call.Fn.Name {
	case "string_agg":
		return arranged + size
	case "array_agg":
		return arranged + 3*(size+16*n) // a Growing has datums
	case "json_agg", "json_object_agg":
		return arranged + 8*(size+16*n)
	case "jsonb_agg", "jsonb_object_agg":
		return arranged + 8*size + 320*n
	}
	if c.inner != nil || c.machine != nil {
		return arranged + 3*(size+16*n)
	}
	return arranged
}

// errTooLong returns the error for a value that no column can hold.
func errTooLong(size int64) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "invalid memory alloc request size %d", size)
}

// maxBytes is how long a value, and what is kept of a column's, may be.
const maxBytes = 1<<30 - 1

// States encodes rows one after the other, each value with its length, -1 for
// NULL.
func (c *collect) States(from, to int) (arrow.Array, error) {
	size, n, _ := c.values(from, to)
	if size+4*n > maxBytes {
		return nil, errTooLong(size)
	}
	offs := make([]int32, 1, to-from+1)
	dst := make([]byte, 0, size+4*n)
	for g := from; g < to; g++ {
		for _, b := range c.rows[g].Chunks() {
			dst = append(dst, b...)
		}
		offs = append(offs, int32(len(dst)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offs, dst, nil), nil
}

func (c *collect) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		for b := state; len(b) > 0; {
			row, rest, err := c.layout.Cut(b)
			if err != nil {
				return err
			}
			c.bytes += c.rows[g].Append(1, func(dst []byte) []byte { return append(dst, row...) })
			b = rest
		}
	}
	return nil
}

func (c *collect) Results(from, to int) (arrow.Array, error) {
	switch c.call.Fn.Name {
	case "string_agg":
		return c.stringAggs(from, to)
	case "array_agg":
		return c.arrays(from, to)
	}
	if c.machine != nil {
		return c.machines(from, to)
	}
	return datumColumn(c.call.Typ, from, to, func(g int) (types.Datum, error) {
		f, err := c.folded(g, c.newFold)
		if err != nil {
			return nil, err
		}
		return f.result()
	})
}

// folded returns the fold of group g, after its rows, which begin makes for so many of them.
func (c *collect) folded(g int, begin func(n int64) fold) (fold, error) {
	if !c.sorts() {
		f := begin(int64(c.rows[g].N))
		return f, c.rows[g].Each(c.layout, f.add)
	}
	rows, err := c.arranged(g)
	if err != nil {
		return nil, err
	}
	f := begin(int64(len(rows)))
	for _, row := range rows {
		if err := f.add(row); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// sorts reports whether a group's rows are sorted.
func (c *collect) sorts() bool { return len(c.order) > 0 || c.byValue() }

// byValue reports whether rows are sorted by their arguments, after what the call is ordered by.
func (c *collect) byValue() bool { return c.call.Distinct || c.call.Machine.ByValue() }

// arranged returns the rows of group g sorted and without duplicates, as the call requires.
func (c *collect) arranged(g int) ([]types.Row, error) {
	out := make([]types.Row, 0, c.rows[g].N)
	if err := c.rows[g].Each(c.layout, func(row types.Row) error {
		out = append(out, slices.Clone(row))
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b types.Row) int {
		for k, o := range c.call.OrderBy {
			if x := compareNulls(c.order[k], a[len(c.args)+k], b[len(c.args)+k], o.Desc, o.NullsFirst); x != 0 {
				return x
			}
		}
		if !c.byValue() {
			return 0
		}
		return c.byArgs(a, b)
	})
	if c.call.Distinct {
		out = slices.CompactFunc(out, func(a, b types.Row) bool { return c.byArgs(a, b) == 0 })
	}
	return out, nil
}

// byArgs compares rows by their arguments.
func (c *collect) byArgs(a, b types.Row) int {
	for k, t := range c.args {
		if x := compareNulls(t, a[k], b[k], false, false); x != 0 {
			return x
		}
	}
	return 0
}

func compareNulls(t types.Type, a, b types.Datum, desc, nullsFirst bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		if nullsFirst {
			return -1
		}
		return 1
	case b == nil:
		if nullsFirst {
			return 1
		}
		return -1
	}
	x := types.Compare(t, a, b)
	if desc {
		return -x
	}
	return x
}
