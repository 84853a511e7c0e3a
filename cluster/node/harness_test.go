package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/cluster/raftnode"
	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"),
		goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"), // raft does not complete futures that are queued when it shuts down
		goleak.IgnoreAnyFunction("github.com/dlclark/regexp2.runClock"))           // ends by itself
}

// Among nodes that share two processors, threads that compute keep the answers to pings and heartbeats waiting, with the race
// detector, or other packages' tests beside them, for a second and more.
const (
	heartbeat = time.Second
	deadAfter = 4 * time.Second
)

// start starts a cluster of n nodes. Nodes that the test does not close are closed at its end.
func start(t testing.TB, n int, with ...func(*Options)) []*Node {
	t.Helper()
	var out []*Node
	for i := range n {
		o := Options{Data: t.TempDir(), Name: fmt.Sprintf("n%d", i+1), Memory: 1 << 30, Threads: 2, ListenCluster: "127.0.0.1:0",
			Heartbeat: heartbeat, DeadAfter: deadAfter, Log: slog.New(slog.DiscardHandler),
			Password: func(plain string) (string, error) { return "verifier of " + plain, nil }}
		if i > 0 {
			o.Join, o.Secret = []string{out[0].ClusterAddr()}, out[0].secret(t)
		}
		for _, f := range with {
			f(&o)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		nd, err := Start(ctx, o)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nd.Close() })
		out = append(out, nd)
	}
	return out
}

// secret returns the secret of the node's cluster, from its data directory.
func (n *Node) secret(t testing.TB) rpc.Secret {
	t.Helper()
	s, err := raftnode.ReadSecret(filepath.Join(n.o.Data, raftnode.SecretFile))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quiet discards notices.
type quiet struct{}

func (quiet) Notice(*pgerr.Error)      {}
func (quiet) Parameter(string, string) {}

// client is a session of a node.
type client struct {
	t testing.TB
	s *session.Session
}

var pids atomic.Uint32

// startup is the startup message of a role's client.
func startup(role string, params ...[2]string) session.Startup {
	return session.Startup{User: role, Database: "tributary", Params: params, PID: pids.Add(1), Notify: quiet{}}
}

// connect opens a session; settings are set in it.
func connect(t testing.TB, n *Node, settings ...string) *client {
	t.Helper()
	s, err := n.Engine().Connect(context.Background(), startup("tributary"))
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, s}
	t.Cleanup(func() { _ = s.Close() })
	for _, x := range settings {
		c.must("set " + x)
	}
	return c
}

// spread makes plans run on all nodes, however few rows they read.
const spread = "tributary.distribute_rows = 0"

// apart makes plans exchange rows even if every node stores them.
const apart = "tributary.colocate = off"

// query runs all statements of a script but the last, and opens that one.
func (c *client) query(sql string) (*session.Portal, error) {
	ctx := context.Background()
	pieces, err := c.s.Script(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	for i, p := range pieces {
		st, err := c.s.Prepare(ctx, p, nil)
		if err != nil {
			return nil, err
		}
		portal, err := st.Bind(ctx, nil)
		if err != nil {
			return nil, err
		}
		if i == len(pieces)-1 {
			return portal, nil
		}
		if _, err := read(portal); err != nil {
			return nil, err
		}
		if err := c.s.Sync(ctx, true); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// read reads a portal to its end and returns a line for each row.
func read(p *session.Portal) (out []string, err error) {
	for {
		b, err := p.Next(context.Background())
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, lines(b, p.Columns())...)
	}
}

func lines(b *batch.Batch, cols []plan.Column) []string {
	var out []string
	for i := range b.Rows() {
		at := i
		if b.Sel != nil {
			at = int(b.Sel[i])
		}
		var line []string
		for j, c := range cols {
			text := "NULL"
			if d := types.DatumAt(c.Type, b.Cols[j], at); d != nil {
				text = types.TextOf(c.Type, d, nil)
			}
			line = append(line, text)
		}
		out = append(out, strings.Join(line, "|"))
	}
	return out
}

// do runs a script and returns the last statement's rows.
func (c *client) do(sql string) ([]string, error) {
	p, err := c.query(sql)
	var rows []string
	if err == nil {
		rows, err = read(p)
	}
	if serr := c.s.Sync(context.Background(), err == nil); err == nil {
		err = serr
	}
	return rows, err
}

func (c *client) must(sql string) []string {
	c.t.Helper()
	rows, err := c.do(sql)
	if err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// oneAndThree are the numbers of nodes that a test runs on: three have all that one has, and are enough for the short form.
func oneAndThree() []int {
	if testing.Short() {
		return []int{3}
	}
	return []int{1, 3}
}

// sorted sorts the rows, unless the query has "order by 1".
func sorted(sql string, rows []string) []string {
	if strings.Contains(sql, "order by 1") {
		return rows
	}
	rows = slices.Clone(rows)
	slices.Sort(rows)
	return rows
}
