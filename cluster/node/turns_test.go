package node

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestWritersTakeTurns: who writes a row by its key waits for a transaction of the same node that has written it, but not for
// ever, and not in a circle. Whatever is waited for, conflicts are found at the commit.
func TestWritersTakeTurns(t *testing.T) {
	n := start(t, 1)[0]
	a, b := connect(t, n), connect(t, n)
	a.must("CREATE TABLE t (k int PRIMARY KEY, v text, n int)")
	a.must("INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0)")
	for range 2 { // its plan is known, or not
		for _, sql := range []string{
			"UPDATE t SET n = n + 1 WHERE k = 1",
			"INSERT INTO t VALUES (1, 'c', 0) ON CONFLICT (k) DO UPDATE SET n = t.n + 1",
			"INSERT INTO t VALUES (5, 'c', 0), (1, 'c', 0) ON CONFLICT (k) DO UPDATE SET n = t.n + 1",
			"DELETE FROM t WHERE k = 1",
		} {
			began := time.Now()
			a.must("BEGIN")
			a.must("UPDATE t SET n = n + 10 WHERE k = 1")
			b.must(sql)
			if took := time.Since(began); took < 100*time.Millisecond {
				t.Errorf("%s: did not wait: %v", sql, took)
			}
			if _, err := a.do("COMMIT"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if got := a.must("SELECT * FROM t ORDER BY k"); fmt.Sprint(got) != "[2|b|0 5|c|0]" {
			t.Error(got)
		}
		a.must("DELETE FROM t WHERE k = 5")
		a.must("INSERT INTO t VALUES (1, 'a', 0)")
	}

	const rounds = 20
	sessions := make([]*client, 4)
	for i := range sessions {
		sessions[i] = connect(t, n)
	}
	var all sync.WaitGroup
	for i, c := range sessions {
		all.Go(func() {
			for done := 0; done < rounds; {
				err := error(nil)
				for _, sql := range []string{"BEGIN", fmt.Sprintf("UPDATE t SET n = n + 1 WHERE k = %d", 1+i%2),
					fmt.Sprintf("INSERT INTO t VALUES (%d, 'd', 0) ON CONFLICT (k) DO UPDATE SET n = t.n + 1", 2-i%2), "COMMIT"} {
					if err == nil {
						_, err = c.do(sql)
					}
				}
				switch {
				case err == nil:
					done++
				case pgerr.CodeOf(err) != pgerr.SerializationFailure:
					t.Error(err)
					return
				default:
					_, _ = c.do("ROLLBACK")
				}
			}
		})
	}
	all.Wait()
	if got := a.must("SELECT k, n FROM t ORDER BY k"); fmt.Sprint(got) != fmt.Sprintf("[1|%d 2|%[1]d]", len(sessions)*rounds) {
		t.Error(got)
	}
}
