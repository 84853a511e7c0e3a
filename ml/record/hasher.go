package record

import (
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
)

// Copies counts the rows that were added to the store, of node node. They are
// counted where Config.Copies asked for it.
func (s *Store) Copies(node int) *holdout.Copies {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*holdout.Counter
	for _, sh := range s.shards {
		if sh.copies != nil {
			all = append(all, sh.copies)
		}
	}
	return holdout.Sum(all, node)
}

// Count counts a leaf's copies of these rows.
func (v *View) Count(rows []block.RowHash, node int) *holdout.Copies {
	return holdout.CountOf(rows, node, v.Rows, func(i int) block.RowHash { return block.RowHash(v.rec(i)[:block.HashBytes]) })
}

// Hasher computes rows' hashes, the same that their records would have, and counts
// copies. It is for one goroutine, and for rows that no Store keeps.
type Hasher struct {
	enc    *encoder
	buf    []byte
	copies holdout.Counter
}

// HasherBytes is about the size of a Hasher.
const HasherBytes = holdout.CounterBytes

// NewHasher makes one for rows of this layout; seed is the training's.
func NewHasher(l *Layout, seed uint64) *Hasher { return &Hasher{enc: newEncoder(l, seed, nil)} }

// Add counts rows [from, from+len(dst)) of a batch, at most ViewRows, and writes
// their hashes to dst.
func (h *Hasher) Add(b *batch.Batch, from int, dst []block.RowHash) error {
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
		dst[i] = block.RowHash(h.buf[start:])
		h.copies.Count(dst[i])
	}
	return nil
}

// CopiesOf counts the rows that were added to all of these, of node node.
func CopiesOf(hashers []*Hasher, node int) *holdout.Copies {
	all := make([]*holdout.Counter, len(hashers))
	for i, h := range hashers {
		all[i] = &h.copies
	}
	return holdout.Sum(all, node)
}
