package train

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Task is an operation of a training on all nodes. The same task may be sent again. Its
// body is passed to workers of this process as it is, and encoded to others.
type Task struct {
	Iter int // numbers the tasks of a reducer, to match partials with tasks
	body body
}

// body is the content of a task: a *copiesTask, *fitTask, *encodeTask, *stepTask,
// *evaluateTask, *cutsTask, *usageTask, *weightTask, *recountTask, *rescanTask, *trialTask, *profileTask or *tallyTask, or
// one of those of a Distribution.
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
	kindTrial    = 15
	kindProfile  = 16
	kindTally    = 17
)

// Append appends the bytes that Worker.DecodeTask reads.
func (t *Task) Append(b []byte) []byte {
	e := canon.E{B: b}
	e.U8(t.body.kind())
	e.Int(t.Iter)
	t.body.Encode(&e)
	return e.B
}

// as returns m as a partial of the expected kind.
func as[T any](m family.Message) (T, error) {
	v, ok := m.(T)
	if !ok {
		return v, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	return v, nil
}

// merged adds the right one of two partials to the left one.
func merged[T family.Message](left, right family.Message, add func(a, b T)) (family.Message, error) {
	a, err := as[T](left)
	if err != nil {
		return nil, err
	}
	b, err := as[T](right)
	if err != nil {
		return nil, err
	}
	add(a, b)
	return a, nil
}
