package archive

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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
}

func (c *cluster) Current() *catalog.State { return c.state }

func (c *cluster) Commit(_ context.Context, changes []catalog.Change) error {
	r := past.Record{Before: c.state.Version(), Version: c.state.Version() + 1, Micros: 1_700_000_000_000_000 + int64(len(c.log))*1_000_000}
	r.Command = meta.NewCommand(meta.CommitID{}, time.UnixMicro(r.Micros), changes).Bytes
	next, err := r.Apply(c.state)
	if err == nil {
		c.state, c.log = next, append(c.log, r)
	}
	return err
}

func (c *cluster) after(_ context.Context, version uint64, _ int64) (out []past.Record, _ error) {
	for _, r := range c.log {
		if r.Version > version {
			out = append(out, r)
		}
	}
	return out, nil
}

// TestLookAgain: a file of commits that is lost while the same node leads is noticed, and a new backup bridges the gap; where
// nothing is lost no backup is made, also not where the only one is newer than what was sent.
func TestLookAgain(t *testing.T) {
	ctx, place := t.Context(), filepath.Join(t.TempDir(), "a")
	c := &cluster{state: catalog.New()}
	commit := func(changes ...catalog.Change) {
		t.Helper()
		if err := c.Commit(ctx, changes); err != nil {
			t.Fatal(err)
		}
	}
	commit(&catalog.SetCluster{ID: catalog.ClusterID{1}}, &catalog.PutSetting{Name: catalog.SettingArchive, Value: place})
	open := func(context.Context, string) (*backup.Dir, func(), error) {
		d, err := backup.Create(disk.OS, place)
		return d, func() {}, err
	}
	base := func(context.Context, string, int) error {
		d, _, err := open(ctx, place)
		if err == nil {
			_, _, err = d.Write(ctx, backup.Head{Cluster: c.state.Cluster(), Version: c.state.Version(), At: c.state.Time()}, c.state, backup.Options{})
		}
		return err
	}
	a := New(Config{Catalog: c, Commits: c.after, Open: open, Backup: base, Event: func(_, _, _ string) {}, Pool: mem.NewPool("node", 1<<40), Log: slog.New(slog.DiscardHandler)})
	oid := types.OID(20000)
	round := func() {
		t.Helper()
		oid++
		commit(&catalog.PutRelation{Rel: &catalog.Relation{OID: oid, Schema: catalog.PublicOID, Name: fmt.Sprint("t", oid), Kind: catalog.KindTable, Partitions: 1}})
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

	commit(&catalog.PutSetting{Name: catalog.SettingArchiveTimeout, Value: "30"})
	if err := base(ctx, place, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(1, c.state.Cluster(), "", func() (*catalog.State, error) { return c.state, nil }); err != nil {
		t.Fatal(err)
	}
	a.gap = time.Time{}
	later()
	round()
	backups(1)
}
