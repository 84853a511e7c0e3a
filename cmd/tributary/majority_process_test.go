package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestWithoutAMajority stops two of three nodes, one by SIGSTOP and one by SIGKILL. The third still
// runs statements that need no other node, shows the catalog with a warning that it is not confirmed,
// and refuses all else within seconds. Once one of them continues, so does the cluster.
func TestWithoutAMajority(t *testing.T) {
	nodes := threeProcesses(t)
	conf, err := pgx.ParseConfig("postgres://tributary@" + nodes[0].PG + "/tributary?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	var warned atomic.Int32
	conf.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" && strings.Contains(n.Message, "not confirmed") {
			warned.Add(1)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*longest)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, conf)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	do(t, c, "CREATE TABLE t (i int8)")
	do(t, c, "INSERT INTO t VALUES (1), (2)")
	nodes[1].signal(syscall.SIGSTOP)
	nodes[2].Kill()

	refused := func(sql string) {
		t.Helper()
		begun := time.Now()
		_, err := c.Exec(ctx, sql)
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Code != "57P03" {
			t.Errorf("%s: %v", sql, err)
		}
		if d := time.Since(begun); d > longest/3 {
			t.Errorf("%s: refused after %v", sql, d)
		}
	}
	refused("SELECT count(*) FROM t")
	for range 2 {
		if value[int64](t, c, "SELECT 1::int8") != 1 || warned.Load() != 0 {
			t.Error("a constant needs nobody")
		}
	}
	if value[int64](t, c, "SELECT count(*) FROM cluster.nodes") != 3 || warned.Load() == 0 {
		t.Error("the nodes are shown as known, with a warning")
	}
	warned.Store(0)
	if value[int64](t, c, "SELECT count(*) FROM pg_class WHERE relname = 't'") != 1 || warned.Load() == 0 {
		t.Error("the catalog is shown as known, with a warning")
	}
	refused("SELECT count(*) FROM t WHERE i IN (SELECT 1)")
	refused("INSERT INTO t VALUES (3)")
	refused("CREATE TABLE u (i int8)")
	do(t, c, "SET application_name = 'x'")

	nodes[1].signal(syscall.SIGCONT)
	for value := int64(0); value != 2; {
		if err := c.QueryRow(ctx, "SELECT count(*) FROM t").Scan(&value); ctx.Err() != nil {
			t.Fatal("the majority is back, and not used", err)
		}
	}
	do(t, c, "INSERT INTO t VALUES (3)")
}
