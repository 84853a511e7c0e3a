package op

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// NewTrainGroups trains a model on each group of rows that agree in the last columns, the keys, by which the
// rows of each thread are sorted; no group has rows in two threads. It returns the keys of each group, and what
// its trainer made of it, in any order. Where the first thread gives all rows (Divider), it hands groups to helpers,
// one for each other thread.
func NewTrainGroups(rt *Runtime, in []Operator, cfg GroupConfig) []Operator {
	specs := make([]kernel.KeySpec, len(cfg.Keys))
	for i, t := range cfg.Keys {
		specs[i] = kernel.KeySpec{Type: t}
	}
	out := make([]Operator, len(in))
	for i := range in {
		o := &trainGroups{in: in[i], rt: rt, GroupConfig: cfg, specs: specs}
		if d, ok := in[i].(Divider); ok && i == 0 {
			o.divided = d.Divided
		}
		o.own = o.newRun()
		out[i] = o
	}
	return out
}

// GroupConfig says how groups are trained.
type GroupConfig struct {
	Keys    []types.Type
	Trainer func() (GroupTrainer, error)
	Done    func(key []byte) bool // says which groups are left out; nil for none
}

// Divider is an input that, once it has given rows, knows whether each thread has rows of its own.
type Divider interface{ Divided() bool }

// resultBytes is how many bytes of results are returned at once, about.
const resultBytes = 1 << 20

// resultTime is how long a result waits for others: what left the node need not be computed again if it is lost.
const resultTime = time.Second

type trainGroups struct {
	in Operator
	rt *Runtime
	GroupConfig
	specs   []kernel.KeySpec
	divided func() bool // nil: no helpers are wanted
	own     *groupRun
	helpers *groupHelpers // nil: none

	rows  *batch.Batch // being read; nil for none
	keys  kernel.Keys  // of its rows
	at    int          // the first one that is not processed
	ended bool

	mu      sync.Mutex // of what is below
	acct    *mem.Account
	results int64           // bytes
	since   time.Time       // when the first of them came
	done    [][]arrow.Array // the keys of trained groups, a row each
	made    [][]byte        // and what was made of them
}

func (o *trainGroups) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("trained groups", false)
	return o.in.Open(ctx)
}

func (o *trainGroups) Next(ctx context.Context) (*batch.Batch, error) {
	for !o.full() && !o.ended {
		var err error
		switch {
		case o.rows == nil:
			err = o.read(ctx)
		case o.helpers != nil:
			err = o.helpers.share(ctx)
		default:
			o.at, err = o.own.group(ctx, o.rows, &o.keys, o.at)
		}
		if err != nil {
			return nil, err
		}
		if o.rows != nil && o.at == o.rows.N {
			o.rows = nil
		}
	}
	return o.emit()
}

func (o *trainGroups) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.results >= resultBytes || len(o.made) >= o.rt.Rows() || len(o.made) > 0 && time.Since(o.since) >= resultTime
}

// read takes the next batch; at the end of the rows it ends what is open.
func (o *trainGroups) read(ctx context.Context) error {
	b, err := o.in.Next(ctx)
	if err == io.EOF {
		o.ended = true
		if o.helpers != nil {
			return o.helpers.finish(ctx)
		}
		return o.own.end(ctx)
	}
	if err != nil || b.Rows() == 0 {
		return err
	}
	if o.divided != nil {
		if o.rt.Threads > 1 && !o.divided() {
			o.helpers = newGroupHelpers(ctx, o)
		}
		o.divided = nil
	}
	b = kernel.Compact(b)
	o.own.keysOf(&o.keys, b)
	o.rows, o.at = b, 0
	return nil
}

// put adds what was made of a group.
func (o *trainGroups) put(ctx context.Context, key []arrow.Array, made []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.acct.Insist(ctx, int64(len(made))); err != nil {
		return err
	}
	if len(o.made) == 0 {
		o.since = time.Now()
	}
	o.done, o.made, o.results = append(o.done, key), append(o.made, made), o.results+int64(len(made))
	return nil
}

// charge charges rows in the hands of helpers, a few batches; a negative number releases.
func (o *trainGroups) charge(n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n < 0 {
		o.acct.Shrink(-n)
	} else {
		o.acct.Take(n)
	}
}

// emit returns the groups that are trained, which are their reader's then.
func (o *trainGroups) emit() (*batch.Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.made)
	if n == 0 {
		return nil, io.EOF
	}
	cols := make([]arrow.Array, 0, len(o.Keys)+1)
	of := make([]arrow.Array, n)
	for k, t := range o.Keys {
		for i, g := range o.done {
			of[i] = g[k]
		}
		cols = append(cols, kernel.Concat(t.Arrow(), of))
	}
	offsets, data := make([]int32, n+1), make([]byte, 0, o.results)
	for i, b := range o.made {
		data = append(data, b...)
		offsets[i+1] = int32(len(data))
	}
	cols = append(cols, batch.FromOffsets(types.Bytea.Arrow(), offsets, data, nil))
	o.acct.Shrink(o.results)
	o.done, o.made, o.results = nil, nil, 0
	return batch.New(cols, n), nil
}

func (o *trainGroups) Close() error {
	var err error
	if o.helpers != nil {
		err = o.helpers.close()
	}
	all := []error{err, o.own.close(), o.in.Close()}
	if o.acct != nil {
		o.acct.Close()
	}
	return errors.Join(all...)
}

// groupRun trains groups, one after the other, in one goroutine.
type groupRun struct {
	o       *trainGroups
	enc     *kernel.KeyEncoder
	trainer GroupTrainer
	last    []byte        // the key of the open group
	open    []arrow.Array // it as columns; nil: none is open
	skip    bool          // it is done already
}

func (o *trainGroups) newRun() *groupRun {
	return &groupRun{o: o, enc: kernel.NewKeyEncoder(o.specs)}
}

// keysOf computes the keys of a batch.
func (r *groupRun) keysOf(keys *kernel.Keys, b *batch.Batch) {
	keys.Reset()
	r.enc.Append(keys, b.Cols[len(b.Cols)-len(r.o.specs):], b.N)
}

// continues reports whether a key is that of the open group.
func (r *groupRun) continues(key []byte) bool { return r.open != nil && bytes.Equal(key, r.last) }

// group passes the rows from at on that are of one group to the trainer, and returns where the next begins.
func (r *groupRun) group(ctx context.Context, b *batch.Batch, keys *kernel.Keys, at int) (int, error) {
	if err := ctx.Err(); err != nil {
		return at, err
	}
	key := keys.At(at)
	of := len(b.Cols) - len(r.o.specs)
	if !r.continues(key) {
		if err := r.end(ctx); err != nil {
			return at, err
		}
		r.last = append(r.last[:0], key...)
		for _, c := range b.Cols[of:] {
			r.open = append(r.open, kernel.Take(c, []int32{int32(at)}))
		}
		r.skip = r.o.Done != nil && r.o.Done(key)
	}
	to := at + 1
	for to < b.N && bytes.Equal(keys.At(to), key) {
		to++
	}
	if r.skip {
		return to, nil
	}
	if r.trainer == nil {
		var err error
		if r.trainer, err = r.o.Trainer(); err != nil {
			return at, err
		}
	}
	return to, r.trainer.Add(ctx, &batch.Batch{Cols: b.Cols[:of], N: b.N, Seq: -1}, at, to)
}

// end ends the open group.
func (r *groupRun) end(ctx context.Context) error {
	if r.open == nil {
		return nil
	}
	if r.skip {
		r.open = nil
		return nil
	}
	made, err := r.trainer.End(ctx)
	if err != nil {
		return err
	}
	key := r.open
	r.open = nil
	return r.o.put(ctx, key, made)
}

func (r *groupRun) close() error {
	if r.trainer == nil {
		return nil
	}
	err := r.trainer.Close()
	r.trainer = nil
	return err
}
