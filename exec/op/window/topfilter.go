package window

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/sql/types"
)

// top filters rows before the sort that a run condition of the window (rank() <= k) makes useless:
// those with at least k rows before them in their partition, by the first key of the order. It
// compares the first eight bytes of the normalized key, and keeps the k least of each partition, as
// seen by its thread, in a max-heap; a row greater than the top of a full heap is dropped.
//
//	rows ─▶ at most the top of the heap? ─▶ held ─▶ still so? ─▶ passed on
//
// The others are held and checked later once more, since later rows displace them: of n rows in
// random order about k·(1 + ln(n/k)) are held, and at the end k are left. Without memory to hold
// them they are passed on.
//
// Without memory for keys, or where few rows are dropped, it passes all rows.
type top struct {
	in          op.Operator
	rt          *op.Runtime
	k           int
	types       []types.Type // of the rows
	part, order []op.Item
	partTypes   []types.Type
	spec        kernel.KeySpec
	orderEnc    *kernel.KeyEncoder
	acct        *mem.Account
	parts       *partitions
	heaps       []uint64 // k of each partition; missing keys are the greatest value
	keys        kernel.Keys
	first       []uint64 // of the batch's rows
	rows        []int32  // of them, those that are held
	held        []topRows
	holds, left int   // how many rows are held, and were when all were looked at last
	bytes       int64 // that they take
	// Rows that were seen, those whose partition had k by then, and those dropped.
	seen, met, drops int
	off              bool
	todo             []*batch.Batch
	closed           bool
}

// NewTop filters rows on their way to a sort: those with at least k rows before them among the rows that are equal in the
// first `of` keys are not read. There are more keys.
func NewTop(rt *op.Runtime, inputs []op.Operator, k int, cfg order.Config, of int) []op.Operator {
	ts := make([]types.Type, of)
	for i, s := range cfg.Specs[:of] {
		ts[i] = s.Type
	}
	out := make([]op.Operator, len(inputs))
	for i, in := range inputs {
		out[i] = &top{in: in, rt: rt, k: k, types: cfg.Types, part: cfg.Keys[i][:of], order: cfg.Keys[i][of : of+1],
			partTypes: ts, spec: cfg.Specs[of], orderEnc: kernel.NewKeyEncoder(cfg.Specs[of : of+1])}
	}
	return out
}

// topRows are rows held in memory, with their partitions and keys.
type topRows struct {
	b     *batch.Batch
	of    []uint32
	first []uint64
}

// topTrial is the number of rows, counted once their partitions have k, after which the filter is
// given up if few were dropped; topFill the number after which it is given up if few partitions
// have k. topHold is how many more rows may be held before all are checked once more, or twice as
// many as were left by the last check.
const (
	topTrial = 1 << 16
	topFill  = 1 << 20
	topHold  = 1 << 16
)

func (o *top) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("window top", false)
	o.parts = newPartitions(o.partTypes, true)
	return o.in.Open(ctx)
}

func (o *top) Next(ctx context.Context) (*batch.Batch, error) {
	for len(o.todo) == 0 {
		b, err := o.in.Next(ctx)
		if err == io.EOF && o.holds > 0 {
			o.recheck()
			o.flush()
			continue
		}
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

// sift holds the rows of b that may satisfy the run condition, and drops the others.
func (o *top) sift(ctx context.Context, b *batch.Batch) error {
	n := b.Rows()
	if n == 0 {
		return nil
	}
	part, err := op.Columns(ctx, b, o.part)
	if err != nil {
		return err
	}
	order, err := op.Columns(ctx, b, o.order)
	if err != nil {
		return err
	}
	if !o.parts.holds(part, n) {
		// Begin anew: that only drops fewer rows.
		o.flush()
		o.heaps, o.parts = nil, newPartitions(o.partTypes, false)
	}
	o.leading(order[0], n)
	var size int64
	for _, col := range part {
		size += batch.ArrayBytes(col)
	}
	most := o.parts.n + n // partitions
	need := o.parts.bytes(n, size) + 16*int64(o.k)*int64(most) + 12*int64(n) + o.keys.Bytes()
	// Large heaps of many partitions would need more memory than the rows that they may drop.
	if o.k > 8*(o.seen+topFill)/most || !o.acct.Try(max(need+o.bytes-o.acct.Used(), 0)) {
		o.stop()
		o.todo = append(o.todo, b)
		return nil
	}
	of := o.parts.find(part, n)
	for more := o.k*o.parts.n - len(o.heaps); more > 0; more-- {
		o.heaps = append(o.heaps, math.MaxUint64)
	}
	// First select the rows that are within the heaps as they are now: a branch-free loop, whose
	// reads do not depend on the rows before.
	rows, m := o.room(n), 0
	for i, key := range o.first {
		top := o.heaps[int(of[i])*o.k]
		rows[m] = int32(i)
		if key <= top {
			m++
		}
		if top != math.MaxUint64 {
			o.met++
		}
	}
	pass := rows[:0]
	for _, i := range rows[:m] {
		key, heap := o.first[i], o.heaps[int(of[i])*o.k:][:o.k]
		if key <= heap[0] {
			pass = append(pass, i)
			if key < heap[0] {
				replaceGreatest(heap, key)
			}
		}
	}
	// Rows in the order of their keys displace each other within the batch.
	last := pass
	pass = pass[:0]
	for _, i := range last {
		if o.first[i] <= o.heaps[int(of[i])*o.k] {
			pass = append(pass, i)
		}
	}
	o.seen += n
	o.drops += n - len(pass)
	if o.met >= topTrial && o.drops < o.met/8 {
		o.recheck() // which may drop more
	}
	if o.met >= topTrial && o.drops < o.met/8 || o.seen >= topFill && o.met < o.seen/4 {
		o.stop()
		o.todo = append(o.todo, b)
		return nil
	}
	if len(pass) > 0 {
		o.hold(b, of, pass)
	}
	return nil
}

// room is where numbers of n rows are written.
func (o *top) room(n int) []int32 {
	if cap(o.rows) < n {
		o.rows = make([]int32, n)
	}
	return o.rows[:n]
}

// leading computes the first keys of n rows.
func (o *top) leading(col arrow.Array, n int) {
	if o.first = o.first[:0]; o.spec.Leading(col, &o.first) {
		return
	}
	o.keys.Reset()
	o.keys.Width = o.orderEnc.Width()
	o.orderEnc.Append(&o.keys, []arrow.Array{col}, n)
	o.first = firstKeys(&o.keys, o.first)
}

// hold copies some rows of b, with their partitions, to those held.
func (o *top) hold(b *batch.Batch, of []uint32, rows []int32) {
	n := int64(len(rows))
	bytes := 2 * (b.Bytes()*n/int64(b.N) + 12*n) // what is left of them is made beside them
	if o.bytes+bytes > o.rt.Pool.Limit()/int64(8*o.rt.Threads) || !o.acct.Try(bytes) {
		o.flush()
		o.todo = append(o.todo, some(b, rows))
		return
	}
	h := topRows{of: make([]uint32, n), first: make([]uint64, n)}
	for k, i := range rows {
		h.of[k], h.first[k] = of[i], o.first[i]
	}
	h.b = some(b, rows)
	o.held = append(o.held, h)
	o.holds, o.bytes = o.holds+len(rows), o.bytes+bytes
	if o.holds >= 2*o.left+topHold {
		o.recheck()
	}
}

// some returns those of the rows of b.
func some(b *batch.Batch, rows []int32) *batch.Batch {
	if len(rows) < b.Rows() {
		sel := make([]int32, len(rows))
		for k, i := range rows {
			if sel[k] = i; b.Sel != nil {
				sel[k] = b.Sel[i]
			}
		}
		b = &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
	}
	return kernel.Compact(b)
}

// recheck drops held rows that were displaced, and joins the others to full batches.
func (o *top) recheck() {
	var out []topRows
	var last []*batch.Batch // of which the last of out is to be made
	join := func() {
		if len(last) > 0 {
			out[len(out)-1].b = rowset.Concat(o.types, last)
		}
		last = nil
	}
	were := o.holds
	o.left = 0
	for _, h := range o.held {
		rows, m := o.room(len(h.of)), 0
		for i, key := range h.first {
			rows[m] = int32(i)
			if key <= o.heaps[int(h.of[i])*o.k] {
				m++
			}
		}
		if m == 0 {
			continue
		}
		for k, i := range rows[:m] {
			h.of[k], h.first[k] = h.of[i], h.first[i]
		}
		h.of, h.first = h.of[:m], h.first[:m]
		if at := len(out) - 1; at >= 0 && len(out[at].of)+m <= kernel.ChunkRows {
			out[at].of, out[at].first = append(out[at].of, h.of...), append(out[at].first, h.first...)
		} else {
			join()
			out = append(out, topRows{of: slices.Clone(h.of), first: slices.Clone(h.first)})
		}
		last = append(last, some(h.b, rows[:m]))
		o.left += m
	}
	join()
	var bytes int64
	for _, h := range out {
		bytes += 2 * (h.b.Bytes() + 12*int64(h.b.N))
	}
	bytes = min(bytes, o.bytes)
	o.acct.Shrink(o.bytes - bytes)
	o.held, o.holds, o.bytes = out, o.left, bytes
	o.drops += were - o.left
}

// flush passes on what is held.
func (o *top) flush() {
	for _, h := range o.held {
		o.todo = append(o.todo, h.b)
	}
	o.acct.Shrink(o.bytes)
	o.held, o.holds, o.left, o.bytes = nil, 0, 0, 0
}

// stop passes all rows.
func (o *top) stop() {
	o.flush()
	o.off, o.parts, o.heaps, o.first, o.rows, o.keys = true, nil, nil, nil, nil, kernel.Keys{}
	o.acct.Shrink(o.acct.Used())
}

// firstKeys appends the eight bytes of each key behind the one for NULL. NULLs tie with the least
// or the greatest value.
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

// replaceGreatest replaces the top of a max-heap by key.
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

func (o *top) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	if o.acct != nil {
		o.acct.Close()
	}
	o.parts, o.heaps, o.held, o.todo = nil, nil, nil, nil
	return o.in.Close()
}
