package train

import (
	"errors"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/types"
)

// A dataset may outlive its job: the blocks that workers have made, and what the
// driver knows of the rows in them. Another training that would make the same of
// the same rows begins with its first step.

// Source is what a dataset was made of.
type Source struct {
	Key    [32]byte // equal for trainings that would make the same
	Tables []Table  // that the rows are of
}

// Table is a table as it was.
type Table struct {
	OID    types.OID
	Digest [32]byte // of its manifest
}

// Encoding returns bytes that are equal for jobs that make the same blocks of the same
// rows, whatever they learn from them; nil for a job that has another model's encoders.
// Those of a cross-validation are of its last training, of all rows.
func (j *Job) Encoding() []byte {
	if j.WarmStart() {
		return nil
	}
	var e canon.E
	j.spec.Encode(&e)
	e.Bool(j.InPlace()) // else rows were distributed: the same columns of PCA and of its QR lie elsewhere
	e.Strs(j.targets)
	e.I64(int64(j.Seed()))
	e.Str(j.split())
	e.F64(j.Options.Float("data_split_eval_fraction", 0.2))
	e.Bool(j.Options.Bool("class_weights", false))
	e.Strs(j.Options.Texts("class_weights", nil))
	e.Bool(j.windows != nil)
	if w := j.windows; w != nil {
		e.Int(w.Length)
		e.Int(w.Stride)
		for _, cols := range [][]int{w.Partition, w.Order} {
			e.U32(uint32(len(cols)))
			for _, c := range cols {
				e.Int(c)
			}
		}
	}
	return e.B
}

// Encoded is what a driver knows of rows that were made to blocks.
type Encoded struct {
	query int64 // rows of the query
	stats *feature.Stats
	encodedRows
}

// Rows is the number of the query's rows.
func (s *Encoded) Rows() int64 { return s.query }

// Encode writes what DecodeEncoded reads.
func (s *Encoded) Encode(e *canon.E) {
	e.I64(s.query)
	s.stats.Encode(e)
	s.encodedRows.Encode(e)
}

// DecodeEncoded reads what an earlier training knew of the rows of such a job.
func (j *Job) DecodeEncoded(b []byte) (*Encoded, error) {
	d := canon.Read(b)
	s := &Encoded{query: d.I64(), stats: feature.DecodeStats(d)}
	if len(s.stats.Cols) != len(j.Columns) {
		d.Fail()
	}
	s.encodedRows = *decodeEncodedRows(d)
	return s, d.Done("a kept dataset")
}

// Dataset is a worker's part of one, when its training is over. It must be closed,
// or taken over by another worker.
type Dataset struct {
	blocks *dataset.Blocks
	maker  *Worker // that makes the blocks of its rows when they are opened; nil where they are kept
	block  int64   // bytes of the encoded rows
	fitted *feature.Fitted
	owners []int // of the leaves, as the training numbered its workers; of a job in place all are the worker's
	place  bool
}

// Leave returns the worker's blocks, charged to pool, which is the node's. They are the
// worker's no longer, which has nothing left but to be closed. What went to a file goes
// with them, rows too of which blocks are made.
func (w *Worker) Leave(pool *mem.Pool) *Dataset {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fitted == nil || w.plan == nil || w.left {
		return nil
	}
	d := &Dataset{blocks: w.blocks, maker: w.maker, fitted: w.fitted, owners: w.owners, place: w.job.InPlace(), block: w.encoded.Load()}
	if d.maker == nil && (w.later.Load() || w.flow.coded != nil) {
		d.maker, w.left = w, true
		// What else it has nobody wants any more.
		w.cfg.Send, w.last, w.scored, w.in, w.flow.stats, w.flow.seen, w.flow.counted = nil, nil, nil, nil, nil, nil, nil
	} else {
		w.blocks, w.maker, w.fitted = dataset.NewBlocks(w.dataset), nil, nil
	}
	d.move(pool, true)
	return d
}

// move charges another pool for all of it.
func (d *Dataset) move(to *mem.Pool, idle bool) {
	d.blocks.Move(to, idle)
	for _, s := range d.stores() {
		s.Move(to, idle)
	}
}

// stores have the rows of which blocks are made.
func (d *Dataset) stores() []*dataset.Store {
	switch {
	case d.maker == nil:
		return nil
	case d.maker.flow.coded != nil:
		return d.maker.flow.coded
	}
	return []*dataset.Store{d.maker.store}
}

// Take gives a worker the blocks of one before it, instead of rows. renumber says
// which worker of so many has the leaves of one of then.
func (w *Worker) Take(d *Dataset, workers, self int, renumber func(worker int) int) error {
	nodes := make([]int, workers)
	for i := range nodes {
		nodes[i] = i
	}
	if err := w.blocks.Close(); err != nil {
		return err
	}
	if err := w.store.Close(); err != nil {
		return err
	}
	d.move(w.cfg.Pool, false)
	if d.maker != nil { // it ended with its training
		d.maker.cfg.Context = w.cfg.Context
	}
	w.in, w.blocks, w.maker, w.fitted, w.taken = nil, d.blocks, d.maker, d.fitted, true
	w.self, w.nodes = self, reduce.NewPlan(nodes)
	w.encoded.Store(d.block)
	owners := make([]int, len(d.owners))
	for i, o := range d.owners {
		if owners[i] = self; !d.place {
			owners[i] = renumber(o)
		}
	}
	w.assign(owners)
	return nil
}

// Owners are those of the leaves; of a job in place nil.
func (w *Worker) Owners() []int {
	if w.job.InPlace() {
		return nil
	}
	return w.owners
}

// Bytes is what a dataset holds, all of it charged.
func (d *Dataset) Bytes() int64 {
	n := d.blocks.Bytes()
	for _, s := range d.stores() {
		n += s.Bytes()
	}
	return n
}

// OnDisk is what it has in files.
func (d *Dataset) OnDisk() int64 {
	n := d.blocks.OnDisk()
	for _, s := range d.stores() {
		n += s.OnDisk()
	}
	return n
}

// Close frees it.
func (d *Dataset) Close() error {
	err := d.blocks.Close()
	for _, s := range d.stores() {
		err = errors.Join(err, s.Close())
	}
	return err
}

// leave is what the training knows of its rows.
func (r *runner) leave() *Encoded {
	return &Encoded{query: r.in.Rows, stats: r.stats, encodedRows: *r.encodedRows}
}
