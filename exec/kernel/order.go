package kernel

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// item is a row with 12 bytes of its key, as numbers.
type item struct {
	hi  uint64
	lo  uint32
	row uint32
}

// before reports whether the bytes of i that are loaded come before those of o.
func (i *item) before(o *item) bool { return i.hi < o.hi || i.hi == o.hi && i.lo < o.lo }

// itemBytes is the memory Order takes for a row: two items.
const itemBytes = 32

// OrderBytes returns the memory that Order of n rows needs beside its keys.
func OrderBytes(n int) int64 { return int64(n) * itemBytes }

const (
	prefixBytes = 12
	radixMin    = 192 // below it comparing is faster than counting
	insertMost  = 24  // so many rows are sorted by insertion
)

// Order returns the row numbers of k sorted by key, equal keys in order of row. ids, if not nil,
// holds what to return instead of a row's number.
//
// Rows are sorted by 12 bytes of their keys at a time. Of keys of one width these are the first bytes in which
// keys differ: numbers have many that are the same in all. Of these, only so many are counted as tell most rows apart; the
// few rows that are equal in them are compared (orderitems.go).
func Order(k *Keys, ids []uint32) []uint32 {
	var o Orderer
	return o.Order(k, ids)
}

// Orderer is Order, again and again in the same memory.
type Orderer struct {
	items, tmp []item
	out        []uint32
}

// Order returns what is valid until the next call.
func (o *Orderer) Order(k *Keys, ids []uint32) []uint32 {
	if cap(o.out) < k.N {
		o.items, o.tmp, o.out = make([]item, k.N), make([]item, k.N), make([]uint32, k.N)
	}
	items, out := o.items[:k.N], o.out[:k.N]
	for i := range items {
		items[i].row = uint32(i)
	}
	items = sortItems(k, items, o.tmp[:k.N], 0)
	for i, it := range items {
		if ids != nil {
			out[i] = ids[it.row]
		} else {
			out[i] = it.row
		}
	}
	return out
}

// sortItems sorts items, which are in order of row and whose keys are the same up to byte depth; tmp is as long. It returns
// the one of both that has them in order.
func sortItems(k *Keys, items, tmp []item, depth int) []item {
	end := depth + prefixBytes // of the bytes that are loaded
	if k.Width > 0 && len(items) >= radixMin {
		if end = loadVarying(k, items, depth); end == depth {
			return items // they are all equal
		}
	} else {
		load(k, items, depth)
	}
	if len(items) < radixMin {
		compareItems(k, items, end)
		return items
	}
	items, tmp = radix(items, tmp)
	if k.Width > 0 && k.Width <= end {
		return items
	}
	for i := 0; i < len(items); {
		j := i + 1
		for j < len(items) && items[j].hi == items[i].hi && items[j].lo == items[i].lo {
			j++
		}
		// Equal so far. They are equal to the end if the first of them ends here.
		if j-i > 1 && len(k.At(int(items[i].row))) > end {
			settle(items[i:j], sortItems(k, items[i:j], tmp[i:j], end))
		}
		i = j
	}
	return items
}

// settle copies items to their place where they are in order elsewhere.
func settle(place, items []item) {
	if &place[0] != &items[0] {
		copy(place, items)
	}
}

// compareItems sorts few items, of which the bytes before end are loaded; by these alone if k is nil.
func compareItems(k *Keys, items []item, end int) {
	slices.SortFunc(items, func(a, b item) int {
		switch {
		case a.before(&b):
			return -1
		case b.before(&a):
			return 1
		}
		if k != nil && (k.Width == 0 || k.Width > end) {
			if c := bytes.Compare(rest(k, a, end), rest(k, b, end)); c != 0 {
				return c
			}
		}
		return int(a.row) - int(b.row)
	})
}

func rest(k *Keys, it item, end int) []byte {
	b := k.At(int(it.row))
	return b[min(len(b), end):]
}

// load fills the prefixes from byte depth of the keys on. Bytes past a key's end read as 0, which
// is correct since no key is another's prefix.
func load(k *Keys, items []item, depth int) {
	var pad [prefixBytes]byte
	for i := range items {
		b := k.At(int(items[i].row))
		if len(b) > depth {
			b = b[depth:]
		} else {
			b = nil
		}
		if len(b) < prefixBytes {
			clear(pad[copy(pad[:], b):])
			b = pad[:]
		}
		items[i].hi = binary.BigEndian.Uint64(b)
		items[i].lo = binary.BigEndian.Uint32(b[8:])
	}
}
