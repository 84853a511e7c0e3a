package op

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// NewTrainGroups trains a model on each group of rows that agree in the last columns, the keys, by which the
// rows of each thread are sorted; no group has rows in two threads. It returns the keys of each group, and what
// its trainer made of it.
func NewTrainGroups(rt *Runtime, in []Operator, keys []types.Type, trainer func() (GroupTrainer, error)) []Operator {
	specs := make([]kernel.KeySpec, len(keys))
	for i, t := range keys {
		specs[i] = kernel.KeySpec{Type: t}
	}
	out := make([]Operator, len(in))
	for i := range in {
		out[i] = &trainGroups{in: in[i], rt: rt, types: keys, enc: kernel.NewKeyEncoder(specs), make: trainer}
	}
	return out
}

// resultBytes is how many bytes of results are returned at once, about.
const resultBytes = 1 << 20

type trainGroups struct {
	in      Operator
	rt      *Runtime
	types   []types.Type
	enc     *kernel.KeyEncoder
	make    func() (GroupTrainer, error)
	trainer GroupTrainer
	acct    *mem.Account // of results

	rows  *batch.Batch // being read; nil for none
	keys  kernel.Keys  // of its rows
	at    int          // the first one that is not processed
	last  []byte       // the key of the open group
	open  []arrow.Array
	ended bool

	done  [][]arrow.Array // the keys of trained groups, a row each
	made  [][]byte        // and what was made of them
	bytes int64
}

func (o *trainGroups) Open(ctx context.Context) error {
	o.acct = o.rt.Pool.Account("trained groups", false)
	return o.in.Open(ctx)
}

func (o *trainGroups) Next(ctx context.Context) (*batch.Batch, error) {
	if err := o.acct.Resize(0); err != nil { // what was returned is its reader's
		return nil, err
	}
	for o.bytes < resultBytes && len(o.made) < o.rt.Rows() {
		if o.rows == nil {
			if o.ended {
				break
			}
			if err := o.read(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err := o.group(ctx); err != nil {
			return nil, err
		}
	}
	if len(o.made) == 0 {
		return nil, io.EOF
	}
	return o.emit(), nil
}

// read takes the next batch; at the end of the rows it ends the last group.
func (o *trainGroups) read(ctx context.Context) error {
	b, err := o.in.Next(ctx)
	if err == io.EOF {
		o.ended = true
		return o.end(ctx)
	}
	if err != nil || b.Rows() == 0 {
		return err
	}
	b = kernel.Compact(b)
	o.keys.Reset()
	o.enc.Append(&o.keys, b.Cols[len(b.Cols)-len(o.types):], b.N)
	o.rows, o.at = b, 0
	return nil
}

// group passes the rows of one group to the trainer, those that the batch has.
func (o *trainGroups) group(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key := o.keys.At(o.at)
	of := len(o.rows.Cols) - len(o.types)
	if o.open == nil || !bytes.Equal(key, o.last) {
		if err := o.end(ctx); err != nil || o.bytes >= resultBytes {
			return err
		}
		o.last = append(o.last[:0], key...)
		for _, c := range o.rows.Cols[of:] {
			o.open = append(o.open, kernel.Take(c, []int32{int32(o.at)}))
		}
	}
	to := o.at + 1
	for to < o.rows.N && bytes.Equal(o.keys.At(to), key) {
		to++
	}
	if o.trainer == nil {
		var err error
		if o.trainer, err = o.make(); err != nil {
			return err
		}
	}
	if err := o.trainer.Add(ctx, &batch.Batch{Cols: o.rows.Cols[:of], N: o.rows.N, Seq: -1}, o.at, to); err != nil {
		return err
	}
	if o.at = to; to == o.rows.N {
		o.rows = nil
	}
	return nil
}

// end ends the open group.
func (o *trainGroups) end(ctx context.Context) error {
	if o.open == nil {
		return nil
	}
	b, err := o.trainer.End(ctx)
	if err != nil {
		return err
	}
	if err := o.acct.Insist(ctx, int64(len(b))); err != nil {
		return err
	}
	o.done, o.made, o.bytes = append(o.done, o.open), append(o.made, b), o.bytes+int64(len(b))
	o.open = nil
	return nil
}

// emit returns the groups that are trained.
func (o *trainGroups) emit() *batch.Batch {
	n := len(o.made)
	cols := make([]arrow.Array, 0, len(o.types)+1)
	of := make([]arrow.Array, n)
	for k, t := range o.types {
		for i, g := range o.done {
			of[i] = g[k]
		}
		cols = append(cols, kernel.Concat(t.Arrow(), of))
	}
	offsets, data := make([]int32, n+1), make([]byte, 0, o.bytes)
	for i, b := range o.made {
		data = append(data, b...)
		offsets[i+1] = int32(len(data))
	}
	cols = append(cols, batch.FromOffsets(types.Bytea.Arrow(), offsets, data, nil))
	o.done, o.made, o.bytes = nil, nil, 0
	return batch.New(cols, n)
}

func (o *trainGroups) Close() error {
	var err error
	if o.trainer != nil {
		err = o.trainer.Close()
		o.trainer = nil
	}
	if o.acct != nil {
		o.acct.Close()
	}
	return errors.Join(err, o.in.Close())
}
