package window

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/types"
)

// top drops rows before they are sorted which a run condition of the window makes useless (rank()
// <= k): those that k rows of their partition stand before by the first key of the order. It
// compares eight bytes of that, which order as the keys do except for ties, and keeps the k least
// of each partition that its thread has seen in a heap with the greatest on top; a row beyond that
// is dropped, all others are passed on. So some rows are passed on that later ones displace: of n
// in random order about k·(1 + ln(n/k)).
//
// Without memory for keys, or where few rows are dropped, it passes all rows.
type top struct {
	in          op.Operator
	rt          *op.Runtime
	k           int
	part, order []op.Item
	partTypes   []types.Type
	orderEnc    *kernel.KeyEncoder
	acct        *mem.Account
	parts       *partitions
	heaps       []uint64 // k of each partition; missing keys are the greatest value
	keys        kernel.Keys
	first       []uint64 // of the batch's rows
	// Rows that were seen, those whose partition had k by then, and those dropped.
	seen, met, drops int
	off              bool
	todo             []*batch.Batch
	closed           bool
}

// topTrial is after how many rows few drops end the filtering, counted once their partitions have
// k; topFill after how many it ends because few partitions have k.
const (
	topTrial = 1 << 16
	topFill  = 1 << 20
)

func (o *top) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("window top", false)
	o.parts = newPartitions(o.partTypes)
	return o.in.Open(ctx)
}

func (o *top) Next(ctx context.Context) (*batch.Batch, error) {
	for len(o.todo) == 0 {
		b, err := o.in.Next(ctx)
		if err != nil || o.off {
			return b, err
		}
		if err := op.InHalves(b, func(b *batch.Batch) error { return o.sift(ctx, b) }); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	b := o.todo[0]
	o.todo = o.todo[1:]
	return b, nil
}

// sift adds to todo the rows of b that may satisfy the run condition.
func (o *top) sift(ctx context.Context, b *batch.Batch) error {
	n := b.Rows()
	part, err := op.Columns(ctx, b, o.part)
	if err != nil {
		return err
	}
	order, err := op.Columns(ctx, b, o.order)
	if err != nil {
		return err
	}
	o.keys.Reset()
	o.keys.Width = o.orderEnc.Width()
	o.orderEnc.Append(&o.keys, order, n)
	var size int64
	for _, col := range part {
		size += batch.ArrayBytes(col)
	}
	most := o.parts.n + n // partitions
	need := o.parts.bytes(n, size) + 16*int64(o.k)*int64(most) + 8*int64(n) + o.keys.Bytes()
	// Large heaps of many partitions take more memory than the rows that they may save.
	if o.k > 8*(o.seen+topFill)/most || !o.acct.Try(max(need-o.acct.Used(), 0)) {
		o.stop()
		o.todo = append(o.todo, b)
		return nil
	}
	of := o.parts.find(part, n)
	for more := o.k*o.parts.n - len(o.heaps); more > 0; more-- {
		o.heaps = append(o.heaps, math.MaxUint64)
	}
	o.first = firstKeys(&o.keys, o.first[:0])
	rows := make([]int32, 0, n)
	for i, key := range o.first {
		heap := o.heaps[int(of[i])*o.k:][:o.k]
		if heap[0] != math.MaxUint64 {
			o.met++
			if key > heap[0] {
				continue
			}
		}
		rows = append(rows, int32(i))
		if key < heap[0] {
			replaceGreatest(heap, key)
		}
	}
	o.seen += n
	o.drops += n - len(rows)
	if o.met >= topTrial && o.drops < o.met/8 || o.seen >= topFill && o.met < o.seen/4 {
		o.stop()
	}
	switch len(rows) {
	case 0:
	case n:
		o.todo = append(o.todo, b)
	default:
		b = kernel.Compact(b)
		o.todo = append(o.todo, kernel.Compact(&batch.Batch{Cols: b.Cols, N: b.N, Sel: rows, Seq: -1}))
	}
	return nil
}

// stop passes all further rows.
func (o *top) stop() {
	o.off, o.parts, o.heaps, o.first, o.keys = true, nil, nil, nil, kernel.Keys{}
	o.acct.Shrink(o.acct.Used())
}

// firstKeys appends of each key eight bytes behind that for NULL. NULLs tie with the
// least or the greatest.
func firstKeys(keys *kernel.Keys, out []uint64) []uint64 {
	for i := range keys.N {
		k := keys.At(i)
		switch {
		case k[0] == 0:
			out = append(out, 0)
		case k[0] == 2:
			out = append(out, math.MaxUint64)
		case len(k) > 8:
			out = append(out, binary.BigEndian.Uint64(k[1:]))
		default:
			var b [8]byte
			copy(b[:], k[1:])
			out = append(out, binary.BigEndian.Uint64(b[:]))
		}
	}
	return out
}

// replaceGreatest puts key in the place of the greatest of a heap, its first.
func replaceGreatest(h []uint64, key uint64) {
	i := 0
	for {
		c := 2*i + 1
		if c+1 < len(h) && h[c+1] > h[c] {
			c++
		}
		if c >= len(h) || h[c] <= key {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = key
}

// partitions numbers the partitions that a thread has seen.
//
//	slots[hash & mask] = number + 1, linear probing
type partitions struct {
	pack   *kernel.Packer
	width  int
	n      int
	slots  []uint32
	words  []uint64 // the keys, packed
	hashes []uint64

	rows, hbuf []uint64
	of         []uint32
}

func newPartitions(ts []types.Type) *partitions {
	p := &partitions{pack: kernel.NewPacker(ts), slots: make([]uint32, 1024)}
	p.width = p.pack.Words()
	return p
}

// bytes returns the memory held and what n more rows may add to it, if each is a new partition with
// numbered values of size bytes.
func (p *partitions) bytes(n int, size int64) int64 {
	held := p.pack.Bytes() + 4*int64(len(p.slots)) + 8*int64(cap(p.words)+cap(p.hashes))
	row := int64(p.width + 1)
	held += 8*row*int64(p.n+n) + (8*row+64)*int64(n) + 2*size // twice the room where it grows, and scratch
	if 2*(p.n+n) > len(p.slots) {
		held += 16 * int64(p.n+n)
	}
	return held
}

// find returns the partitions of n rows, valid until the next call.
func (p *partitions) find(cols []arrow.Array, n int) []uint32 {
	if cap(p.of) < n {
		p.of = make([]uint32, n)
	}
	of := p.of[:n]
	if len(cols) == 0 {
		clear(of)
		p.n = 1
		return of
	}
	for 2*(p.n+n) > len(p.slots) {
		p.grow()
	}
	p.rows, p.hbuf = p.pack.Pack(cols, n, p.rows, p.hbuf)
	w, mask := p.width, uint64(len(p.slots)-1)
	for i, h := range p.hbuf {
		row := p.rows[i*w:][:w]
		at := h & mask
		for ; ; at = (at + 1) & mask {
			s := p.slots[at]
			if s == 0 {
				p.words, p.hashes = append(p.words, row...), append(p.hashes, h)
				p.n++
				s = uint32(p.n)
				p.slots[at] = s
			} else if !slices.Equal(p.words[int(s-1)*w:][:w], row) {
				continue
			}
			of[i] = s - 1
			break
		}
	}
	return of
}

func (p *partitions) grow() {
	p.slots = make([]uint32, 2*len(p.slots))
	mask := uint64(len(p.slots) - 1)
	for i, h := range p.hashes {
		at := h & mask
		for p.slots[at] != 0 {
			at = (at + 1) & mask
		}
		p.slots[at] = uint32(i + 1)
	}
}

func (o *top) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	if o.acct != nil {
		o.acct.Close()
	}
	o.parts, o.heaps, o.todo = nil, nil, nil
	return o.in.Close()
}
