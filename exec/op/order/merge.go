package order

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/sql/types"
)

// sortedBatch is a batch, without a selection and of at most kernel.ChunkRows
// rows, with the keys by which its rows ascend.
type sortedBatch struct {
	b    *batch.Batch
	keys *kernel.Keys
}

// sortedStream gives batches that ascend; nil at the end.
type sortedStream interface {
	next(ctx context.Context) (*sortedBatch, error)
	close()
}

// merger merges sorted streams by a loser tree. Rows with equal keys come in
// the order of the streams.
//
//	tree[0]   the winner         leaves: streams
//	tree[i]   the loser of the match at inner node i
type merger struct {
	types    []types.Type
	in       []mergeInput
	tree     []int
	rows     int // of an output batch, at most; fewer where they are long
	withKeys bool
	started  bool

	set  *rowset.Set // the batches that the output's rows lie in
	ids  []uint32
	keys *kernel.Keys
}

type mergeInput struct {
	s      sortedStream
	cur    *sortedBatch // nil at the end
	at     int
	per    int64 // bytes of a row of cur, about
	chunk  int   // of cur in the set, -1 if not there
	prefix uint64
}

// mergedBytes is what an output batch aims to stay below: the batches that its rows lie in
// are held meanwhile, and nobody charges either. Of rows of 100 KiB a batch of full length,
// and what it is made of, were more than a gigabyte.
const mergedBytes = 2 << 20

func newMerger(ts []types.Type, in []sortedStream, rows int, withKeys bool) *merger {
	m := &merger{types: ts, rows: min(rows, kernel.ChunkRows), withKeys: withKeys}
	for _, s := range in {
		m.in = append(m.in, mergeInput{s: s})
	}
	return m
}

func (in *mergeInput) load(ctx context.Context) error {
	for {
		b, err := in.s.next(ctx)
		if err != nil {
			return err
		}
		if b != nil && b.b.N == 0 {
			continue
		}
		in.cur, in.at, in.chunk = b, 0, -1
		if b != nil {
			in.per = b.b.Bytes()/int64(b.b.N) + 1
			in.setPrefix()
		}
		return nil
	}
}

func (in *mergeInput) setPrefix() { in.prefix = prefixOf(in.cur.keys.At(in.at)) }

// prefixOf returns the first eight bytes of a key as a number.
func prefixOf(k []byte) uint64 {
	if len(k) >= 8 {
		return binary.BigEndian.Uint64(k)
	}
	var b [8]byte
	copy(b[:], k)
	return binary.BigEndian.Uint64(b[:])
}

// bound is a key that is compared with many.
type bound struct {
	key    []byte
	prefix uint64
}

func newBound(key []byte) bound { return bound{key, prefixOf(key)} }

// above reports whether the bound is greater than a key.
func (b *bound) above(key []byte) bool {
	p := prefixOf(key)
	return p < b.prefix || p == b.prefix && bytes.Compare(key, b.key) < 0
}

// less reports whether stream i's row comes before stream j's.
func (m *merger) less(i, j int) bool {
	a, b := &m.in[i], &m.in[j]
	switch {
	case a.cur == nil || b.cur == nil:
		return a.cur != nil || b.cur == nil && i < j
	case a.prefix != b.prefix:
		return a.prefix < b.prefix
	}
	c := bytes.Compare(a.cur.keys.At(a.at), b.cur.keys.At(b.at))
	return c < 0 || c == 0 && i < j
}

func (m *merger) start(ctx context.Context) error {
	m.started = true
	for i := range m.in {
		if err := m.in[i].load(ctx); err != nil {
			return err
		}
	}
	n := len(m.in)
	m.tree = make([]int, max(n, 1))
	for i := range m.tree {
		m.tree[i] = -1
	}
	for i := n - 1; i >= 0; i-- {
		m.replay(i)
	}
	return nil
}

// replay plays stream i up from its leaf. While the tree is being made it
// stays at the first empty node.
func (m *merger) replay(i int) {
	n := len(m.in)
	for node := (i + n) / 2; node > 0; node /= 2 {
		other := m.tree[node]
		if other < 0 {
			m.tree[node] = i
			return
		}
		if m.less(other, i) {
			m.tree[node], i = i, other
		}
	}
	m.tree[0] = i
}

// next returns the next batch; nil at the end.
func (m *merger) next(ctx context.Context) (*sortedBatch, error) {
	if !m.started {
		if err := m.start(ctx); err != nil {
			return nil, err
		}
	}
	if len(m.in) == 0 {
		return nil, nil
	}
	m.set, m.ids = rowset.New(m.types), m.ids[:0]
	if m.withKeys {
		m.keys = &kernel.Keys{}
	}
	for i := range m.in {
		m.in[i].chunk = -1
	}
	for size := int64(0); len(m.ids) < m.rows; {
		in := &m.in[m.tree[0]]
		if in.cur == nil {
			break
		}
		if size += in.per; size > mergedBytes && len(m.ids) > 0 {
			break
		}
		if len(m.ids) == 0 && in.at == 0 && m.whole(in) {
			out := in.cur
			if err := in.load(ctx); err != nil {
				return nil, err
			}
			m.replay(m.tree[0])
			return out, nil
		}
		if in.chunk < 0 {
			in.chunk = m.set.Chunks()
			m.set.AddChunk(in.cur.b)
		}
		m.ids = append(m.ids, kernel.RowID(in.chunk, in.at))
		if m.withKeys {
			appendKey(m.keys, in.cur.keys, in.at)
		}
		if in.at++; in.at == in.cur.b.N {
			if err := in.load(ctx); err != nil {
				return nil, err
			}
		} else {
			in.setPrefix()
		}
		m.replay(m.tree[0])
	}
	if len(m.ids) == 0 {
		return nil, nil
	}
	m.set.Finish()
	return &sortedBatch{b: batch.New(m.set.Gather(m.ids, nil), len(m.ids)), keys: m.keys}, nil
}

// whole reports whether all of the winner's batch comes before all others' rows,
// so that it can go on as it is.
func (m *merger) whole(in *mergeInput) bool {
	if in.cur.b.N > m.rows {
		return false
	}
	last := in.cur.keys.At(in.cur.b.N - 1)
	for i := range m.in {
		o := &m.in[i]
		if o == in || o.cur == nil {
			continue
		}
		if bytes.Compare(last, o.cur.keys.At(o.at)) >= 0 {
			return false
		}
	}
	return true
}

func appendKey(dst, src *kernel.Keys, i int) {
	dst.Width = src.Width
	if dst.Width == 0 && len(dst.Offs) == 0 {
		dst.Offs = append(dst.Offs, 0)
	}
	dst.Data = append(dst.Data, src.At(i)...)
	if dst.Width == 0 {
		dst.Offs = append(dst.Offs, uint64(len(dst.Data)))
	}
	dst.N++
}

func (m *merger) close() {
	for i := range m.in {
		m.in[i].s.close()
	}
}
