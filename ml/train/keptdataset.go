package train

import (
	"errors"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/types"
)

// A dataset may outlive its job: the blocks on the workers, and what the driver knows
// of their rows. Another training that would make the same blocks of the same rows
// reuses it and begins with its first step.

// Source identifies what a dataset was made from.
type Source struct {
	Key    [32]byte // equal for trainings that would make the same dataset
	Tables []Table  // that the rows are of
}

// Table is a version of a table.
type Table struct {
	OID    types.OID
	Digest [32]byte // of its manifest
}

// Encoding returns bytes that are equal for jobs that make the same blocks of the same
// rows, whatever they learn from them; nil for a job that uses another model's
// encoders. For a cross-validation they describe its last training, on all rows.
func (j *Job) Encoding() []byte {
	if j.WarmStart() {
		return nil
	}
	var e canon.E
	j.rows().Encode(&e)
	e.Strs(j.targets)
	e.Str(j.split())
	e.F64(j.Options.Float("data_split_eval_fraction", 0.2))
	e.Bool(j.Options.Bool("class_weights", false))
	e.Strs(j.Options.Texts("class_weights", nil))
	e.F64(j.Options.Float(family.PositiveWeight, 1))
	return e.B
}

// Encoded is what a driver knows of rows that have been encoded.
type Encoded struct {
	query int64 // number of the query's rows
	stats *feature.Stats
	rows.Encoded
}

// Rows returns the number of the query's rows.
func (s *Encoded) Rows() int64 { return s.query }

// Encode writes what DecodeEncoded reads.
func (s *Encoded) Encode(e *canon.E) {
	e.I64(s.query)
	s.stats.Encode(e)
	s.Encoded.Encode(e)
}

// DecodeEncoded decodes what an earlier training knew of the rows of such a job.
func (j *Job) DecodeEncoded(b []byte) (*Encoded, error) {
	d := canon.Read(b)
	s := &Encoded{query: d.I64(), stats: feature.DecodeStats(d)}
	if len(s.stats.Cols) != len(j.Columns) {
		d.Fail()
	}
	s.Encoded = *rows.DecodeEncoded(d)
	return s, d.Done("a kept dataset")
}

// Dataset is a worker's part of a dataset after its training. It must be closed, or
// taken over by another worker.
type Dataset struct {
	*block.Blocks
	bytes  int64 // of the encoded rows
	fitted *feature.Fitted
	owners []int // of the leaves, by the training's numbers of workers; in place all are the worker's
}

// Leave hands over the worker's blocks, charged to pool, which is the node's;
// afterwards the worker can only be closed. Spilled blocks are handed over too.
func (w *Worker) Leave(pool *mem.Pool) *Dataset {
	if w.fitted == nil || w.plan == nil {
		return nil
	}
	d := &Dataset{Blocks: w.blocks, bytes: w.rows.Usage().Encoded, fitted: w.fitted, owners: w.owners}
	if w.taken {
		d.bytes = w.earlier
	}
	w.mu.Lock()
	w.blocks, w.fitted = block.NewBlocks(block.Config{Pool: w.cfg.Pool, Temp: w.cfg.Temp}), nil
	w.mu.Unlock()
	d.Move(pool, true)
	return d
}

// Take gives a worker the blocks of an earlier one, instead of rows. renumber maps a
// worker of that training to the one of this training that has its leaves.
func (w *Worker) Take(d *Dataset, renumber func(worker int) int) error {
	if err := errors.Join(w.blocks.Close(), w.rows.Close()); err != nil {
		return err
	}
	d.Move(w.cfg.Pool, false)
	w.blocks, w.fitted, w.taken, w.earlier = d.Blocks, d.fitted, true, d.bytes
	w.scores.blocks = w.blocks
	owners := make([]int, len(d.owners))
	for i, o := range d.owners {
		owners[i] = renumber(o)
	}
	w.assign(owners)
	return nil
}

// Owners returns the owners of the leaves that this worker knows of: in place its own.
func (w *Worker) Owners() []int { return w.owners }

// leave returns what the driver knows of the rows.
func (r *runner) leave() *Encoded {
	return &Encoded{query: r.in.Rows, stats: r.stats, Encoded: *r.Encoded}
}
