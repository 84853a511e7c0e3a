package raftnode

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
)

// memory is a snapshot in memory.
type memory struct{ bytes.Buffer }

func (m *memory) ID() string    { return "memory" }
func (m *memory) Cancel() error { return nil }
func (m *memory) Close() error  { return nil }

func votersOf(ids ...raft.ServerID) raft.Configuration {
	c := raft.Configuration{Servers: []raft.Server{{ID: "learner", Suffrage: raft.Nonvoter}}}
	for _, id := range ids {
		c.Servers = append(c.Servers, raft.Server{ID: id, Suffrage: raft.Voter})
	}
	return c
}

// TestEarly runs state machines over a log whose leader and voters change. A node that is the only
// voter may apply an entry of its term as leader before raft does, since storing it commits it. No
// other entries are applied early, and the state is the same as if raft alone had applied them.
func TestEarly(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	sooner := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		f, want := meta.New(quiet), meta.New(quiet)
		e := &earlyApplier{fsm: f}
		latest := votersOf("me") // raft's latest configuration
		var log []*raft.Log
		term, leads, told := uint64(1), false, 0
		// sole is true when storing an entry commits it.
		sole, committed := false, uint64(0)
		for step := range uint64(200) {
			l := &raft.Log{Index: uint64(len(log)) + 1, Term: term, Type: raft.LogCommand}
			switch n := r.IntN(20); {
			case n == 0: // another node becomes leader, or this one again
				term++
				leads, sole = false, false
				l.Term, l.Type = term, raft.LogNoop
			case n == 1:
				latest = votersOf("me")
				if r.IntN(2) == 0 {
					latest = votersOf("me", "you")
				}
				l.Type, l.Data = raft.LogConfiguration, raft.EncodeConfiguration(latest)
				sole = leads && onlyVoter(latest, "me")
			default:
				l.Data = meta.EncodeCommit(meta.CommitID{Gateway: 5, Epoch: 1, Seq: step + 1, Mark: 1}, []catalog.Change{&catalog.PutSetting{Name: "x", Value: fmt.Sprint(seed, step)}})
			}
			log = append(log, l)
			if sole {
				committed = l.Index
			}
			e.stored("me", []*raft.Log{l})
			if now := f.Applied(); now > max(committed, uint64(told)) {
				t.Fatalf("seed %d, entry %d: applied up to %d, of %d", seed, l.Index, now, max(committed, uint64(told)))
			} else if now > uint64(told) {
				sooner++
			}
			// raft applies later, any number of entries.
			for n := r.IntN(4); n > 0 && told < len(log); n-- {
				f.ApplyBatch(log[told : told+1])
				told++
			}
			if r.IntN(10) == 0 && !leads {
				f.ApplyBatch(log[told:]) // the barrier
				told = len(log)
				e.lead(term, "me", func() raft.Configuration { return latest })
				leads, sole = true, onlyVoter(latest, "me")
			}
			if r.IntN(40) == 0 { // a snapshot contains at least what raft has applied
				snap, err := f.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				s := &memory{}
				if err := snap.Persist(s); err != nil {
					t.Fatal(err)
				}
				g := meta.New(quiet)
				if err := g.Restore(io.NopCloser(&s.Buffer)); err != nil {
					t.Fatal(err)
				}
				g.ApplyBatch(log[told:])
				whole := meta.New(quiet)
				whole.ApplyBatch(log)
				if stateOf(t, g) != stateOf(t, whole) {
					t.Fatalf("seed %d: a snapshot and what follows differ", seed)
				}
			}
		}
		f.ApplyBatch(log[told:])
		want.ApplyBatch(log)
		if stateOf(t, f) != stateOf(t, want) || f.Applied() != want.Applied() {
			t.Fatalf("seed %d: the states differ", seed)
		}
	}
	if sooner < 1000 {
		t.Fatalf("only %d entries were applied before raft came", sooner)
	}
}

func stateOf(t *testing.T, f *meta.FSM) string {
	t.Helper()
	b, err := f.Current().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
