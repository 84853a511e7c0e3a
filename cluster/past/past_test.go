package past_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring"
	"github.com/hashicorp/raft"

	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
	"github.com/tributarydb/tributary/sql/version"
)

// cluster is a log, the machine that applies it, its history, and every state that there ever was.
type cluster struct {
	t       *testing.T
	dir     string
	fsm     *meta.FSM
	h       *past.History
	log     []*raft.Log
	states  []*catalog.State
	now     time.Time
	options past.Options
}

func newCluster(t *testing.T, o past.Options) *cluster {
	c := &cluster{t: t, dir: t.TempDir(), now: time.Unix(1700000000, 0), options: o}
	c.start(nil)
	c.commit(&catalog.SetCluster{ID: catalog.ClusterID{1}}, &catalog.FinalizeVersion{Version: version.Binary})
	return c
}

// start begins a life of the process, from a snapshot of a state and the log.
func (c *cluster) start(from *catalog.State) {
	c.t.Helper()
	o := c.options
	o.Dir, o.Files, o.Log, o.Now = c.dir, disk.OS, slog.New(slog.DiscardHandler), func() time.Time { return c.now }
	h, err := past.Open(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.h, c.fsm = h, meta.New(o.Log)
	c.fsm.Record(h)
	if from != nil {
		var b sink
		if err := meta.Snapshot(from).Persist(&b); err != nil {
			c.t.Fatal(err)
		}
		if err := c.fsm.Restore(io.NopCloser(&b.Buffer)); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, l := range c.log {
		if from == nil || l.Index > from.Version() {
			c.fsm.ApplyBatch([]*raft.Log{l})
		}
	}
}

type sink struct{ bytes.Buffer }

func (*sink) ID() string    { return "" }
func (*sink) Close() error  { return nil }
func (*sink) Cancel() error { return nil }

func (c *cluster) commit(changes ...catalog.Change) {
	c.t.Helper()
	n := uint64(len(c.log) + 1)
	cmd := meta.NewCommand(meta.CommitID{Gateway: 1, Epoch: 1, Seq: n, Mark: n}, c.now, changes)
	l := &raft.Log{Index: n, Type: raft.LogCommand, Data: cmd.Bytes}
	c.log = append(c.log, l)
	r := c.fsm.ApplyBatch([]*raft.Log{l})[0].(meta.Response)
	if s := c.fsm.Current(); r.Err == nil && s.Version() == n {
		c.states = append(c.states, s)
	}
}

// at is the slow reference.
func (c *cluster) at(t time.Time) *catalog.State {
	var out *catalog.State
	for _, s := range c.states {
		if !s.Time().After(t) {
			out = s
		}
	}
	return out
}

func encoded(t *testing.T, s *catalog.State) []byte {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// random makes a random commit.
func (c *cluster) random(r *rand.Rand) {
	s := c.fsm.Current()
	table := types.OID(20000 + r.IntN(4))
	segment := func() *catalog.Segment {
		g := &catalog.Segment{Rows: 10, Bytes: 100, Nodes: []uint64{1}}
		for i := range g.ID {
			g.ID[i] = byte(r.UintN(256))
		}
		if r.IntN(2) == 0 {
			g.Inline, g.Bytes = []byte("rows"), 0
		}
		return g
	}
	m := s.Manifest(table)
	switch {
	case m == nil:
		c.commit(&catalog.PutRelation{Rel: &catalog.Relation{OID: table, Schema: catalog.PublicOID, Name: "t" + string(rune('a'+table-20000)), Kind: catalog.KindTable, Partitions: 1, Owner: catalog.BootstrapRoleOID}})
	case r.IntN(20) == 0:
		c.commit(&catalog.DropRelation{OID: table})
	case r.IntN(20) == 0:
		c.commit(&catalog.Truncate{Table: table})
	case r.IntN(3) == 0 && len(m.Partitions[0]) > 0:
		g := m.Partitions[0][r.IntN(len(m.Partitions[0]))]
		rows, _ := roaring.BitmapOf(uint32(r.IntN(10))).ToBytes()
		c.commit(&catalog.DeleteRows{Table: table, Segment: g.ID, Rows: rows}) // which may be refused
	case r.IntN(6) == 0 && len(m.Partitions[0]) > 1:
		a, b := m.Partitions[0][0], m.Partitions[0][1]
		n := segment()
		n.Rows = a.Live() + b.Live()
		c.commit(&catalog.ReplaceSegments{Table: table, Old: []catalog.SegmentRef{{ID: a.ID, DeletedRows: a.DeletedRows}, {ID: b.ID, DeletedRows: b.DeletedRows}}, New: []*catalog.Segment{n}})
	case r.IntN(30) == 0:
		c.commit(&catalog.PutComment{On: catalog.Dep{OID: table}, Text: time.Duration(r.IntN(1000)).String()})
	default:
		c.commit(&catalog.AppendSegments{Table: table, Segments: []*catalog.Segment{segment()}})
	}
}

// TestRandomHistories: the state of any time is the one that was, across files, starts from older snapshots, and what is in memory.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 31))
		c := newCluster(t, past.Options{StateEvery: 3000, Commits: 40})
		began := c.now
		for range 400 {
			if r.IntN(5) > 0 { // else several at a time
				c.now = c.now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
			}
			if r.IntN(8) == 0 {
				c.now = c.now.Add(-time.Duration(r.IntN(500)) * time.Millisecond) // another gateway's clock
			}
			c.random(r)
			switch r.IntN(60) {
			case 0, 1, 2:
				past.Write(c.h)
			case 3:
				c.h.Close()
				c.start(c.states[max(0, len(c.states)-r.IntN(30)-1)])
			case 4: // killed, with some commits that were not written
				past.Write(c.h)
				for range r.IntN(5) {
					c.random(r)
				}
				c.start(c.states[max(0, len(c.states)-100)])
			}
		}
		newest := c.fsm.Current().Time()
		for range 300 {
			at := began.Add(time.Duration(r.Int64N(int64(newest.Sub(began)))))
			if r.IntN(2) == 0 {
				at = c.states[r.IntN(len(c.states)-1)].Time()
			}
			want := c.at(at)
			if want == c.fsm.Current() || want.Version() < 2 {
				continue
			}
			got, err := c.h.At(t.Context(), at)
			if err != nil {
				t.Fatalf("seed %d: %s: %v %s", seed, at, err, pgerr.From(err).Detail)
			}
			if got.Version() != want.Version() || !bytes.Equal(encoded(t, got), encoded(t, want)) {
				t.Fatalf("seed %d: at %s version %d, not %d", seed, at, got.Version(), want.Version())
			}
		}
		c.h.Close()
	}
}

// TestGaps: times that the node has not followed commit by commit are refused, and those before and after are known.
func TestGaps(t *testing.T) {
	c := newCluster(t, past.Options{})
	r := rand.New(rand.NewPCG(1, 1))
	step := func(n int) {
		for range n {
			c.now = c.now.Add(time.Second)
			c.random(r)
		}
	}
	step(20)
	past.Write(c.h)
	before := c.fsm.Current()
	// Another node's snapshot takes the place of commits.
	c.h.Close()
	quiet := slog.New(slog.DiscardHandler)
	c.fsm = meta.New(quiet)
	c.fsm.ApplyBatch(c.log)
	step(20)
	gap := c.fsm.Current()
	c.start(gap)
	step(20)
	past.Write(c.h)
	for _, x := range []struct {
		at    time.Time
		known bool
	}{{before.Time().Add(-time.Second), true}, {before.Time().Add(5 * time.Second), false}, {gap.Time(), true}, {gap.Time().Add(5 * time.Second), true}, {c.states[0].Time().Add(-time.Hour), false}} {
		got, err := c.h.At(t.Context(), x.at)
		switch {
		case x.known && err != nil:
			t.Error(x.at, err)
		case x.known && got.Version() != c.at(x.at).Version():
			t.Error(x.at, got.Version())
		case !x.known && pgerr.CodeOf(err) != pgerr.SnapshotTooOld:
			t.Error(x.at, got, err)
		}
	}
}

// TestOthers: what a node lacks another tells, states and commits; what it sends is not believed if it is not that.
func TestOthers(t *testing.T) {
	pool := mem.NewPool("test", 64<<20)
	whole := newCluster(t, past.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		whole.now = whole.now.Add(time.Second)
		whole.random(r)
	}
	spoil := func(_ int, part []byte) []byte { return part }
	asked := 0
	late := &cluster{t: t, dir: t.TempDir(), now: whole.now, log: whole.log, states: whole.states, options: past.Options{Pool: pool}}
	late.options.Others = func(ctx context.Context, ticket []byte, take func(recv func() ([]byte, error)) error) error {
		asked++
		var parts [][]byte
		if err := whole.h.Tell(ctx, ticket, func(b []byte) error {
			parts = append(parts, spoil(len(parts), slices.Clone(b)))
			return nil
		}); err != nil {
			return err
		}
		return take(func() ([]byte, error) {
			if len(parts) == 0 {
				return nil, io.EOF
			}
			b := parts[0]
			parts = parts[1:]
			return b, nil
		})
	}
	late.start(whole.states[40])
	late.commit(&catalog.PutComment{On: catalog.Dep{OID: catalog.PublicOID}, Text: "x"})
	for i, s := range whole.states[1:35] {
		for range 2 { // the second time it is known
			asked = 0
			got, err := late.h.At(t.Context(), s.Time().Add(time.Millisecond))
			if err != nil {
				t.Fatal(i, err)
			}
			if want := late.at(s.Time()); !bytes.Equal(encoded(t, got), encoded(t, want)) {
				t.Fatalf("state %d is version %d, not %d", i, got.Version(), want.Version())
			}
		}
		if asked > 0 {
			t.Error("asked again for", i)
		}
	}
	first := whole.states[3].Version()
	want, err := whole.h.Commits(t.Context(), first, 2000)
	got, err2 := late.h.CommitsOfAll(t.Context(), pool, first, 2000)
	if err != nil || err2 != nil || len(want) < 3 || !reflect.DeepEqual(got, want) {
		t.Error(len(got), len(want), err, err2)
	}
	if before, err := late.h.At(t.Context(), whole.states[0].Time().Add(-time.Hour)); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
		t.Error(before, err)
	}
	used := pool.Used()
	for i, f := range []func(n int, b []byte) []byte{
		func(n int, b []byte) []byte { return b[:len(b)/2] },
		func(n int, b []byte) []byte { return append(b, b...) },
		func(n int, b []byte) []byte { return bytes.Repeat([]byte{0xff}, len(b)) },
		func(n int, b []byte) []byte { return nil },
	} {
		spoil = f
		if s, err := late.h.At(t.Context(), whole.states[36].Time()); pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
			t.Error(i, s, err)
		}
		if got, err := late.h.CommitsOfAll(t.Context(), pool, whole.states[5].Version(), 2000); len(got) > 0 || err != nil {
			t.Error(i, len(got), err)
		}
		if n := pool.Used(); n != used {
			t.Errorf("%d: %d bytes are charged, not %d", i, n, used)
		}
	}
}

// TestDamage: what a crash or a disk has torn is never read over.
func TestDamage(t *testing.T) {
	c := newCluster(t, past.Options{})
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		c.now = c.now.Add(time.Second)
		c.random(r)
	}
	past.Write(c.h)
	c.h.Close()
	files, _ := filepath.Glob(filepath.Join(c.dir, "*.commits"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	b, _ := os.ReadFile(files[0])
	for range 200 {
		bad := bytes.Clone(b)
		if at := r.IntN(len(b)); r.IntN(2) == 0 {
			bad = bad[:at]
		} else {
			bad[at] ^= 1 << r.IntN(8)
		}
		if err := os.WriteFile(files[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := past.Open(past.Options{Dir: c.dir, Files: disk.OS, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		at := c.states[r.IntN(len(c.states)-1)].Time()
		got, err := h.At(t.Context(), at)
		if err == nil && got.Version() != c.at(at).Version() || err != nil && pgerr.CodeOf(err) != pgerr.SnapshotTooOld {
			t.Fatal(at, got, err)
		}
		h.Close()
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRetention: what is older than is kept goes, but for what later times need; nothing is written while nothing is kept; and
// a full disk takes the oldest first.
func TestRetention(t *testing.T) {
	var room error
	c := newCluster(t, past.Options{Commits: 10, Room: func() error { return room }})
	r := rand.New(rand.NewPCG(3, 3))
	step := func(n int) {
		for range n {
			c.now = c.now.Add(time.Minute)
			c.random(r)
			past.Write(c.h)
		}
	}
	step(200)
	c.h.Trim()
	known := func(ago time.Duration) bool {
		got, err := c.h.At(t.Context(), c.now.Add(-ago))
		return err == nil && got.Version() == c.at(c.now.Add(-ago)).Version()
	}
	if !known(59*time.Minute) || known(2*time.Hour) {
		t.Error("an hour is kept", known(59*time.Minute), known(2*time.Hour))
	}
	c.commit(&catalog.PutSetting{Name: catalog.SettingRetention, Value: "2 hours"})
	step(200)
	c.h.Trim()
	if !known(119*time.Minute) || known(4*time.Hour) {
		t.Error("two hours are kept")
	}
	room = pgerr.New(pgerr.DiskFull, "full")
	was, _ := c.h.Usage()
	c.h.Trim()
	if now, _ := c.h.Usage(); now > was*2/3 || now == 0 {
		t.Errorf("of %d bytes %d are left", was, now)
	}
	for range 20 {
		c.h.Trim()
	}
	step(5)
	if now, _ := c.h.Usage(); now != 0 {
		t.Error(now, "bytes on a full disk")
	}
	room = nil
	c.h.Trim()
	step(20)
	if !known(10 * time.Minute) {
		t.Error("with room again")
	}
	c.commit(&catalog.PutSetting{Name: catalog.SettingRetention, Value: "0"})
	step(5)
	c.h.Trim()
	if now, _ := c.h.Usage(); now != 0 {
		t.Error(now, "bytes are kept of nothing")
	}
	// Another cluster's directory is of no use.
	c.commit(&catalog.PutSetting{Name: catalog.SettingRetention, Value: "1h"})
	step(30)
	c.commit(&catalog.SetCluster{ID: catalog.ClusterID{2}, Was: catalog.ClusterID{1}})
	if known(10 * time.Minute) {
		t.Error("another cluster's past is read")
	}
}

// TestArchiveLacks: what an archive lacks is not removed for a bound of bytes, also not after a start, and for the disk's room only
// where it is much; what it has is.
func TestArchiveLacks(t *testing.T) {
	var room error
	c := newCluster(t, past.Options{Commits: 10, MaxBytes: 1000, ArchiveBytes: 40_000, Room: func() error { return room }})
	r := rand.New(rand.NewPCG(4, 4))
	step := func(n int) {
		for range n {
			c.now = c.now.Add(time.Second)
			c.random(r)
			past.Write(c.h)
		}
	}
	step(50)
	from := c.fsm.Current()
	sent := catalog.Archive{Place: "/a", Version: from.Version(), Micros: from.Time().UnixMicro(), Based: true}
	c.commit(&catalog.PutSetting{Name: catalog.SettingArchive, Value: sent.Place}, &catalog.PutArchive{Archive: sent})
	step(100)
	lacks := func() bool {
		t.Helper()
		c.h.Trim()
		got, err := c.h.Commits(t.Context(), sent.Version, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		return len(got) > 0 && got[0].Before <= sent.Version && got[len(got)-1].Version == c.fsm.Current().Version()
	}
	known := func(s *catalog.State) bool {
		got, err := c.h.At(t.Context(), s.Time())
		return err == nil && got.Version() == s.Version()
	}
	if !lacks() || known(c.states[5]) {
		t.Error("the bound of bytes", lacks(), known(c.states[5]))
	}
	c.start(c.fsm.Current())
	if !lacks() {
		t.Error("after a start")
	}
	was := sent
	sent.Version, sent.Micros = c.fsm.Current().Version(), c.fsm.Current().Time().UnixMicro()
	c.commit(&catalog.PutArchive{Archive: sent, After: was})
	step(20)
	if !lacks() || known(from) {
		t.Error("what was sent is kept")
	}
	room = pgerr.New(pgerr.DiskFull, "full")
	for range 20 {
		c.h.Trim()
	}
	step(5)
	if !lacks() {
		t.Error("a little on a full disk goes")
	}
	step(500)
	for range 20 {
		c.h.Trim()
	}
	if bytes, _ := c.h.Usage(); lacks() || bytes > 40_000 {
		t.Error("much on a full disk stays:", bytes)
	}
}
