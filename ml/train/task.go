package train

import (
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TaskKind is what a task does on every leaf.
type TaskKind uint8

// The kinds.
const (
	TaskFit     TaskKind = 1 // statistics of the rows
	TaskSeal    TaskKind = 2 // rows to blocks; sums of rows and weights
	TaskEval    TaskKind = 3 // loss, gradient, Hessian at θ
	TaskMeasure TaskKind = 4 // metrics at θ
	TaskCuts    TaskKind = 5 // scores at θ to cut a coarse ranking by
)

// Kinds of partials beside reduce.KindSums.
const (
	kindStats   = 16
	kindMeasure = 17
	kindCuts    = 18
)

// Task is a step of the job that runs on all leaves. Its bytes are what goes to
// the workers; the same task may be sent again.
type Task struct {
	Kind    TaskKind
	Iter    int // counts tasks of a run, so that partials find theirs
	Payload []byte
}

// Encode gives the bytes.
func (t *Task) Encode() []byte {
	var e canon.E
	e.U8(uint8(t.Kind))
	e.Int(t.Iter)
	e.B = append(e.B, t.Payload...)
	return e.B
}

// DecodeTask reads what Encode wrote.
func DecodeTask(b []byte) (Task, error) {
	d := canon.Read(b)
	t := Task{Kind: TaskKind(d.U8()), Iter: d.Int(), Payload: d.Rest()}
	if t.Kind < TaskFit || t.Kind > TaskCuts {
		d.Fail()
	}
	return t, d.Done("a training task")
}

// fitPayload is the Spec with its holdout.
func fitPayload(s *feature.Spec) []byte {
	var e canon.E
	s.Encode(&e)
	return e.B
}

// sealPayload are the encoders and the classes' weights.
type sealPayload struct {
	fitted       *feature.Fitted
	classWeights []float64
}

func (p *sealPayload) encode() []byte {
	var e canon.E
	p.fitted.Encode(&e)
	e.F64s(p.classWeights)
	return e.B
}

func decodeSeal(b []byte) (*sealPayload, error) {
	d := canon.Read(b)
	p := &sealPayload{fitted: feature.DecodeFitted(d), classWeights: d.F64s()}
	if p.classWeights != nil && len(p.classWeights) != len(p.fitted.Keys) {
		d.Fail()
	}
	return p, d.Done("a training task")
}

// evalPayload says what to evaluate, and on which rows.
type evalPayload struct {
	need  optim.Need
	held  bool // of the rows that were held out
	batch *optim.MiniBatch
	theta []float64
}

func (p *evalPayload) encode() []byte {
	e := canon.E{B: make([]byte, 0, 8*len(p.theta)+64)}
	e.U8(uint8(p.need))
	e.Bool(p.held)
	e.Bool(p.batch != nil)
	if p.batch != nil {
		e.Int(p.batch.Epoch)
		e.Int(p.batch.Step)
		e.Int(p.batch.Steps)
	}
	e.F64s(p.theta)
	return e.B
}

func decodeEval(b []byte) (*evalPayload, error) {
	d := canon.Read(b)
	p := &evalPayload{need: optim.Need(d.U8()), held: d.Bool()}
	if d.Bool() {
		p.batch = &optim.MiniBatch{Epoch: d.Int(), Step: d.Int(), Steps: d.Int()}
		if p.batch.Steps < 1 || p.batch.Step < 0 || p.batch.Step >= p.batch.Steps {
			d.Fail()
		}
	}
	p.theta = d.F64s()
	return p, d.Done("a training task")
}

// measurePayload says what to measure, or which scores to give.
type measurePayload struct {
	held         bool
	every        int       // TaskCuts: of the positive rows, one in so many; TaskMeasure: 1 ranks every score, else cuts
	cuts         []float64 // TaskMeasure: what to rank by instead, ascending
	theta        []float64
	classWeights []float64
}

func (p *measurePayload) encode() []byte {
	var e canon.E
	e.Bool(p.held)
	e.Int(p.every)
	e.F64s(p.cuts)
	e.F64s(p.theta)
	e.F64s(p.classWeights)
	return e.B
}

func decodeMeasure(b []byte) (*measurePayload, error) {
	d := canon.Read(b)
	p := &measurePayload{held: d.Bool(), every: d.Int(), cuts: d.F64s(), theta: d.F64s(), classWeights: d.F64s()}
	if p.every < 0 || !slices.IsSorted(p.cuts) {
		d.Fail()
	}
	return p, d.Done("a training task")
}

// Merge merges two encoded partials of neighbours in the tree.
func (j *Job) Merge(left, right []byte) ([]byte, error) {
	if len(left) == 0 || len(right) == 0 || left[0] != right[0] {
		return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	switch left[0] {
	case reduce.KindSums:
		return reduce.MergeSums(left, right)
	case kindStats:
		a, err := decodeStats(left, len(j.Columns))
		if err != nil {
			return nil, err
		}
		b, err := decodeStats(right, len(j.Columns))
		if err != nil {
			return nil, err
		}
		m, err := j.spec.MergeStats(a, b)
		if err != nil {
			return nil, err
		}
		return encodeStats(m), nil
	case kindMeasure:
		a, err := decodeMeasures(left)
		if err != nil {
			return nil, err
		}
		b, err := decodeMeasures(right)
		if err != nil {
			return nil, err
		}
		a.merge(b)
		return a.encode(), nil
	case kindCuts:
		return mergeCuts(left, right)
	case reduce.KindSparseSums:
		return nil, pgerr.Unsupported("sparse partial sums are not supported")
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "unknown kind of partial: %d", left[0])
}

func encodeStats(s *feature.Stats) []byte {
	e := canon.E{B: []byte{kindStats}}
	s.Encode(&e)
	return e.B
}

func decodeStats(b []byte, cols int) (*feature.Stats, error) {
	d := canon.Read(b)
	if d.U8() != kindStats {
		d.Fail()
	}
	s := feature.DecodeStats(d)
	if len(s.Cols) != cols {
		d.Fail()
	}
	return s, d.Done("training statistics")
}

func decodeSpec(b []byte) (*feature.Spec, error) {
	d := canon.Read(b)
	s := feature.DecodeSpec(d)
	return s, d.Done("a training task")
}
