package window

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// blockBytes is what a block of several partitions takes at most, about; minFile is what a
// partition must take to be worth a file, whatever the limits say.
const (
	blockBytes = 1 << 20
	minFile    = 256 << 10
)

// window computes partitions as they come.
type window struct {
	rt                    *op.Runtime
	st                    *op.Stats
	n                     *plan.Window
	in                    op.Operator
	types                 []types.Type
	part, order           []*eval.Program
	partSpecs, orderSpecs []kernel.KeySpec
	funcs                 []*call
	acct                  *mem.Account
	ranged                bool // RANGE has offsets
	peered                bool // functions ask for peers

	mu       sync.Mutex   // held while the thread works, not while it waits for rows
	pend     []run        // rows of the block
	starts   []int32      // of them, those at which its partitions start
	rows     int          // how many there are
	held     []run        // rows of the next block's first partition that are read already
	filed    *filed       // the open partition, where memory was refused
	failed   error        // rows were lost
	rest     *batch.Batch // rows not processed yet
	begins   []bool       // of them: it begins a partition
	key      []byte       // of the partition that the last of them is of
	cost     int64        // blockCost of all of rest
	at       int
	ended    bool
	long     int64 // bytes charged for long values of the batch that is made
	emitting *emitting
	closed   bool
}

func (o *window) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("window", true)
	o.acct.OnReclaim(func() (bool, error) { return o.reclaim(ctx) })
	return o.in.Open(ctx)
}

func (o *window) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	o.st.AddPeak(o.acct)
	if o.filed != nil {
		o.filed.close()
	}
	if o.acct != nil {
		o.acct.Close()
	}
	o.pend, o.starts, o.held, o.filed, o.emitting = nil, nil, nil, nil, nil
	return o.in.Close()
}

func (o *window) Next(ctx context.Context) (*batch.Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if o.emitting != nil {
			return o.emit(ctx)
		}
		if o.filed != nil && o.filed.whole {
			b, err := o.filed.next(ctx)
			if err != io.EOF {
				return b, err
			}
			o.filed.close()
			o.filed = nil
		}
		b, starts, err := o.block(ctx)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue // it is in a file
		}
		out, err := o.compute(ctx, b, starts)
		if len(starts) != 1 || !o.acct.Refused(err) {
			return out, err
		}
		o.emitting = nil
		if err = o.toFile(ctx, []run{{b, 0, b.N}}); err == nil {
			err = o.filed.finish(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// reclaim spills the open partition for another operator.
func (o *window) reclaim(ctx context.Context) (bool, error) {
	if !o.mu.TryLock() {
		return false, mem.ErrBusy
	}
	defer o.mu.Unlock()
	if o.filed != nil || len(o.pend) == 0 || len(o.starts) != 1 {
		return false, nil
	}
	return true, o.toFile(ctx, o.pend)
}

// charge reserves n bytes for rows in memory. A refusal moves a partition to a file; the little
// that several partitions, or a small one, take is always granted.
func (o *window) charge(ctx context.Context, n int64) error {
	err := o.acct.Grow(n)
	if err != nil && o.acct.Refused(err) && (len(o.starts) > 1 || o.acct.Used()+n <= minFile) {
		o.acct.Take(n)
		return nil
	}
	return err
}

// insist charges for long values of the batch or block that is made.
func (o *window) insist(ctx context.Context, n int64) error {
	err := o.acct.Insist(ctx, n)
	if err == nil {
		o.long += n
	}
	return err
}

// run is a range of a batch's rows.
type run struct {
	b        *batch.Batch
	from, to int
}

// added appends a run, or extends the last one where that ends at it: partitions may have few rows
// each, and the rows of a batch are copied at once.
func added(runs []run, r run) []run {
	if n := len(runs) - 1; n >= 0 && runs[n].b == r.b && runs[n].to == r.from {
		runs[n].to = r.to
		return runs
	}
	return append(runs, r)
}

// cut divides runs before row at of all.
func cut(runs []run, at int) (before, after []run) {
	for _, r := range runs {
		n := r.to - r.from
		k := max(0, min(at, n))
		if k > 0 {
			before = append(before, run{r.b, r.from, r.from + k})
		}
		if k < n {
			after = append(after, run{r.b, r.from + k, r.to})
		}
		at -= n
	}
	return before, after
}

// block gathers the rows of the next partitions into one batch, and the rows at
// which they start. There is no batch where the next partition is in a file.
func (o *window) block(ctx context.Context) (*batch.Batch, []int32, error) {
	o.acct.Shrink(o.acct.Used())
	o.acct.ShouldSpill() // of what is gone
	o.long = 0
	o.pend, o.starts, o.rows, o.held = o.held, nil, 0, nil
	for _, r := range o.pend {
		o.starts = []int32{0}
		o.rows += r.to - r.from
		o.acct.Take(blockCost(r.b.Slice(r.from, r.to))) // no more than a block
	}
	for {
		more, err := o.look(ctx)
		if err == nil {
			err = o.failed
		}
		if err != nil {
			return nil, nil, err
		}
		if !more {
			break
		}
		if o.filed == nil && len(o.starts) == 0 || o.begins[o.at] {
			if o.filed != nil || len(o.starts) > 0 && (o.rows >= o.rt.Rows() || o.acct.Used() >= blockBytes || o.at == 0 && o.rows >= o.rt.Rows()/4) {
				break // partitions that fill most of a batch, and end where it does, are a block that is not copied
			}
			o.starts = append(o.starts, int32(o.rows))
		}
		end := o.at + 1
		for end < o.rest.N && !o.begins[end] {
			end++
		}
		if o.filed == nil {
			cost := o.restCost(o.at, end)
			if len(o.starts) == 1 {
				err = o.charge(ctx, cost)
			} else if o.acct.Used()+cost > blockBytes {
				err = errBlockFull
			} else {
				err = o.acct.Grow(cost)
			}
			if err != nil && err != errBlockFull && !o.acct.Refused(err) {
				return nil, nil, err
			}
			if err != nil && len(o.starts) > 1 {
				// The last partition waits for the next block.
				last := len(o.starts) - 1
				o.pend, o.held = cut(o.pend, int(o.starts[last]))
				o.starts = o.starts[:last]
				break
			}
		}
		r := run{o.rest, o.at, end}
		o.rows += end - o.at
		if o.at = end; end == o.rest.N {
			o.rest = nil
		}
		if o.filed != nil {
			err = o.filed.put(ctx, r)
		} else if o.pend = added(o.pend, r); err != nil || len(o.starts) == 1 && o.acct.Used() >= minFile && o.acct.ShouldSpill() {
			err = o.toFile(ctx, o.pend)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if o.filed != nil {
		return nil, nil, o.filed.finish(ctx)
	}
	if len(o.pend) == 0 {
		return nil, nil, io.EOF
	}
	parts := make([]*batch.Batch, len(o.pend))
	for i, r := range o.pend {
		parts[i] = r.b.Slice(r.from, r.to)
	}
	o.pend = nil
	return rowset.Concat(o.types, parts), o.starts, nil
}

// errBlockFull makes a partition wait for the next block.
var errBlockFull = errors.New("window: the block is full")

// blockCost is what rows of a block take while it is computed.
func blockCost(b *batch.Batch) int64 { return 2*b.Bytes() + blockRow*int64(b.N) }

// blockRow is what a row of a block takes beside its values: where its partition, peers and
// frame are, and a result.
const blockRow = 72

// restCost is blockCost of rows [from, to) of rest; for a batch that is not large their share is
// estimated: measuring the columns of a few rows takes longer than copying them.
func (o *window) restCost(from, to int) int64 {
	if n := int64(o.rest.N); o.cost <= op.BatchBytes {
		return o.cost*int64(to)/n - o.cost*int64(from)/n
	}
	return blockCost(o.rest.Slice(from, to))
}

// look makes sure that there are rows in rest; it returns false at the end.
func (o *window) look(ctx context.Context) (bool, error) {
	for o.rest == nil && !o.ended {
		b, err := o.wait(ctx)
		if err == io.EOF {
			o.ended = true
			break
		}
		if err != nil {
			return false, err
		}
		if b.Rows() == 0 {
			continue
		}
		b = kernel.Compact(b)
		if err := o.divide(ctx, b); err != nil {
			return false, err
		}
		o.rest, o.at, o.cost = b, 0, blockCost(b)
	}
	return o.rest != nil, nil
}

// wait reads more rows; meanwhile other operators may reclaim the thread's rows.
func (o *window) wait(ctx context.Context) (*batch.Batch, error) {
	o.mu.Unlock()
	defer o.mu.Lock()
	return o.in.Next(ctx)
}

// divide finds which rows begin a partition: those that differ from the row before.
func (o *window) divide(ctx context.Context, b *batch.Batch) (err error) {
	if o.begins, err = o.changes(ctx, o.part, o.partSpecs, b); err != nil {
		return err
	}
	first, err := o.keys(ctx, o.part, o.partSpecs, b.Slice(0, 1))
	if err != nil {
		return err
	}
	o.begins[0] = !bytes.Equal(first.At(0), o.key)
	last, err := o.keys(ctx, o.part, o.partSpecs, b.Slice(b.N-1, b.N))
	if err != nil {
		return err
	}
	o.key = append(o.key[:0], last.At(0)...)
	return nil
}

// changes returns which rows differ from the row before in the values of expressions; not the first.
func (o *window) changes(ctx context.Context, progs []*eval.Program, specs []kernel.KeySpec, b *batch.Batch) ([]bool, error) {
	out := make([]bool, b.N)
	for i, p := range progs {
		arr, err := p.Eval(ctx, b)
		if op.TooLong(err, b.N) {
			return o.keyChanges(ctx, progs, specs, b)
		}
		if err != nil {
			return nil, err
		}
		specs[i].Changes(arr, out)
	}
	return out, nil
}

// keyChanges is changes where the values of all rows do not fit at once.
func (o *window) keyChanges(ctx context.Context, progs []*eval.Program, specs []kernel.KeySpec, b *batch.Batch) ([]bool, error) {
	keys, err := o.keys(ctx, progs, specs, b)
	if err != nil {
		return nil, err
	}
	out := make([]bool, b.N)
	for i := 1; i < b.N; i++ {
		out[i] = !likeLast(keys, i)
	}
	return out, nil
}

// keys encodes expressions over a batch; without expressions the keys are empty.
func (o *window) keys(ctx context.Context, progs []*eval.Program, specs []kernel.KeySpec, b *batch.Batch) (*kernel.Keys, error) {
	k := &kernel.Keys{}
	if len(progs) == 0 {
		k.Offs = make([]uint64, b.N+1)
		k.N = b.N
		return k, nil
	}
	items := make([]op.Item, len(progs))
	for i, p := range progs {
		items[i].Program = p
	}
	return k, op.AppendKeys(ctx, b, items, kernel.NewKeyEncoder(specs), k)
}

// likeLast reports whether row i has the key of the one before.
func likeLast(keys *kernel.Keys, i int) bool { return bytes.Equal(keys.At(i-1), keys.At(i)) }

// compute computes a block's functions and returns its first rows.
func (o *window) compute(ctx context.Context, b *batch.Batch, starts []int32) (*batch.Batch, error) {
	r, p, err := o.inMemory(ctx, b, starts)
	if err != nil {
		return nil, err
	}
	return o.functions(ctx, r, p)
}
