package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	node "github.com/tributarydb/tributary/internal/process"
)

// binary builds the program under test once, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tributary-test-")
	if err != nil {
		return "", err
	}
	return node.Build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a node that runs in its own process.
type process struct {
	*node.Node
	t    *testing.T
	data string
}

// longest is how long what must come is waited for, on the busiest of machines.
const longest = 3 * time.Minute

func startProcess(t *testing.T, data, cluster string, join ...*process) *process {
	t.Helper()
	if cluster == "" {
		cluster = "127.0.0.1:0"
	}
	args := []string{"serve", "--data", data, "--listen-pg", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-cluster", cluster, "--memory", "1GiB", "--threads", "2"}
	for _, member := range join {
		args = append(args, "--join", member.Cluster, "--join-secret", filepath.Join(member.data, "cluster-secret"))
	}
	p, err := launch(t, data, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// launch runs the program until it is ready; it fails if the program ends
// before that.
func launch(t *testing.T, data string, args ...string) (*process, error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	n, err := node.Start(ctx, append([]string{path}, args...)...)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		select {
		case <-n.Done():
			t.Logf("the node had ended: %v", n.Err())
		default:
			n.Kill()
		}
		if t.Failed() {
			t.Logf("the node's log ends with\n%s", n.Log())
		}
	})
	return &process{Node: n, t: t, data: data}, nil
}

func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) connect() *pgx.Conn {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	c, err := pgx.Connect(ctx, "postgres://tributary@"+p.PG+"/tributary?sslmode=disable")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func do(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if _, err := c.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func value[T any](t *testing.T, c *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if err := c.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// TestKillDuringInserts kills all three nodes at once while single rows are inserted: after a restart
// every acknowledged row is there.
func TestKillDuringInserts(t *testing.T) {
	nodes := threeProcesses(t)
	c := nodes[1].connect()
	do(t, c, "CREATE TABLE t (i int8 PRIMARY KEY)")
	acked := 0
	killed := make(chan struct{})
	for i := 1; ; i++ {
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		_, err := c.Exec(ctx, "INSERT INTO t VALUES ($1)", i)
		cancel()
		if err != nil {
			break
		}
		if acked = i; i == 100 {
			go func() {
				defer close(killed)
				for _, n := range nodes {
					n.Kill()
				}
			}()
		}
	}
	<-killed
	if acked < 100 {
		t.Fatalf("only %d rows were acknowledged", acked)
	}
	var again []*process
	var wg sync.WaitGroup
	again = make([]*process, len(nodes))
	for i, n := range nodes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			again[i] = startProcess(t, n.data, n.Cluster)
		}()
	}
	wg.Wait()
	for i, n := range again {
		got := value[int64](t, n.connect(), "SELECT count(*) FROM t WHERE i <= $1", acked)
		if got != int64(acked) {
			t.Errorf("node %d has %d of %d acknowledged rows", i+1, got, acked)
		}
	}
}

func threeProcesses(t *testing.T) []*process {
	t.Helper()
	first := startProcess(t, t.TempDir(), "")
	return []*process{first, startProcess(t, t.TempDir(), "", first), startProcess(t, t.TempDir(), "", first)}
}

const (
	madeTable = "CREATE TABLE d AS SELECT * FROM make_classification(n_samples => 20000, n_features => 8, n_informative => 4, n_redundant => 2, random_state => 7)"
	madeTrain = "TRAIN OR REPLACE MODEL m USING logistic_regression PREDICT y AS SELECT * FROM d"
	madeHash  = "SELECT sha256 FROM ml.models WHERE name = 'm'"
)

// TestSameModelOnOneAndThree runs the same training on one node, on three, and on three after the
// leader was killed: the models are the same, byte for byte.
func TestSameModelOnOneAndThree(t *testing.T) {
	one := startProcess(t, t.TempDir(), "").connect()
	do(t, one, madeTable)
	do(t, one, madeTrain)
	want := value[string](t, one, madeHash)

	nodes := threeProcesses(t)
	c := nodes[2].connect()
	do(t, c, madeTable)
	do(t, c, madeTrain)
	if got := value[string](t, c, madeHash); got != want {
		t.Errorf("three nodes: %s, one node: %s", got, want)
	}
	leader := value[string](t, c, "SELECT pg_address FROM cluster.nodes WHERE leader")
	rest := nodes[:0:0]
	for _, n := range nodes {
		if n.PG == leader {
			n.Kill()
		} else {
			rest = append(rest, n)
		}
	}
	c = rest[0].connect()
	do(t, c, madeTrain)
	if got := value[string](t, c, madeHash); got != want {
		t.Errorf("after the leader died: %s, before: %s", got, want)
	}
}

// TestBadInput sends invalid statements and messages: each gets one clear error, and other connections
// keep working.
func TestBadInput(t *testing.T) {
	p := startProcess(t, t.TempDir(), "")
	other := p.connect()
	do(t, other, "CREATE TABLE one (x float8, y int4)")
	do(t, other, "INSERT INTO one VALUES (1, 0), (2, 0), (3, 0)")
	do(t, other, "CREATE TABLE holes (x float8, y int4)")
	do(t, other, "INSERT INTO holes VALUES (1, 0), (2, NULL), (3, 1)")
	do(t, other, "CREATE TABLE nan (x float8, y int4)")
	do(t, other, "INSERT INTO nan VALUES ('NaN', 0), (2, 1), (3, 1)")
	do(t, other, "CREATE TABLE none (x float8, y int4)")
	do(t, other, "CREATE TABLE same AS SELECT 4.0::float8 AS x, i % 2 AS y FROM generate_series(1, 10) i")
	c := p.connect()
	train := "TRAIN MODEL bad USING logistic_regression PREDICT y AS SELECT * FROM "
	for _, tc := range []struct{ sql, code string }{
		{"SELECT nothing FROM one", "42703"},
		{"SELECT 1/0", "22012"},
		{"SELECT * FROM nowhere", "42P01"},
		{"SELEC 1", "42601"},
		{train + "one", "22"},
		{train + "holes", "22004"},
		{train + "nan", "22"},
		{train + "none", "22"},
		{train + "same", "22023"},
		{train + "one WHERE x = 1", "22"},
		{"TRAIN MODEL bad USING logistic_regression PREDICT y WITH (colour = 'blue') AS SELECT * FROM one", "22023"},
		{"TRAIN MODEL bad USING magic PREDICT y AS SELECT * FROM one", "22023"},
	} {
		_, err := c.Exec(context.Background(), tc.sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Code, tc.code) {
			t.Errorf("%s: %v, want SQLSTATE %s", tc.sql, err, tc.code)
		}
	}
	if n := value[int64](t, other, "SELECT count(*) FROM one"); n != 3 {
		t.Errorf("the other connection reads %d rows", n)
	}
}
