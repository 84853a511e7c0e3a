package node

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDisturbedCommits cancels, times out and terminates COMMITs of rows in
// files at all moments: what the client is told holds on every node, and no
// table is left that cannot be read.
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
				pid := c.s.PID()
				var late *time.Timer
				switch key % 4 {
				case 0:
					late = time.AfterFunc(after, func() { n.Engine().CancelBackend(pid) })
				case 1:
					late = time.AfterFunc(after, func() { n.Engine().TerminateBackend(pid) })
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
