package kernel

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// interner numbers the different values of a column, from 1; NULL is 0.
//
//	slots[h & mask] = upper half of h | number, linear probing
//
// Short strings are compared as they are looked up. Of other values a batch is looked up in two
// steps: first by hash alone, new values being numbered where a hash is not there; then all rows
// are compared with their values at once. The few whose hashes collide are looked up one by one.
// The numbers of a dictionary's values are kept while batches have the same dictionary.
type interner struct {
	typ    types.Type
	col    *Column
	ids    []uint32 // row in col, by number - 1
	hashes []uint64
	slots  []uint64
	texts  bool        // strings that are equal as their bytes are
	short  []shortText // by number - 1; nil: none of them is short
	bytes  int64

	dict  *array.Data
	known []uint32 // number by the dictionary's index; 0: not looked up
	seen  DictRows // of a dictionary that is too large for them so far

	rows, pairs []int32
	at          []uint32
	fresh       []int32
	probes      []uint64
	misses      []int32
}

func newInterner(t types.Type) *interner {
	in := &interner{typ: t, col: NewColumn(t), slots: make([]uint64, 64)}
	in.texts = in.col.lay == layVar && t.EqualIsSame()
	return in
}

func (in *interner) held() int64 {
	scratch := cap(in.rows) + cap(in.pairs) + cap(in.at) + cap(in.fresh) + 2*cap(in.probes) + cap(in.misses)
	return in.bytes + 4*int64(cap(in.ids)+cap(in.known)+scratch) + 8*int64(cap(in.hashes)+len(in.slots)) + 16*int64(cap(in.short)) + 128*int64(in.col.Chunks())
}

// encode computes the numbers of the values of arr, which is column i of h, into codes, and their
// hashes.
func (in *interner) encode(h *Hasher, i int, arr arrow.Array, hashes []uint64, codes []uint32) {
	if arr.DataType().ID() == arrow.NULL {
		clear(codes)
		for j := range hashes {
			hashes[j] = hashNull
		}
		return
	}
	if d, ok := arr.(*array.Dictionary); ok && in.use(dictOf(d), len(codes)) {
		in.byIndex(h, i, d, hashes, codes)
		return
	}
	h.column(i, arr, hashes)
	in.intern(arr, allRows[:min(len(codes), ChunkRows)], hashes, codes)
}

// use prepares known for a dictionary. It returns false for one so large beside the rows of it so far
// that clearing known costs more than looking them up, unless it is the same as the last.
func (in *interner) use(dict *array.Data, n int) bool {
	if dict == nil {
		return false
	}
	if in.dict != dict {
		if dict.Len() > 16*in.seen.Add(dict, n) {
			return false
		}
		in.dict, in.known = dict, make([]uint32, dict.Len())
	}
	return true
}

func (in *interner) byIndex(h *Hasher, i int, d *array.Dictionary, hashes []uint64, codes []uint32) {
	index := values[int32](d.Data())
	bm, off := valid(d)
	var unknown []int32
	for j, k := range index {
		if bm != nil && !batch.Bit(bm, off+j) {
			continue
		}
		if in.known[k] == 0 {
			in.known[k] = ^uint32(0)
			unknown = append(unknown, k)
		}
	}
	if len(unknown) > 0 {
		vals := Take(array.MakeFromData(in.dict), unknown)
		hs, cs := make([]uint64, len(unknown)), make([]uint32, len(unknown))
		for from := 0; from < len(unknown); from += ChunkRows {
			to := min(from+ChunkRows, len(unknown))
			some := array.NewSlice(vals, int64(from), int64(to))
			hashArray(h, -1, in.typ, some, hs[from:to])
			in.intern(some, allRows[:to-from], hs[from:to], cs[from:to])
		}
		for j, k := range unknown {
			in.known[k] = cs[j]
		}
	}
	for j, k := range index {
		if bm != nil && !batch.Bit(bm, off+j) {
			codes[j], hashes[j] = 0, hashNull
			continue
		}
		c := in.known[k]
		codes[j], hashes[j] = c, hashNull
		if c != 0 {
			hashes[j] = in.hashes[c-1]
		}
	}
}

// intern numbers those of the rows of arr, whose hashes are known. Of more than a chunk it is all rows.
func (in *interner) intern(arr arrow.Array, misses []int32, hashes []uint64, codes []uint32) {
	n := len(codes)
	for n > ChunkRows {
		in.intern(array.NewSlice(arr, 0, ChunkRows), allRows, hashes[:ChunkRows], codes[:ChunkRows])
		arr, hashes, codes, n = array.NewSlice(arr, ChunkRows, int64(n)), hashes[ChunkRows:], codes[ChunkRows:], n-ChunkRows
		misses = allRows[:min(n, ChunkRows)]
	}
	in.room(len(misses))
	var strs texts
	if in.texts {
		strs, _ = textsOf(arr) // an array of strings is one or the other
	}
	bm, off := valid(arr)
	mask := uint64(len(in.slots) - 1)
	rows, fresh := in.rows[:0], in.fresh[:0]
	if in.texts && bm == nil {
		misses = in.hits(&strs, hashes, codes)
	}
	for _, i := range misses {
		if bm != nil && !batch.Bit(bm, off+int(i)) {
			codes[i] = 0
			continue
		}
		h := hashes[i]
		key, short := longText, false
		if in.texts {
			key, short = strs.short(int(i))
		}
		at := h & mask
		s := in.slots[at]
		for s != 0 && (s>>32 != h>>32 || short && in.short == nil || in.short != nil && in.short[uint32(s)-1] != key) {
			at = (at + 1) & mask
			s = in.slots[at]
		}
		if s == 0 {
			fresh = append(fresh, i)
			codes[i] = in.number(h, key)
			in.slots[at] = h>>32<<32 | uint64(codes[i])
			continue
		}
		codes[i] = uint32(s)
		if !short {
			rows = append(rows, i)
		}
	}
	in.rows, in.fresh = rows, fresh
	in.add(arr, fresh)
	if len(rows) == 0 {
		return
	}
	in.at = grow(in.at, n)
	for _, r := range rows {
		in.at[r] = in.ids[codes[r]-1]
	}
	in.pairs = append(in.pairs[:0], rows...)
	matched := in.col.Match(arr, allRows[:n], in.at[:n], true, in.pairs)
	if len(matched) == len(rows) {
		return
	}
	j := 0
	for _, r := range rows {
		if j < len(matched) && matched[j] == r {
			j++
			continue
		}
		codes[r] = in.one(arr, r, hashes[r])
	}
}

// hits numbers the rows whose short strings are found in one of their first two slots, and returns
// the others: of known strings, nearly none. Slots, strings and misses have a loop each without a
// branch on what was read, so that reads overlap. The second slot is tried only where most strings
// were found.
func (in *interner) hits(strs *texts, hashes []uint64, codes []uint32) []int32 {
	known, slots, mask := in.short, in.slots, uint64(len(in.slots)-1)
	rows := allRows[:len(codes)]
	if len(known) == 0 {
		return rows
	}
	in.probes, in.misses = grow(in.probes, len(rows)), grow(in.misses, len(rows))
	for step := uint64(0); step < 2 && len(rows) > 0; step++ {
		probes, misses := in.probes[:len(rows)], in.misses[:len(rows)]
		for j, i := range rows {
			probes[j] = slots[(hashes[i]+step)&mask]
		}
		n := 0
		for j, i := range rows {
			key, short := strs.short(int(i))
			c := uint32(probes[j])
			codes[i], misses[n] = c, i
			// An empty slot reads the first string, which cannot be equal: its own slot would come before.
			k := &known[max(c, 1)-1]
			differ := (k.lo ^ key.lo) | (k.hi ^ key.hi)
			if !short {
				differ = 1
			}
			if differ != 0 {
				n++
			}
		}
		if rows = misses[:n]; 2*n > len(codes) {
			break
		}
	}
	return rows
}

// number assigns the next number to a new value.
func (in *interner) number(h uint64, key shortText) uint32 {
	in.hashes = append(in.hashes, h)
	if in.short == nil && key != longText {
		in.short = make([]shortText, len(in.hashes)-1, cap(in.hashes))
		for i := range in.short {
			in.short[i] = longText
		}
	}
	if in.short != nil {
		in.short = append(in.short, key)
	}
	return uint32(len(in.hashes))
}

// sparseSlots is up to how many slots at most a quarter is taken.
const sparseSlots = 1 << 20

// room makes sure that n more values find free slots. At most a quarter of them is taken, so that
// nearly all values are in their first: another costs a mispredicted branch, which waits for
// memory. Of many slots it is a half: clearing them, and the groups that find no room beside them,
// cost more.
func (in *interner) room(n int) {
	need := 4 * (len(in.hashes) + n)
	if need > sparseSlots {
		need = max(need/2, sparseSlots)
	}
	if need <= len(in.slots) {
		return
	}
	size := len(in.slots)
	for size < need {
		size *= 2
	}
	in.slots = Fresh[uint64](size, size)
	mask := uint64(size - 1)
	for i, h := range in.hashes {
		at := h & mask
		for in.slots[at] != 0 {
			at = (at + 1) & mask
		}
		in.slots[at] = h>>32<<32 | uint64(i+1)
	}
}

// add keeps the values of the rows fresh.
func (in *interner) add(arr arrow.Array, fresh []int32) {
	if len(fresh) == 0 {
		return
	}
	chunk := in.col.Chunks()
	vals := Take(arr, fresh)
	in.bytes += batch.ArrayBytes(vals)
	in.col.Append(vals)
	for i := range fresh {
		in.ids = append(in.ids, RowID(chunk, i))
	}
}

// one numbers a row whose hash's upper half equals that of another value.
func (in *interner) one(arr arrow.Array, row int32, h uint64) uint32 {
	in.room(1)
	mask := uint64(len(in.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		s := in.slots[at]
		if s == 0 {
			c := in.number(h, longText)
			in.slots[at] = h>>32<<32 | uint64(c)
			in.add(arr, []int32{row})
			return c
		}
		if c := uint32(s); s>>32 == h>>32 && len(in.col.Match(arr, []int32{row}, []uint32{in.ids[c-1]}, true, []int32{0})) > 0 {
			return c
		}
	}
}

// translate returns this interner's numbers of all values of another, by its numbers.
func (in *interner) translate(o *interner) []uint32 {
	out := make([]uint32, len(o.ids)+1)
	for from := 0; from < len(o.ids); from += ChunkRows {
		to := min(from+ChunkRows, len(o.ids))
		in.intern(o.col.Gather(o.ids[from:to]), allRows[:to-from], o.hashes[from:to], out[from+1:to+1])
	}
	return out
}
