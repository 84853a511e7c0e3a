package train

import (
	"context"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fitTask collects the statistics of the rows.
type fitTask struct {
	holdout *holdout.Holdout
	fold    int             // of a cross-validation; the results for another fold are dropped
	short   []block.RowHash // partitions that have no window, of rows that are read twice
}

func (t *fitTask) kind() uint8 { return kindFit }

func (t *fitTask) begin(w *Worker, p *Part) error {
	if w.fold != t.fold { // nothing else of the job runs
		if err := w.nextFold(t.fold); err != nil {
			return err
		}
	}
	return p.do(w.rows.Stats(t.holdout, t.short))
}

func (t *fitTask) Encode(e *canon.E) {
	t.holdout.Encode(e)
	e.Int(t.fold)
	(&copiesTask{t.short}).Encode(e)
}

func (t *fitTask) decode(j *Job, d *canon.D) family.Message {
	s := feature.DecodeStats(d)
	if len(s.Cols) != len(j.Columns) {
		d.Fail()
	}
	return s
}

func (t *fitTask) merge(j *Job, left, right family.Message) (family.Message, error) {
	a, err := as[*feature.Stats](left)
	if err != nil {
		return nil, err
	}
	b, err := as[*feature.Stats](right)
	if err != nil {
		return nil, err
	}
	return j.spec.MergeStats(a, b)
}

// encodeTask encodes the rows into blocks. Its partials are sums of rows and weights.
type encodeTask struct{ *rows.Encoding }

func (t *encodeTask) kind() uint8 { return kindEncode }

func (t *encodeTask) begin(w *Worker, p *Part) error {
	w.fitted = t.Fitted
	k, err := w.rows.Encode(t.Encoding)
	w.assign(w.rows.Owners()) // those of rows that were read again in place are known now
	return p.do(k, err)
}

func (t *encodeTask) decode(_ *Job, d *canon.D) family.Message { return rows.DecodeEncoded(d) }

func (t *encodeTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	return merged(left, right, (*rows.Encoded).Merge)
}

// rescanTask prepares workers for another reading: rows added after it are encoded.
type rescanTask struct {
	encodeTask
	count []block.RowHash // copies of these are counted, not distributed
}

func (t *rescanTask) kind() uint8 { return kindRescan }

func (t *rescanTask) Encode(e *canon.E) {
	t.encodeTask.Encode(e)
	(&copiesTask{t.count}).Encode(e)
}

func (t *rescanTask) begin(w *Worker, p *Part) error {
	w.fitted = t.Fitted
	return w.reread(p, &rows.Encoded{}, func(r *rows.Reread) error { return r.Rescan(t.Encoding, t.count) })
}

// reread prepares rows that are not held for another reading.
func (w *Worker) reread(p *Part, none family.Message, f func(r *rows.Reread) error) error {
	r, ok := w.rows.(*rows.Reread)
	if !ok {
		return pgerr.Internal("rows that are held would be read again")
	}
	p.ofNode(func(context.Context) (family.Message, error) { return none, nil })
	return f(r)
}
