package agg

import (
	"bytes"
	"slices"
	"sync"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/types"
)

// ordered is collect of calls that sort their rows, with DISTINCT or ORDER BY inside, and of those whose result has all
// rows. The rows stay in columns, and a group has the numbers of its rows. So the rows of many groups are sorted at once, by encoded keys as ORDER BY
// sorts, and read column by column. What other nodes and files see of it is collect's.
//
//	chunks   rows of 8,192, in columns          lists   group 0: rows 0, 4, 7     group 1: rows 1, 2 …
type ordered struct {
	*collect
	kept  []int     // the columns of a row that are kept; the others are constants,
	fixed types.Row // whose values are here
	each  int64     // bytes of those in a row of a result
	wide  []int     // of kept: those whose values have lengths of their own

	mu     sync.Mutex // held while the open chunk is closed: several threads may merge from one ordered
	chunks [][]arrow.Array
	open   [][]arrow.Array // parts of the chunk that grows
	opened int             // their rows
	read   []*kernel.Column
	others map[*ordered]int // of those that were merged: the number of their first chunk here

	lists []keyList
	text  []int64 // bytes of a group's values of wide columns
	slab  slab
	held  int64 // bytes of rows, and of lists beside the slab
}

// openParts is how many parts a chunk has before they are joined: each has an array a column.
const openParts = 64

func newOrdered(c *collect) Agg {
	s := &ordered{collect: c, fixed: make(types.Row, len(c.layout)), others: map[*ordered]int{}}
	for k, t := range c.layout {
		if k < len(c.args) {
			if x, ok := c.call.Args[k].(*expr.Const); ok && x.Val != nil {
				s.fixed[k] = x.Val
				s.each += constantBytes(t, x.Val)
				continue
			}
		}
		if _, ok := ElementWidth(t); !ok {
			s.wide = append(s.wide, len(s.kept))
		}
		s.kept = append(s.kept, k)
	}
	return s
}

// constantBytes is what a constant takes as a column's value.
func constantBytes(t types.Type, v types.Datum) int64 {
	if w, ok := ElementWidth(t); ok {
		return w
	}
	if text, ok := v.(string); ok {
		return int64(len(text))
	}
	return types.DatumBytes(v)
}

// ByRow returns a form of a for a group that gets a few rows at a time and is asked for its value between.
func ByRow(a Agg) Agg {
	if s, ok := a.(*ordered); ok && !s.sorts() {
		return s.collect
	}
	return a
}

func (s *ordered) Resize(groups int) {
	s.lists = grown(s.lists, groups)
	if len(s.wide) > 0 {
		s.text = grown(s.text, groups)
	}
}

func (s *ordered) Update(groups []uint32, args []arrow.Array) error {
	rows := make([]int32, 0, min(len(groups), kernel.ChunkRows))
	for i := range groups {
		if !s.skips(args, i) {
			rows = append(rows, int32(i))
		}
		if len(rows) == kernel.ChunkRows || i == len(groups)-1 {
			s.keep(groups, args, rows)
			rows = rows[:0]
		}
	}
	return nil
}

// keep copies rows, at most a chunk, of the columns of a row.
func (s *ordered) keep(groups []uint32, cols []arrow.Array, rows []int32) {
	if len(rows) == 0 {
		return
	}
	part := make([]arrow.Array, len(s.kept))
	for i, k := range s.kept {
		if part[i] = kernel.Flatten(kernel.Take(cols[k], rows)); part[i].DataType().ID() == arrow.NULL {
			part[i] = batch.Nulls(s.layout[k].Arrow(), len(rows))
		}
		s.held += batch.ArrayBytes(part[i])
	}
	if s.opened+len(rows) > kernel.ChunkRows {
		s.close()
	}
	first := kernel.RowID(len(s.chunks), s.opened)
	s.open, s.opened, s.read = append(s.open, part), s.opened+len(rows), nil
	if len(s.open) == openParts {
		s.open = [][]arrow.Array{s.joined()}
	}
	for i, row := range rows {
		s.add(groups[row], uint64(first)+uint64(i))
	}
	for _, w := range s.wide {
		for i, row := range rows {
			s.text[groups[row]] += valueBytes(part[w], i)
		}
	}
}

func (s *ordered) add(g uint32, row uint64) {
	p := &s.lists[g]
	if len(p.last) == cap(p.last) {
		s.held += p.next(&s.slab, 1)
	}
	p.last = append(p.last, row)
}

// valueBytes is what a value of a column without a fixed width takes.
func valueBytes(col arrow.Array, i int) int64 {
	switch a := col.(type) {
	case *array.String:
		return int64(a.ValueLen(i))
	case *array.Binary:
		return int64(a.ValueLen(i))
	}
	return batch.ArrayBytes(col) / int64(col.Len())
}

// joined returns the rows of the open chunk's parts.
func (s *ordered) joined() []arrow.Array {
	if len(s.open) == 1 {
		return s.open[0]
	}
	out, parts := make([]arrow.Array, len(s.kept)), make([]arrow.Array, len(s.open))
	for i, k := range s.kept {
		for j, p := range s.open {
			parts[j] = p[i]
		}
		out[i] = kernel.Concat(s.layout[k].Arrow(), parts)
	}
	return out
}

// close ends the open chunk.
func (s *ordered) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened > 0 {
		s.chunks = append(s.chunks, s.joined())
		s.open, s.opened = nil, 0
	}
}

// MergeFrom implements Merger: the chunks are shared.
func (s *ordered) MergeFrom(groups []uint32, from Agg, ids []uint32) error {
	o := from.(*ordered)
	at, ok := s.others[o]
	if !ok {
		o.close()
		s.close()
		at = len(s.chunks)
		s.chunks, s.read = append(s.chunks, o.chunks...), nil
		s.others[o] = at
	}
	add, rows := uint64(kernel.RowID(at, 0)), 0
	for i, g := range groups {
		if s.text != nil {
			s.text[g] += o.text[ids[i]]
			s.held += o.text[ids[i]]
		}
		o.lists[ids[i]].lists(func(list []uint64) {
			rows += len(list)
			for _, row := range list {
				s.add(g, row+add)
			}
		})
	}
	s.held += s.fixedBytes() * int64(rows)
	return nil
}

// fixedBytes is what a row takes beside the values of wide columns.
func (s *ordered) fixedBytes() (n int64) {
	for _, k := range s.kept {
		w, _ := ElementWidth(s.layout[k])
		n += w
	}
	return n
}

// columns are the rows, to be read by their numbers.
func (s *ordered) columns() []*kernel.Column {
	if s.read != nil {
		return s.read
	}
	s.close()
	s.read = make([]*kernel.Column, len(s.kept))
	for i, k := range s.kept {
		c := kernel.NewColumn(s.layout[k])
		for _, chunk := range s.chunks {
			c.Append(chunk[i])
		}
		c.Finish()
		s.read[i] = c
	}
	return s.read
}

// gather returns columns [from, to) of rows; nil for constants.
func (s *ordered) gather(ids []uint32, from, to int) []arrow.Array {
	out := make([]arrow.Array, to-from)
	cols := s.columns()
	for i, k := range s.kept {
		if k >= from && k < to {
			out[k-from] = cols[i].Gather(ids)
		}
	}
	return out
}

// filled is gather from the first column on, with columns of the constants.
func (s *ordered) filled(ids []uint32, to int) ([]arrow.Array, error) {
	out := s.gather(ids, 0, to)
	for k, col := range out {
		if col != nil {
			continue
		}
		var err error
		if out[k], err = datumColumn(s.layout[k], 0, len(ids), func(int) (types.Datum, error) { return s.fixed[k], nil }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowsOf appends n rows of group g from place at on; all if n is negative.
func (s *ordered) rowsOf(ids []uint32, g, at, n int) []uint32 {
	s.lists[g].lists(func(list []uint64) {
		skip := min(at, len(list))
		at, list = at-skip, list[skip:]
		if n >= 0 {
			list = list[:min(n, len(list))]
			n -= len(list)
		}
		for _, row := range list {
			ids = append(ids, uint32(row))
		}
	})
	return ids
}

// arrange returns the rows of groups [from, to) in order, without duplicates where these do not count, and each
// row's group, counted from from on.
func (s *ordered) arrange(from, to int) (ids, groups []uint32) {
	for g := from; g < to; g++ {
		if ids = s.rowsOf(ids, g, 0, -1); len(ids) > len(groups) {
			for range len(ids) - len(groups) {
				groups = append(groups, uint32(g-from))
			}
		}
	}
	if len(ids) < 2 || !s.sorts() {
		return ids, groups
	}
	numbers := make([]int32, len(ids))
	for i, g := range groups {
		numbers[i] = int32(g)
	}
	specs, cols := []kernel.KeySpec{{Type: types.Int4}}, []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int32, numbers, nil)}
	for _, k := range s.SortKeys() {
		if col := s.gather(ids, k.Col, k.Col+1)[0]; col != nil { // constants are all alike
			specs, cols = append(specs, k.KeySpec), append(cols, col)
		}
	}
	keys := &kernel.Keys{}
	kernel.NewKeyEncoder(specs).Append(keys, cols, len(ids))
	order := kernel.Order(keys, nil)
	sorted, n := make([]uint32, len(ids)), 0
	for i, row := range order {
		if s.call.Distinct && i > 0 && bytes.Equal(keys.At(int(order[i-1])), keys.At(int(row))) {
			continue
		}
		sorted[n], groups[n] = ids[row], uint32(numbers[row])
		n++
	}
	return sorted[:n], groups[:n]
}

func (s *ordered) Results(from, to int) (arrow.Array, error) {
	ids, groups := s.arrange(from, to)
	n := to - from
	switch {
	case s.inner != nil:
		cols, err := s.filled(ids, len(s.args))
		if err != nil {
			return nil, err
		}
		in := s.inner()
		in.Resize(n)
		if err := in.Update(groups, cols); err != nil {
			return nil, err
		}
		return in.Results(0, n)
	case s.call.Fn.Name == "array_agg":
		cols, err := s.filled(ids, 1)
		if err != nil {
			return nil, err
		}
		return s.listed(cols[0], groups, n), nil
	case s.call.Fn.Name == "string_agg":
		return s.texts(s.gather(ids, 0, len(s.args)), groups, n)
	case s.call.Typ.OID == types.JSONOID && s.machine == nil:
		cols, err := s.filled(ids, len(s.args))
		if err != nil {
			return nil, err
		}
		return s.documents(cols, groups, n)
	}
	cols := s.gather(ids, 0, len(s.layout))
	at := 0
	return datumColumn(s.call.Typ, 0, n, func(g int) (types.Datum, error) {
		end := at
		for end < len(groups) && groups[end] == uint32(g) {
			end++
		}
		f := s.newFold(int64(end - at))
		p, some := f.(*percentileFold)
		for ; at < end; at++ {
			if some && p.pass() {
				continue
			}
			row := slices.Clone(s.fixed)
			for k, col := range cols {
				if col != nil {
					row[k] = types.DatumAt(s.layout[k], col, at)
				}
			}
			if err := f.add(row); err != nil {
				return nil, err
			}
		}
		return f.result()
	})
}

// listed makes an array of the rows of each of n groups; NULL of none.
func (s *ordered) listed(col arrow.Array, groups []uint32, n int) arrow.Array {
	offs, valid := make([]int32, n+1), make([]byte, batch.BitmapBytes(n))
	for _, g := range groups {
		offs[g+1]++
	}
	for g := range n {
		if offs[g+1] > 0 {
			batch.SetBit(valid, g)
		}
		offs[g+1] += offs[g]
	}
	return kernel.List(s.call.Typ.Arrow(), offs, kernel.Flatten(col), valid)
}

// texts joins the strings of the rows of each of n groups; NULL of none.
func (s *ordered) texts(cols []arrow.Array, groups []uint32, n int) (arrow.Array, error) {
	value, separator := s.bytesAt(cols, 0), func(int) []byte { return nil }
	if len(cols) > 1 {
		separator = s.bytesAt(cols, 1)
	}
	var size int64
	for i := range groups {
		size += int64(len(value(i)) + len(separator(i)))
	}
	if size > maxBytes {
		return nil, errTooLong(size)
	}
	out, offs, valid := make([]byte, 0, size), make([]int32, 1, n+1), make([]byte, batch.BitmapBytes(n))
	at := 0
	for g := range n {
		for first := true; at < len(groups) && groups[at] == uint32(g); at++ {
			if !first {
				out = append(out, separator(at)...)
			}
			out, first = append(out, value(at)...), false
			batch.SetBit(valid, g)
		}
		offs = append(offs, int32(len(out)))
	}
	return batch.FromOffsets(s.call.Typ.Arrow(), offs, out, valid), nil
}

// bytesAt reads the strings, or bytes, of a column; of NULL they are none.
func (s *ordered) bytesAt(cols []arrow.Array, k int) func(i int) []byte {
	if cols[k] == nil {
		v := appendAny(nil, s.fixed[k])
		return func(int) []byte { return v }
	}
	switch a := kernel.Flatten(cols[k]).(type) {
	case *array.String:
		return func(i int) []byte {
			v := a.Value(i)
			return unsafe.Slice(unsafe.StringData(v), len(v))
		}
	case *array.Binary:
		return a.Value
	}
	return func(int) []byte { return nil }
}

// extent returns how many rows groups [from, to) have, and the bytes of their wide values and constants.
func (s *ordered) extent(from, to int) (rows, size int64) {
	for g := from; g < to; g++ {
		rows += int64(s.lists[g].n())
		if s.text != nil {
			size += s.text[g]
		}
	}
	return rows, size + rows*s.each
}

// Need implements Holistic: rows are gathered, sorted by keys, and gathered again.
func (s *ordered) Need(from, to int, states bool) int64 {
	rows, size := s.extent(from, to)
	fixed := s.fixedBytes()
	if states {
		return 3*size + rows*(2*fixed+32+8*int64(len(s.layout)))
	}
	need := kernel.OrderBytes(int(rows)) + 4*size + rows*(4*fixed+48)
	switch s.call.Fn.Name {
	case "json_agg", "json_object_agg":
		need += 8 * (size + rows*fixed)
	case "jsonb_agg", "jsonb_object_agg":
		need += 8*size + 320*rows
	}
	return need
}

func (s *ordered) Bytes() int64 {
	return int64(cap(s.lists))*int64(unsafe.Sizeof(keyList{})) + 8*int64(cap(s.text)) + s.held + s.slab.bytes
}

// appendRows encodes rows as collect does.
func (s *ordered) appendRows(dst []byte, ids []uint32) ([]byte, error) {
	cols, err := s.filled(ids, len(s.layout))
	if err != nil {
		return nil, err
	}
	for i := range ids {
		dst = s.layout.AppendFrom(dst, cols, i)
	}
	if len(dst) > maxBytes {
		return nil, errTooLong(int64(len(dst)))
	}
	return dst, nil
}

func (s *ordered) States(from, to int) (arrow.Array, error) {
	var ids []uint32
	for g := from; g < to; g++ {
		ids = s.rowsOf(ids, g, 0, -1)
	}
	cols, err := s.filled(ids, len(s.layout))
	if err != nil {
		return nil, err
	}
	offs, at := make([]int32, 1, to-from+1), 0
	var dst []byte
	for g := from; g < to; g++ {
		for end := at + s.lists[g].n(); at < end; at++ {
			dst = s.layout.AppendFrom(dst, cols, at)
		}
		if len(dst) > maxBytes {
			return nil, errTooLong(int64(len(dst)))
		}
		offs = append(offs, int32(len(dst)))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offs, dst, nil), nil
}

// PartialState implements Sortable.
func (s *ordered) PartialState(g, at, size int) ([]byte, int, error) {
	rows, text := s.extent(g, g+1)
	each := int(text/max(rows, 1)) + int(s.fixedBytes()) + 4*len(s.layout)
	n := max(size/each, 1)
	dst, err := s.appendRows(nil, s.rowsOf(nil, g, at, n))
	if at+n >= int(rows) {
		return dst, -1, err
	}
	return dst, at + n, err
}

func (s *ordered) MergeStates(groups []uint32, states *array.Binary) error {
	return s.layout.columns(groups, states, s.Update)
}

var _ Sortable = (*ordered)(nil)
