package meta

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

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

	applying sync.Mutex // held by who applies
	sessions sessions

	mu        sync.Mutex
	changed   chan struct{} // closed with the next change of applied, or of failed; nil until somebody waits
	redefined chan struct{} // closed with the next change of what the state defines
	defined   *catalog.Definitions
	expected  map[*byte]chan<- Answer // by the first byte of a command
	failed    error
	stopped   chan struct{} // closed when failed is set
}

// New makes a machine with the state of a new database.
func New(log *slog.Logger) *FSM {
	f := &FSM{log: log, sessions: sessions{}, redefined: make(chan struct{}), expected: map[*byte]chan<- Answer{}, stopped: make(chan struct{})}
	first := catalog.New()
	f.current.Store(first)
	f.defined = first.Definitions()
	return f
}

// Current is the newest state. It never waits.
func (f *FSM) Current() *catalog.State { return f.current.Load() }

// Applied is the log index of the last command that was applied.
func (f *FSM) Applied() uint64 { return f.applied.Load() }

// Changed returns a channel that is closed when the next command has been
// applied.
func (f *FSM) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next()
}

// next is the channel that is closed with the next change of applied; mu is held. Where nobody
// waits there is none: most commits are seen by whoever proposed them.
func (f *FSM) next() chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// Redefined returns a channel that is closed when the state next defines something else:
// commits of rows alone, by the thousand, do not.
func (f *FSM) Redefined() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.redefined
}

// Answer is what the machine says of a command that it has applied.
type Answer struct {
	Response
	At uint64 // the entry of the log
}

// Expect has the answer to a command sent to its proposer as soon as it is applied: the
// log's own answer takes two goroutines more. There is none where the log does not take
// the command. forget ends the waiting.
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

// answer hands the results of commands to those who wait for them; mu is held.
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

// ApplyBatch implements raft.BatchingFSM. It passes over what ApplyAfter has applied.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	return f.applyBatch(logs, nil)
}

// ApplyAfter applies entries that are committed before raft says so, if all commands up to
// index before have been applied, and returns what they come to, nil if not; raft comes with them
// in any case. Whoever has their commands gives them too; nil if not. It may be called from any
// goroutine.
func (f *FSM) ApplyAfter(before uint64, logs []*raft.Log, cmds []Command) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	if f.applied.Load() < before {
		return nil
	}
	return f.applyBatch(logs, cmds)
}

// applyBatch is ApplyBatch, of commands that are at hand or nil; applying is held.
func (f *FSM) applyBatch(logs []*raft.Log, cmds []Command) []any {
	out := make([]any, len(logs))
	had, last := f.applied.Load(), uint64(0)
	for i, l := range logs {
		if l.Index <= had {
			// What it came to was said then; who asks again does so with the commit's id.
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

// apply applies an entry; made is the commit in it, nil where that must be read.
func (f *FSM) apply(l *raft.Log, made *commit) (Response, error) {
	if made != nil {
		return f.commit(l.Index, made), nil
	}
	if len(l.Data) == 0 {
		return Response{Index: l.Index, Err: pgerr.Internal("meta: an empty command")}, nil
	}
	switch t := l.Data[0]; {
	case t == cmdCommit:
		c, err := codec.Unmarshal[commit](l.Data[1:])
		if err != nil {
			return Response{}, err
		}
		return f.commit(l.Index, &c), nil
	case t&cmdSkipable != 0:
		return Response{Index: l.Index}, nil
	}
	return Response{}, pgerr.Unsupported("command %d of the log is not known", l.Data[0])
}

func (f *FSM) commit(index uint64, c *commit) Response {
	s, r, known := f.sessions.admit(index, c.ID)
	if known {
		return r
	}
	d := done{Index: index}
	if len(c.Changes) > 0 {
		next, out, err := f.current.Load().Commit(index, c.Changes)
		if err != nil {
			d.Refused = pgerr.From(err)
		} else {
			f.current.Store(next)
			f.sessions.removed(c.Changes)
			d.Outcome = out
		}
	}
	s.done[c.ID.Seq] = d
	return d.response()
}

// image is what a snapshot holds beside the catalog.
type image struct {
	Applied  uint64
	Sessions []imageSession
}

// snapshotFormat begins a snapshot.
const snapshotFormat = 2

// Snapshot implements raft.FSM: it takes pointers, Persist does the work while
// Apply goes on. A machine that has stopped gives none: raft would call it one
// of commands that were never applied, and throw those away.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if err := f.Err(); err != nil {
		return nil, err
	}
	f.applying.Lock()
	defer f.applying.Unlock()
	im := image{Applied: f.applied.Load(), Sessions: f.sessions.image()}
	return &snapshot{im: im, state: f.current.Load()}, nil
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
	f.current.Store(state)
	f.notify(im.Applied)
	return nil
}
