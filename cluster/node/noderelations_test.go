package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// notices collects a session's notices.
type notices struct{ list []string }

func (n *notices) Notice(e *pgerr.Error)    { n.list = append(n.list, string(e.Severity)+": "+e.Message) }
func (n *notices) Parameter(string, string) {}

// running waits until a node's client c runs a statement whose text has a part, as another node sees it, and
// returns its pid.
func running(t *testing.T, see *client, part string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if rows := see.must("select pid from cluster.statements where query like '%" + part + "%' and query not like '%cluster.statements%'"); len(rows) == 1 {
			return rows[0]
		}
	}
	t.Fatal("the statement is not seen to run")
	return ""
}

// A statement is seen, looked into and cancelled from any node.
func TestStatementsOfOthers(t *testing.T) {
	nodes := start(t, 3)
	a, b := connect(t, nodes[0], spread), connect(t, nodes[1])
	a.must("create table t (a int)")
	a.must("insert into t select generate_series(1, 50000)")
	endless := "select count(*) from t x, t y, t z where (x.a + y.a + z.a) % 7 = 3"
	for _, how := range []struct {
		call string
		code pgerr.Code
	}{{"pg_cancel_backend", pgerr.QueryCanceled}, {"pg_terminate_backend", pgerr.AdminShutdown}} {
		done := make(chan error, 1)
		go func() { _, err := a.do(endless); done <- err }()
		pid := running(t, b, "from t x, t y")
		// Between its binding and its execution it is not there.
		b.until([]string{"n1|running||tributary|t|0"}, "select node, state, application, role, memory >= 0, rows from cluster.statements where pid = "+pid)
		// Live, with the counters of all nodes once they have reported.
		for {
			seen := b.must("select distinct o.node from cluster.statement_operators o join cluster.statements s using (id) where s.pid = " + pid + " and o.node is not null and o.seconds > 0 order by 1")
			if at := b.must("select distinct t.node from cluster.tasks t join cluster.statements s on s.id = t.statement where s.pid = " + pid + " order by 1"); len(at) == len(nodes) && slices.Equal(seen, at) {
				break
			}
			select {
			case err := <-done:
				t.Fatal("the statement has ended:", err)
			default:
			}
		}
		for told := false; !told; { // a machine that is busy may not answer in time
			got, err := b.do("select " + how.call + "(" + pid + ")")
			if told = err == nil && got[0] == "t"; err != nil && pgerr.CodeOf(err) != pgerr.CannotConnectNow {
				t.Fatal(err)
			}
		}
		if err := <-done; pgerr.CodeOf(err) != how.code {
			t.Errorf("%s: %v", how.call, err)
		}
	}
	got := b.must("select node, sqlstate, error from cluster.statement_history where query like '%from t x, t y%' and sqlstate = '57014'")
	if want := []string{"n1|57014|canceling statement due to user request"}; !slices.Equal(got, want) {
		t.Errorf("history: %q, want %q", got, want)
	}
	// The operators of a slow statement stay, by node.
	got = b.must("select count(*) > 3, sum(o.rows) > 0 from cluster.statement_operators o join cluster.statement_history h using (id) where h.sqlstate = '57014' and o.node <> ''")
	if got[0] != "t|t" {
		t.Errorf("operators: %q", got)
	}
	// So do those of a fast one that is analyzed.
	a = connect(t, nodes[0])
	a.must("explain (analyze) select a from t where a = 7")
	got = b.must("select o.operator, o.parent, o.name, o.detail, o.rows from cluster.statement_operators o join cluster.statement_history h using (id) where h.query like '%a = 7' order by 1")
	if want := []string{"0|NULL|Seq Scan on t|Filter: (a = 7)|1"}; !slices.Equal(got, want) {
		t.Errorf("analyzed: %q, want %q", got, want)
	}
	// The log of slow statements has them.
	a.must("set log_min_duration_statement = 0")
	a.must("explain (analyze) select a from t where a = 9")
	got = b.must("select fields->>'statement', fields->>'plan' like 'Seq Scan on t (rows=1 of 1, %) Filter: (a = 9)' from cluster.logs where message = 'slow statement' and fields->>'statement' like '%a = 9'")
	if want := []string{"explain (analyze) select a from t where a = 9|t"}; !slices.Equal(got, want) {
		t.Errorf("logged: %q, want %q", got, want)
	}
	// Nobody has such a session.
	n := &notices{}
	s, err := nodes[1].Engine().Connect(context.Background(), session.Startup{User: "tributary", PID: pids.Add(1), Notify: n})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, s}
	defer s.Close()
	if got := c.must("select pg_cancel_backend(2000000000)"); got[0] != "f" || len(n.list) != 1 || n.list[0] != "WARNING: PID 2000000000 is not a PostgreSQL server process" {
		t.Errorf("%s %q", got, n.list)
	}
	// Nor may all end others' statements.
	b.must("create role weak login")
	b.must("create role strong login")
	for _, n := range nodes {
		if _, err := n.Engine().Authenticate(context.Background(), "strong", true); err != nil {
			t.Fatal(err)
		}
	}
	weak, err := nodes[2].Engine().Connect(context.Background(), startup("weak"))
	if err != nil {
		t.Fatal(err)
	}
	w := &client{t, weak}
	defer weak.Close()
	if _, err := w.do(fmt.Sprintf("select pg_cancel_backend(%d)", s.PID())); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Errorf("a superuser's statement: %v", err)
	}
	strong, err := nodes[0].Engine().Connect(context.Background(), startup("strong"))
	if err != nil {
		t.Fatal(err)
	}
	defer strong.Close()
	if _, err := w.do(fmt.Sprintf("select pg_cancel_backend(%d)", strong.PID())); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
		t.Errorf("another's statement: %v", err)
	}
	b.must("grant pg_signal_backend to weak")
	if _, err := nodes[0].Engine().Authenticate(context.Background(), "weak", true); err != nil {
		t.Fatal(err)
	}
	if got := w.must(fmt.Sprintf("select pg_cancel_backend(%d)", strong.PID())); got[0] != "t" {
		t.Error(got)
	}
}

// TestCancelRequests: a request with a session's key cancels its statement, whichever node it is sent to.
func TestCancelRequests(t *testing.T) {
	nodes := start(t, 3)
	b := connect(t, nodes[1])
	b.must("create table t (a int)")
	b.must("insert into t select generate_series(1, 50000)")
	key := session.Startup{User: "tributary", PID: pids.Add(1), Secret: 7, Notify: &notices{}}
	s, err := nodes[0].Engine().Connect(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &client{t, s}
	for _, n := range nodes {
		done := make(chan error, 1)
		go func() {
			_, err := a.do("select count(*) from t x, t y, t z where (x.a + y.a + z.a) % 7 = 3")
			done <- err
		}()
		running(t, b, "from t x, t y")
		nodes[1].Engine().Cancel(key.PID, 8)
		nodes[1].Engine().Cancel(key.PID+1, 7)
		select {
		case err := <-done:
			t.Fatal("another key has cancelled the statement:", err)
		default:
		}
		for ended := false; !ended; { // a machine that is busy may not answer in time
			n.Engine().Cancel(key.PID, 7)
			select {
			case err = <-done:
				ended = true
			case <-time.After(time.Second):
			}
		}
		if pgerr.CodeOf(err) != pgerr.QueryCanceled {
			t.Error(err)
		}
	}
}

// pg_stat_statements adds up what all nodes have counted, and is forgotten on all.
func TestCallsOfAllNodes(t *testing.T) {
	nodes := start(t, 2)
	a, b := connect(t, nodes[0]), connect(t, nodes[1])
	a.must("create table t (a int)")
	a.must("select a from t where a = 1")
	a.must("select a from t where a = 2")
	b.must("select a from t where a = 3")
	calls := "select calls, rows from pg_stat_statements where query like 'select a from t%'"
	for _, c := range []*client{a, b} {
		if got := c.must(calls); !slices.Equal(got, []string{"3|0"}) {
			t.Errorf("counted %q", got)
		}
	}
	if got := a.must("select count(distinct node), count(*) from cluster.statement_history where query like 'select a from t%'"); got[0] != "2|3" {
		t.Errorf("history %q", got)
	}
	b.must("select pg_stat_statements_reset()")
	if got := a.must(calls); len(got) != 0 {
		t.Errorf("after the reset %q", got)
	}
	// A node that does not answer is warned of.
	n := &notices{}
	s, err := nodes[0].Engine().Connect(context.Background(), session.Startup{User: "tributary", PID: pids.Add(1), Notify: n})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_ = nodes[1].Close()
	c := &client{t, s}
	if got := c.must("select count(*) > 0, count(distinct node) from cluster.statement_history"); got[0] != "t|1" {
		t.Errorf("of the living: %q", got)
	}
	if len(n.list) != 1 || !strings.HasPrefix(n.list[0], "WARNING: node n2 did not answer") {
		t.Errorf("warned %q", n.list)
	}
}

// The history is bounded, and whoever needs its memory gets it.
func TestHistoryIsBounded(t *testing.T) {
	n := start(t, 1, func(o *Options) { o.Memory = 512 << 20 })[0]
	c := connect(t, n)
	long := strings.Repeat("x", 3000)
	for i := range 3000 {
		c.must(fmt.Sprintf("select '%s%d'", long, i))
	}
	c.must("select 'last'")
	n.observe.Gather()
	all := n.observe.History.All()
	bytes := int64(0)
	for _, s := range all {
		bytes += int64(len(s.Text))
	}
	if last := all[len(all)-1].Text; last != "select 'last'" || bytes > n.pool.Limit()/100 || len(all) < 50 {
		t.Errorf("%d statements, %d bytes, the last %q", len(all), bytes, last)
	}
	if idle := n.pool.Idle(); idle < bytes {
		t.Errorf("%d bytes are idle, %d are kept", idle, bytes)
	}
	acct := n.pool.Account("test", false)
	defer acct.Close()
	if !acct.Try(n.pool.Limit()*95/100 - n.pool.Used() + n.pool.Idle() - bytes/2) {
		t.Error("the history does not give way")
	}
	if left := n.observe.History.All(); len(left) != 0 {
		t.Errorf("%d statements are left", len(left))
	}
}

// until asks until the rows are as wanted.
func (c *client) until(want []string, sql string) {
	c.t.Helper()
	var got []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = c.must(sql); slices.Equal(got, want) {
			return
		}
	}
	c.t.Fatalf("%s: %q, want %q", sql, got, want)
}

// What happens to nodes is told once, by whichever node is asked, to those who may know it.
func TestEventsAndWarnings(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0])
	c.until([]string{"n1", "n2", "n3"}, "select subject from cluster.events where kind = 'start' order by 1")
	c.until([]string{}, "select * from cluster.warnings where kind <> 'disk'")
	c.must("create table t as select generate_series(1, 100000) a")
	c.must("create role plain login")
	nodes[1].Log().Warn("look here", "segment", 7)
	for range 3 {
		nodes[1].Refused("mallory", "10.0.0.1", "password authentication failed")
	}
	if got := c.must("select node, level, message, fields->>'segment' from cluster.logs where message = 'look here'"); !slices.Equal(got, []string{"n2|warn|look here|7"}) {
		t.Errorf("log: %q", got)
	}
	if got := c.must("select node, severity, subject, message from cluster.events where kind = 'login'"); !slices.Equal(got, []string{"n2|warning|mallory|password authentication failed (from 10.0.0.1)"}) {
		t.Errorf("logins: %q", got)
	}
	if _, err := nodes[0].Engine().Authenticate(context.Background(), "plain", true); err != nil {
		t.Fatal(err)
	}
	s, err := nodes[0].Engine().Connect(context.Background(), startup("plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := (&client{t, s}).must("select (select count(*) from cluster.logs), (select count(*) from cluster.events)"); got[0] != "0|0" {
		t.Errorf("others see %q", got)
	}
	_ = nodes[2].Close()
	c.until([]string{"error|n3"}, "select severity, node from cluster.warnings where kind = 'node'")
	c.until([]string{"1"}, "select count(*) from cluster.events where kind = 'lost' and subject = 'n3'")
	c.until([]string{"warning"}, "select severity from cluster.warnings where kind = 'replicas'")
	connect(t, nodes[1]).until([]string{"n3"}, "select node from cluster.warnings where kind = 'node'")
}

// The load of a node is sampled, and is there after a restart.
func TestNodeHistory(t *testing.T) {
	dir := t.TempDir()
	// run starts a node that takes no sample by itself, however long the test takes.
	run := func() *Node {
		n := start(t, 1, func(o *Options) { o.Data = dir })[0]
		n.monitor.mu.Lock()
		n.monitor.at = time.Now().Add(time.Hour)
		n.monitor.mu.Unlock()
		return n
	}
	n := run()
	c := connect(t, n)
	for range 20 {
		c.must("select 1")
	}
	if _, err := c.do("select 1 / 0"); err == nil {
		t.Fatal("divided")
	}
	n.monitor.mu.Lock()
	n.monitor.at = time.Now().Add(-10 * time.Second)
	n.monitor.sample()
	n.monitor.at = time.Now().Add(time.Hour)
	n.monitor.mu.Unlock()
	load := "select node, round(span_seconds), round(statements * 10) between 21 and 25, round(errors * 10), p50_ms > 0, p99_ms >= p50_ms, cpu > 0, memory_limit > 0, rss > 0, disk_used > 0, disk_free > 0, sessions, queued from cluster.node_history"
	want := []string{"n1|10|t|1|t|t|t|t|t|t|t|1|0", "n1|10|t|1|t|t|t|t|t|t|t|1|0"} // of the day, of the hour
	if got := c.must(load); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = run()
	if got := connect(t, n).must(load); !slices.Equal(got, want) {
		t.Errorf("after a restart %q", got)
	}
	if got := connect(t, n).must("select started_at <= now(), disk_used > 0 from cluster.nodes"); got[0] != "t|t" {
		t.Error(got)
	}
}

// What goes between nodes is counted.
func TestTrafficOfNodes(t *testing.T) {
	nodes := start(t, 2)
	c := connect(t, nodes[0], spread, apart)
	before := nodes[0].traffic.Out.Load()
	c.must("create table t as select generate_series(1, 200000) a")
	c.must("select count(*) from (select a % 50000, count(*) from t group by 1) x")
	// So are the tasks of threads and what they exchange.
	of := " join cluster.statement_history h on h.id = x.statement where h.query like 'select count(*) from (select%'"
	if got := c.must("select count(*) > 0, bool_and(from_node <> to_node), sum(bytes) > 1000, max(batches) > 0 from cluster.transfers x" + of); got[0] != "t|t|t|t" {
		t.Errorf("transfers: %q", got)
	}
	if got := c.must("select count(*) from cluster.statement_history where exchanged_bytes > 1000 and query like 'select count(*) from (select%'"); got[0] != "1" {
		t.Errorf("exchanged: %q", got)
	}
	c.must("select count(*) from t x, t y where x.a < 20 and (x.a + y.a) % 7 = 3")
	of = " join cluster.statement_history h on h.id = x.statement where h.query like 'select count(*) from t x, t y%'"
	if got := c.must("select count(*) > 0, bool_and(x.started_at < ended_at), max(x.rows) > 0, min(bytes) >= 0 from cluster.task_history x" + of); got[0] != "t|t|t|t" {
		t.Errorf("tasks: %q", got)
	}
	if got := c.must("select count(*) from cluster.task_history a, cluster.task_history b where a.node = b.node and a.slot = b.slot and a.started_at < b.started_at and b.started_at < a.ended_at"); got[0] != "0" {
		t.Errorf("tasks in a slot overlap: %q", got)
	}
	// What could be better is told.
	c.must("set work_mem = '64kB'")
	c.must("select count(*) from (select a from t order by a % 1000 offset 3) x")
	if got := c.must("select kind, role, times, query like 'select count(*) from (select a from t order%', detail like 'It wrote % MiB of temporary files.' from cluster.insights where kind = 'spill'"); len(got) != 1 || got[0] != "spill|tributary|1|t|t" {
		t.Errorf("insights: %q", got)
	}
	if out, in := nodes[0].traffic.Out.Load()-before, nodes[1].traffic.In.Load(); out < 10_000 || in < out/2 {
		t.Errorf("%d bytes were sent, %d received", out, in)
	}
}
