package meta_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring"
	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

var quiet = slog.New(slog.DiscardHandler)

type sink struct{ bytes.Buffer }

func (s *sink) ID() string    { return "s" }
func (s *sink) Cancel() error { return nil }
func (s *sink) Close() error  { return nil }

func apply(f *meta.FSM, index, seq uint64, changes ...catalog.Change) meta.Response {
	return applyID(f, index, meta.CommitID{Gateway: 7, Epoch: 1, Seq: seq, Mark: 1}, changes...)
}

func applyID(f *meta.FSM, index uint64, id meta.CommitID, changes ...catalog.Change) meta.Response {
	return f.Apply(&raft.Log{Index: index, Type: raft.LogCommand, Data: meta.EncodeCommit(id, changes)}).(meta.Response)
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

// TestRetriesFarBehind: a retry returns the result of the first attempt, however many commits were
// applied in between.
func TestRetriesFarBehind(t *testing.T) {
	f := meta.New(quiet)
	alloc := &catalog.AllocOIDs{N: 1}
	first := apply(f, 1, 1, alloc)
	const n = 40000
	for i := range uint64(n) {
		applyID(f, i+2, meta.CommitID{Gateway: 8 + i%3, Epoch: 1, Seq: i/3 + 1, Mark: i/3 + 1}, &catalog.PutSetting{Name: "n", Value: "v"})
	}
	for _, m := range []*meta.FSM{f, restored(t, f)} {
		if r := apply(m, n+2, 1, alloc); r.Err != nil || r.Index != 1 || r.Outcome.OIDs[0] != first.Outcome.OIDs[0] {
			t.Fatal(r)
		}
	}
}

// TestRefusedForGood: if a commit was refused, every retry of it is refused too, even where its
// changes would be valid by then: its client was told that it failed.
func TestRefusedForGood(t *testing.T) {
	f := meta.New(quiet)
	schema := &catalog.PutSchema{Schema: &catalog.Schema{OID: 20000, Name: "s"}}
	drop := &catalog.DropSchema{OID: 20000}
	if r := apply(f, 1, 1, drop); !pgerr.Is(r.Err, pgerr.SerializationFailure) {
		t.Fatal(r)
	}
	apply(f, 2, 2, schema)
	for _, m := range []*meta.FSM{f, restored(t, f)} {
		if r := apply(m, 3, 1, drop); !pgerr.Is(r.Err, pgerr.SerializationFailure) || r.Index != 1 || m.Current().Schema(20000) == nil {
			t.Fatal(r)
		}
	}
	if r := apply(f, 4, 3, drop); r.Err != nil { // another commit
		t.Fatal(r)
	}
}

// TestSessions: delayed copies of a command have no effect, whatever was applied before them.
func TestSessions(t *testing.T) {
	set := func(v string) catalog.Change { return &catalog.PutSetting{Name: "x", Value: v} }
	f := meta.New(quiet)
	index := uint64(0)
	step := func(id meta.CommitID, c ...catalog.Change) meta.Response {
		index++
		return applyID(f, index, id, c...)
	}
	value := func(want string) {
		t.Helper()
		if v, _ := f.Current().Setting("x"); v != want {
			t.Fatalf("%q is not %q", v, want)
		}
		f = restored(t, f)
	}
	step(meta.CommitID{Gateway: 1, Epoch: 5, Seq: 1, Mark: 1}, set("a"))
	// Mark 3 says that the gateway no longer waits for commands before 3: a copy of command 2 that
	// arrives later is refused.
	step(meta.CommitID{Gateway: 1, Epoch: 5, Seq: 3, Mark: 3})
	if r := step(meta.CommitID{Gateway: 1, Epoch: 5, Seq: 2, Mark: 1}, set("b")); !pgerr.Is(r.Err, pgerr.StatementCompletionUnknown) {
		t.Fatal(r)
	}
	value("a")
	// The result of an applied command is no longer kept: a copy of it is not applied a second time,
	// and its outcome is reported as unknown.
	if r := step(meta.CommitID{Gateway: 1, Epoch: 5, Seq: 1, Mark: 1}, set("c")); !pgerr.Is(r.Err, pgerr.StatementCompletionUnknown) {
		t.Fatal(r)
	}
	value("a")
	// The gateway restarts with a new epoch: commands of the earlier one are refused.
	step(meta.CommitID{Gateway: 1, Epoch: 9, Seq: 1, Mark: 1}, set("d"))
	if r := step(meta.CommitID{Gateway: 1, Epoch: 5, Seq: 4, Mark: 4}, set("e")); r.Ended != 9 {
		t.Fatal(r)
	}
	value("d")
	// The gateway is removed from the catalog: commands of its current epoch are refused too.
	step(meta.CommitID{Gateway: 2, Epoch: 1, Seq: 1, Mark: 1}, &catalog.PutNode{Node: &catalog.Node{ID: 1, Name: "n"}})
	step(meta.CommitID{Gateway: 2, Epoch: 1, Seq: 2, Mark: 2}, &catalog.DropNode{ID: 1})
	if r := step(meta.CommitID{Gateway: 1, Epoch: 9, Seq: 2, Mark: 2}, set("f")); r.Ended != 9 {
		t.Fatal(r)
	}
	value("d")
	if r := step(meta.CommitID{Gateway: 1, Epoch: 10, Seq: 1, Mark: 1}, set("g")); r.Err != nil || r.Ended != 0 {
		t.Fatal(r)
	}
	value("g")
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
	f.ApplyBatch([]*raft.Log{{Index: 1, Data: meta.EncodeCommit(meta.CommitID{Gateway: 1, Epoch: 1, Seq: 1, Mark: 1}, nil)}, {Index: 2, Type: raft.LogConfiguration}})
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

// TestStops: at a command that cannot be applied, or panics, the state machine stops: neither that
// command nor later ones count as applied or are part of a snapshot. A newer version that can apply
// them then continues from the same log.
func TestStops(t *testing.T) {
	set := func(name string) []byte {
		return meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: uint64(name[0]), Mark: 1}, []catalog.Change{&catalog.PutSetting{Name: name, Value: "v"}})
	}
	for name, bad := range map[string][]byte{
		"unknown":   {0x10},
		"newer":     meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: 'n', Mark: 1}, []catalog.Change{&catalog.FinalizeVersion{Version: version.Binary + 1}}),
		"cut short": set("b")[:len(set("b"))-3],
		"panic":     meta.EncodeCommit(meta.CommitID{Gateway: 7, Epoch: 1, Seq: 'p', Mark: 1}, []catalog.Change{&catalog.PutRelation{}}),
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
			// Restoring damaged bytes may be an error or result in another state, but must not panic.
			_ = meta.New(quiet).Restore(io.NopCloser(bytes.NewReader(b)))
		}
	}
}

// TestExpect: a proposer that waits for its command gets the result and the command's index in the
// log; one that has stopped waiting gets nothing.
func TestExpect(t *testing.T) {
	f := meta.New(quiet)
	apply := func(index, seq uint64, changes ...catalog.Change) <-chan meta.Answer {
		cmd := meta.EncodeCommit(meta.CommitID{Gateway: 1, Epoch: 1, Seq: seq, Mark: 1}, changes)
		answer, forget := f.Expect(cmd)
		if index == 4 {
			forget()
		}
		f.ApplyBatch([]*raft.Log{{Index: index - 1, Type: raft.LogNoop}, {Index: index, Data: cmd}})
		return answer
	}
	schema := &catalog.PutSchema{Schema: &catalog.Schema{OID: 20000, Name: "s", Owner: catalog.BootstrapRoleOID}}
	redefined := f.Redefined()
	a := <-apply(2, 1)
	if a.Err != nil || a.At != 2 || a.Index != 2 {
		t.Error(a)
	}
	select {
	case <-redefined:
		t.Error("nothing was defined")
	default:
	}
	if a = <-apply(3, 2, schema); a.Err != nil || a.At != 3 {
		t.Error(a)
	}
	<-redefined
	select {
	case a = <-apply(4, 3):
		t.Error("it was forgotten:", a)
	default:
	}
	if a = <-apply(5, 2, schema); a.At != 5 || a.Index != 3 {
		t.Error("a copy:", a)
	}
	if a = <-apply(6, 4, &catalog.DropSchema{OID: 29999}); a.Err == nil {
		t.Error("it was not refused")
	}
}

// TestApplyAfter: entries that are applied early, when they are known to be committed, are not applied
// a second time when raft delivers them, and all are applied in the log's order.
func TestApplyAfter(t *testing.T) {
	f := meta.New(quiet)
	entry := func(index uint64) *raft.Log {
		id := meta.CommitID{Gateway: 7, Epoch: 1, Seq: index, Mark: 1}
		return &raft.Log{Index: index, Type: raft.LogCommand, Data: meta.EncodeCommit(id, []catalog.Change{&catalog.AllocOIDs{N: 1}})}
	}
	f.ApplyAfter(1, []*raft.Log{entry(2)}, nil)
	if f.Applied() != 0 {
		t.Fatal("a command is applied before the one that it follows")
	}
	one, two, three := entry(1), entry(2), entry(3)
	answer, forget := f.Expect(two.Data)
	defer forget()
	f.ApplyAfter(0, []*raft.Log{one, two}, nil)
	a := <-answer
	next := f.ApplyBatch([]*raft.Log{one, two, three})[2].(meta.Response)
	if a.At != 2 || f.Applied() != 3 || next.Outcome.OIDs[0] != a.Outcome.OIDs[0]+1 {
		t.Fatal(a, f.Applied(), next)
	}
}

// TestApplyMade: applying a command as the proposer made it, without encoding it, has the same result
// as applying the decoded command: the same segments, nil fields, refusals and copies, and the same
// bytes of the snapshot. Otherwise the proposer's state would differ from other nodes'.
func TestApplyMade(t *testing.T) {
	made, read := meta.New(quiet), meta.New(quiet)
	index, seq := uint64(0), uint64(0)
	apply := func(id meta.CommitID, changes ...catalog.Change) meta.Response {
		t.Helper()
		index++
		cmd := meta.NewCommand(id, time.Now(), changes)
		a := made.ApplyAfter(index-1, []*raft.Log{{Index: index, Type: raft.LogCommand, Data: cmd.Bytes}}, []meta.Command{cmd})
		b := read.ApplyBatch([]*raft.Log{{Index: index, Type: raft.LogCommand, Data: bytes.Clone(cmd.Bytes)}})
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v", a[0], b[0])
		}
		return a[0].(meta.Response)
	}
	next := func(changes ...catalog.Change) meta.Response {
		t.Helper()
		seq++
		return apply(meta.CommitID{Gateway: 7, Epoch: 1, Seq: seq, Mark: 1}, changes...)
	}
	const oid = types.OID(20001)
	next(&catalog.PutSchema{Schema: &catalog.Schema{OID: 20000, Name: "s", Owner: catalog.BootstrapRoleOID}})
	if r := next(&catalog.PutRelation{Rel: &catalog.Relation{OID: oid, Schema: 20000, Name: "t", Kind: 'r', Partitions: 2, Owner: catalog.BootstrapRoleOID}}); r.Err != nil {
		t.Fatal(r.Err)
	}
	bit := func(row uint32) []byte {
		b, err := roaring.BitmapOf(row).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	shared := false
	for i := range 40 {
		g := &catalog.Segment{ID: catalog.SegmentID{byte(i), 1}, Rows: 1 + int64(i%3), Inline: []byte{byte(i)}, Zones: []catalog.Zone{{Column: 1, Min: int64(i), Max: int64(i), Unique: true}, {Column: 2, Min: "a"}, {Column: 3}}}
		if i%5 == 0 {
			g.Zones, g.Nodes = nil, []uint64{}
		}
		claim := &catalog.UniqueKeys{Table: oid, Constraint: 20002, ReadVersion: index, Hashes: []uint64{uint64(i)}}
		list := []catalog.Change{claim, &catalog.AppendSegments{Table: oid, Part: i % 2, Segments: []*catalog.Segment{g}}}
		if i > 0 {
			list = append(list, &catalog.DeleteRows{Table: oid, Segment: catalog.SegmentID{byte(i - 1), 1}, Rows: bit(0)})
		}
		if r := next(list...); r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, p := range made.Current().Manifest(oid).Partitions {
			shared = shared || slices.Contains(p, g)
		}
		if r := apply(meta.CommitID{Gateway: 7, Epoch: 1, Seq: seq, Mark: 1}, list...); r.Index != index-1 {
			t.Fatal("a copy is applied again", r)
		}
		if r := next(list...); r.Err == nil {
			t.Fatal("a claim from before another is not refused")
		}
	}
	if !shared {
		t.Error("the commands are read again")
	}
	file := &catalog.Segment{ID: catalog.SegmentID{99}, Rows: 5, Bytes: 9, Nodes: []uint64{1}}
	next(&catalog.AppendSegments{Table: oid, Segments: []*catalog.Segment{file}})
	if a, b := made.Current().Manifest(oid).Partitions, read.Current().Manifest(oid).Partitions; !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	var a, b sink
	for f, w := range map[*meta.FSM]*sink{made: &a, read: &b} {
		s, err := f.Snapshot()
		if err == nil {
			err = s.Persist(w)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the snapshots differ")
	}
}
