package rows

import (
	"context"
	"errors"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Reread is rows that there is no memory for, of a query that is read again instead of
// spilling them: statistics are taken as they arrive (tally), the query is read a second
// time, and then the rows are encoded, which is all that is ever written. Rows in place
// become blocks. Others are distributed encoded (shuffle), and a leaf's block is made of
// these. This is for trainings whose statistics do not depend on order, so that it does not
// matter if the second reading produces a row on another node.
type Reread struct {
	*base
	reader  reader          // of the current reading
	seen    *holdout.Copies // of the first reading
	drained bool
	holdout *holdout.Holdout // that was last asked for
	short   []block.RowHash  // partitions that have no window
	enc     *Encoding        // of the current reading; nil while rows are only counted
	shuffle *shuffle         // of distributed rows, in the last reading

	mu     sync.Mutex
	made   *Encoded // in place, of the last reading
	leaves int      // made so far
}

// readAgain ends the first reading of rows that are not kept.
func (b *base) readAgain(first reader, owners []int) (*Reread, error) {
	if b.tally == nil {
		return nil, pgerr.Internal("rows that are held would be read again")
	}
	b.owners = owners
	r := &Reread{base: b, reader: first}
	if b.store.Copies {
		r.seen = first.copies()
	}
	return r, r.drain()
}

func (r *Reread) Add(ctx context.Context, b *batch.Batch) error { return r.reader.Add(ctx, b) }

func (r *Reread) Finish() ([]int64, bool) { return r.reader.Finish() }

func (r *Reread) ReadAgain([]int) (*Reread, error) {
	return nil, pgerr.Internal("rows that are read again would be read once more")
}

// drain processes the rows that are still held, once a reading.
func (r *Reread) drain() error {
	if r.drained {
		return nil
	}
	r.drained = true
	return r.reader.drain()
}

// again begins another reading.
func (r *Reread) again() error {
	if err := errors.Join(r.reader.free(), r.blocks.Reset()); err != nil {
		return err
	}
	r.tally.forget()
	r.reads++
	r.drained = false
	r.store.Copies, r.store.Worth, r.store.Lengths = false, nil, nil
	if r.tally.lengths != nil {
		r.tally.lengths.Lose()
	}
	return nil
}

// open makes what takes the rows of a reading after the first.
func (r *Reread) open() {
	r.store.Flow = r.view
	r.reader = r.base.reader()
	r.reader.drop()
	if n, ok := r.reader.(*inPlace); ok && r.enc != nil {
		n.again = r
	}
}

// Recount begins a reading that takes statistics: those of the given rows separately,
// those of others by where the draw may be cut.
func (r *Reread) Recount(rows []block.RowHash, cuts []int) error {
	if err := r.again(); err != nil {
		return err
	}
	r.tally.renew(holdout.BandsAround(cuts))
	r.tally.only(rows)
	r.open()
	return nil
}

// Rescan begins the reading in which rows are encoded. Copies of the rows in count are
// counted, not distributed.
func (r *Reread) Rescan(e *Encoding, count []block.RowHash) (err error) {
	if err := r.again(); err != nil {
		return err
	}
	r.fitted, r.enc, r.made, r.leaves = e.Fitted, e, &Encoded{}, 0
	var common []block.RowHash
	if r.holdout != nil {
		for _, q := range r.holdout.Common {
			common = append(common, q.Hash)
		}
	}
	r.tally.only(common)
	r.open()
	if !r.InPlace {
		r.shuffle, err = r.newShuffle(e.Fitted, count)
	}
	return err
}

// view processes rows that the store does not keep, in a reading after the first.
func (r *Reread) view(v *record.View) error {
	if r.Windows != nil {
		v = v.Without(r.short)
	}
	if err := r.tally.view(v); err != nil || r.enc == nil || v.Rows == 0 {
		return err
	}
	v.Hold(r.drawer)
	if r.shuffle != nil {
		return r.shuffle.view(v)
	}
	s, err := r.encodeView(r.next(), r.enc, v, nil)
	if err == nil {
		r.add(s)
	}
	return err
}

// next returns the number of the next leaf.
func (r *Reread) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaves++
	return r.leaves - 1
}

// add adds a leaf that was made.
func (r *Reread) add(s *Encoded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made.Merge(s)
}

// Copies returns, of windows, how long partitions are; else how often rows occur: as they
// were counted in the first reading, or with of those that the last reading was to count.
func (r *Reread) Copies(of []block.RowHash) (Work, error) {
	var c *holdout.Copies
	switch {
	case r.tally.lengths != nil:
		c = r.tally.lengths.Of(of, r.cfg.Self)
	case of != nil:
		if err := r.drain(); err != nil {
			return Work{}, err
		}
		c = r.tally.separately()
	case r.seen != nil:
		c = r.tally.addCounts(r.seen.Clone()) // it will be merged into
	default:
		c = r.reader.copies()
	}
	return ofNode(c), nil
}

// Stats ends a reading, and returns the statistics of the rows that are not held out.
func (r *Reread) Stats(out *holdout.Holdout, short []block.RowHash) (Work, error) {
	if err := r.drain(); err != nil {
		return Work{}, err
	}
	if r.Windows != nil {
		if err := r.waited(short); err != nil {
			return Work{}, err
		}
	}
	r.drawer, r.holdout = out.On(r.cfg.Self), out
	seen := r.seen
	if r.reads > 1 {
		seen = nil
	}
	st, err := r.tally.all(out, seen)
	if st == nil {
		return ofNode(nil), err
	}
	return ofNode(st), err
}

func (r *Reread) dropShuffle() (err error) {
	if r.shuffle != nil {
		err = r.shuffle.close()
		r.shuffle = nil
	}
	return err
}

// NextFold keeps the statistics of the last reading: they serve the next fold too.
func (r *Reread) NextFold() error {
	err := errors.Join(r.drain(), r.dropShuffle())
	r.drawer, r.fitted = nil, nil
	return err
}

// Assign ends a second reading.
func (r *Reread) Assign(owners []int, frequent []record.Frequent) ([]int, error) {
	if r.shuffle == nil { // rows were only counted
		return r.owners, nil
	}
	r.owners = owners
	for i, s := range r.shuffle.stores {
		if err := errors.Join(s.ShareFrequent(frequent, i == 1), s.Finish()); err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// Encode returns the blocks of the second reading.
func (r *Reread) Encode(e *Encoding) (Work, error) {
	if r.enc == nil || !r.InPlace && r.shuffle == nil {
		return Work{}, pgerr.Internal("rows that were not read again cannot be encoded")
	}
	if r.fitted = e.Fitted; !e.Again {
		r.end()
	}
	if r.shuffle != nil {
		return r.ofLeaves(func(ctx context.Context, leaf int) (*Encoded, error) { return r.shuffle.leaf(ctx, leaf, e) }, r.shuffle.close), nil
	}
	if n, ok := r.reader.(*inPlace); ok {
		n.release()
	}
	r.own(r.leaves)
	return ofNode(r.made), r.reader.free()
}

// Put implements Distributed.
func (r *Reread) Put(rows []byte) error {
	if r.shuffle == nil || len(rows) == 0 || int(rows[0]) >= len(r.shuffle.stores) {
		return pgerr.Internal("encoded rows of a training came to who does not read rows again")
	}
	return r.shuffle.stores[rows[0]].PutCoded(rows[1:])
}

// Frequent implements Distributed: those that were counted instead of distributed.
func (r *Reread) Frequent(int64) ([]record.Frequent, error) {
	if r.shuffle == nil { // rows were only counted
		return nil, nil
	}
	return r.shuffle.frequent.List(), nil
}

// Send implements Distributed.
func (r *Reread) Send(context.Context, []int) error {
	if err := r.drain(); err != nil || r.shuffle == nil {
		return err
	}
	return errors.Join(r.shuffle.flush(), r.reader.free())
}

func (r *Reread) Close() error {
	r.end()
	return errors.Join(r.reader.free(), r.dropShuffle())
}

// waited processes rows that waited for their partition to be long enough; short are the
// partitions that are not. Afterwards there are statistics, even if of no row.
func (r *Reread) waited(short []block.RowHash) error {
	if r.short = short; r.enc == nil {
		if err := r.tally.lengths.Rest(r.layout, short, r.tally.view); err != nil {
			return err
		}
	}
	st, err := r.Spec.Collect(r.cfg.Context, &record.View{})
	if err != nil {
		return err
	}
	return r.tally.add(0, st)
}
