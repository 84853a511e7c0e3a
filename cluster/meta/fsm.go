package meta

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/advisory"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// FSM implements raft.BatchingFSM. Apply, Snapshot and Restore are called by
// raft; the other methods from any goroutine.
type FSM struct {
	log     *slog.Logger
	current atomic.Pointer[catalog.State]
	applied atomic.Uint64 // index of the last command

	applying sync.Mutex // held while entries are applied
	recorder Recorder   // nil for none
	sessions sessions

	lockTable sync.RWMutex // for locks
	locks     *advisory.Table

	mu        sync.Mutex
	changed   chan struct{} // closed with the next change of applied, or of failed; nil while nobody waits
	redefined chan struct{} // closed with the next change of what the state defines
	defined   *catalog.Definitions
	expected  map[*byte]chan<- Answer // by the first byte of a command
	failed    error
	stopped   chan struct{} // closed when failed is set
}

// New returns a state machine with the state of a new database.
func New(log *slog.Logger) *FSM {
	f := &FSM{log: log, sessions: sessions{}, locks: advisory.NewTable(), redefined: make(chan struct{}), expected: map[*byte]chan<- Answer{}, stopped: make(chan struct{})}
	first := catalog.New()
	f.current.Store(first)
	f.defined = first.Definitions()
	return f
}

// Recorder is told of each new state before anybody sees it, in order. Its methods must not wait.
type Recorder interface {
	// Applied is called for each commit that changed the state; command is the commit's.
	Applied(before, after *catalog.State, command []byte)
	// Began is called with a state that does not follow from the last one by a commit.
	Began(with *catalog.State)
}

// Record has r told of states from now on. It is called before raft starts.
func (f *FSM) Record(r Recorder) { f.recorder = r }

// Current returns the newest state. It never blocks.
func (f *FSM) Current() *catalog.State { return f.current.Load() }

// Applied returns the log index of the last command that was applied.
func (f *FSM) Applied() uint64 { return f.applied.Load() }

// Changed returns a channel that is closed when the next command has been
// applied.
func (f *FSM) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next()
}

// next returns the channel that is closed with the next change of applied; mu is held.
// It is made only when somebody waits: most commits are waited for through Expect.
func (f *FSM) next() chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// Redefined returns a channel that is closed when the definitions in the state next
// change. Commits that only change rows, of which there are thousands, do not close it.
func (f *FSM) Redefined() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.redefined
}

// Answer is the machine's answer to a command that it has applied.
type Answer struct {
	Response
	At uint64 // index of the log entry
}

// Expect returns a channel that receives the answer to a command as soon as it is
// applied: the log's own answer passes two more goroutines. Nothing is sent where the
// log does not accept the command. forget must be called when the answer is no longer
// awaited.
func (f *FSM) Expect(cmd []byte) (answer <-chan Answer, forget func()) {
	ch := make(chan Answer, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected[&cmd[0]] = ch
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.expected, &cmd[0])
	}
}

// answer sends the results of commands to those who wait for them; mu is held.
func (f *FSM) answer(logs []*raft.Log, out []any) {
	for i, l := range logs {
		if len(l.Data) == 0 {
			continue
		}
		r, ok := out[i].(Response)
		if ch := f.expected[&l.Data[0]]; ok && ch != nil {
			delete(f.expected, &l.Data[0])
			ch <- Answer{r, l.Index}
		}
	}
}

// WaitFor waits until the command with this index has been applied.
func (f *FSM) WaitFor(ctx context.Context, index uint64) error {
	for f.applied.Load() < index {
		f.mu.Lock()
		ch, failed := f.next(), f.failed
		f.mu.Unlock()
		switch {
		case f.applied.Load() >= index:
			return nil
		case failed != nil:
			return failed
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *FSM) notify(index uint64) {
	f.applied.Store(index)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	if now := f.current.Load().Definitions(); now != f.defined {
		f.defined = now
		close(f.redefined)
		f.redefined = make(chan struct{})
	}
}

// Apply implements raft.FSM. Its result is a Response.
func (f *FSM) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM. It skips what ApplyAfter has applied.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.applyBatch(logs, nil)
}

// ApplyAfter applies entries that are known to be committed before raft reports so, if
// all commands up to index before have been applied, and returns their results, else
// nil; raft calls ApplyBatch with them in any case. cmds are their commands where the
// caller has them; else nil. It may be called from any goroutine.
func (f *FSM) ApplyAfter(before uint64, logs []*raft.Log, cmds []Command) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.applied.Load() < before {
		return nil
	}
	return f.applyBatch(logs, cmds)
}

// applyBatch implements ApplyBatch; cmds are the entries' commands, or nil. applying is
// held.
func (f *FSM) applyBatch(logs []*raft.Log, cmds []Command) []any {
	out := make([]any, len(logs))
	had, last := f.applied.Load(), uint64(0)
	for i, l := range logs {
		if l.Index <= had {
			// Its outcome was returned then; a proposer that asks again does so by the commit's
			// id.
			out[i] = Response{Index: l.Index, Stopped: true}
			continue
		}
		var made *commit
		if cmds != nil {
			made = cmds[i].made
		}
		r, ok := f.step(l, made)
		if l.Type == raft.LogCommand {
			out[i] = r
		}
		if ok {
			last = l.Index
		}
	}
	if last == 0 && len(logs) > 0 && logs[len(logs)-1].Index <= had {
		return out
	}
	if last > 0 {
		f.notify(last)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer(logs, out)
	return out
}

// apply applies an entry; made is its commit, nil where that must be decoded.
func (f *FSM) apply(l *raft.Log, made *commit) (Response, error) {
	if made != nil {
		return f.commit(l, made), nil
	}
	if len(l.Data) == 0 {
		return Response{Index: l.Index, Err: pgerr.Internal("meta: an empty command")}, nil
	}
	c, err := ReadCommand(l.Data)
	switch {
	case err != nil:
		return Response{}, err
	case c.made == nil:
		return Response{Index: l.Index}, nil
	}
	return f.commit(l, c.made), nil
}

// pastSince is the version of a cluster from which on its states keep times, and files of the past.
const pastSince = 2

func (f *FSM) commit(l *raft.Log, c *commit) Response {
	index := l.Index
	before := f.sessions.epoch(c.ID.Gateway)
	s, r, known := f.sessions.admit(index, c.ID)
	if s.epoch != before { // its sessions ended with it
		f.changeLocks(func(t *advisory.Table) { t.EndLife(c.ID.Gateway) })
	}
	if known {
		return r
	}
	d := done{Index: index}
	var err error
	if len(c.Locks) > 0 {
		err = f.locks.Check(c.Locks)
	}
	now, at := f.current.Load(), c.Micros
	if now.Finalized() < pastSince { // older nodes keep no past, and their states must equal these
		at = 0
	}
	// A commit without changes may have the state forget what was kept for the past.
	if err == nil && (len(c.Changes) > 0 || at != 0 && now.GraveDue(time.UnixMicro(at))) {
		var next *catalog.State
		if next, d.Outcome, err = catalog.CommitAt(now, index, at, c.Changes); err == nil {
			if f.recorder != nil {
				f.recorder.Applied(now, next, l.Data)
			}
			f.current.Store(next)
			for _, gone := range f.sessions.removed(c.Changes) {
				f.changeLocks(func(t *advisory.Table) { t.EndLife(gone) })
			}
		}
	}
	if err == nil && len(c.Locks) > 0 {
		f.changeLocks(func(t *advisory.Table) { d.Lock, err = t.Apply(c.Locks) })
	}
	if err != nil {
		d.Outcome, d.Refused = catalog.Outcome{}, pgerr.From(err)
	}
	s.done[c.ID.Seq] = d
	return d.response()
}

func (f *FSM) changeLocks(change func(*advisory.Table)) {
	f.lockTable.Lock()
	defer f.lockTable.Unlock()
	change(f.locks)
}

// Locks calls look with the advisory locks, which look only reads.
func (f *FSM) Locks(look func(*advisory.Table)) {
	f.lockTable.RLock()
	defer f.lockTable.RUnlock()
	look(f.locks)
}

// image is the content of a snapshot besides the catalog.
type image struct {
	Applied  uint64
	Sessions []imageSession
	Locks    advisory.Image
}

// snapshotFormat is the first byte of a snapshot.
const snapshotFormat = 2

// Snapshot implements raft.FSM: it takes pointers, Persist does the work while Apply
// goes on. A stopped machine returns an error: raft would take its snapshot to include
// commands that were never applied, and discard those.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	f.applying.Lock()
	defer f.applying.Unlock()
	im := image{Applied: f.applied.Load(), Sessions: f.sessions.image(), Locks: f.locks.Image()}
	return &snapshot{im: im, state: f.current.Load()}, nil
}

// Snapshot is the snapshot of a machine that has this state and nothing else: for a log that begins with it.
func Snapshot(state *catalog.State) raft.FSMSnapshot {
	return &snapshot{im: image{Applied: state.Version(), Locks: advisory.NewTable().Image()}, state: state}
}

type snapshot struct {
	im    image
	state *catalog.State
}

// Persist implements raft.FSMSnapshot.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	head := codec.Marshal(s.im)
	state, err := s.state.MarshalBinary()
	if err == nil {
		b := binary.LittleEndian.AppendUint64([]byte{snapshotFormat}, uint64(len(head)))
		for _, part := range [][]byte{b, head, state} {
			if _, err = sink.Write(part); err != nil {
				break
			}
		}
	}
	if err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

// Restore implements raft.FSM.
func (f *FSM) Restore(r io.ReadCloser) (err error) {
	defer r.Close()
	defer recovered(&err)
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	bad := func() error { return pgerr.New(pgerr.DataCorrupted, "invalid snapshot of the catalog") }
	if len(b) < 9 || b[0] != snapshotFormat {
		return bad()
	}
	n := binary.LittleEndian.Uint64(b[1:])
	if n > uint64(len(b)-9) {
		return bad()
	}
	im, err := codec.Unmarshal[image](b[9 : 9+n])
	if err != nil {
		return err
	}
	state, err := catalog.UnmarshalState(b[9+n:])
	if err != nil {
		return err
	}
	f.applying.Lock()
	defer f.applying.Unlock()
	f.sessions = sessionsOf(im.Sessions)
	f.changeLocks(func(t *advisory.Table) { *t = *im.Locks.Table() })
	if f.recorder != nil {
		f.recorder.Began(state)
	}
	f.current.Store(state)
	f.notify(im.Applied)
	return nil
}
