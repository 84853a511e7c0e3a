package numbering

import (
	"hash/maphash"
	"math/bits"
)

// Keys numbers keys from 0 on in order of arrival: an open-addressing hash table,
// faster than a map for many look-ups of few short keys.
type Keys struct {
	List  []string // by number
	slots []int32  // a key's number plus 1, at its hash or the next free slot after it; their number is a power of two
}

// seed may be random, because the positions of keys in the table show
// in no result.
var seed = maphash.MakeSeed()

// at returns the number of a key, or the slot to insert it in.
func (m *Keys) at(key []byte) (number int32, slot int) {
	mask := len(m.slots) - 1
	for slot = int(maphash.Bytes(seed, key)) & mask; ; slot = (slot + 1) & mask {
		k := m.slots[slot] - 1
		if k < 0 || m.List[k] == string(key) {
			return k, slot
		}
	}
}

// Find returns the number of a key, -1 for one that has none.
func (m *Keys) Find(key []byte) int32 {
	if len(m.slots) == 0 {
		return -1
	}
	n, _ := m.at(key)
	return n
}

// Of numbers different keys by their places. The slice must not change.
func Of(keys []string) Keys {
	m := Keys{List: keys, slots: make([]int32, 2<<bits.Len(uint(len(keys))))}
	for i, k := range keys {
		_, slot := m.at([]byte(k))
		m.slots[slot] = int32(i) + 1
	}
	return m
}

// Number returns the number of a key, a new one for a new key.
func (m *Keys) Number(key []byte) int32 {
	if 2*len(m.List) >= len(m.slots) {
		m.slots = make([]int32, max(16, 2*len(m.slots)))
		for i, k := range m.List {
			_, slot := m.at([]byte(k))
			m.slots[slot] = int32(i) + 1
		}
	}
	n, slot := m.at(key)
	if n < 0 {
		n = int32(len(m.List))
		m.List = append(m.List, string(key))
		m.slots[slot] = n + 1
	}
	return n
}
