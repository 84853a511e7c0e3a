package window

import (
	"bytes"
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/agg"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// filed is a partition that is in a file. Its rows are written as they arrive, in chunks; a summary
// of each chunk stays in memory, for peers, frames and aggregates. When all rows are written the
// file is read from the beginning, and the functions are computed chunk by chunk.
//
//	rows ─▶ pend ─▶ chunk 0 │ chunk 1 │ chunk 2 …      in the file
//	                 number of its first row, peer group, ordering value, states
//	                    ▼
//	                 next: a chunk's rows, and of others those at which its frames end
type filed struct {
	rows
	n      int64
	whole  bool   // all rows have arrived
	at     int    // the next chunk to return
	key    []byte // order key of the last row
	peer   int64  // first row of the last row's peer group
	pend   []run  // rows for the next chunk
	pendN  int
	pendB  int64
	states []bool // by call: whether it needs the states of chunks
}

// chunkBytes is the size that a chunk of a file should have.
const chunkBytes = 128 << 10

// toFile begins a file for the open partition and writes the rows that have arrived.
func (o *window) toFile(ctx context.Context, all []run) error {
	f := &filed{rows: rows{w: o, calls: make([]callRows, len(o.funcs)), begins: []int64{0}, valued: span{-1, -1}}, states: make([]bool, len(o.funcs))}
	left, rows := o.acct.Used(), 0
	for _, r := range all {
		rows += r.to - r.from
	}
	o.pend, o.starts, o.long = nil, nil, 0
	err := func() error {
		for k, c := range o.funcs {
			if c.item.Call.Fn.Kind != fn.Aggregate {
				continue
			}
			cr := &f.calls[k]
			if err := cr.find(c); err != nil {
				return err
			}
			cr.begins = []int64{0}
			f.states[k] = !cr.keeps && !c.grows()
		}
		var err error
		if f.file, err = o.rt.Spill.Create(types.ArrowTypes(o.types)); err != nil {
			return err
		}
		o.filed = f
		for i, r := range all {
			// The charge for these rows is released; put charges their summary instead.
			part := left * int64(r.to-r.from) / int64(rows)
			left, rows = left-part, rows-(r.to-r.from)
			o.acct.Shrink(part)
			if err := f.put(ctx, r); err != nil {
				return err
			}
			all[i] = run{}
		}
		return nil
	}()
	o.acct.Shrink(left)
	o.failed = err
	return err
}

// grows reports whether each frame of the call certainly contains the one before (frameSet.grow). One
// that is bounded by an interval may not: a day has 23 hours when daylight saving time begins.
func (f *call) grows() bool {
	fr := f.item.Frame
	if fr.Start.Kind != plan.UnboundedPreceding || fr.Exclude != 0 || fr.End.Kind == plan.UnboundedFollowing {
		return false // a frame of all rows needs one state only
	}
	return f.offset[1] == nil || fr.Mode != 'v' || fr.End.Offset.Type().OID != types.IntervalOID
}

// put adds rows.
func (f *filed) put(ctx context.Context, r run) error {
	f.pend = added(f.pend, r)
	f.pendN += r.to - r.from
	f.pendB += r.b.Slice(r.from, r.to).Bytes()
	for rows := f.w.rt.Rows(); f.pendN >= rows || f.pendB >= chunkBytes; {
		k := int(min(int64(rows), max(1, chunkBytes*int64(f.pendN)/max(f.pendB, 1)), int64(f.pendN)))
		part, rest := cut(f.pend, k)
		f.pendB -= f.pendB * int64(k) / int64(f.pendN)
		f.pend, f.pendN = rest, f.pendN-k
		if err := f.write(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// write writes rows as a chunk, or as several if they are long.
func (f *filed) write(ctx context.Context, runs []run) error {
	parts := make([]*batch.Batch, len(runs))
	for i, r := range runs {
		parts[i] = r.b.Slice(r.from, r.to)
	}
	b := rowset.Concat(f.w.types, parts)
	if b.N > 1 && b.Bytes() > 2*chunkBytes {
		for _, half := range []run{{b, 0, b.N / 2}, {b, b.N / 2, b.N}} {
			if err := f.write(ctx, []run{half}); err != nil {
				return err
			}
		}
		return nil
	}
	acct := f.w.acct
	cost := b.Bytes() + blockRow*int64(b.N)
	acct.Take(cost)
	defer acct.Shrink(cost)
	c := chunk{base: f.n, head: -1, bytes: b.Bytes()}
	if err := f.peers(ctx, &c, b); err != nil {
		return err
	}
	if f.w.ranged {
		vals, err := f.w.values(ctx, b)
		if err != nil {
			return err
		}
		c.value = vals[0]
		for i, v := range vals {
			if v != nil {
				if f.valued.from < 0 {
					f.valued.from = f.n + int64(i)
				}
				f.valued.to = f.n + int64(i) + 1
			}
		}
	}
	held := int64(160)
	for k, call := range f.w.funcs {
		if call.item.Call.Fn.Kind != fn.Aggregate {
			continue
		}
		n, err := f.count(ctx, k, b)
		if err != nil {
			return err
		}
		held += n
	}
	if err := acct.Insist(ctx, max(held, 0)); err != nil {
		return err
	}
	if err := f.file.AppendWhole(ctx, b); err != nil {
		return err
	}
	f.chunks = append(f.chunks, c)
	f.n += int64(b.N)
	f.begins = append(f.begins, f.n)
	return nil
}

// peers determines the peer groups of a chunk's rows.
func (f *filed) peers(ctx context.Context, c *chunk, b *batch.Batch) error {
	if !f.w.peered {
		return nil
	}
	keys, err := f.w.keys(ctx, f.w.order, f.w.orderSpecs, b)
	if err != nil {
		return err
	}
	for i := range b.N {
		row := f.n + int64(i)
		if row == 0 || i == 0 && !bytes.Equal(keys.At(0), f.key) || i > 0 && !likeLast(keys, i) {
			f.groups++
			if f.peer = row; c.head < 0 {
				c.head = row
			}
		}
		if i == 0 {
			c.peer, c.group = f.peer, f.groups-1
		}
	}
	f.key = append(f.key[:0], keys.At(b.N-1)...)
	return nil
}

// count adds a chunk's rows to the state that call k has of the chunk, and returns how many bytes that
// state takes.
func (f *filed) count(ctx context.Context, k int, b *batch.Batch) (int64, error) {
	call, cr := f.w.funcs[k], &f.calls[k]
	if call.filter == nil && !f.states[k] {
		cr.begins = append(cr.begins, f.n+int64(b.N))
		return 8, nil
	}
	args, err := call.arguments(ctx, b)
	if err != nil {
		return 0, err
	}
	n := b.N
	if call.filter != nil {
		pass, err := call.filter.Eval(ctx, b)
		if err != nil {
			return 0, err
		}
		var before []int32
		args, before = passing(pass.(*array.Boolean), args, b.N)
		n = int(before[b.N])
	}
	number := len(f.chunks)
	cr.begins = append(cr.begins, cr.begins[number]+int64(n))
	if !f.states[k] {
		return 8, nil
	}
	if cr.states == nil {
		if cr.states, err = call.fresh(); err != nil {
			return 0, err
		}
	}
	had := cr.states.Bytes()
	cr.states.Resize(number + 1)
	groups := make([]uint32, n)
	for i := range groups {
		groups[i] = uint32(number)
	}
	err = cr.states.Update(groups, args)
	return 8 + cr.states.Bytes() - had, err
}

// finish writes the last rows and ends the partition.
func (f *filed) finish(ctx context.Context) error {
	if f.pendN > 0 {
		if err := f.write(ctx, f.pend); err != nil {
			return err
		}
		f.pend = nil
	}
	f.w.st.AddSpilled(f.file.Bytes())
	end := f.n
	for i := len(f.chunks) - 1; i >= 0; i-- {
		c := &f.chunks[i]
		if c.peerEnd = end; c.head >= 0 {
			end = c.head
		}
	}
	for k, call := range f.w.funcs {
		cr := &f.calls[k]
		if cr.states == nil {
			continue
		}
		leaves := func(to agg.Agg, groups []uint32, s span) error {
			ids := make([]uint32, len(groups))
			for i := range ids {
				ids[i] = uint32(s.from) + uint32(i)
			}
			return to.(agg.Merger).MergeFrom(groups, cr.states, ids)
		}
		if !cr.merges {
			arr, err := cr.states.States(0, len(f.chunks))
			if err != nil {
				return err
			}
			coded := arr.(*array.Binary)
			if err := f.w.acct.Insist(ctx, int64(len(coded.ValueBytes()))+4*int64(coded.Len())); err != nil {
				return err
			}
			leaves = func(to agg.Agg, groups []uint32, s span) error {
				return to.MergeStates(groups, array.NewSlice(coded, s.from, s.to).(*array.Binary))
			}
		}
		var err error
		if cr.tree, err = newFrameTree(ctx, func(n int64) error { return f.w.acct.Insist(ctx, n) }, call.fresh, leaves, len(f.chunks)); err != nil {
			return err
		}
	}
	f.whole = true
	return nil
}

// next returns the next rows, io.EOF after the last.
func (f *filed) next(ctx context.Context) (*batch.Batch, error) {
	f.w.acct.Shrink(f.w.long) // the previous chunk is not used any more
	f.w.long = 0
	if f.at == len(f.chunks) {
		return nil, io.EOF
	}
	p, err := f.block(ctx, f.at)
	if err != nil {
		return nil, err
	}
	f.at++
	f.own = p
	return f.w.functions(ctx, &f.rows, p)
}

// close removes the file.
func (f *filed) close() {
	if f.file != nil {
		f.file.Abort()
	}
	f.loaded = nil
}
