package aggregate

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/lookup"
	"github.com/tributarydb/tributary/sql/types"
)

// groupTable maps the key rows of an aggregation to dense group numbers.
//
//	slots[h & mask] = group+1, linear probing
//	words           the groups' keys, packed (kernel.Packer)
//	hashes[group]   the full hash
//
// A row's key is a few words, so a look-up reads a slot and the words of the
// group it names, however many keys there are.
//
// A table of one integer key, or of several, begins with a range instead (groupRange), without
// slots and hashes. One of one key that the packer numbers goes by its numbers, without
// slots; of texts, the longer ones are numbered. Keys with dictionaries find their groups by codes, rows one
// by one (groupDict) or, where there are few codes, as lists (groupCodes).
type groupTable struct {
	types  []types.Type
	pack   *kernel.Packer
	width  int // words of a row
	count  int
	words  []uint64
	hashes []uint64
	slots  []uint32
	// numbers are, where the only key is numbered by the packer, group+1 by its number. mixed: some rows'
	// keys are, as texts that are not short.
	numbers []uint32
	mixed   bool
	aggs    []agg.Agg
	codes   *groupCodes
	dict    *groupDict
	rng     *groupRange
	covered bool                   // the range holds the keys that are looked for next
	layouts *codeLayouts           // of the codes of several keys that rng is of
	layout  codeLayout             // the newest that the table knows
	values  *groupValues           // nil: the packed keys say all
	grant   func(bytes int64) bool // reserves optional memory

	groups  []uint32 // scratch: group of each row
	fresh   []int32
	coded   []int64 // codes of the rows of several keys
	spans   []codeSpan
	rows    []uint64
	hbuf    []uint64
	misses  []int32  // rows whose groups are not there
	moved   []uint64 // rows of another table,
	movedBy []uint64 // and their hashes
}

func newGroupTable(ts []types.Type, aggs []agg.Agg) *groupTable {
	t := &groupTable{types: ts, pack: kernel.NewPacker(ts), slots: make([]uint32, 1024), aggs: aggs, rng: newGroupRange(ts), values: newGroupValues(ts)}
	t.width = t.pack.Words()
	if t.pack.Numbers() {
		t.slots, t.numbers = nil, make([]uint32, 64)
	} else if t.pack.Inlines() {
		t.numbers, t.mixed = make([]uint32, 64), true
	}
	return t
}

func (t *groupTable) n() int { return t.count }

// hashed reports whether groups are found by hash.
func (t *groupTable) hashed() bool { return t.rng == nil && (t.numbers == nil || t.mixed) }

// numbered reports whether a row's group is found by its number.
func (t *groupTable) numbered(row []uint64) bool {
	return t.mixed && t.numbers != nil && row[1] == kernel.Numbered
}

// bytes is the memory held.
func (t *groupTable) bytes() int64 {
	n := t.pack.Bytes() + t.values.held() + t.dict.held() + t.rng.bytes() + 8*int64(cap(t.hashes)+cap(t.words)) + 4*int64(len(t.slots)+cap(t.numbers))
	for _, a := range t.aggs {
		n += a.Bytes()
	}
	return n
}

// some returns an end, at most limit, such that the results of groups from there take no more than
// most bytes beyond plain columns, unless it is one group, and the bytes that computing them takes.
// Their size is found by going over their rows: it begins with one group and doubles, so that each
// is gone over a few times. To begin with all and halve is quadratic where a group is as large as
// what is written at once: 5,000 groups of 400 texts each took minutes.
func (t *groupTable) some(from, limit int, states bool, most int64) (to int, need int64) {
	to = min(from+1, limit)
	need = t.need(from, to, states)
	for to < limit {
		next := min(from+2*(to-from), limit)
		n := t.need(from, next, states)
		if n > most {
			break
		}
		to, need = next, n
	}
	return to, need
}

// need is what making the results of groups, or their states, takes beyond plain columns.
func (t *groupTable) need(from, to int, states bool) (need int64) {
	for _, a := range t.aggs {
		if h, ok := a.(agg.Holistic); ok {
			need += h.Need(from, to, states)
		}
	}
	return need
}

// find returns the group of each of the n rows of cols, making groups as needed.
// The result is valid until the next call.
func (t *groupTable) find(cols []arrow.Array, n int) []uint32 {
	if t.rng != nil {
		if t.covered || t.cover(cols) {
			t.covered = false
			return t.byRange(cols)
		}
		t.leaveRange()
	}
	if groups, ok := t.byDict(cols, n); ok {
		return groups
	}
	return t.look(cols, n)
}

// look is find without the help of ranges and dictionaries.
func (t *groupTable) look(cols []arrow.Array, n int) []uint32 {
	t.rows, t.hbuf = t.pack.Pack(cols, n, t.rows, t.hbuf)
	groups := t.put(t.rows, t.hbuf)
	t.values.add(groups, func(k int, rows []int32) arrow.Array { return kernel.Take(cols[k], rows) })
	return groups
}

// put is find for packed rows, whose hashes are known.
func (t *groupTable) put(rows, hashes []uint64) []uint32 {
	n := len(hashes)
	groups := t.room(n)
	if need := (t.count + n) * 2; need > len(t.slots) && t.hashed() {
		t.grow(need)
	}
	t.words, t.hashes = doubled(t.words, n*t.width), doubled(t.hashes, n)
	if !t.hashed() {
		t.putNumbers(rows, hashes, groups)
	} else {
		t.putHashed(rows, hashes, groups)
	}
	return groups
}

// room is where the groups of n rows are written.
func (t *groupTable) room(n int) []uint32 {
	if cap(t.groups) < n {
		t.groups = make([]uint32, n)
	}
	return t.groups[:n]
}

func (t *groupTable) putNumbers(rows, hashes []uint64, groups []uint32) {
	for i := range rows {
		groups[i] = t.byNumber(rows[i:i+1], hashes[i])
	}
}

// byNumber returns the group of a row by its number, its first word.
func (t *groupTable) byNumber(row []uint64, h uint64) uint32 {
	c := row[0]
	if c >= uint64(len(t.numbers)) {
		t.numbers = append(t.numbers, make([]uint32, int(c)+1)...)
		t.numbers = t.numbers[:cap(t.numbers)]
	}
	g := t.numbers[c]
	if g == 0 {
		g = t.add(row, h)
		t.numbers[c] = g
	}
	return g - 1
}

// putHashed looks rows up in two steps: first those of groups that are there and in
// their first slots, then the others. There is room for their groups.
func (t *groupTable) putHashed(rows, hashes []uint64, groups []uint32) {
	misses := t.firstSlots(rows, hashes, groups)
	slots, mask, w := t.slots, uint64(len(t.slots)-1), t.width
	for _, i := range misses {
		h, row := hashes[i], rows[int(i)*w:][:w]
		if t.numbered(row) {
			groups[i] = t.byNumber(row, h)
			continue
		}
		at := h & mask
		s := slots[at]
		if s != 0 {
			at, s = t.slot(row, at)
		}
		if s == 0 {
			s = t.add(row, h)
			slots[at] = s
		}
		groups[i] = s - 1
	}
}

// slot returns the first slot from `at` on that has a row or is empty, and what it has.
func (t *groupTable) slot(row []uint64, at uint64) (uint64, uint32) {
	slots, words, w := t.slots, t.words, uint64(t.width)
	for mask := uint64(len(slots) - 1); ; at = (at + 1) & mask {
		s := slots[at]
		if s == 0 {
			return at, 0
		}
		differ, key := uint64(0), words[uint64(s-1)*w:]
		for k, x := range row {
			differ |= x ^ key[k]
		}
		if differ == 0 {
			return at, s
		}
	}
}

// firstSlots finds the groups of rows in their first slots, which are nearly all where groups repeat. It
// returns the other rows.
func (t *groupTable) firstSlots(rows, hashes []uint64, groups []uint32) []int32 {
	misses := missed(t, len(hashes))
	if t.count > 0 {
		return lookUps(t).First(rows, hashes, groups, misses)
	}
	return allMissed(misses[:len(hashes)])
}

// lookUps is the table as rows are looked up in it.
func lookUps(t *groupTable) lookup.Groups {
	return lookup.Groups{Slots: t.slots, Words: t.words, Width: t.width}
}

// missed is where n rows whose groups are not found are written.
func missed(t *groupTable, n int) []int32 {
	if cap(t.misses) < n+lookup.Slack {
		t.misses = make([]int32, n+lookup.Slack)
	}
	return t.misses[:n+lookup.Slack]
}

func allMissed(misses []int32) []int32 {
	for i := range misses {
		misses[i] = int32(i)
	}
	return misses
}

// known writes the groups of those rows that have one, in any order, and returns them and the other rows.
func (t *groupTable) known(rows, hashes []uint64, groups []uint32) ([]uint32, []int32) {
	misses := missed(t, len(hashes))
	if t.count == 0 {
		return groups[:0], allMissed(misses[:len(hashes)])
	}
	misses = lookUps(t).Known(rows, hashes, groups, misses)
	mask, w, n, found := uint64(len(t.slots)-1), t.width, 0, len(hashes)-len(misses)
	for _, i := range misses {
		row, s := rows[int(i)*w:][:w], uint32(0)
		if !t.numbered(row) {
			_, s = t.slot(row, hashes[i]&mask)
		} else if c := row[0]; c < uint64(len(t.numbers)) {
			s = t.numbers[c]
		}
		if s == 0 {
			misses[n] = i
			n++
		} else {
			groups[found] = s - 1
			found++
		}
	}
	return groups[:found], misses[:n]
}

// doubled grows s by doubling for n more. Append alone would grow large slices by a quarter, and
// copy each group four times.
func doubled(s []uint64, n int) []uint64 {
	if cap(s)-len(s) >= n {
		return s
	}
	return slices.Grow(s, max(len(s), n))
}

// add makes a group, for which there is room, and returns its number + 1.
func (t *groupTable) add(row []uint64, h uint64) uint32 {
	at, n := len(t.words), len(t.hashes)
	t.words, t.hashes = t.words[:at+len(row)], t.hashes[:n+1]
	for k, x := range row { // a few words: to call for a copy takes longer
		t.words[at+k] = x
	}
	t.hashes[n] = h
	t.count++
	return uint32(t.count)
}

// addKeys keeps the keys of new groups, the rows fresh of cols, of a table with
// a range.
func (t *groupTable) addKeys(cols []arrow.Array, fresh []int32) {
	if len(fresh) == 0 {
		return
	}
	if len(fresh) < cols[0].Len() {
		some := make([]arrow.Array, len(cols))
		for k, c := range cols {
			some[k] = kernel.Take(c, fresh)
		}
		cols = some
	}
	t.rows = t.pack.PackFixed(cols, len(fresh), t.rows)
	t.words = append(doubled(t.words, len(t.rows)), t.rows...)
	t.count += len(fresh)
}

// alone makes the one group of a table without keys.
func (t *groupTable) alone() {
	t.hashes, t.count = append(t.hashes, 0), 1
}

// reserve makes room for n groups.
func (t *groupTable) reserve(n int) {
	if t.hashed() && 2*n > len(t.slots) {
		t.grow(2 * n)
	}
	t.words, t.hashes = slices.Grow(t.words, n*t.width), slices.Grow(t.hashes, n)
}

// maxLeap is how many slots there are at most for a table to grow fourfold: filling new slots costs
// as much as a look-up of every group.
const maxLeap = 1 << 20

func (t *groupTable) grow(need int) {
	size := len(t.slots)
	for size < need {
		size *= 2
	}
	if size <= maxLeap/2 {
		size *= 2
	}
	t.slots = kernel.Fresh[uint32](size, size)
	t.fill()
}

// fill puts all groups into empty slots.
func (t *groupTable) fill() {
	mask := uint64(len(t.slots) - 1)
	for g, h := range t.hashes {
		if t.mixed && t.numbered(t.words[g*t.width:]) {
			continue
		}
		at := h & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(g + 1)
	}
}

// keyColumns returns the keys of groups [from, to).
func (t *groupTable) keyColumns(from, to int) []arrow.Array {
	out := make([]arrow.Array, len(t.types))
	for k := range out {
		out[k] = t.keyColumn(k, from, to)
	}
	return out
}

func (t *groupTable) keyColumn(k, from, to int) arrow.Array {
	if t.values.of(k) < 0 {
		return t.pack.Unpack(k, t.words[from*t.width:to*t.width])
	}
	list := make([]uint32, to-from)
	for i := range list {
		list[i] = uint32(from + i)
	}
	return t.keysOf(k, list)
}

// keysOf returns key k of some groups.
func (t *groupTable) keysOf(k int, list []uint32) arrow.Array {
	i := t.values.of(k)
	if i < 0 {
		return t.pack.Unpack(k, t.picked(list, nil))
	}
	ids := make([]uint32, len(list))
	for j, g := range list {
		ids[j] = t.values.ids[g]
		if t.pack.Null(k, t.words[int(g)*t.width:(int(g)+1)*t.width]) { // a grouping set without it has
			ids[j] = kernel.NoRow
		}
	}
	return t.values.cols[i].Gather(ids)
}

// picked returns the packed rows of some groups.
func (t *groupTable) picked(list []uint32, out []uint64) []uint64 {
	out = slices.Grow(out[:0], len(list)*t.width)
	for _, g := range list {
		out = append(out, t.words[int(g)*t.width:(int(g)+1)*t.width]...)
	}
	return out
}

// absorb adds the groups list of another table.
func (t *groupTable) absorb(ctx context.Context, o *groupTable, list []uint32) error {
	if t.rng != nil && o.rng == nil {
		t.leaveRange()
	}
	if t.count == 0 {
		t.reserve(len(list))
		for _, a := range t.aggs {
			a.Resize(len(list))
		}
	}
	rows, hashes, keys := t.moved, t.movedBy, make([]arrow.Array, len(t.types))
	for from := 0; from < len(list); from += kernel.ChunkRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := list[from:min(from+kernel.ChunkRows, len(list))]
		rows = o.picked(some, rows)
		var groups []uint32
		if t.rng != nil {
			for k := range keys {
				keys[k] = o.pack.Unpack(k, rows)
			}
			groups = t.find(keys, len(some))
		} else {
			if hashes = hashes[:0]; o.rng == nil {
				for _, g := range some {
					hashes = append(hashes, o.hashes[g])
				}
			} else {
				hashes = o.pack.Hash(rows, hashes)
			}
			if t.pack != o.pack {
				t.pack.Translate(o.pack, rows)
			}
			groups = t.put(rows, hashes)
			t.values.add(groups, o.values.from(some))
		}
		for i, a := range t.aggs {
			a.Resize(t.n())
			if err := merge(a, groups, o.aggs[i], some); err != nil {
				return err
			}
		}
	}
	t.moved, t.movedBy = rows, hashes
	return nil
}

// share lists the groups that thread me of n merges: where all tables have ranges by
// blocks of the key, those that are shared, else by hash.
func (t *groupTable) share(me, n uint64, shared *sharedBlocks) []uint32 {
	if t.rng != nil {
		return t.rng.merged(me, n, shared)
	}
	list := make([]uint32, 0, t.count/int(n)+t.count/8)
	for g, h := range t.hashes {
		if (h>>40)%n == me {
			list = append(list, uint32(g))
		}
	}
	return list
}

// merge adds the states ids of from to groups of a.
func merge(a agg.Agg, groups []uint32, from agg.Agg, ids []uint32) error {
	if m, ok := a.(agg.Merger); ok {
		return m.MergeFrom(groups, from, ids)
	}
	for i, g := range ids {
		st, err := from.States(int(g), int(g)+1)
		if err != nil {
			return err
		}
		if err := a.MergeStates(groups[i:i+1], st.(*array.Binary)); err != nil {
			return err
		}
	}
	return nil
}
