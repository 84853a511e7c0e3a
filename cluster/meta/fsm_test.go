package meta_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var quiet = slog.New(slog.DiscardHandler)

type sink struct{ bytes.Buffer }

func (s *sink) ID() string    { return "s" }
func (s *sink) Cancel() error { return nil }
func (s *sink) Close() error  { return nil }

func apply(f *meta.FSM, index uint64, id byte, changes ...catalog.Change) meta.Response {
	return f.Apply(&raft.Log{Index: index, Type: raft.LogCommand, Data: meta.EncodeCommit(meta.CommitID{id}, changes)}).(meta.Response)
}

func dump(t *testing.T, f *meta.FSM) string {
	t.Helper()
	b, err := f.Current().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func restored(t *testing.T, f *meta.FSM) *meta.FSM {
	t.Helper()
	snap, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	if err := snap.Persist(&s); err != nil {
		t.Fatal(err)
	}
	g := meta.New(quiet)
	if err := g.Restore(io.NopCloser(&s.Buffer)); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOnce(t *testing.T) {
	f := meta.New(quiet)
	alloc := &catalog.AllocOIDs{N: 5}
	r := apply(f, 3, 1, alloc)
	again := apply(f, 4, 1, alloc) // a retry
	if r.Err != nil || again.Index != 3 || again.Outcome.OIDs[0] != r.Outcome.OIDs[0] {
		t.Fatal(r, again)
	}
	if g := restored(t, f); dump(t, g) != dump(t, f) || g.Applied() != 4 {
		t.Fatal("a restored machine differs")
	} else if again = apply(g, 5, 1, alloc); again.Index != 3 {
		t.Fatal("a retry after a restore is applied twice")
	}
	before := dump(t, f)
	bad := apply(f, 5, 2, &catalog.PutSetting{Name: "x", Value: "y"}, &catalog.DropSchema{OID: 98765})
	if !pgerr.Is(bad.Err, pgerr.SerializationFailure) || dump(t, f) != before || f.Applied() != 5 {
		t.Fatal(bad)
	}
}

func TestManyCommits(t *testing.T) {
	f := meta.New(quiet)
	const n = 20000 // more than are remembered
	for i := range uint64(n) {
		id := meta.CommitID{byte(i), byte(i >> 8), byte(i >> 16)}
		f.Apply(&raft.Log{Index: i + 1, Data: meta.EncodeCommit(id, []catalog.Change{&catalog.PutSetting{Name: "n", Value: "v"}})})
	}
	g := restored(t, f)
	for _, i := range []uint64{n - 1, n - 16384} {
		id := meta.CommitID{byte(i), byte(i >> 8), byte(i >> 16)}
		for _, m := range []*meta.FSM{f, g} {
			if r := m.Apply(&raft.Log{Index: n + 1, Data: meta.EncodeCommit(id, nil)}).(meta.Response); r.Index != i+1 {
				t.Fatal(i, r)
			}
		}
	}
}

func TestWait(t *testing.T) {
	f := meta.New(quiet)
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := f.WaitFor(short, 2); err == nil {
		t.Fatal("did not wait")
	}
	done := make(chan error)
	go func() { done <- f.WaitFor(context.Background(), 2) }()
	f.ApplyBatch([]*raft.Log{{Index: 1, Data: meta.EncodeCommit(meta.CommitID{1}, nil)}, {Index: 2, Type: raft.LogConfiguration}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestUnknownCommands(t *testing.T) {
	f := meta.New(quiet)
	if r := f.Apply(&raft.Log{Index: 1, Data: []byte{0x90, 1, 2}}).(meta.Response); r.Err != nil {
		t.Fatal(r)
	}
	if r := f.Apply(&raft.Log{Index: 2, Data: []byte{0x10}}).(meta.Response); !pgerr.Is(r.Err, pgerr.DataCorrupted) {
		t.Fatal(r)
	}
	if r := apply(f, 3, 1, &catalog.PutSetting{Name: "x", Value: "y"}); r.Err == nil {
		t.Fatal("went on")
	}
	if err := f.WaitFor(context.Background(), 9); err == nil {
		t.Fatal("waits for ever")
	}
}

// A command that cannot be applied, or panics, stops the machine before it: it
// and what follows count as not applied and go into no snapshot, so that a
// machine that can apply them goes on from the same log.
func TestStops(t *testing.T) {
	set := func(name string) []byte {
		return meta.EncodeCommit(meta.CommitID{name[0]}, []catalog.Change{&catalog.PutSetting{Name: name, Value: "v"}})
	}
	for name, bad := range map[string][]byte{
		"unknown":   {0x10},
		"cut short": set("b")[:20],
		"panic":     meta.EncodeCommit(meta.CommitID{'p'}, []catalog.Change{&catalog.PutRelation{}}),
	} {
		f := meta.New(quiet)
		apply(f, 1, 1, &catalog.PutSetting{Name: "x", Value: "y"})
		before := dump(t, f)
		out := f.ApplyBatch([]*raft.Log{{Index: 2, Data: []byte{0x90}}, {Index: 3, Data: bad}, {Index: 4, Data: set("c")}, {Index: 5, Type: raft.LogConfiguration}})
		for i, stopped := range []bool{false, true, true} {
			if r := out[i].(meta.Response); r.Stopped != stopped || (r.Err != nil) != stopped {
				t.Errorf("%s: entry %d: %+v", name, i+2, r)
			}
		}
		select {
		case <-f.Stopped():
		default:
			t.Errorf("%s: did not say that it stopped", name)
		}
		if f.Applied() != 2 || dump(t, f) != before {
			t.Errorf("%s: applied up to %d", name, f.Applied())
		}
		if _, err := f.Snapshot(); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("%s: a snapshot after the failure: %v", name, err)
		}
	}
}

func TestRestoreOfDamage(t *testing.T) {
	f := meta.New(quiet)
	apply(f, 1, 1, &catalog.PutSetting{Name: "x", Value: "y"})
	snap, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	if err := snap.Persist(&s); err != nil {
		t.Fatal(err)
	}
	whole := s.Bytes()
	for i := range whole {
		for _, b := range [][]byte{whole[:i], append(bytes.Clone(whole[:i]), append([]byte{whole[i] ^ 0xff}, whole[i+1:]...)...)} {
			// An error or another value, but no panic.
			_ = meta.New(quiet).Restore(io.NopCloser(bytes.NewReader(b)))
		}
	}
}
