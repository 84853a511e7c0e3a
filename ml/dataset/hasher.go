package dataset

import "github.com/tributarydb/tributary/exec/batch"

// Hasher computes rows' hashes, the same that their records would have, and counts
// copies. It is for one goroutine, and for rows that no Store keeps.
type Hasher struct {
	enc    *encoder
	buf    []byte
	copies counter
}

// HasherBytes is about the size of a Hasher.
const HasherBytes = counterBytes

// NewHasher makes one for rows of this layout; seed is the training's.
func NewHasher(l *Layout, seed uint64) *Hasher { return &Hasher{enc: newEncoder(l, seed, nil)} }

// Add counts rows [from, from+len(dst)) of a batch, at most ViewRows, and writes
// their hashes to dst.
func (h *Hasher) Add(b *batch.Batch, from int, dst []RowHash) error {
	size, err := h.enc.measure(b, from, from+len(dst))
	if err != nil {
		return err
	}
	if cap(h.buf) < size {
		h.buf = make([]byte, size)
	}
	h.buf = h.buf[:size]
	clear(h.buf)
	if err := h.enc.write(b, h.buf); err != nil {
		return err
	}
	for i, start := range h.enc.start[:len(dst)] {
		dst[i] = RowHash(h.buf[start:])
		h.copies.count(dst[i])
	}
	return nil
}

// CopiesOf counts the rows that were added to all of these, of node node.
func CopiesOf(hashers []*Hasher, node int) *Copies {
	all := make([]*counter, len(hashers))
	for i, h := range hashers {
		all[i] = &h.copies
	}
	return copiesOf(all, node)
}
