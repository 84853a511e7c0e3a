package cursor

import (
	"context"
	"sort"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/planner/plan"
)

// maxHeld is how many bytes of a cursor's past rows stay in memory. Older rows are
// spilled to disk, since cursors seldom scroll back.
const maxHeld = 8 << 20

// rows are the rows that a cursor has read, by number from 1:
//
//	dropped │ on disk, batch by batch │ in memory
//
// They are for the session's goroutine only.
type rows struct {
	cols []plan.Column
	acct *mem.Account
	dir  *spill.Dir
	disk *spill.Writer // nil until something is on disk
	last int           // batch of disk that was read last, kept as cached; -1
	back *batch.Batch

	held   []*batch.Batch // the newest
	bytes  int64          // of held
	starts []int64        // how many rows there are before each batch, of those on disk and in memory
	read   int64          // rows so far
}

func newRows(pool *mem.Pool, temp string) *rows {
	return &rows{acct: pool.Account("cursor", true), dir: spill.NewDir(spill.Options{Parent: temp, Pool: pool}), last: -1}
}

// add appends a batch, which is not empty.
func (c *rows) add(ctx context.Context, b *batch.Batch) error {
	b = kernel.Compact(b)
	n := b.Bytes()
	if c.bytes > 0 && (c.bytes+n > maxHeld || c.acct.ShouldSpill() || c.acct.Grow(n) != nil) {
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	if c.bytes += n; c.acct.Used() < c.bytes {
		c.acct.Take(c.bytes - c.acct.Used()) // a batch must be kept even beyond the limit
	}
	c.held = append(c.held, b)
	c.starts = append(c.starts, c.read)
	c.read += int64(b.Rows())
	return nil
}

// flush writes the batches in memory to disk.
func (c *rows) flush(ctx context.Context) error {
	if c.disk == nil {
		var dts []arrow.DataType
		for _, col := range c.cols {
			dts = append(dts, col.Type.Arrow())
		}
		w, err := c.dir.Create(dts)
		if err != nil {
			return err
		}
		c.disk = w
	}
	for _, b := range c.held {
		if err := c.disk.AppendWhole(ctx, b); err != nil {
			return err
		}
	}
	c.forget()
	return nil
}

// forget drops the batches in memory.
func (c *rows) forget() {
	clear(c.held)
	c.held, c.bytes = c.held[:0], 0
	c.acct.Shrink(c.acct.Used())
}

// drop forgets the rows before row number n where that frees batches in
// memory: a cursor that does not scroll will not ask for them.
func (c *rows) drop(n int64) {
	if c.disk != nil {
		return
	}
	k := 0
	for k < len(c.held) && c.starts[k]+int64(c.held[k].Rows()) < n {
		c.bytes -= c.held[k].Bytes()
		k++
	}
	if k > 0 {
		c.held, c.starts = append(c.held[:0:0], c.held[k:]...), append(c.starts[:0:0], c.starts[k:]...)
		c.acct.Shrink(c.acct.Used() - c.bytes)
	}
}

// slice returns the rows from row number from on, up to number to at most, that are in
// the same batch; nil if there are none.
func (c *rows) slice(ctx context.Context, from, to int64) (*batch.Batch, error) {
	i := sort.Search(len(c.starts), func(i int) bool { return c.starts[i] >= from }) - 1
	if from > to || i < 0 || from > c.read {
		return nil, nil
	}
	onDisk := 0
	if c.disk != nil {
		onDisk = c.disk.Batches()
	}
	var b *batch.Batch
	switch {
	case i >= onDisk:
		b = c.held[i-onDisk]
	case i == c.last:
		b = c.back
	default:
		var err error
		if b, err = c.disk.At(ctx, i); err != nil {
			return nil, err
		}
		c.last, c.back = i, b
	}
	lo, hi := from-1-c.starts[i], min(to-c.starts[i], int64(b.Rows()))
	return b.Slice(int(lo), int(hi)), nil
}

// close frees the rows. It may be called twice.
func (c *rows) close() {
	c.held, c.back, c.last = nil, nil, -1
	if c.disk != nil {
		c.disk.Abort()
		c.disk = nil
	}
	_ = c.dir.Close()
	c.acct.Close()
}
