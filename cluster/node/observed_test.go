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
		got := b.must("select node, state, application, role, memory >= 0, rows from cluster.statements where pid = " + pid)
		if want := "n1|running||tributary|t|0"; len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
		// Live, with the counters of all nodes once they have reported.
		for {
			seen := b.must("select distinct o.node from cluster.statement_operators o join cluster.statements s using (id) where s.pid = " + pid + " and o.node is not null and o.seconds > 0 order by 1")
			if at := b.must("select distinct t.node from cluster.tasks t join cluster.statements s on s.id = t.statement where s.pid = " + pid + " order by 1"); slices.Equal(seen, at) {
				break
			}
			select {
			case err := <-done:
				t.Fatal("the statement has ended:", err)
			default:
			}
		}
		if got := b.must("select " + how.call + "(" + pid + ")"); got[0] != "t" {
			t.Errorf("%s returned %s", how.call, got)
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
	n.observe.Collect()
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
