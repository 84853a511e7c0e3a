package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/session"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDisturbedCommits cancels, times out or terminates COMMITs of rows in files at random moments.
// On every node, all rows are there if the client got no error, and none if it got one; if it was told
// that the outcome is unknown (40003), all or none.
func TestDisturbedCommits(t *testing.T) {
	nodes := start(t, 3)
	admin := connect(t, nodes[0])
	const rows, tables, perTable = 3000, 6, 15
	type try struct {
		table, key int
		err        error
	}
	var mu sync.Mutex
	var tries []try
	var wg sync.WaitGroup
	for table := range tables {
		admin.must(fmt.Sprintf("create table t%d (k int, a int, b text)", table))
	}
	for table := range tables {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(table)))
			for key := range perTable {
				n := nodes[(table+key)%3]
				c := connect(t, n)
				if _, err := c.do("begin"); err != nil {
					t.Error(err)
					return
				}
				if _, err := c.do(fmt.Sprintf("insert into t%d select %d, g, repeat('some text ', 5) || g from generate_series(1, %d) g", table, key, rows)); err != nil {
					t.Error(err)
					return
				}
				after := time.Duration(rnd.IntN([]int{200, 2000, 8000}[rnd.IntN(3)])) * time.Microsecond
				kill := session.Signal{PID: c.s.PID(), By: catalog.BootstrapRoleOID, Terminate: key%4 == 1}
				var late *time.Timer
				switch key % 4 {
				case 0, 1:
					late = time.AfterFunc(after, func() { _, _ = n.Engine().Signal(kill) })
				case 2:
					if _, err := c.do(fmt.Sprintf("set statement_timeout = %d", 1+after.Milliseconds())); err != nil {
						t.Error(err)
						return
					}
				}
				_, err := c.do("commit")
				if late != nil {
					late.Stop()
				}
				_ = c.s.Close()
				mu.Lock()
				tries = append(tries, try{table, key, err})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	told := map[pgerr.Code]int{}
	for _, n := range nodes {
		c := connect(t, n)
		for _, x := range tries {
			got := c.must(fmt.Sprintf("select count(*), count(b), coalesce(sum(length(b)), 0) > 0 from t%d where k = %d", x.table, x.key))[0]
			all, none := fmt.Sprintf("%d|%d|t", rows, rows), "0|0|f"
			code := pgerr.CodeOf(x.err)
			told[code]++
			switch {
			case code == "" && got != all, code != "" && code != pgerr.StatementCompletionUnknown && got != none, got != all && got != none:
				t.Errorf("table %d, commit %d: told %v, and the rows are %s", x.table, x.key, x.err, got)
			case code != "" && code != pgerr.StatementCompletionUnknown && code != pgerr.QueryCanceled && code != pgerr.AdminShutdown:
				t.Errorf("table %d, commit %d: %v", x.table, x.key, x.err)
			}
		}
	}
	t.Log("clients were told", told)
}

// TestLongTransaction: files of an open transaction survive sweeps and restarts of the nodes that
// store them, and can be committed. After a ROLLBACK and a TRUNCATE, files are removed.
func TestLongTransaction(t *testing.T) {
	nodes := start(t, 3, func(o *Options) { o.Pace.Sweep = 20 * time.Millisecond })
	other := connect(t, nodes[1])
	other.must("create table t (a int, b text); create table u (a int, b text)")
	c := connect(t, nodes[0])
	const insert = "insert into t select g, repeat('some text ', 5) || g from generate_series(1, 3000) g"
	c.must("begin")
	c.must(insert)
	for i := range nodes[1:] {
		o := nodes[i+1].o
		o.ListenCluster = nodes[i+1].ClusterAddr()
		if err := nodes[i+1].Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Start(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		nodes[i+1] = again
		t.Cleanup(func() { _ = again.Close() })
	}
	other = connect(t, nodes[1])
	for range 20 { // other transactions commit meanwhile
		other.must("insert into u values (1, 'x')")
	}
	c.must("commit")
	for _, n := range nodes {
		if got := connect(t, n).must("select count(*), count(b) from t"); got[0] != "3000|3000" {
			t.Fatal(got)
		}
	}
	before := countFiles(t, nodes[1])
	c.must("begin")
	c.must(insert)
	if n := countFiles(t, nodes[1]); n <= before {
		t.Fatalf("the transaction wrote no file: %d, then %d", before, n)
	}
	c.must("rollback")
	for end := time.Now().Add(time.Minute); countFiles(t, nodes[1]) > before && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if n := countFiles(t, nodes[1]); n > before {
		t.Fatalf("%d files are left of %d before", n, before)
	}
}

// TestCommitOfLostFiles: a COMMIT fails with an I/O error if two of three replicas have lost the new
// files, and succeeds if one has.
func TestCommitOfLostFiles(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0])
	c.must("create table t (a int, b text)")
	for lost, want := range []pgerr.Code{"", "", pgerr.IOError} {
		c.must("begin")
		c.must("insert into t select g, repeat('some text ', 5) || g from generate_series(1, 3000) g")
		for _, n := range nodes[:lost] {
			for _, f := range n.segmentFiles(t) {
				if err := os.Remove(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, err := c.do("commit")
		if pgerr.CodeOf(err) != want {
			t.Fatalf("with %d replicas lost: %v", lost, err)
		}
		if got := c.must("select count(*), count(b) from t"); (want == "") != (got[0] == "3000|3000") {
			t.Fatal(got)
		}
		c.must("truncate t")
	}
}

func (n *Node) segmentFiles(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(n.o.Data, "segments", "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func countFiles(t *testing.T, n *Node) int { return len(n.segmentFiles(t)) }

// TestCommitsOfSequences: the sequence values of many rows are allocated with few commits, also on a
// follower, and without gaps; values that nodes allocate concurrently are distinct.
func TestCommitsOfSequences(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[2])
	c.must("create table t (id serial primary key, b int)")
	before := nodes[2].raft.Current().Version()
	c.must("insert into t (b) select g from generate_series(1, 100000) g")
	if got := nodes[2].raft.Current().Version() - before; got > 16 {
		t.Errorf("%d commits for 100000 rows", got)
	}
	if got := connect(t, nodes[1]).one("insert into t (b) values (7) returning id"); got != "100001" {
		t.Errorf("the next value is %s: there is a gap", got)
	}
	var wg sync.WaitGroup
	for _, n := range nodes {
		wg.Go(func() {
			for range 2 {
				if _, err := connect(t, n).do("insert into t (b) select g from generate_series(1, 20000) g"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := c.one("select min(id), count(distinct id), count(*) from t"); got != "1|220001|220001" {
		t.Errorf("least and number of the values: %s", got)
	}
}
