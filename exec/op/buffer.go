package op

import (
	"context"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// Buffer is a materialised relation of a statement: filled once, then read any
// number of times, by several readers at once. It keeps batches in memory until
// that is refused, then writes them. Append may be called from any goroutine.
//
//	Append … Append   Finish   Open Open …   Close
type Buffer struct {
	types []types.Type
	rt    *Runtime
	own   bool // the runtime's directory is its own

	mu    sync.Mutex
	acct  *mem.Account
	held  []*batch.Batch // they precede the rows in runs
	w     *spill.Writer
	run   *spill.Run
	rows  int64
	small []*batch.Batch // wait to be written together
	smN   int
	smB   int64

	from     BatchReader // of a stream
	finished bool
	open     int // readers of what is in memory
}

// NewBuffer makes an empty buffer of columns ts.
func NewBuffer(rt *Runtime, ts []types.Type) *Buffer {
	return &Buffer{types: ts, rt: rt, acct: rt.Pool.Account("materialize", true)}
}

// NewOwnBuffer makes a buffer that outlives the plans of its statement: it charges a pool,
// and has a directory for itself, which it closes.
func NewOwnBuffer(pool *mem.Pool, dir *spill.Dir, ts []types.Type) *Buffer {
	f := NewBuffer(&Runtime{Pool: pool, Spill: dir}, ts)
	f.own = true
	return f
}

// NewStream makes a buffer whose rows are not kept: one reader reads them, as in gives them.
func NewStream(in BatchReader) *Buffer { return &Buffer{from: in} }

// columns reads some columns of another reader's rows.
type columns struct {
	BatchReader
	at []int
}

func (r columns) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := r.BatchReader.Next(ctx)
	if err != nil {
		return nil, err
	}
	return columnsAt(b, r.at), nil
}

// reclaim writes the batches in memory for an operator that needs it, unless some are
// being read.
func (f *Buffer) reclaim(ctx context.Context) (bool, error) {
	if !f.mu.TryLock() {
		return false, mem.ErrBusy
	}
	defer f.mu.Unlock()
	if len(f.held) == 0 || f.open > 0 {
		return false, nil
	}
	if err := f.spill(ctx); err != nil || !f.finished {
		return true, err
	}
	run, err := f.w.Finish()
	f.w, f.run = nil, run
	return true, err
}

// spill moves the rows in memory to a file, where later ones go too.
func (f *Buffer) spill(ctx context.Context) (err error) {
	if f.w, err = f.rt.Spill.Create(types.ArrowTypes(f.types)); err != nil {
		return err
	}
	for _, h := range f.held {
		if err := f.w.Append(ctx, h); err != nil {
			return err
		}
	}
	f.held = nil
	f.acct.Shrink(f.acct.Used())
	return nil
}

// Rows returns the number of rows so far.
func (f *Buffer) Rows() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rows
}

// Append adds the rows of b.
func (f *Buffer) Append(ctx context.Context, b *batch.Batch) error {
	b = kernel.Compact(b)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows += int64(b.N)
	if b.N == 0 {
		return nil
	}
	if f.w == nil {
		if len(f.held) == 0 {
			all := context.WithoutCancel(ctx) // the rows are kept when what made them has ended
			f.acct.OnReclaim(func() (bool, error) { return f.reclaim(all) })
		}
		err := f.acct.Grow(b.Bytes())
		if err == nil && !f.acct.ShouldSpill() {
			f.held = append(f.held, b)
			return nil
		}
		if err != nil && !f.acct.Refused(err) {
			return err
		}
		if err := f.spill(ctx); err != nil {
			return err
		}
	}
	f.small = append(f.small, b)
	f.smN += b.N
	if f.smB += b.Bytes(); f.smN >= smallRows || f.smB >= BatchBytes/2 {
		return f.flush(ctx)
	}
	return nil
}

func (f *Buffer) flush(ctx context.Context) error {
	if f.smN == 0 {
		return nil
	}
	b := rowset.Concat(f.types, f.small)
	f.small, f.smN, f.smB = nil, 0, 0
	return f.w.Append(ctx, b)
}

// Finish ends the filling.
func (f *Buffer) Finish(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished = true
	if f.w == nil {
		return nil
	}
	if err := f.flush(ctx); err != nil {
		return err
	}
	run, err := f.w.Finish()
	f.w, f.run = nil, run
	return err
}

// Spilled returns the bytes on disk.
func (f *Buffer) Spilled() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == nil {
		return 0
	}
	_, disk := f.run.Size()
	return disk
}

// Open returns a reader from the first row on, of the columns at some positions, or of
// all with nil. The buffer is finished.
func (f *Buffer) Open(cols []int) (BatchReader, error) {
	if f.from != nil && cols != nil {
		return columns{f.from, cols}, nil
	} else if f.from != nil {
		return f.from, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &bufferReader{held: f.held, cols: cols}
	if len(f.held) > 0 {
		r.of, f.open = f, f.open+1
	}
	if f.run != nil {
		var err error
		if r.run, err = f.run.Open(); err != nil {
			return nil, err
		}
		r.run.Columns(cols)
	}
	return r, nil
}

// Close frees the rows. It may be called twice; readers must be done.
func (f *Buffer) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w != nil {
		f.w.Abort()
		f.w = nil
	}
	if f.run != nil {
		f.run.Remove()
		f.run = nil
	}
	f.held, f.small = nil, nil
	if f.acct != nil {
		f.acct.Close()
	}
	if f.own {
		_ = f.rt.Spill.Close()
	}
}

type bufferReader struct {
	of   *Buffer // whose batches in memory it reads
	held []*batch.Batch
	cols []int // nil for all
	run  *spill.Reader
}

func (r *bufferReader) Next(ctx context.Context) (*batch.Batch, error) {
	if len(r.held) > 0 {
		b := r.held[0]
		r.held = r.held[1:]
		if r.cols != nil {
			b = b.Columns(r.cols)
		}
		return b, ctx.Err()
	}
	if r.run != nil {
		return r.run.Next(ctx)
	}
	return nil, io.EOF
}

func (r *bufferReader) Close() error {
	r.held = nil
	if r.of != nil {
		r.of.mu.Lock()
		r.of.open--
		r.of.mu.Unlock()
		r.of = nil
	}
	if r.run == nil {
		return nil
	}
	err := r.run.Close()
	r.run = nil
	return err
}
