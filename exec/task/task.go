package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/turn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Task is a running stage. Next is for one goroutine; the rest for any.
type Task struct {
	tree   *build.Tree
	tables op.Tables // nil: the stage reads none
	stage  *plan.Stage
	out    chan *batch.Batch // of a root stage; closed when all threads are done
	done   chan struct{}     // closed when all threads are done
	cancel context.CancelCauseFunc
	// writers send a stage's rows, and its runtime filter.
	writers []op.ExchangeWriter

	mu   sync.Mutex
	err  error // the first of a thread
	left atomic.Int32
	some bool // Next has returned rows

	short *inlineThread // a task without goroutines; nil for others
	// threads are what each has done; read when all are done.
	threads []Thread
}

// Thread is what a thread of a task did.
type Thread struct {
	Start, End time.Time
	Rows       int64 // that left it
}

// Threads returns what the threads did once all are done; nil for a task without goroutines.
func (t *Task) Threads() []Thread { return t.threads }

// Start builds a stage and starts its threads. It returns no task where building
// fails. The task lives until ctx ends, its work is done, or Close.
func Start(ctx context.Context, c build.Config) (*Task, error) {
	var tree *build.Tree
	err := op.Guard("build", func() (err error) {
		tree, err = build.Stage(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	t := &Task{tree: tree, stage: c.Stage, done: make(chan struct{}), tables: c.Tables}
	outs := make([]*outlet, len(tree.Root))
	if c.Stage.Out == nil {
		t.out = make(chan *batch.Batch, len(tree.Root))
	} else if outs, err = t.outlets(ctx, c); err != nil {
		t.closeSend(err)
		return nil, err
	}
	tctx, cancel := context.WithCancelCause(ctx)
	t.cancel = cancel
	if c.Stage.Short && c.Stage.Out == nil && len(tree.Root) == 1 {
		t.short = &inlineThread{t: t, ctx: tctx, root: tree.Root[0]}
		return t, nil
	}
	t.left.Store(int32(len(tree.Root)))
	t.threads = make([]Thread, len(tree.Root))
	for thread, root := range tree.Root {
		go t.thread(tctx, thread, root, outs[thread])
	}
	return t, nil
}

// thread runs one thread from Open to Close. The last one ends the task.
func (t *Task) thread(ctx context.Context, thread int, root op.Operator, out *outlet) {
	where := fmt.Sprintf("stage %d thread %d", t.stage.ID, thread)
	did := &t.threads[thread]
	did.Start = time.Now()
	defer turn.Soon()
	err := op.Guard(where, func() error {
		if err := root.Open(ctx); err != nil {
			return err
		}
		return t.pump(ctx, root, out, did)
	})
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx) // the cause, which the client should see
	}
	t.fail(err)
	// A thread closes its operators when it is done, not when all are: the others
	// may wait for it in a barrier.
	t.fail(op.Guard(where, root.Close))
	did.End = time.Now()
	if t.left.Add(-1) > 0 {
		return
	}
	if t.out == nil && t.Err() == nil {
		t.fail(t.intact()) // all was sent by value
	}
	t.fail(t.closeSend(t.Err()))
	t.cancel(nil)
	close(t.done)
	if t.out != nil {
		close(t.out)
	}
}

func (t *Task) pump(ctx context.Context, root op.Operator, out *outlet, did *Thread) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := root.Next(ctx)
		if err == io.EOF {
			if out != nil {
				return out.flush(ctx)
			}
			return nil
		}
		if err != nil {
			return err
		}
		did.Rows += int64(b.Rows())
		if out != nil {
			if err := out.send(ctx, b); err != nil {
				return err
			}
			continue
		}
		if b.Rows() == 0 {
			continue
		}
		select {
		case t.out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fail records the first error and stops all threads. The errors of the others after that are
// ignored.
func (t *Task) fail(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	if t.err == nil {
		t.err = err
	}
	t.mu.Unlock()
	t.cancel(err)
}

// Err returns the first error so far.
func (t *Task) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Next returns the next batch of a root stage, io.EOF after the last.
func (t *Task) Next(ctx context.Context) (*batch.Batch, error) {
	if t.out == nil {
		return nil, pgerr.Internal("stage %d has no reader", t.stage.ID)
	}
	b, err := t.next(ctx)
	// At the end the reader has used all rows. What is wrong before the first costs no error: the plan can be
	// run again. A short task has its only rows at once.
	if err == io.EOF || err == nil && !t.some && t.short == nil {
		if err := t.intact(); err != nil {
			t.fail(err)
			return nil, err
		}
	}
	t.some = t.some || err == nil
	return b, err
}

// intact returns an error if a file that the task has read was written to meanwhile.
func (t *Task) intact() error {
	if t.tables == nil {
		return nil
	}
	return t.tables.Intact()
}

func (t *Task) next(ctx context.Context) (*batch.Batch, error) {
	if t.short != nil {
		return t.short.next()
	}
	select {
	case b, ok := <-t.out:
		// After an error the rest of the channel is discarded.
		if err := t.Err(); err != nil {
			return nil, err
		}
		if !ok {
			return nil, io.EOF
		}
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Cancel stops the task with a cause and does not wait.
func (t *Task) Cancel(cause error) { t.fail(cause) }

// Close stops the task and waits for its threads. It returns no error of the task:
// Next or Wait do.
func (t *Task) Close() error {
	t.cancel(context.Canceled)
	if t.short != nil {
		t.short.close()
		return nil
	}
	for {
		if t.out == nil {
			<-t.done
			return nil
		}
		// A thread may be about to send.
		if _, ok := <-t.out; !ok {
			return nil
		}
	}
}

// Done is closed when all threads are done.
func (t *Task) Done() <-chan struct{} { return t.done }

// Stats returns the counters of the stage's nodes, depth first.
func (t *Task) Stats() []*op.Stats { return t.tree.Stats }

// Sent returns what was sent to other nodes: of the stage's rows, then of its runtime filter.
func (t *Task) Sent() (bytes, messages [2]int64) {
	for i, w := range t.writers {
		bytes[i], messages[i] = w.Sent()
	}
	return bytes, messages
}
