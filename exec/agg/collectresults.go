package agg

import (
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// known refuses aggregates that final does not compute.
func (c *collect) known() error {
	if c.call.Fn.Name == "array_agg" && c.args[0].IsArray() {
		return pgerr.Unsupported("arrays of more than one dimension are not supported")
	}
	switch c.call.Fn.Name {
	case "array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg",
		"percentile_cont", "percentile_disc", "mode", "rank", "dense_rank", "percent_rank", "cume_dist", "concordance_index", "concordance_index_ipcw", "ndcg":
		return nil
	}
	return pgerr.Unsupported("aggregate function %s is not supported", c.call.Fn.Name)
}

// fold computes the aggregate of one group from its rows, which come arranged as the call
// asks, one after the other.
type fold interface {
	add(row types.Row) error
	outcome
}

// outcome is what comes of a group's rows.
type outcome interface {
	result() (types.Datum, error)
	// held returns the bytes that it keeps of the rows.
	held() int64
}

// newFold makes the fold of a group of n rows, duplicates not counted where they do not
// count.
func (c *collect) newFold(n int64) fold {
	if c.machine != nil {
		return &machineFold{m: c.machine, args: c.args}
	}
	if c.inner != nil {
		f := &replay{c: c, in: c.inner()}
		f.in.Resize(1)
		return f
	}
	switch c.call.Fn.Name {
	case "array_agg":
		return newListFold(c, int(n))
	case "string_agg":
		return &stringFold{c: c}
	case "json_agg", "jsonb_agg":
		return &jsonFold{c: c}
	case "json_object_agg", "jsonb_object_agg":
		return &jsonObjectFold{c: c}
	case "percentile_cont", "percentile_disc":
		return &percentileFold{c: c, n: n}
	case "mode":
		return &modeFold{c: c}
	case "ndcg":
		return &ndcgFold{}
	case "concordance_index_ipcw":
		return &unoFold{}
	}
	return &rankFold{c: c}
}

// replay feeds the rows to the plain aggregate, some at a time.
type replay struct {
	c    *collect
	in   Agg
	rows []types.Row
}

const replayRows = 1024

func (f *replay) add(row types.Row) error {
	f.rows = append(f.rows, row)
	if len(f.rows) == replayRows {
		return f.flush()
	}
	return nil
}

func (f *replay) flush() error {
	if len(f.rows) == 0 {
		return nil
	}
	cols := make([]arrow.Array, len(f.c.args))
	for k, t := range f.c.args {
		arr, err := datumColumn(t, 0, len(f.rows), func(i int) (types.Datum, error) { return f.rows[i][k], nil })
		if err != nil {
			return err
		}
		cols[k] = arr
	}
	n := len(f.rows)
	f.rows = f.rows[:0]
	return f.in.Update(make([]uint32, n), cols)
}

func (f *replay) result() (types.Datum, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	out, err := f.in.Results(0, 1)
	if err != nil {
		return nil, err
	}
	return types.DatumAt(f.c.call.Typ, out, 0), nil
}

func (f *replay) held() int64 { return f.in.Bytes() }

// listFold is array_agg, of one group after another: the elements are written into Arrow's column, since as
// datums they take up to six times the memory.
type listFold struct {
	c     *collect
	n     int // rows of the group, where that is known
	list  *array.ListBuilder
	some  bool
	width int64 // of an element (ElementWidth)
	fixed bool
	text  int64 // bytes of elements that are not of a fixed width
}

func newListFold(c *collect, n int) *listFold {
	f := &listFold{c: c, n: n, list: array.NewBuilder(memory.DefaultAllocator, c.call.Typ.Arrow()).(*array.ListBuilder)}
	f.width, f.fixed = ElementWidth(c.args[0])
	return f
}

func (f *listFold) add(row types.Row) error {
	if !f.some {
		f.list.Append(true)
	}
	f.some = true
	if !f.fixed {
		f.text += types.DatumBytes(row[0])
	}
	return types.AppendDatum(f.list.ValueBuilder(), f.c.args[0], row[0])
}

// end ends a group, of which NULL is the value if it has no rows.
func (f *listFold) end() {
	if !f.some {
		f.list.AppendNull()
	}
	f.some = false
}

func (f *listFold) column() arrow.Array {
	f.end()
	return f.list.NewArray()
}

func (f *listFold) result() (types.Datum, error) {
	return types.DatumAt(f.c.call.Typ, f.column(), 0), nil
}

// held counts the spare capacity of Arrow's builders, which double.
func (f *listFold) held() int64 {
	return (f.width+1)*int64(f.list.ValueBuilder().Cap()) + 2*f.text
}

// most is what the builders take while they grow for n more elements.
func (f *listFold) most(n int) int64 {
	if b := f.list.ValueBuilder(); b.Len()+n <= b.Cap() {
		return f.held() + f.text
	}
	return 3*f.held() + 64*int64(n)
}

// ElementWidth returns the bytes that each element of an array takes, besides, unless fixed, its own.
func ElementWidth(t types.Type) (bytes int64, fixed bool) {
	if w, ok := t.Arrow().(arrow.FixedWidthDataType); ok {
		return int64(w.BitWidth()+7) / 8, true
	}
	return 8, false
}

// arrays writes the elements of groups [from, to) directly into the result.
func (c *collect) arrays(from, to int) (arrow.Array, error) {
	f := newListFold(c, 0)
	for g := from; g < to; g++ {
		if _, err := c.folded(g, func(int64) fold { return f }); err != nil {
			return nil, err
		}
		f.end()
	}
	return f.list.NewArray(), nil
}

// stringAggs writes the strings of groups [from, to) directly into the result.
func (c *collect) stringAggs(from, to int) (arrow.Array, error) {
	size, _, _ := c.values(from, to)
	if size > maxBytes {
		return nil, errTooLong(size)
	}
	offs := make([]int32, 1, to-from+1)
	f := &stringFold{c: c, out: make([]byte, 0, size)}
	valid := make([]byte, batch.BitmapBytes(to-from))
	for g := from; g < to; g++ {
		f.some = false
		if c.sorts() {
			if _, err := c.folded(g, func(int64) fold { return f }); err != nil {
				return nil, err
			}
		} else if err := f.addList(&c.rows[g]); err != nil {
			return nil, err
		}
		if f.some {
			batch.SetBit(valid, g-from)
		}
		offs = append(offs, int32(len(f.out)))
	}
	return batch.FromOffsets(c.call.Typ.Arrow(), offs, f.out, valid), nil
}

// stringFold is string_agg, of text or bytea.
type stringFold struct {
	c    *collect
	out  []byte
	some bool
}

func (f *stringFold) add(row types.Row) error {
	if f.some && len(f.c.args) > 1 {
		f.out = appendAny(f.out, row[1])
	}
	f.out, f.some = appendAny(f.out, row[0]), true
	if len(f.out) > maxBytes {
		return errTooLong(int64(len(f.out)))
	}
	return nil
}

// addList adds the rows of a list as they came: the binary form of a string is its bytes.
func (f *stringFold) addList(l *rowList) error {
	for _, b := range l.Chunks() {
		for len(b) > 0 {
			v, _, rest, err := rowValue(b)
			var delimiter []byte
			if err == nil && len(f.c.args) > 1 {
				delimiter, _, rest, err = rowValue(rest)
			}
			if err != nil {
				return err
			}
			if f.some {
				f.out = append(f.out, delimiter...)
			}
			f.out, f.some, b = append(f.out, v...), true, rest
		}
	}
	return nil
}

func (f *stringFold) result() (types.Datum, error) {
	switch {
	case !f.some:
		return nil, nil
	case f.c.call.Typ.Form() == types.FormBinary:
		return f.out, nil
	}
	return string(f.out), nil
}

func (f *stringFold) held() int64 { return int64(cap(f.out)) }

func appendAny(dst []byte, d types.Datum) []byte {
	switch v := d.(type) {
	case string:
		return append(dst, v...)
	case []byte:
		return append(dst, v...)
	}
	return dst
}

type jsonFold struct {
	c    *collect
	out  []byte
	some bool
}

func (f *jsonFold) add(row types.Row) (err error) {
	t := f.c.args[0]
	switch {
	case !f.some:
		f.out, f.some = append(f.out, '['), true
	case t.Form() == types.FormNested && row[0] != nil: // as PostgreSQL has it
		f.out = append(f.out, ", \n "...)
	default:
		f.out = append(f.out, ", "...)
	}
	f.out, err = types.AppendJSON(f.out, t, row[0], f.c.env)
	return err
}

func (f *jsonFold) result() (types.Datum, error) {
	if !f.some {
		return nil, nil
	}
	return f.c.json(append(f.out, f.end()...))
}

func (f *jsonFold) held() int64 { return int64(cap(f.out)) }

// json returns text as a value of the result type: jsonb is canonical.
func (c *collect) json(text []byte) (types.Datum, error) {
	if c.call.Typ.OID == types.JSONBOID {
		return types.ParseText(types.JSONB, string(text), c.env)
	}
	return string(text), nil
}

type jsonObjectFold struct {
	c    *collect
	out  []byte
	some bool
}

func (f *jsonObjectFold) add(row types.Row) (err error) {
	if row[0] == nil {
		return pgerr.New(pgerr.NullValueNotAllowed, "field name must not be null")
	}
	if !f.some {
		f.out, f.some = append(f.out, "{ "...), true
	} else {
		f.out = append(f.out, ", "...)
	}
	key := string(types.AppendText(nil, f.c.args[0], row[0], f.c.env))
	if f.out, err = types.AppendJSON(f.out, types.Text, key, f.c.env); err != nil {
		return err
	}
	f.out, err = types.AppendJSON(append(f.out, " : "...), f.c.args[1], row[1], f.c.env)
	return err
}

func (f *jsonObjectFold) result() (types.Datum, error) {
	if !f.some {
		return nil, nil
	}
	return f.c.json(append(f.out, f.end()...))
}

func (f *jsonObjectFold) held() int64 { return int64(cap(f.out)) }

// percentileFold is percentile_cont and percentile_disc, of one fraction or an array of them. The
// first row decides which rows are needed, as the number of rows is known.
type percentileFold struct {
	c         *collect
	n, at     int64
	array     bool
	fractions []types.Datum
	wanted    []int64 // rows, ascending
	values    []types.Datum
}

// pass leaves out the next row, if it is not needed.
func (f *percentileFold) pass() bool {
	k := len(f.values)
	if f.at == 0 || k < len(f.wanted) && f.wanted[k] == f.at {
		return false
	}
	f.at++
	return true
}

func (f *percentileFold) add(row types.Row) error {
	if f.at == 0 {
		f.fractions = []types.Datum{row[0]}
		if arr, ok := row[0].(types.Array); ok {
			f.array, f.fractions = true, arr.Elems
		}
		for _, x := range f.fractions {
			if x == nil {
				continue
			}
			p, ok := x.(float64)
			if !ok {
				return pgerr.Internal("percentile fraction is not float8")
			}
			if err := checkFraction(p); err != nil {
				return err
			}
			lo, hi, _ := f.place(p)
			f.wanted = append(f.wanted, lo, hi)
		}
		slices.Sort(f.wanted)
		f.wanted = slices.Compact(f.wanted)
	}
	if k := len(f.values); k < len(f.wanted) && f.wanted[k] == f.at {
		f.values = append(f.values, row[len(f.c.args)])
	}
	f.at++
	return nil
}

// place returns the two rows between which a fraction lies, and how far after the first.
func (f *percentileFold) place(p float64) (lo, hi int64, frac float64) {
	return percentileAt(p, f.n, f.c.call.Fn.Name == "percentile_cont")
}

func (f *percentileFold) result() (types.Datum, error) {
	if f.at == 0 {
		return nil, nil
	}
	one := func(x types.Datum) (types.Datum, error) {
		p, ok := x.(float64)
		if !ok {
			return nil, nil
		}
		lo, hi, frac := f.place(p)
		i, _ := slices.BinarySearch(f.wanted, lo)
		if lo == hi {
			return f.values[i], nil
		}
		switch a := f.values[i].(type) {
		case float64:
			b := f.values[i+1].(float64)
			return a + frac*(b-a), nil
		case datetime.Interval:
			b := f.values[i+1].(datetime.Interval)
			d, err := datetime.IntervalMul(datetime.Interval{Months: b.Months - a.Months, Days: b.Days - a.Days, Micros: b.Micros - a.Micros}, frac)
			return datetime.Interval{Months: a.Months + d.Months, Days: a.Days + d.Days, Micros: a.Micros + d.Micros}, err
		}
		return nil, pgerr.Internal("percentile_cont of an unexpected type")
	}
	if !f.array {
		return one(f.fractions[0])
	}
	elem, _ := f.c.call.Typ.Elem()
	out := types.Array{Elem: elem, Elems: make([]types.Datum, len(f.fractions))}
	for i, x := range f.fractions {
		v, err := one(x)
		if err != nil {
			return nil, err
		}
		out.Elems[i] = v
	}
	return out, nil
}

func (f *percentileFold) held() int64 { return 48 * int64(len(f.wanted)) }

func checkFraction(p float64) error {
	if p < 0 || p > 1 || math.IsNaN(p) {
		return pgerr.New(pgerr.NumericValueOutOfRange, "percentile value %g is not between 0 and 1", p)
	}
	return nil
}

// modeFold finds the most frequent value, the first in order among equals.
type modeFold struct {
	c       *collect
	value   types.Datum // of the rows that came last, of which there are n
	best    types.Datum
	n, most int64
}

func (f *modeFold) add(row types.Row) error {
	v := row[len(f.c.args)]
	if f.n == 0 || types.Compare(f.c.order[0], f.value, v) != 0 {
		f.value, f.n = v, 0
	}
	if f.n++; f.n > f.most {
		f.most, f.best = f.n, f.value
	}
	return nil
}

func (f *modeFold) result() (types.Datum, error) { return f.best, nil }
func (f *modeFold) held() int64                  { return types.DatumBytes(f.value) + types.DatumBytes(f.best) }

// rankFold is the rank that the direct arguments would have among the rows.
type rankFold struct {
	c                        *collect
	n, less, equal, distinct int64
	last                     types.Row // of the rows that are less
}

func (f *rankFold) add(row types.Row) error {
	c, x := f.c, 0
	for k, o := range c.call.OrderBy {
		if x = compareNulls(c.order[k], row[len(c.args)+k], row[k], o.Desc, o.NullsFirst); x != 0 {
			break
		}
	}
	f.n++
	switch {
	case x < 0:
		f.less++
		same := f.last != nil
		for k := 0; k < len(c.order) && same; k++ {
			same = compareNulls(c.order[k], row[len(c.args)+k], f.last[len(c.args)+k], false, false) == 0
		}
		if !same {
			f.distinct++
		}
		f.last = row
	case x == 0:
		f.equal++
	}
	return nil
}

func (f *rankFold) result() (types.Datum, error) {
	switch f.c.call.Fn.Name {
	case "dense_rank":
		return f.distinct + 1, nil
	case "percent_rank":
		if f.n == 0 {
			return 0.0, nil
		}
		return float64(f.less) / float64(f.n), nil
	case "cume_dist":
		return float64(f.less+f.equal+1) / float64(f.n+1), nil
	}
	return f.less + 1, nil
}

func (f *rankFold) held() int64 { return 0 }
