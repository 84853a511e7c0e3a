package node

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/backup"
	"github.com/tributarydb/tributary/exec/disk"
	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// archiving has commits go to a place, and waits until they do.
func archiving(c *client, place string) {
	c.t.Helper()
	c.must("alter system set archive_timeout = '1s'")
	c.must("alter system set archive = '" + place + "'")
	c.t.(*testing.T).Helper()
	until(c.t.(*testing.T), "the archive's first backup", func() bool { return c.one("select state from cluster.archive") == "archiving" })
}

// sent waits until the archive lacks nothing.
func sent(c *client) {
	c.t.Helper()
	until(c.t.(*testing.T), "the archive to have all commits", func() bool {
		return c.one("select commits_behind::text || state from cluster.archive") == "0archiving"
	})
}

// TestArchive: a random history of a table, with the leader killed in its middle and no past kept but for the archive, is restored to
// random moments; and everything to the last one, by a cluster of its own.
func TestArchive(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			nodes := start(t, n, fewInline, func(o *Options) { o.Pace.Tick, o.Pace.SegmentRows = 50*time.Millisecond, 4000 })
			leader := slices.IndexFunc(nodes, (*Node).Leads)
			c := connect(t, nodes[(leader+1)%n])
			place := filepath.Join(t.TempDir(), "archive")
			c.must("alter system set tributary.retention = '0'")
			c.must("create table t (id int, v int)")
			before := c.moment()
			archiving(c, place)

			type past struct{ at, rows string }
			var states []past
			const rows = "select count(*) || ' ' || coalesce(sum(id::bigint * v), 0) from t"
			for i := range 40 {
				if i == 20 && n > 1 {
					if err := nodes[leader].Close(); err != nil {
						t.Fatal(err)
					}
				}
				var sql string
				switch k := r.IntN(10); {
				case k < 3:
					sql = fmt.Sprintf("insert into t values (%d, %d)", i, r.IntN(1000))
				case k < 6:
					sql = fmt.Sprintf("insert into t select i, i %% %d from generate_series(1, 3000) i", 1+r.IntN(50))
				case k < 7:
					sql = fmt.Sprintf("update t set v = v + 1 where id %% %d = 0", 2+r.IntN(9))
				case k < 8:
					sql = fmt.Sprintf("delete from t where v %% %d = 1", 2+r.IntN(9))
				case k < 9:
					sql = "create temp table z as select i from generate_series(1, 3000) i; insert into z values (1); drop table z"
				default:
					sql = "truncate t"
				}
				for end := time.Now().Add(time.Minute); ; {
					_, err := c.do(sql)
					if err == nil {
						break
					}
					if n == 1 || time.Now().After(end) {
						t.Fatal(sql, err)
					}
				}
				states = append(states, past{c.moment(), c.one(rows)})
			}
			c.must("insert into t values (-1, 1)") // after all moments
			sent(c)
			if got := c.must("select message from cluster.events where kind = 'archive' and message like '%new backup%'"); len(got) > 0 {
				t.Error("commits were missing:", got)
			}
			look := slices.Clone(states)
			r.Shuffle(len(look), func(i, j int) { look[i], look[j] = look[j], look[i] })
			for i, s := range look[:8] {
				name := fmt.Sprint("r", i)
				c.must("restore table t as " + name + " from '" + place + "' as of '" + s.at + "'")
				if got := c.one(strings.Replace(rows, "from t", "from "+name, 1)); got != s.rows {
					t.Errorf("at %s: %s, not %s", s.at, got, s.rows)
				}
			}
			for _, at := range []string{before, "2999-01-01"} {
				_, err := c.do("restore table t as none from '" + place + "' as of '" + at + "'")
				if !pgerr.Is(err, pgerr.InvalidParameterValue) || !strings.Contains(pgerr.From(err).Hint, "any time from 20") {
					t.Errorf("as of %s: %v", at, err)
				}
			}
			if got := c.one("select archived_count > 0 and last_archived_wal like '%.log' and failed_count = 0 from pg_stat_archiver"); got != "t" && n == 1 {
				t.Error(c.must("select * from pg_stat_archiver"), c.must("select * from cluster.archive"))
			}

			// A backup that is kept alone takes the older one's commits with it.
			c.must("insert into t values (1, 1)")
			c.must("backup to '" + place + "' with (keep = 1)")
			if _, err := c.do("restore table t as none from '" + place + "' as of '" + states[0].at + "'"); !pgerr.Is(err, pgerr.InvalidParameterValue) {
				t.Error(err)
			}
			c.must("insert into t select i, 5 from generate_series(1, 3000) i")
			sent(c)
			dir, err := backup.Open(disk.OS, place)
			if err != nil {
				t.Fatal(err)
			}
			v, err := dir.Verify(context.Background())
			if err != nil || len(v.Damage) > 0 || v.Logs == 0 || len(v.Windows) != 1 {
				t.Errorf("%+v, %v", v, err)
			}

			// A cluster of its own, which is another: it does not write there.
			restored := restoreNode(t, dir, time.Time{})
			rc := connect(t, restored)
			if got, want := rc.one(rows), c.one(rows); got != want {
				t.Errorf("restored: %s, not %s", got, want)
			}
			if got := rc.one("select current_setting('archive') || '.'"); got != "." {
				t.Errorf("it goes on with the archive %s", got)
			}
			if _, err := rc.do("backup to '" + place + "'"); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
				t.Error(err)
			}
		})
	}
}

// restoreNode restores a backup, or an archive to a moment, and starts a node of it.
func restoreNode(t *testing.T, dir *backup.Dir, asOf time.Time) *Node {
	t.Helper()
	b, err := dir.Choose(context.Background(), "", asOf, dir.Read, nil, func(h backup.Head) bool { return h.Objects == "" })
	if err != nil {
		t.Fatal(err)
	}
	state, err := b.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "restored")
	if err := Restore(context.Background(), data, dir, b.Name, state, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return start(t, 1, fewInline, func(o *Options) { o.Data = data })[0]
}

// TestArchiveInABucket: some requests to the store fail, and for a while it refuses the key: statements go on, what is behind is told,
// and afterwards the archive has everything.
func TestArchiveInABucket(t *testing.T) {
	s := bucketOf(t)
	var asked atomic.Int64
	s.Fault = func(*http.Request) s3test.Fault {
		return map[int64]s3test.Fault{3: s3test.Busy, 11: s3test.Torn, 19: s3test.Lost}[asked.Add(1)%30]
	}
	c := connect(t, start(t, 1, fewInline)[0])
	key := func(secret string) {
		t.Helper()
		c.must(fmt.Sprintf("create or replace secret k (type s3, key_id '%s', secret '%s', endpoint '%s', use_ssl false, scope 's3://bkt/archive')", s3test.KeyID, secret, strings.TrimPrefix(s.URL, "http://")))
	}
	key(s3test.Secret)
	c.must("create table t as select i as id from generate_series(1, 3000) i")
	archiving(c, "s3://bkt/archive")
	c.must("insert into t select i from generate_series(3001, 6000) i")
	sent(c)
	at := c.moment()
	key("wrong")
	c.must("insert into t select i from generate_series(6001, 9000) i")
	until(t, "an attempt that fails", func() bool {
		return c.one("select state = 'failing' and commits_behind > 0 and seconds_behind > 0 and error is not null from cluster.archive") == "t"
	})
	if got := c.one("select failed_count > 0 and last_failed_time is not null from pg_stat_archiver"); got != "t" {
		t.Error(c.must("select * from pg_stat_archiver"))
	}
	if got := c.one("select count(*) > 0 from cluster.events where kind = 'archive' and severity = 'error'"); got != "t" {
		t.Error(c.must("select * from cluster.events"))
	}
	c.must("truncate t")
	c.must("alter system set tributary.retention = '0'")
	key(s3test.Secret)
	sent(c)
	full := c.moment()
	c.must("insert into t values (1)")
	sent(c)
	for as, want := range map[string]string{"as of '" + at + "'": "6000", "as of '" + full + "'": "0", "": "1"} {
		c.must("restore table t as r from 's3://bkt/archive' " + as)
		if got := c.one("select count(*) from r"); got != want {
			t.Errorf("%s: %s rows, not %s", as, got, want)
		}
		c.must("drop table r")
	}
}

// TestArchiveGap: where commits are missing, in the place or on the node, a new backup bridges the gap.
func TestArchiveGap(t *testing.T) {
	nd := start(t, 1)[0]
	c := connect(t, nd)
	place := filepath.Join(t.TempDir(), "a")
	c.must("create table t (v int)")
	archiving(c, place)
	c.must("insert into t values (1)")
	sent(c)
	at := c.moment()
	if err := os.RemoveAll(place); err != nil {
		t.Fatal(err)
	}
	c.must("insert into t values (2)")
	until(t, "a new backup", func() bool {
		names, _ := filepath.Glob(filepath.Join(place, "backups", "*.backup"))
		return len(names) == 1
	})
	sent(c)
	if _, err := c.do("restore table t as r from '" + place + "' as of '" + at + "'"); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Error(err)
	}
	c.must("restore table t as r from '" + place + "'")
	if got := c.one("select sum(v) from r"); got != "3" {
		t.Error(got)
	}
	for _, sql := range []string{"alter system set archive = 'here'", "alter system set archive = 's3://bucket'", "alter system set archive_timeout = 0", "set archive = '/x'"} {
		if _, err := c.do(sql); err == nil {
			t.Error(sql)
		}
	}
	c.must("alter system reset archive")
	if rows := c.must("select * from cluster.archive"); len(rows) > 0 {
		t.Error(rows)
	}
	until(t, "nothing to be kept", func() bool { return catalog.KeptFor(nd.Catalog()) == nil })
}
