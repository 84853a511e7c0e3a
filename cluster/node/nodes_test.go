package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// add starts another node of a member's cluster, or for nil the first of a new one. It counts others
// as dead after the default time, not the short one of start.
func add(t *testing.T, member *Node, name string) *Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o := Options{Data: t.TempDir(), Name: name, Memory: 1 << 30, Threads: 2, ListenCluster: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
	if member != nil {
		o.Join, o.Secret = []string{member.ClusterAddr()}, member.secret(t)
	}
	n, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// held returns how many segments each node stores, by the node's name.
func held(n *Node) map[string]int {
	out := map[string]int{}
	for _, m := range n.raft.Current().Nodes() {
		out[m.Name] = n.repl.Replicas(m.ID)
	}
	return out
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatal("not reached: " + what)
}

// TestNodesComeAndGo: a cluster grows from three nodes to six and shrinks to three while sessions write
// and read. No statement fails, no row is lost, and both times files are spread evenly.
func TestNodesComeAndGo(t *testing.T) {
	nodes := []*Node{add(t, nil, "n1")}
	nodes = append(nodes, add(t, nodes[0], "n2"), add(t, nodes[0], "n3"))
	c := connect(t, nodes[0])
	c.must("create table t (k int8, s text)")
	for i := range 12 {
		c.must(fmt.Sprintf("create table f%d as select g as k, md5(g::text) as s from generate_series(1, 5000) g", i))
	}
	var wrote atomic.Int64
	var failed sync.Map
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 3 {
		s := connect(t, nodes[w%2]) // nodes that stay
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				sql := fmt.Sprintf("select count(*), max(s) from f%d", i%12)
				if w == 0 {
					sql = fmt.Sprintf("insert into t values (%d, 'x')", i)
				}
				if _, err := s.do(sql); err != nil {
					failed.Store(sql, err)
				} else if w == 0 {
					wrote.Add(1)
				}
			}
		})
	}
	for _, name := range []string{"n4", "n5", "n6"} {
		nodes = append(nodes, add(t, nodes[0], name))
	}
	until(t, "an even spread over six", func() bool {
		h := held(nodes[0])
		low, high := 1<<30, 0
		for _, n := range h {
			low, high = min(low, n), max(high, n)
		}
		return len(h) == 6 && low > 0 && high-low <= 2+high/5
	})
	for i := 5; i >= 3; i-- {
		name := nodes[i].Name()
		if _, err := c.do("alter node " + name + " decommission"); err != nil {
			t.Fatal(err)
		}
		select {
		case <-nodes[i].Gone():
		case <-time.After(time.Minute):
			t.Fatal("the node is not told")
		}
		_ = nodes[i].Close()
		if n := len(nodes[0].raft.Current().Nodes()); n != i {
			t.Fatal(n, "members")
		}
	}
	until(t, "three copies on three", func() bool {
		for _, n := range held(nodes[1]) {
			if n != held(nodes[1])["n1"] || n == 0 {
				return false
			}
		}
		return len(held(nodes[1])) == 3
	})
	close(stop)
	wg.Wait()
	failed.Range(func(sql, err any) bool {
		t.Errorf("%s: %v", sql, err)
		return true
	})
	if got := c.must("select count(*) from t"); got[0] != fmt.Sprint(wrote.Load()) {
		t.Errorf("%s rows of %d", got[0], wrote.Load())
	}
	for i := range 12 {
		if got := c.must(fmt.Sprintf("select count(*), count(distinct s) from f%d", i)); got[0] != "5000|5000" {
			t.Errorf("f%d: %s", i, got[0])
		}
	}
	// The names of removed nodes can be used again.
	add(t, nodes[0], "n4")
}

// TestReplaceNode: ALTER NODE … REPLACE moves the files of a dead node, if possible the leader, to a
// new one. It needs a superuser.
func TestReplaceNode(t *testing.T) {
	nodes := start(t, 4)
	c := connect(t, nodes[0])
	for i := range 8 {
		c.must(fmt.Sprintf("create table f%d as select g as k, md5(g::text) as s from generate_series(1, 5000) g", i))
	}
	var lead int
	until(t, "a leader", func() bool {
		for i, n := range nodes {
			if n.Leads() {
				lead = i
				return true
			}
		}
		return false
	})
	if lead == 0 { // the session is on this node, so replace another
		lead = 1
	}
	name := nodes[lead].Name()
	if held(nodes[0])[name] == 0 {
		t.Fatal("it holds nothing")
	}
	_ = nodes[lead].Close()
	heir := add(t, nodes[0], "n9")
	for _, bad := range []struct {
		sql  string
		code pgerr.Code
	}{
		{"alter node nobody drain", pgerr.UndefinedObject},
		{"alter node " + name + " replace with " + name, pgerr.ObjectNotInPrerequisiteState},
		{"begin; alter node " + name + " drain", pgerr.ActiveSQLTransaction},
	} {
		if _, err := c.do(bad.sql); !pgerr.Is(err, bad.code) {
			t.Errorf("%s: %v", bad.sql, err)
		}
		_, _ = c.do("rollback")
	}
	c.must("alter node " + name + " replace with n9")
	if h := held(nodes[0]); h[name] != 0 || len(h) != 4 {
		t.Fatal(h)
	}
	if held(nodes[0])["n9"] == 0 {
		t.Fatal("the heir has nothing")
	}
	for i := range 8 {
		if got := connect(t, heir).must(fmt.Sprintf("select count(distinct s) from f%d", i)); got[0] != "5000" {
			t.Fatal(got)
		}
	}
	c.must("create role plain login")
	s, err := nodes[0].Engine().Connect(context.Background(), session.Startup{User: "plain", Database: "tributary", PID: pids.Add(1), Notify: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := (&client{t, s}).do("alter node n9 drain"); !pgerr.Is(err, pgerr.InsufficientPrivilege) {
		t.Fatal(err)
	}
	var e *pgerr.Error
	if _, err := c.do("alter node n9 explode"); !errors.As(err, &e) || e.Code != pgerr.SyntaxError {
		t.Fatal(err)
	}
}
