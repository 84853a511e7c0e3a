package archive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/cluster/meta"
	"github.com/tributarydb/tributary/cluster/past"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// cluster is a catalog and its commits.
type cluster struct {
	state *catalog.State
	log   []past.Record
	// next is the state after commits that are written down, and that nobody sees yet.
	next *catalog.State
}

func (c *cluster) Current() *catalog.State { return c.state }

func (c *cluster) Commit(_ context.Context, changes []catalog.Change) error {
	err := c.write(changes)
	c.show()
	return err
}

// write is the first half of Commit, and show the second.
func (c *cluster) write(changes []catalog.Change) error {
	c.show()
	r := past.Record{Before: c.state.Version(), Version: c.state.Version() + 1, Micros: 1_700_000_000_000_000 + int64(len(c.log))*1_000_000}
	r.Command = meta.NewCommand(meta.CommitID{}, time.UnixMicro(r.Micros), changes).Bytes
	next, err := r.Apply(c.state)
	if err == nil {
		c.next, c.log = next, append(c.log, r)
	}
	return err
}

func (c *cluster) show() {
	if c.next != nil {
		c.state, c.next = c.next, nil
	}
}

func (c *cluster) after(_ context.Context, version uint64, most int64) (out []past.Record, _ error) {
	for _, r := range c.log {
		if r.Version > version && most > 0 {
			out, most = append(out, r), most-int64(len(r.Command))
		}
	}
	return out, nil
}

// archived makes a cluster whose archive is a place.
func archived(t *testing.T, place string) *cluster {
	t.Helper()
	c := &cluster{state: catalog.New()}
	c.commit(t, &catalog.SetCluster{ID: catalog.ClusterID{1}}, &catalog.PutSetting{Name: catalog.SettingArchive, Value: place})
	return c
}

func (c *cluster) commit(t *testing.T, changes ...catalog.Change) {
	t.Helper()
	if err := c.Commit(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

func open(_ context.Context, place string) (*backup.Dir, func(), error) {
	d, err := backup.Create(disk.OS, place)
	return d, func() {}, err
}

// backup makes a backup of the state there is.
func (c *cluster) backup(ctx context.Context, place string, source func(context.Context, *catalog.Segment, backup.Take) error) error {
	d, _, err := open(ctx, place)
	if err == nil {
		_, _, err = d.Write(ctx, backup.Head{Cluster: c.state.Cluster(), Version: c.state.Version(), At: c.state.Time()}, c.state, backup.Options{Source: source})
	}
	return err
}

// TestLookAgain: a file of commits that is lost while the same node leads is noticed, and a new backup bridges the gap; where
// nothing is lost no backup is made, also not where the only one is newer than what was sent.
func TestLookAgain(t *testing.T) {
	ctx, place := t.Context(), filepath.Join(t.TempDir(), "a")
	c := archived(t, place)
	base := func(context.Context, string, int) error { return c.backup(ctx, place, nil) }
	a := New(Config{Catalog: c, Commits: c.after, Open: open, Backup: base, Event: func(_, _, _ string) {}, Pool: mem.NewPool("node", 1<<40), Log: slog.New(slog.DiscardHandler)})
	oid := types.OID(20000)
	round := func() {
		t.Helper()
		oid++
		c.commit(t, &catalog.PutRelation{Rel: &catalog.Relation{OID: oid, Schema: catalog.PublicOID, Name: fmt.Sprint("t", oid), Kind: catalog.KindTable, Partitions: 1}})
		if err := a.round(ctx, place); err != nil {
			t.Fatal(err)
		}
	}
	backups := func(want int) {
		t.Helper()
		if got, _ := filepath.Glob(filepath.Join(place, "backups", "*")); len(got) != want {
			t.Fatalf("%d backups, not %d: %v", len(got), want, got)
		}
	}
	later := func() { a.at = a.at.Add(-lookEvery) }
	round()
	round()
	lost, _ := filepath.Glob(filepath.Join(place, "log", "*"))
	round()
	later()
	round()
	backups(1)
	if len(lost) != 1 {
		t.Fatal(lost)
	}
	if err := os.Remove(lost[0]); err != nil {
		t.Fatal(err)
	}
	round()
	backups(1)
	later()
	round()
	backups(2)
	d, _, err := open(ctx, place)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := d.Verify(ctx); err != nil || len(v.Damage) > 0 || len(v.Windows) != 2 {
		t.Errorf("%+v %v", v, err)
	}

	c.commit(t, &catalog.PutSetting{Name: catalog.SettingArchiveTimeout, Value: "30"})
	if err := base(ctx, place, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(1, c.state.Cluster(), "", d.Read, func() (*catalog.State, error) { return c.state, nil }); err != nil {
		t.Fatal(err)
	}
	a.gap = time.Time{}
	later()
	round()
	backups(1)
}

// TestStorage: a file is recorded to be in the storage only once it is there: also where there is more to send than one file of commits
// takes, of which the first changes nothing, and where a commit is written down that the catalog has not yet. The lease is renewed
// in a round that takes longer than it lasts.
func TestStorage(t *testing.T) {
	ctx, place := t.Context(), filepath.Join(t.TempDir(), "a")
	c := archived(t, place)
	const table = types.OID(20000)
	c.commit(t, &catalog.PutSetting{Name: catalog.SettingStorage, Value: place}, &catalog.PutRelation{Rel: &catalog.Relation{OID: table, Schema: catalog.PublicOID, Name: "t", Kind: catalog.KindTable, Partitions: 1,
		Owner: catalog.BootstrapRoleOID}})
	source := func(_ context.Context, f *catalog.Segment, take backup.Take) error {
		return take(func(to func([]byte) error) error { return to(f.ID[:]) })
	}
	held := make(chan struct{})
	a := New(Config{Catalog: c, Commits: c.after, Open: open, Source: source, Event: func(_, _, _ string) {}, Pool: mem.NewPool("node", 1<<40), Log: slog.New(slog.DiscardHandler),
		Hold: func(ctx context.Context, _ string) (uint64, error) {
			select {
			case held <- struct{}{}:
			default:
			}
			return 0, nil
		}, HoldEvery: time.Millisecond,
		Backup: func(context.Context, string, int) error {
			for range 3 {
				select {
				case <-held:
				case <-time.After(time.Minute):
					t.Error("the lease is not renewed while a backup is made")
				}
			}
			return c.backup(ctx, place, source)
		}})
	round := func(want int) {
		t.Helper()
		a.marked = time.Time{}
		if err := a.round(ctx, place); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, h := range catalog.HeldFiles(c.state) {
			if !h.File.InBucket() {
				continue
			}
			if n++; !there(place, h.File.ID) {
				t.Errorf("file %s is recorded to be there, and is not", h.File.ID)
			}
		}
		if now := catalog.Archiving(c.state); n != want || now == nil {
			t.Errorf("%d files are recorded to be there, not %d: %+v", n, want, now)
		}
	}
	add := func(n byte) catalog.Change {
		id := catalog.SegmentID{n}
		return &catalog.AppendSegments{Table: table, Segments: []*catalog.Segment{{ID: id, Rows: 1, Bytes: int64(len(id)), SHA256: sha256.Sum256(id[:]), Nodes: []uint64{1}}}}
	}
	c.commit(t, add(1))
	round(1)

	for range 3 { // as where a bucket is away for long
		was := *catalog.Archived(c.state)
		now := was
		now.Failures, now.Error = now.Failures+1, strings.Repeat("x", most/2)
		c.commit(t, &catalog.PutArchive{Archive: now, After: was})
	}
	c.commit(t, add(2))
	round(2)

	if err := c.write([]catalog.Change{add(3)}); err != nil {
		t.Fatal(err)
	}
	if err := a.round(ctx, place); err != nil {
		t.Fatal(err)
	}
	c.show()
	round(3)
}

// there reports whether a place has a file.
func there(place string, id catalog.SegmentID) bool {
	_, err := os.Stat(backup.FileIn(place, id))
	return err == nil
}
