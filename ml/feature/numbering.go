package feature

import (
	"hash/maphash"
	"math/bits"
)

// numbering numbers keys from 0 on in order of arrival: an open-addressing hash table,
// faster than a map for many look-ups of few short keys.
type numbering struct {
	keys  []string
	slots []int32 // a key's number plus 1, at its hash or the next free slot after it; their number is a power of two
}

// numberingSeed may be random, because the positions of keys in the table show
// in no result.
var numberingSeed = maphash.MakeSeed()

// at returns the number of a key, or the slot to insert it in.
func (m *numbering) at(key []byte) (number int32, slot int) {
	mask := len(m.slots) - 1
	for slot = int(maphash.Bytes(numberingSeed, key)) & mask; ; slot = (slot + 1) & mask {
		k := m.slots[slot] - 1
		if k < 0 || m.keys[k] == string(key) {
			return k, slot
		}
	}
}

// find returns the number of a key, -1 for one that has none.
func (m *numbering) find(key []byte) int32 {
	if len(m.slots) == 0 {
		return -1
	}
	n, _ := m.at(key)
	return n
}

// numbered numbers different keys by their places. The slice must not change.
func numbered(keys []string) numbering {
	m := numbering{keys: keys, slots: make([]int32, 2<<bits.Len(uint(len(keys))))}
	for i, k := range keys {
		_, slot := m.at([]byte(k))
		m.slots[slot] = int32(i) + 1
	}
	return m
}

// number returns the number of a key.
func (m *numbering) number(key []byte) int32 {
	if 2*len(m.keys) >= len(m.slots) {
		m.slots = make([]int32, max(16, 2*len(m.slots)))
		for i, k := range m.keys {
			_, slot := m.at([]byte(k))
			m.slots[slot] = int32(i) + 1
		}
	}
	n, slot := m.at(key)
	if n < 0 {
		n = int32(len(m.keys))
		m.keys = append(m.keys, string(key))
		m.slots[slot] = n + 1
	}
	return n
}
