package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// groupTable maps the key rows of an aggregation to dense group numbers.
//
//	slots[h & mask] = group+1, linear probing
//	hashes[group]   the full hash
//	ids[group]      the row in keys (kernel.RowID) with the group's key
//
// A batch is looked up in two steps: first by hash alone, new groups being
// made where a hash is not there; then the keys of all rows are compared with
// their groups' column by column. The few rows whose hashes collide are looked
// up again one by one.
//
// A table of one integer key begins with a range instead (groupRange), without
// slots and hashes. Batches of small dictionaries find their groups by codes
// (groupCodes).
type groupTable struct {
	types  []types.Type
	keys   []*kernel.Column
	keyB   int64
	slots  []uint32
	hashes []uint64
	ids    []uint32
	aggs   []agg.Agg
	h      *kernel.Hasher
	codes  *groupCodes
	rng    *groupRange
	grant  func(bytes int64) bool // asks for memory that can be done without
	groups []uint32               // scratch: group of each row
	fresh  []int32
	hbuf   []uint64
	rowIDs []uint32
	rows   []int32
	pairs  []int32
}

func newGroupTable(ts []types.Type, h *kernel.Hasher, aggs []agg.Agg) *groupTable {
	t := &groupTable{types: ts, h: h, slots: make([]uint32, 1024), aggs: aggs, rng: newGroupRange(ts)}
	for _, k := range ts {
		t.keys = append(t.keys, kernel.NewColumn(k))
	}
	return t
}

func (t *groupTable) n() int { return len(t.ids) }

// bytes is the memory held.
func (t *groupTable) bytes() int64 {
	n := t.keyB + int64(len(t.slots))*4 + int64(cap(t.hashes))*8 + int64(cap(t.ids))*4
	if t.rng != nil {
		n += int64(len(t.rng.at)) * 4
	}
	for _, a := range t.aggs {
		n += a.Bytes()
	}
	return n
}

// some gives to such that the results of groups [from, to) make no large batch,
// and what making them takes beyond that of plain columns.
func (t *groupTable) some(from, to int, states bool) (int, int64) {
	for {
		var need int64
		for _, a := range t.aggs {
			if h, ok := a.(agg.Heavy); ok {
				need += h.Need(from, to, states)
			}
		}
		if need <= projectBytes || to-from <= 1 {
			return to, need
		}
		to = from + (to-from)/2
	}
}

// find gives the group of each of the n rows of cols, making groups as needed.
// The result is valid until the next call.
func (t *groupTable) find(cols []arrow.Array, n int) []uint32 {
	if t.rng != nil {
		if groups, ok := t.byRange(cols, n); ok {
			return groups
		}
		t.leaveRange()
	}
	t.hbuf = t.h.Hash(cols, n, t.hbuf)
	return t.byHash(cols, t.hbuf, n)
}

// scratch makes room for n rows.
func (t *groupTable) scratch(n int) {
	if cap(t.groups) < n {
		t.groups, t.rows, t.rowIDs, t.pairs = make([]uint32, n), make([]int32, n), make([]uint32, n), make([]int32, n)
		for i := range t.rows {
			t.rows[i] = int32(i)
		}
	}
}

func (t *groupTable) byHash(cols []arrow.Array, hashes []uint64, n int) []uint32 {
	t.scratch(n)
	groups := t.groups[:n]
	if need := (t.n() + n) * 2; need > len(t.slots) {
		t.grow(need)
		t.fill()
	}
	mask := uint64(len(t.slots) - 1)
	fresh := t.fresh[:0]
	for i, h := range hashes[:n] {
		at := h & mask
		for {
			s := t.slots[at]
			if s == 0 {
				t.slots[at] = uint32(len(t.hashes)) + 1
				groups[i] = uint32(len(t.hashes))
				t.hashes = append(t.hashes, h)
				fresh = append(fresh, int32(i))
				break
			}
			if t.hashes[s-1] == h {
				groups[i] = s - 1
				break
			}
			at = (at + 1) & mask
		}
	}
	t.fresh = fresh
	t.addKeys(cols, fresh)
	if len(fresh) == n {
		return groups
	}
	// Compare every row with its group's key.
	ids := t.rowIDs[:n]
	for i, g := range groups {
		ids[i] = t.ids[g]
	}
	pairs := t.pairs[:n]
	copy(pairs, t.rows[:n])
	for k, c := range t.keys {
		pairs = c.Match(cols[k], t.rows[:n], ids, true, pairs)
	}
	if len(pairs) == n {
		return groups
	}
	t.collide(cols, hashes, groups, pairs, n)
	return groups
}

// addKeys keeps the keys of new groups, the rows fresh of cols.
func (t *groupTable) addKeys(cols []arrow.Array, fresh []int32) {
	if len(fresh) == 0 {
		return
	}
	chunk := 0
	for k, c := range t.keys {
		chunk = c.Chunks()
		arr := kernel.Take(cols[k], fresh)
		t.keyB += batch.ArrayBytes(arr)
		c.Append(arr)
	}
	for i := range fresh {
		t.ids = append(t.ids, kernel.RowID(chunk, i))
	}
}

// collide finds the groups of the rows that are not in matched: their hashes
// are those of other keys.
func (t *groupTable) collide(cols []arrow.Array, hashes []uint64, groups []uint32, matched []int32, n int) {
	j := 0
	for i := 0; i < n; i++ {
		if j < len(matched) && int(matched[j]) == i {
			j++
			continue
		}
		mask := uint64(len(t.slots) - 1)
		at := hashes[i] & mask
		for {
			s := t.slots[at]
			if s == 0 {
				if need := (t.n() + 1) * 2; need > len(t.slots) {
					t.grow(need)
					t.fill()
					mask = uint64(len(t.slots) - 1)
					at = hashes[i] & mask
					continue
				}
				t.slots[at] = uint32(len(t.hashes)) + 1
				groups[i] = uint32(len(t.hashes))
				t.hashes = append(t.hashes, hashes[i])
				t.addKeys(cols, []int32{int32(i)})
				break
			}
			if t.hashes[s-1] == hashes[i] && t.same(cols, i, t.ids[s-1]) {
				groups[i] = s - 1
				break
			}
			at = (at + 1) & mask
		}
	}
}

func (t *groupTable) same(cols []arrow.Array, row int, id uint32) bool {
	for k, c := range t.keys {
		if len(c.Match(cols[k], []int32{int32(row)}, []uint32{id}, true, []int32{0})) == 0 {
			return false
		}
	}
	return true
}

func (t *groupTable) grow(need int) {
	size := len(t.slots)
	for size < need {
		size *= 2
	}
	t.slots = make([]uint32, size)
}

// fill puts all groups into empty slots.
func (t *groupTable) fill() {
	mask := uint64(len(t.slots) - 1)
	for g, h := range t.hashes {
		at := h & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(g) + 1
	}
}

// keyColumns gives the keys of groups [from, to).
func (t *groupTable) keyColumns(from, to int) []arrow.Array {
	out := make([]arrow.Array, len(t.keys))
	for k, c := range t.keys {
		out[k] = c.Gather(t.ids[from:to])
	}
	return out
}

// absorb adds the groups list of another table.
func (t *groupTable) absorb(ctx context.Context, o *groupTable, list []uint32) error {
	ids := make([]uint32, 0, kernel.ChunkRows)
	cols := make([]arrow.Array, len(o.keys))
	for from := 0; from < len(list); from += kernel.ChunkRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := list[from:min(from+kernel.ChunkRows, len(list))]
		ids = ids[:0]
		for _, g := range some {
			ids = append(ids, o.ids[g])
		}
		for k, c := range o.keys {
			cols[k] = c.Gather(ids)
		}
		groups := t.find(cols, len(some))
		for i, a := range t.aggs {
			a.Resize(t.n())
			if err := merge(a, groups, o.aggs[i], some); err != nil {
				return err
			}
		}
	}
	return nil
}

// share lists the groups that lane me of n merges: by blocks of the key where
// all tables have ranges, else by hash.
func (t *groupTable) share(me, n uint64) []uint32 {
	list := make([]uint32, 0, len(t.ids)/int(n)+len(t.ids)/8)
	if t.rng == nil {
		for g, h := range t.hashes {
			if (h>>40)%n == me {
				list = append(list, uint32(g))
			}
		}
		return list
	}
	var blocks []uint64
	g := uint32(0)
	for ch := range t.keys[0].Chunks() {
		blocks = blockOf(t.keys[0].Chunk(ch), blocks)
		for _, b := range blocks {
			if b%n == me {
				list = append(list, g)
			}
			g++
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
