package train

import (
	"context"
	"slices"

	"github.com/tributarydb/tributary/exec/metric"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/rows"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Task is an operation of a training on all nodes. The same task may be sent again. Its
// body is passed to workers of this process as it is, and encoded to others.
type Task struct {
	Iter int // numbers the tasks of a reducer, to match partials with tasks
	body body
}

// body is the content of a task: a *copiesTask, *fitTask, *encodeTask, *stepTask,
// *evaluateTask, *cutsTask, *usageTask, *weightTask, *recountTask or *rescanTask, or one of
// those of a Distribution.
type body interface {
	family.Message
	kind() uint8
	// begin prepares a worker's part: what it computes.
	begin(w *Worker, p *Part) error
	// decode and merge are for the partials.
	decode(j *Job, d *canon.D) family.Message
	merge(j *Job, left, right family.Message) (family.Message, error)
}

// Kinds of tasks.
const (
	kindFit      = 1
	kindEncode   = 2
	kindStep     = 3
	kindEvaluate = 4
	kindCuts     = 5
	kindCopies   = 6
	kindUsage    = 7
	kindRescan   = 8
	kindWeight   = 9
	kindRecount  = 10
	kindFinish   = 11
	kindSend     = 12
	kindFrequent = 13
	kindShare    = 14
)

// Append appends the bytes that Worker.DecodeTask reads.
func (t *Task) Append(b []byte) []byte {
	e := canon.E{B: b}
	e.U8(t.body.kind())
	e.Int(t.Iter)
	t.body.Encode(&e)
	return e.B
}

// DecodeTask reads what Encode wrote.
func (w *Worker) DecodeTask(b []byte) (Task, error) {
	d := canon.Read(b)
	kind := d.U8()
	t := Task{Iter: d.Int()}
	switch kind {
	case kindFit:
		t.body = &fitTask{holdout: holdout.DecodeHoldout(d), fold: d.Int(), short: decodeCopies(d).rows}
	case kindCopies:
		t.body = decodeCopies(d)
	case kindWeight:
		t.body = decodeWeight(w.job, d)
	case kindUsage:
		t.body = &usageTask{}
	case kindEncode:
		t.body = &encodeTask{rows.DecodeEncoding(d)}
	case kindRecount:
		t.body = decodeRecount(d)
	case kindRescan:
		t.body = &rescanTask{encodeTask{rows.DecodeEncoding(d)}, decodeCopies(d).rows}
	case kindFinish:
		t.body = &finishTask{}
	case kindSend:
		t.body = decodeSend(d)
	case kindFrequent:
		t.body = &frequentTask{d.I64()}
	case kindShare:
		t.body = &shareTask{*decodeSend(d), decodeFrequent(d)}
	case kindStep:
		t.body = decodeStep(w.job, d)
	case kindEvaluate, kindCuts:
		m := &evaluateTask{target: d.Int(), held: d.Bool(), cuts: d.F64s(), coarse: d.Bool(), classWeights: d.F64s(), unit: d.F64()}
		if m.target < 0 || m.target > len(w.job.more()) {
			d.Fail()
			break
		}
		p, err := w.predictor(d, m.target)
		if err != nil {
			return t, err
		}
		m.predictor = p
		if t.body = m; kind == kindCuts {
			t.body = &cutsTask{m}
		}
		if !slices.IsSorted(m.cuts) || len(m.cuts) > metric.MaxCuts {
			d.Fail()
		}
	default:
		d.Fail()
	}
	return t, d.Done("a training task")
}

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

// as returns m as a partial of the expected kind.
func as[T any](m family.Message) (T, error) {
	v, ok := m.(T)
	if !ok {
		return v, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	return v, nil
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
	a, err := as[*rows.Encoded](left)
	if err != nil {
		return nil, err
	}
	b, err := as[*rows.Encoded](right)
	if err != nil {
		return nil, err
	}
	a.Merge(b)
	return a, nil
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

// stepTask is a step of the family. It carries what a Setup needs of the rows, and
// where a mini-batch's rows are.
type stepTask struct {
	rows, held int64
	weight     float64
	by         *targetWeights // of several targets whose classes have weights; else nil
	step       *family.Step
	slices     []block.Slice // of a mini-batch, by leaf
	per        int           // elements of a slice of the partial's vector
}

// sliceElements is the length of a slice of a partial's vector: long enough for a
// message, and short enough for the slices of a vector that is worth it to have
// homes on all nodes. maxSlices bounds them.
const (
	sliceElements = 1 << 15
	maxSlices     = 1 << 24
)

// parts is the number of slices in which partials travel.
func (t *stepTask) parts() int {
	return max(1, (t.step.Elements+t.per-1)/t.per)
}

// Needs reports whether a worker takes part in the task, with leaves of these owners.
// The first one always does: it gets the result.
func (t *Task) Needs(worker int, owners []int) bool {
	s, ok := t.body.(*stepTask)
	if !ok || s.step.Batch == nil || worker == 0 {
		return true
	}
	return slices.ContainsFunc(s.slices, func(x block.Slice) bool { return x.Leaf < len(owners) && owners[x.Leaf] == worker })
}

// Step reports whether the task is a family's step.
func (t *Task) Step() bool {
	_, ok := t.body.(*stepTask)
	return ok
}

func (t *stepTask) kind() uint8 { return kindStep }

func (t *stepTask) Encode(e *canon.E) {
	e.I64(t.rows)
	e.I64(t.held)
	e.F64(t.weight)
	t.by.encode(e)
	e.U8(t.step.Op)
	e.U8(uint8(t.step.Set))
	e.Int(t.step.Elements)
	e.Bool(t.step.Kept)
	e.Int(t.per)
	e.Bool(t.step.Batch != nil)
	if b := t.step.Batch; b != nil {
		e.Int(b.Epoch)
		e.Int(b.Step)
		e.Int(b.Steps)
		e.U32(uint32(len(t.slices)))
		for _, s := range t.slices {
			e.U32(uint32(s.Leaf))
			e.Int(s.From)
			e.Int(s.To)
		}
	}
	e.Bool(t.step.Body != nil)
	if t.step.Body != nil {
		t.step.Body.Encode(e)
	}
}

func decodeStep(j *Job, d *canon.D) *stepTask {
	t := &stepTask{rows: d.I64(), held: d.I64(), weight: d.F64(), by: decodeTargetWeights(j, d), step: &family.Step{Op: d.U8(), Set: family.Set(d.U8()), Elements: d.Int(), Kept: d.Bool()}, per: d.Int()}
	if t.step.Elements < 0 || t.per < 1 || t.step.Elements/t.per >= maxSlices {
		d.Fail()
	}
	if d.Bool() {
		b := &optim.MiniBatch{Epoch: d.Int(), Step: d.Int(), Steps: d.Int()}
		if b.Steps < 1 || b.Step < 0 || b.Step >= b.Steps {
			d.Fail()
		}
		t.step.Batch = b
		last := -1
		for range d.Count(20) {
			s := block.Slice{Leaf: int(d.U32()), From: d.Int(), To: d.Int()}
			if s.Leaf <= last || s.From < 0 || s.From >= s.To || s.From%j.Plan.Unit() != 0 || s.To%j.Plan.Unit() != 0 {
				d.Fail()
			}
			last, t.slices = s.Leaf, append(t.slices, s)
		}
	}
	if d.Bool() {
		t.step.Body = j.Family.DecodeStep(t.step.Op, d)
	}
	return t
}

func (t *stepTask) decode(j *Job, d *canon.D) family.Message {
	return j.Family.DecodePartial(t.step.Op, d)
}

func (t *stepTask) merge(j *Job, left, right family.Message) (family.Message, error) {
	return j.Family.Merge(t.step.Op, left, right)
}

// evaluateTask evaluates a model, or the model of one of several targets.
type evaluateTask struct {
	target       int // which of several
	held         bool
	coarse       bool // rank by cuts
	cuts         []float64
	classWeights []float64
	unit         float64 // weights are measured in whole multiples of it
	predictor    family.Predictor
}

func (t *evaluateTask) kind() uint8 { return kindEvaluate }

func (t *evaluateTask) Encode(e *canon.E) {
	e.Int(t.target)
	e.Bool(t.held)
	e.F64s(t.cuts)
	e.Bool(t.coarse)
	e.F64s(t.classWeights)
	e.F64(t.unit)
	t.predictor.Encode(e)
}

func (t *evaluateTask) decode(_ *Job, d *canon.D) family.Message {
	return decodeEvaluation(d)
}

func (t *evaluateTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	a, err := as[*evaluation](left)
	if err != nil {
		return nil, err
	}
	b, err := as[*evaluation](right)
	if err != nil {
		return nil, err
	}
	a.merge(b)
	return a, nil
}

// cutsTask collects scores that bound the bins of a coarse ranking.
type cutsTask struct{ *evaluateTask }

func (t *cutsTask) kind() uint8 { return kindCuts }

func (t *cutsTask) decode(_ *Job, d *canon.D) family.Message { return decodeCuts(d) }

func (t *cutsTask) merge(_ *Job, left, right family.Message) (family.Message, error) {
	a, err := as[*cutsMessage](left)
	if err != nil {
		return nil, err
	}
	b, err := as[*cutsMessage](right)
	if err != nil {
		return nil, err
	}
	a.Merge(&b.Cuts)
	return a, nil
}
