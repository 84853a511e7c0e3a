package node

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// as opens a session of a role.
func as(t *testing.T, n *Node, role string) *client {
	t.Helper()
	s, err := n.Engine().Connect(context.Background(), startup(role))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &client{t, s}
}

// sees waits until a query has this row alone.
func sees(t *testing.T, c *client, want, query string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got = c.must(query); slices.Equal(got, []string{want}) {
			return
		}
	}
	t.Fatalf("%s: %q, want %q", query, got, want)
}

// TestResourceGroup: of a group's long statements so many run as its concurrency says, others wait or are refused; short
// ones, commits and other roles do not wait. Limits change while statements wait.
func TestResourceGroup(t *testing.T) {
	n := start(t, 1)[0]
	a := connect(t, n)
	a.must("create table t (a int primary key)")
	a.must("insert into t select generate_series(1, 50000)")
	a.must("create resource group g with (concurrency = 1, queue = 1)")
	a.must("create role r login")
	a.must("grant usage, create on schema public to r; grant all on t to r")
	a.must("alter role r resource group g")
	const long = "select count(*) from t x, t y where (x.a + y.a) % 7 = 3"
	ends := make(chan error, 2)
	run := func() {
		c := as(t, n, "r")
		go func() { _, err := c.do(long); ends <- err }()
	}
	state := func(want string) {
		t.Helper()
		sees(t, a, want, "select running, queued, refused from cluster.resource_groups")
	}
	run()
	state("1|0|0")
	run()
	state("1|1|0")
	c := as(t, n, "r")
	// A session with an advisory lock does not wait: those that run may wait for its lock.
	for _, lock := range []string{"pg_advisory_lock", "pg_try_advisory_lock_shared"} {
		c.must("select " + lock + "(1)")
		if got := c.must("select count(*) from t x join t y using (a)"); got[0] != "50000" {
			t.Error(got)
		}
		state("1|1|0")
		c.must("select pg_advisory_unlock_all()")
	}
	if _, err := c.do(long); !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) || pgerr.From(err).Message != `too many statements of resource group "g" wait` {
		t.Error(err)
	}
	state("1|1|1")
	if got := a.must("select wait_event_type, wait_event from pg_stat_activity where usename = 'r' and wait_event_type = 'Resource'"); !slices.Equal(got, []string{"Resource|admission"}) {
		t.Errorf("%q", got)
	}
	// Short statements do not wait, nor do those of others.
	if got := c.must("select a from t where a = 7"); got[0] != "7" {
		t.Error(got)
	}
	c.must("begin; insert into t values (50001); delete from t where a = 50001; commit")
	if got := a.must("select count(*) from t x join t y using (a)"); got[0] != "50000" {
		t.Error(got)
	}
	a.must("alter resource group g set (concurrency = 2)")
	state("2|0|1")
	a.must("select pg_cancel_backend(pid) from pg_stat_activity where usename = 'r' and state = 'active'")
	for range 2 {
		if err := <-ends; pgerr.CodeOf(err) != pgerr.QueryCanceled {
			t.Error(err)
		}
	}
	state("0|0|1")
	// A cursor that waits for its client has no place.
	a.must("alter resource group g set (concurrency = 1)")
	c.must("begin; declare d cursor for select x.a from t x, t y where (x.a + y.a) % 7 = 3; fetch 1 from d")
	state("0|0|1")
	if got := as(t, n, "r").must("select count(*) from t x join t y using (a)"); got[0] != "50000" {
		t.Error(got)
	}
	c.must("fetch 1 from d; commit")
	state("0|0|1")
}

// TestResourceGroupMemory: on every node the statements and trainings of a group stay below its limit: what can spill does,
// the rest fails and names the group.
func TestResourceGroupMemory(t *testing.T) {
	nodes := start(t, 3)
	a := connect(t, nodes[0], spread)
	a.must("create table big as select i as id, repeat(md5(i::text), 4) as s, i % 7 as k, (i % 1013)::float8 as x, (i % 1013 + i % 7)::float8 as y from generate_series(1, 150000) i")
	a.must("create role r login; grant usage, create on schema public to r; grant select on big to r")
	train := func(c *client, name string) string {
		c.must("train model " + name + " using gradient_boosted_trees predict y with (n_estimators = 2) as select k, x, y from big")
		return a.must("select sha256 from ml.models where name = '" + name + "'")[0]
	}
	free := train(a, "free")
	a.must("create resource group g with (memory_limit = '16MB', cpu_threads = 1, training_priority = low); alter role r resource group g")
	c := as(t, nodes[0], "r")
	c.must("set " + spread)
	const sorted = "select count(*), min(id) from (select s, id from big order by s desc, id offset 7) x"
	if got, want := c.must(sorted), a.must(sorted); !slices.Equal(got, want) {
		t.Error(got, want)
	}
	_, err := c.do("select length(string_agg(s, ',')) from big")
	if e := pgerr.From(err); e == nil || e.Code != pgerr.OutOfMemory || !strings.Contains(e.Detail, `resource group "g"`) {
		t.Errorf("%v", err)
	}
	a.must("select length(string_agg(s, ',')) from big")
	if bound := train(c, "bound"); bound != free {
		t.Error("another model within a group")
	}
	if got := a.must("select count(*), bool_and(memory_peak > 0), bool_and(memory_peak < 1.5 * memory_limit), sum(memory_used) from cluster.resource_groups"); !slices.Equal(got, []string{"3|t|t|0"}) {
		t.Error(got, a.must("select node, memory_peak, memory_used, memory_limit from cluster.resource_groups"))
	}
}

// TestResourceGroupIdle: a session waits for its client as long as the lesser of its own limit and its group's allows.
func TestResourceGroupIdle(t *testing.T) {
	n := start(t, 1)[0]
	a := connect(t, n)
	a.must("create role r login; create resource group g with (idle_session_timeout = '1h', idle_in_transaction_session_timeout = '2min'); alter role r resource group g")
	c := as(t, n, "r")
	limit := func(want time.Duration) {
		t.Helper()
		if got, _ := c.s.IdleLimit(); got != want {
			t.Error(got, want)
		}
	}
	limit(time.Hour)
	c.must("set idle_session_timeout = '30min'; begin")
	limit(2 * time.Minute)
	c.must("commit")
	limit(30 * time.Minute)
	a.must("alter resource group g set (idle_session_timeout = '10s')")
	limit(10 * time.Second)
	a.must("alter role r resource group none")
	limit(30 * time.Minute)
}

// TestProgress: what runs is seen in the relations pg_stat_progress_*.
func TestProgress(t *testing.T) {
	n := start(t, 1)[0]
	a, b := connect(t, n), connect(t, n)
	a.must("create table t (a int, b text)")
	ctx := context.Background()
	copying := func(sql string) (*session.Portal, *session.CopyStream) {
		t.Helper()
		p, err := a.query(sql)
		if err == nil {
			err = p.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p, p.Copy()
	}
	p, in := copying("copy t from stdin")
	if err := in.Write(ctx, []byte("1\tone\n2\ttwo\n")); err != nil {
		t.Fatal(err)
	}
	pid := b.must("select pid from pg_stat_progress_copy")[0]
	sees(t, b, "tributary|t|COPY FROM|PIPE|12|0|0", "select datname, relid::regclass::text, command, type, bytes_processed, bytes_total, tuples_excluded from pg_stat_progress_copy where pid = "+pid)
	b.must("create role other login")
	if got := as(t, n, "other").must("select pid, datname, relid, command, bytes_processed from pg_stat_progress_copy"); !slices.Equal(got, []string{pid + "|tributary|NULL|NULL|NULL"}) {
		t.Errorf("%q", got)
	}
	if err := errors.Join(in.Finish(ctx), p.Close(), a.s.Sync(ctx, true)); err != nil {
		t.Fatal(err)
	}
	a.must("insert into t select i, 'x' from generate_series(1, 3000) i")
	if got := b.must("select count(*) from pg_stat_progress_copy"); got[0] != "0" {
		t.Error(got)
	}
	// COPY TO a client that does not read.
	p, out := copying("copy (select * from t) to stdout")
	if _, _, err := out.Read(ctx); err != nil {
		t.Fatal(err)
	}
	if got := b.must("select relid, command, type, tuples_processed > 0, bytes_processed > 0 from pg_stat_progress_copy"); !slices.Equal(got, []string{"0|COPY TO|PIPE|t|t"}) {
		t.Errorf("%q", got)
	}
	if err := errors.Join(p.Close(), a.s.Sync(ctx, true)); err != nil {
		t.Fatal(err)
	}
	// A slow backup.
	a.must("drop table t; create table u as select i, md5(i::text) as s from generate_series(1, 300000) i")
	done := make(chan error, 1)
	go func() { _, err := a.do("backup to '" + t.TempDir() + "' with (rate = '1MB')"); done <- err }()
	sees(t, b, "streaming database files|t|1", "select phase, backup_total > 1000000, tablespaces_total from pg_stat_progress_basebackup")
	b.must("select pg_cancel_backend(pid) from pg_stat_progress_basebackup")
	if err := <-done; pgerr.CodeOf(err) != pgerr.QueryCanceled {
		t.Error(err)
	}
}

// TestAutoExplain: the log has the plans that the settings ask for, in their form.
func TestAutoExplain(t *testing.T) {
	n := start(t, 1)[0]
	a, b := connect(t, n), connect(t, n)
	a.must("create table t as select i as a from generate_series(1, 100) i")
	logged := func(part string) []string {
		return b.must("select level, fields->>'plan' from cluster.logs where message = 'plan' and fields->>'statement' like '%" + part + "%' and fields->>'statement' not like '%cluster.logs%'")
	}
	a.must("load 'auto_explain'; set auto_explain.log_min_duration = 0")
	a.must("select a from t where a = 1")
	if got := logged("a = 1"); len(got) != 1 || !strings.Contains(got[0], "Seq Scan on t (rows=1) Filter: (a = 1)") {
		t.Errorf("%q", got)
	}
	a.must("set auto_explain.log_analyze = on; set auto_explain.log_timing = off; set auto_explain.log_level = warning")
	a.must("select a from t where a = 2")
	if got := logged("a = 2"); len(got) != 1 || !strings.HasPrefix(got[0], "warn") || !strings.Contains(got[0], "Seq Scan on t (rows=1 of 1) Filter: (a = 2)") {
		t.Errorf("%q", got)
	}
	a.must("set auto_explain.log_format = json")
	a.must("select a from t where a = 3")
	if got := b.must("select fields->>'plan' from cluster.logs where message = 'plan' and fields->>'statement' like '%a = 3'"); len(got) != 1 || !strings.HasPrefix(got[0], `{"Query Text":"select a from t where a = 3","Plan":{"Node Type":"Seq Scan on t"`) {
		t.Errorf("%q", got)
	}
	a.must("set auto_explain.sample_rate = 0")
	a.must("select a from t where a = 4")
	a.must("set auto_explain.sample_rate = 1; set auto_explain.log_min_duration = '1h'")
	a.must("select a from t where a = 5")
	for _, part := range []string{"a = 4", "a = 5"} {
		if got := logged(part); len(got) != 0 {
			t.Errorf("%q", got)
		}
	}
}

// TestTraces: a collector gets a span of each statement, and of its stages from every node.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]string{} // nodes of spans, by trace and name
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ResourceSpans []struct {
				Resource struct {
					Attributes []struct{ Value struct{ StringValue string } }
				}
				ScopeSpans []struct {
					Spans []struct{ TraceID, Name string }
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.URL.Path != "/v1/traces" {
			t.Error(err, r.URL)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range m.ResourceSpans {
			for _, s := range rs.ScopeSpans[0].Spans {
				seen[s.TraceID] += " " + rs.Resource.Attributes[1].Value.StringValue + ":" + s.Name
			}
		}
	}))
	defer collector.Close()
	nodes := start(t, 2, func(o *Options) { o.Pace.Traces = 20 * time.Millisecond })
	a := connect(t, nodes[0], spread)
	a.must("create table t with (partitions = 4) as select i as a, md5(i::text) as s from generate_series(1, 100000) i")
	a.must("alter system set tributary.otlp_endpoint = '" + collector.URL + "'")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		a.must("select s, count(*) from t group by s having count(*) > 1")
		mu.Lock()
		for _, list := range seen {
			if strings.Contains(list, "n1:SELECT 0") && strings.Contains(list, "n1:stage 0") && strings.Contains(list, "n2:stage ") {
				mu.Unlock()
				return
			}
		}
		mu.Unlock()
	}
	t.Errorf("%q", seen)
}
