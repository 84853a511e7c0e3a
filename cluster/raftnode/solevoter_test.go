package raftnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestStoredAhead stores entries before raft does, as a sole voter may: they survive a crash. Raft can
// later store the same entries but not others in their place, and cannot remove them.
func TestStoredAhead(t *testing.T) {
	dir := t.TempDir()
	j, err := openBoth(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { j.Close() }()
	var want []raft.Log
	entries := func(from, to uint64, bytes int) (out []*raft.Log) {
		for i := from; i <= to; i++ {
			l := raft.Log{Index: i, Term: 3, Type: raft.LogCommand, Data: make([]byte, bytes)}
			l.Data[0] = byte(i)
			want = append(want, l)
			out = append(out, &l)
		}
		return out
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(j.StoreLogs(entries(1, 3, 10)))
	must(j.storeAhead(entries(4, 5, 1<<20)))
	must(j.storeAhead(entries(6, 8, 1<<20))) // the first of them go to bbolt for it
	must(j.storeAhead(entries(9, 9, journalBytes)))
	if got := all(t, j); !sameLogs(got, want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	crashed, err := openBoth(copyOf(t, dir))
	must(err)
	if got := all(t, crashed); !sameLogs(got, want) {
		t.Errorf("%d entries after a crash, want %d", len(got), len(want))
	}
	must(crashed.Close())
	must(j.StoreLogs([]*raft.Log{&want[3], &want[4], &want[5]}))
	must(j.DeleteRange(1, 2)) // behind a snapshot
	for name, err := range map[string]error{
		"another entry":     j.StoreLogs([]*raft.Log{{Index: 7, Term: 3, Type: raft.LogCommand, Data: []byte{1}}}),
		"another term":      j.StoreLogs([]*raft.Log{{Index: 7, Term: 4, Type: raft.LogCommand, Data: want[6].Data}}),
		"a later one":       j.StoreLogs([]*raft.Log{&want[7]}),
		"removing":          j.DeleteRange(8, 9),
		"removing from 6":   j.DeleteRange(6, 9),
		"a no-op of a term": j.StoreLog(&raft.Log{Index: 7, Term: 4, Type: raft.LogNoop}),
	} {
		if err == nil {
			t.Errorf("%s is taken where an entry was committed", name)
		}
	}
	if got := all(t, j); !sameLogs(got, want[2:]) {
		t.Fatalf("%d entries, want %d", len(got), len(want)-2)
	}
	must(j.StoreLogs([]*raft.Log{&want[6], &want[7], &want[8]}))
	must(j.DeleteRange(9, 9)) // entries that raft has stored too
	want = want[:8]
	must(j.StoreLogs(entries(9, 10, 5)))
	if got := all(t, j); !sameLogs(got, want[2:]) {
		t.Fatalf("%d entries, want %d", len(got), len(want)-2)
	}
}

// fakeRaft gives proposed entries consecutive indexes of a log and applies them to the state machine.
type fakeRaft struct {
	s     *soleVoter
	j     *journal
	early *earlyApplier
	fsm   *meta.FSM

	mu   sync.Mutex
	last uint64
	lost error // it is no longer leader
}

// done is a future that is complete.
type done struct {
	index uint64
	err   error
}

func (d done) Error() error  { return d.err }
func (d done) Index() uint64 { return d.index }
func (d done) Response() any { return nil }

func (f *fakeRaft) put(typ raft.LogType, data []byte) raft.ApplyFuture {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost != nil {
		return done{err: f.lost}
	}
	e := []*raft.Log{{Index: f.last + 1, Term: 1, Type: typ, Data: data}}
	if err := f.j.StoreLogs(e); err != nil {
		f.lost = err
		return done{err: err}
	}
	f.last++
	if fresh := f.s.stored(e); len(fresh) > 0 {
		f.early.stored("me", fresh)
	}
	f.fsm.ApplyBatch(e)
	return done{index: f.last}
}

func newSolo(t *testing.T) (*fakeRaft, *soleVoter, chan error) {
	j, err := openBoth(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &fakeRaft{j: j, fsm: meta.New(slog.New(slog.DiscardHandler))}
	f.early = &earlyApplier{fsm: f.fsm}
	failed := make(chan error, 1)
	s := &soleVoter{ctx: ctx, early: f.early, fsm: f.fsm, self: "me", store: j.storeAhead, leads: func(uint64) bool { return true },
		apply: func(cmd []byte) raft.ApplyFuture { return f.put(raft.LogCommand, cmd) },
		await: func(_ context.Context, x raft.Future) error { return x.Error() },
		fail:  func(err error) { failed <- err }, hurry: make(chan struct{}, 1), timer: time.NewTimer(feedEvery)}
	s.changed.L = &s.mu
	f.s = s
	var wg sync.WaitGroup
	wg.Go(s.feed)
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		j.Close()
	})
	resume := s.pause()
	f.put(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "me", Suffrage: raft.Voter}}}))
	f.early.lead(1, "me", nil)
	s.lead(1)
	resume(true)
	return f, s, failed
}

func (s *soleVoter) isOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// TestSolo: many callers propose while raft sometimes appends entries of its own and other nodes
// sometimes vote. Each command has one index, greater than the previous command's, and has been
// applied when its caller gets the result; raft's entries are those of the log.
func TestSolo(t *testing.T) {
	f, s, failed := newSolo(t)
	var seq, alone atomic.Uint64
	propose := func(name, value string) meta.Answer {
		cmd := meta.NewCommand(meta.CommitID{Gateway: 5, Epoch: 1, Seq: seq.Add(1), Mark: 1}, time.Now(), []catalog.Change{&catalog.PutSetting{Name: name, Value: value}})
		a, err, ok := s.propose(cmd)
		if err != nil {
			t.Error(err)
		}
		if ok {
			alone.Add(1)
			return a
		}
		resume := s.pause()
		defer resume(true)
		answer, forget := f.fsm.Expect(cmd.Bytes)
		defer forget()
		if err := f.put(raft.LogCommand, cmd.Bytes).Error(); err != nil {
			t.Error(err)
			return a
		}
		return <-answer
	}
	var wg sync.WaitGroup
	const workers, each = 6, 120
	for w := range workers {
		wg.Go(func() {
			name, before := fmt.Sprint("w", w), uint64(0)
			for i := range each {
				a := propose(name, fmt.Sprint(i))
				if v, _ := f.fsm.Current().Setting(name); v != fmt.Sprint(i) {
					t.Errorf("%s is %q where %d was answered", name, v, i)
				}
				if a.Err != nil || a.Stopped || a.At <= before {
					t.Errorf("entry %d behind %d: %+v", a.At, before, a.Response)
				}
				before = a.At
			}
		})
	}
	wg.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 30 {
			c := raft.Configuration{Servers: []raft.Server{{ID: "me", Suffrage: raft.Voter}}}
			if i%2 == 0 {
				c.Servers = append(c.Servers, raft.Server{ID: "you", Suffrage: raft.Nonvoter})
			}
			typ, data := raft.LogConfiguration, raft.EncodeConfiguration(c)
			if r.IntN(3) == 0 {
				typ, data = raft.LogBarrier, nil
			}
			resume := s.pause()
			if err := f.put(typ, data).Error(); err != nil {
				t.Error(err)
			}
			resume(true)
			if typ == raft.LogConfiguration && len(c.Servers) > 1 && s.isOpen() {
				t.Error("open although another takes part")
			}
			propose("x", fmt.Sprint(i))
		}
	})
	wg.Wait()
	s.pause()
	log := all(t, f.j)
	if f.last != log[len(log)-1].Index || len(log) != int(f.last) {
		t.Errorf("raft knows %d entries, the log has %d", f.last, len(log))
	}
	commands := 0
	for _, l := range log {
		if l.Type == raft.LogCommand {
			commands++
		}
	}
	if commands != int(seq.Load()) || alone.Load() == 0 {
		t.Errorf("%d commands in the log, want %d; %d without raft", commands, seq.Load(), alone.Load())
	}
	select {
	case err := <-failed:
		t.Error(err)
	default:
	}
}

// TestSoloAstray: if raft puts another entry at the index of one that is committed already, or has
// lost its leadership, the node gets an error, and the log keeps the committed entries.
func TestSoloAstray(t *testing.T) {
	for _, lost := range []bool{false, true} {
		f, s, failed := newSolo(t)
		f.mu.Lock() // raft is slow
		cmd := meta.NewCommand(meta.CommitID{Gateway: 5, Epoch: 1, Seq: 1, Mark: 1}, time.Now(), []catalog.Change{&catalog.PutSetting{Name: "x", Value: "1"}})
		a, err, ok := s.propose(cmd)
		if err != nil || !ok || a.Err != nil {
			t.Fatal(a, err, ok)
		}
		if lost {
			f.lost = raft.ErrNotLeader
		} else {
			e := &raft.Log{Index: f.last + 1, Term: 1, Type: raft.LogNoop}
			if f.lost = f.j.StoreLog(e); f.lost == nil {
				t.Fatal("another entry has the place")
			}
		}
		f.mu.Unlock()
		if err := <-failed; err == nil || lost && !errors.Is(err, raft.ErrNotLeader) {
			t.Error(err)
		}
		var e raft.Log
		if err := f.j.GetLog(a.At, &e); err != nil || string(e.Data) != string(cmd.Bytes) {
			t.Error("the committed entry is gone", err)
		}
		s.pause() // returns without waiting
		if _, _, ok := s.propose(cmd); ok {
			t.Error("open")
		}
	}
}
