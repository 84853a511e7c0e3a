package node

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/object/s3test"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const storagePlace = "s3://bkt/db"

// onStorage has a node keep its files in a bucket.
func onStorage(o *Options) {
	fewInline(o)
	o.Storage, o.Pace.Lease = storagePlace, 500*time.Millisecond
	o.Pace.Tick, o.Pace.Grace, o.Pace.Sweep, o.Pace.Audit, o.Pace.SegmentRows = 50*time.Millisecond, time.Second, time.Second, 100*time.Millisecond, 4000
}

// inStorage waits until all files of tables and models are in the storage.
func inStorage(c *client, n *Node) {
	c.t.Helper()
	until(c.t.(*testing.T), "all files to be in the storage", func() bool {
		for _, h := range catalog.HeldFiles(n.Catalog()) {
			if h.Lasting && !h.File.InBucket() {
				return false
			}
		}
		return true
	})
}

// emptied drops all files of a node that is not reading any.
func emptied(t *testing.T, n *Node) {
	t.Helper()
	until(t, "a node to have no files", func() bool {
		if _, err := n.store.Cache.Evict(0, func(catalog.SegmentID) bool { return true }); err != nil {
			t.Fatal(err)
		}
		files, _ := n.store.Usage()
		return files == 0
	})
}

// fresh starts a node with an empty directory, or returns why it does not start.
func fresh(t *testing.T, with ...func(*Options)) (*Node, error) {
	t.Helper()
	o := Options{Data: t.TempDir(), Name: "fresh", Memory: 1 << 30, Threads: 2, ListenCluster: "127.0.0.1:0",
		Heartbeat: heartbeat, DeadAfter: deadAfter, Log: slog.New(slog.DiscardHandler)}
	for _, f := range with {
		f(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := Start(ctx, o)
	if err == nil {
		t.Cleanup(func() { _ = n.Close() })
	}
	return n, err
}

// TestStorage: nodes read what they have lost from the bucket, though some requests fail; and when all of them are lost with their
// disks, an empty node begins with everything, and copies nothing.
func TestStorage(t *testing.T) {
	for _, n := range oneAndThree() {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := bucketOf(t)
			var asked atomic.Int64
			s.Fault = func(*http.Request) s3test.Fault {
				return map[int64]s3test.Fault{3: s3test.Busy, 9: s3test.Torn, 15: s3test.Lost, 21: s3test.Reset}[asked.Add(1)%30]
			}
			nodes := start(t, n, onStorage)
			c := connect(t, nodes[n-1])
			c.must("alter system set archive_timeout = '1s'")
			c.must("create table t as select i as id, i % 7 as k, 'text ' || i as s from generate_series(1, 30000) i")
			c.must("create sequence q")
			c.must("create index on t (id)")
			c.must("select nextval('q') from generate_series(1, 5)")
			c.must("delete from t where id % 10 = 0")
			c.must("train model m using linear_regression predict k with (max_iterations = 3) as select id, k from t")
			inStorage(c, nodes[0])
			const rows = "select count(*), sum(id), max(s), (select sum(predict('m', id => x)) from generate_series(1, 3) x) from t"
			want := c.one(rows)
			gets := s.Count(http.MethodGet)
			for _, nd := range nodes {
				emptied(t, nd)
			}
			for _, nd := range nodes {
				x := connect(t, nd)
				if got := x.one(rows); got != want {
					t.Errorf("%s: %s, not %s", nd.Name(), got, want)
				}
				if got := x.one("select s from t where id = 29999"); got != "text 29999" {
					t.Error(got)
				}
			}
			if s.Count(http.MethodGet) == gets {
				t.Error("nothing was read from the bucket")
			}
			if got := c.one("select sum(segments_damaged) from cluster.nodes"); got != "0" {
				t.Errorf("%s files that are in the bucket count as damage", got)
			}
			c.must("insert into t select -i, i, 'new' from generate_series(1, 5000) i")
			c.must("set storage_commit = 'bucket'")
			c.must("insert into t values (0, 0, 'last')")
			want = c.one(rows)
			for _, nd := range slices.Backward(nodes) {
				if err := nd.Close(); err != nil {
					t.Fatal(err)
				}
			}

			nd, err := fresh(t, onStorage)
			if err != nil {
				t.Fatal(err)
			}
			if files, _ := nd.store.Usage(); files > 0 {
				t.Errorf("%d files were copied", files)
			}
			c = connect(t, nd)
			if got := c.one(rows); got != want {
				t.Errorf("%s, not %s", got, want)
			}
			if got := c.one("select nextval('q') > 5"); got != "t" {
				t.Error("the sequence begins again")
			}
			c.must("insert into t select i, 1, 'more' from generate_series(50001, 55000) i")
			inStorage(c, nd)
			emptied(t, nd)
			if got := c.one("select count(*) from t where s = 'more'"); got != "5000" {
				t.Error(got)
			}
			if got := s.Uploads(); got > 0 {
				t.Errorf("%d uploads are not ended", got)
			}
		})
	}
}

// TestStorageNodes: a node that joins copies nothing and answers; one that is lost with its disk, or leaves, takes nothing away.
func TestStorageNodes(t *testing.T) {
	bucketOf(t)
	nodes := start(t, 3, onStorage)
	c := connect(t, nodes[0])
	c.must("alter system set archive_timeout = '1s'")
	c.must("create table t as select i as id, md5(i::text) as s from generate_series(1, 40000) i")
	inStorage(c, nodes[0])
	joined, err := fresh(t, onStorage, func(o *Options) {
		o.Join, o.Secret = []string{nodes[0].ClusterAddr()}, nodes[0].secret(t)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	emptied(t, nodes[1])
	x := connect(t, joined)
	until(t, "the new node to read files", func() bool {
		return slices.ContainsFunc(catalog.HeldFiles(nodes[0].Catalog()), func(h catalog.HeldFile) bool { return slices.Contains(h.File.Nodes, joined.dir.ID) })
	})
	if got := x.one("select count(distinct s) from t"); got != "40000" {
		t.Error(got)
	}
	until(t, "the lost node to be gone", func() bool {
		_, err := c.do("alter node n3 decommission force")
		return err == nil
	})
	c.must("alter node n2 decommission")
	if got := x.one("select count(distinct s) from t"); got != "40000" {
		t.Error(got)
	}
	if got := c.one("select bool_and('storage' = any(nodes)) from cluster.segments where \"table\" = 't' and not inline"); got != "t" {
		t.Error(c.must("select id, nodes from cluster.segments"))
	}
}

// TestStorageCache: a table that is larger than the cache is read, on one node and by all together, and what a node keeps afterwards
// is what it may. While the bucket is away, what is on the disks is read, and what is written is kept there.
func TestStorageCache(t *testing.T) {
	s := bucketOf(t)
	const limit, files, each = 300 << 10, 24, 4000 // rows each, which are 160 kB
	var nodes []*Node
	var most, away atomic.Int64 // bytes that a node had of files when it asked for one; whether the bucket is away
	started := make(chan struct{})
	s.Fault = func(*http.Request) s3test.Fault {
		if away.Load() > 0 {
			return s3test.Reset
		}
		select {
		case <-started:
			for _, n := range nodes {
				if _, bytes := n.store.Usage(); bytes > most.Load() {
					most.Store(bytes)
				}
			}
		default:
		}
		return s3test.None
	}
	nodes = start(t, 3, onStorage, func(o *Options) { o.StorageCache = limit })
	close(started)
	c := connect(t, nodes[0])
	c.must("alter system set archive_timeout = '1s'")
	c.must("create table t (id int, s text)")
	for i := range files {
		c.must(fmt.Sprintf("insert into t select i, md5(i::text) from generate_series(%d, %d) i", each*i+1, each*(i+1)))
	}
	small := func() {
		t.Helper()
		for _, n := range nodes {
			until(t, "a node to have no more than its cache", func() bool { _, bytes := n.store.Usage(); return bytes <= limit })
		}
	}
	inStorage(c, nodes[0])
	small()
	for _, set := range []string{"tributary.distribute_rows = 0", "tributary.distribute_rows = 1000000000"} {
		c.must("set " + set)
		if got := c.one("select count(distinct s) from t"); got != "96000" {
			t.Errorf("%s: %s", set, got)
		}
		small()
	}
	// A statement gives files back as it reads, whatever it keeps of their rows, so the disk does not bound it.
	most.Store(0)
	c.must("set tributary.distribute_rows = 1000000000")
	for _, q := range []string{
		"select s from %s as t order by s limit 3 offset 20000",
		"select count(*), min(n), max(s) from (select s, count(*) as n, string_agg(id::text, ',' order by id) from %s as t group by s) as x",
		"select count(*), sum(a.id), max(b.s) from %[1]s as a join %[1]s as b on b.id = a.id + 1 and a.s < b.s",
		"select sum(n), max(l) from (select row_number() over (order by s) * id as n, lag(s) over (order by id desc) as l from %s as t) as x",
		"select id, s from %s as t where id in (7, 20000, 39999) order by id",
	} {
		read, made := c.must(fmt.Sprintf(q, "t")), c.must(fmt.Sprintf(q, "(select i as id, md5(i::text) as s from generate_series(1, 96000) i)"))
		if !reflect.DeepEqual(read, made) {
			t.Errorf("%s: %v, not %v", q, read, made)
		}
	}
	if got := most.Load(); got > 2<<20 { // some files are read, and some got ahead
		t.Errorf("a node had %d bytes of files, of at most %d", got, limit)
	}
	away.Store(1)
	c.must("create table u as select i as id, md5(i::text) as s from generate_series(1, 20000) i")
	if got := c.one("select count(distinct s) from u"); got != "20000" {
		t.Error(got)
	}
	c.must("set storage_commit = 'bucket'; set statement_timeout = '3s'")
	c.must("insert into u values (0, '')") // with a warning
	c.must("reset statement_timeout; reset storage_commit")
	if _, err := c.do("select count(distinct s) from t"); !pgerr.Is(err, pgerr.IOError) {
		t.Errorf("a bucket that is away: %v", err)
	}
	away.Store(0)
	inStorage(c, nodes[0])
	small()
	if got := c.one("select (select count(distinct s) from t) || ' ' || (select count(*) from u)"); got != "96000 20001" {
		t.Error(got)
	}
}

// TestStorageTakenOver: of two clusters on one bucket only one writes: a second begins when the first one's lease has ended, and the
// first says that it has lost it. Neither's files or commits are mixed with the other's.
func TestStorageTakenOver(t *testing.T) {
	s := bucketOf(t)
	long := func(o *Options) { o.Pace.Lease = time.Minute }
	first := start(t, 1, onStorage, long)[0]
	c := connect(t, first)
	c.must("create table t as select i as id from generate_series(1, 5000) i; create table f as select md5(i::text) as s from generate_series(1, 20000) i")
	c.must("set storage_commit = 'bucket'")
	c.must("insert into t values (0)")
	inStorage(c, first)
	soon, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	o := Options{Data: t.TempDir(), Name: "x", Memory: 1 << 30, Threads: 1, ListenCluster: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
	onStorage(&o)
	if n, err := Start(soon, o); err == nil {
		_ = n.Close()
		t.Fatal("a second cluster begins while the first has the lease")
	}
	for _, sql := range []string{"alter system set archive = '/tmp/x'", "alter system reset archive", "alter system set storage = ''", "alter system reset storage", "set storage = 'x'"} {
		if _, err := c.do(sql); !pgerr.Is(err, pgerr.CantChangeRuntimeParam) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if got := c.one("show storage"); got != storagePlace {
		t.Error(got)
	}

	// As if the first had been silent for a minute.
	words := strings.Fields(string(s.Get("bkt", "db/LEASE").Data))
	words[2] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)
	s.Put("bkt", "db/LEASE", []byte(strings.Join(words, " ")))
	second, err := fresh(t, onStorage, long)
	if err != nil {
		t.Fatal(err)
	}
	x := connect(t, second)
	x.must("set storage_commit = 'bucket'")
	if got := x.one("select count(*) from t"); got != "5001" {
		t.Error(got)
	}
	if _, err := c.do("insert into t select i from generate_series(1, 3000) i"); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Errorf("a commit of who has lost the storage: %v", err)
	}
	if _, err := c.do("insert into t values (1)"); !pgerr.Is(err, pgerr.ReadOnlySQLTransaction) {
		t.Errorf("a write of who has lost the storage: %v", err)
	}
	if got := c.one("select count(*) > 0 from cluster.events where kind = 'archive' and severity = 'error' and message like '%taken over%'"); got != "t" {
		t.Error(c.must("select * from cluster.events"))
	}
	if got := c.one("select count(*) from t"); got != "8001" {
		t.Error("the first cluster's rows on its own disk:", got)
	}
	x.must("insert into t select i from generate_series(1, 100) i")
	x.must("alter system set tributary.retention = '0'")
	x.must("create table gone as select md5(i::text) from generate_series(1, 20000) i")
	inStorage(x, second)
	files := func() (n int) {
		for _, k := range s.Keys("bkt") {
			if strings.HasPrefix(k, "db/files/") {
				n++
			}
		}
		return n
	}
	before := files()
	x.must("drop table gone")
	x.must("backup to '" + storagePlace + "' with (keep = 1)")
	if after := files(); after >= before {
		t.Errorf("%d files in the bucket, of which nothing names some; before there were %d", after, before)
	}
	emptied(t, second)
	if got := x.one("select (select count(*) from t) || ' ' || (select count(distinct s) from f)"); got != "5101 20000" {
		t.Error(got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third, err := fresh(t, onStorage)
	if err != nil {
		t.Fatal(err)
	}
	if got := connect(t, third).one("select count(*) from t"); got != "5101" {
		t.Error(got)
	}
	if got := string(s.Get("bkt", "db/tributary-backup").Data); !strings.HasSuffix(got, " 3\n") {
		t.Errorf("the storage is marked %q", got)
	}
}

// TestStorageRefused: a node says why it does not begin with a storage.
func TestStorageRefused(t *testing.T) {
	s := bucketOf(t)
	for _, c := range []struct {
		place string
		code  pgerr.Code
	}{{"s3://bkt", pgerr.InvalidParameterValue}, {"/somewhere", pgerr.FeatureNotSupported}, {"gs://bkt/db", pgerr.FeatureNotSupported}, {"s3://none/db", pgerr.UndefinedFile}} {
		if _, err := fresh(t, onStorage, func(o *Options) { o.Storage = c.place }); !pgerr.Is(err, c.code) {
			t.Errorf("%s: %v", c.place, err)
		}
	}
	s.Put("bkt", "db/LEASE", []byte("x"))
	if _, err := fresh(t, onStorage); !pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState) {
		t.Errorf("a place with something else: %v", err)
	}
	n, err := fresh(t, onStorage, func(o *Options) { o.Storage = "s3://bkt/other" })
	if err != nil {
		t.Fatal(err)
	}
	data := n.o.Data
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh(t, onStorage, func(o *Options) { o.Data = data }); !pgerr.Is(err, pgerr.InvalidParameterValue) {
		t.Errorf("another storage than the cluster's: %v", err)
	}
}

// TestStorageNotTakenOver: a start that cannot read what is in the bucket leaves it to the cluster that had it.
func TestStorageNotTakenOver(t *testing.T) {
	s := bucketOf(t)
	first := start(t, 1, onStorage)[0]
	c := connect(t, first)
	c.must("set storage_commit = 'bucket'")
	c.must("create table t (i int)")
	data := first.o.Data
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	good := map[string][]byte{}
	for _, k := range s.Keys("bkt") {
		if strings.HasPrefix(k, "db/backups/") {
			good[k] = slices.Clone(s.Get("bkt", k).Data)
			s.Put("bkt", k, []byte("damaged"))
		}
	}
	if _, err := fresh(t, onStorage); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("%d damaged backups: %v", len(good), err)
	}
	for k, b := range good {
		s.Put("bkt", k, b)
	}
	first, err := fresh(t, onStorage, func(o *Options) { o.Data, o.Name = data, "n1" })
	if err != nil {
		t.Fatal(err)
	}
	c = connect(t, first)
	c.must("set storage_commit = 'bucket'")
	c.must("insert into t values (1)")
}

// TestStorageTakenBack: a start that was killed before the storage was its own leaves it to the cluster that had it. Of leases by
// clocks that are ahead the end is not waited for.
func TestStorageTakenBack(t *testing.T) {
	s := bucketOf(t)
	first := start(t, 1, onStorage)[0]
	c := connect(t, first)
	c.must("set storage_commit = 'bucket'")
	c.must("create table t (i int)")
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }
	s.Put("bkt", "db/LOCK", []byte("killed "+in(500*time.Millisecond)))
	s.Put("bkt", "db/LEASE", []byte("7 00112233445566778899aabbccddeeff "+in(time.Hour)+" killed"))
	c.must("insert into t values (1)")
	words := strings.Fields(string(s.Get("bkt", "db/LEASE").Data))
	if id := first.Catalog().Cluster(); words[0] != "8" || words[1] != id.String() {
		t.Errorf("the lease after that of %s: %q", id, words)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	words[2] = in(time.Hour)
	s.Put("bkt", "db/LEASE", []byte(strings.Join(words, " ")))
	next, err := fresh(t, onStorage)
	if err != nil {
		t.Fatal(err)
	}
	if got := connect(t, next).one("select count(*) from t"); got != "1" {
		t.Error(got)
	}
}

// TestStorageCut: the bucket is lost in the middle of what is written, and then all nodes: the cluster that begins there has every
// transaction that was acknowledged by the bucket, and of the others each in full or not at all.
func TestStorageCut(t *testing.T) {
	for _, logs := range []int64{1, 3} {
		t.Run(fmt.Sprint(logs), func(t *testing.T) {
			s := bucketOf(t)
			n := start(t, 1, onStorage)[0]
			c := connect(t, n)
			c.must("create table t (i int); create table u (i int)")
			var asked atomic.Int64
			var back atomic.Bool
			s.Fault = func(r *http.Request) s3test.Fault {
				if back.Load() || r.Method != http.MethodPut || asked.Load() <= logs && !strings.Contains(r.URL.Path, "/db/log/") {
					return s3test.None
				}
				switch n := asked.Add(1); {
				case n <= logs:
					return s3test.None
				case n == logs+1:
					return s3test.Lost
				}
				return s3test.Reset
			}
			acknowledged := 0
			for asked.Load() <= logs {
				tx := "begin; insert into t select i from generate_series(1, 3000) i; insert into u select i from generate_series(1, 3000) i; "
				c.must(tx + "set storage_commit = 'bucket'; set statement_timeout = '3s'")
				c.must("commit") // with a warning when the bucket is lost
				if st := n.Catalog(); catalog.Archiving(st).Version >= st.Wanted() {
					acknowledged++
				}
				c.must("set storage_commit = 'disks'; reset statement_timeout")
				c.must(tx + "commit")
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			back.Store(true)
			nd, err := fresh(t, onStorage)
			if err != nil {
				t.Fatal(err)
			}
			x := connect(t, nd)
			if got := x.one(fmt.Sprintf("select (select count(*) from t) = (select count(*) from u) and count(*) %% 3000 = 0 and count(*) >= 3000 * %d from t", 2*acknowledged-1)); got != "t" {
				t.Errorf("%d were acknowledged: %s", acknowledged, x.one("select (select count(*) from t) || ' ' || (select count(*) from u)"))
			}
		})
	}
}
