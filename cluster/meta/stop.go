package meta

import (
	"runtime/debug"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// A command that cannot be applied stops the machine: to go on without a command that
// other nodes apply would make the states differ. It and all later commands count as
// not applied, so that the next process that can applies them from the log.

// step applies one entry, as apply does; ok is false where the machine has stopped, now
// or before.
func (f *FSM) step(l *raft.Log, made *commit) (r Response, ok bool) {
	if err := f.Err(); err != nil {
		return Response{Index: l.Index, Err: err, Stopped: true}, false
	}
	if l.Type != raft.LogCommand {
		return Response{}, true
	}
	err := func() (err error) {
		defer recovered(&err)
		r, err = f.apply(l, made)
		return err
	}()
	if err != nil {
		return Response{Index: l.Index, Err: f.fail(l.Index, err), Stopped: true}, false
	}
	return r, true
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = pgerr.Internal("panic: %v", p).WithDetail("%s", debug.Stack())
	}
}

// fail stops the machine.
func (f *FSM) fail(index uint64, cause error) error {
	err := pgerr.Wrap(pgerr.DataCorrupted, cause, "the catalog cannot follow the cluster at index %d", index).
		WithHint("The node may run an older version than the others.")
	stack := ""
	if p, ok := cause.(*pgerr.Error); ok {
		stack = p.Detail
	}
	f.log.Error("BUG: the state machine stops", "index", index, "err", cause, "stack", stack)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = err
	close(f.stopped)
	close(f.next()) // wake those who wait for an index
	f.changed = nil
	return err
}

// Stopped returns a channel that is closed when the machine has met a command it
// cannot apply; Err says which. It never goes on: the process must end.
func (f *FSM) Stopped() <-chan struct{} { return f.stopped }

// Err returns why the machine stopped, nil while it has not.
func (f *FSM) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}
