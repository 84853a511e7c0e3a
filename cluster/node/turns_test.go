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
			"MERGE INTO t USING (VALUES (1, 5)) AS s (k, n) ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'm', s.n)",
			"UPDATE t SET n = s.n FROM (VALUES (1, 5)) AS s (k, n) WHERE t.k = s.k",
			"BEGIN; SELECT n FROM t WHERE k = 1 FOR UPDATE; UPDATE t SET n = n + 1 WHERE k = 1; COMMIT",
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

	// Who locks a row in order to change it finds what the one before it made of it. On a machine that is busy it may have
	// waited for long enough; then one of the two has a conflict.
	both := func() bool {
		a.must("BEGIN")
		before := a.must("SELECT n FROM t WHERE k = 1 FOR UPDATE")
		done := make(chan error, 1)
		go func() {
			rows, err := b.do("BEGIN; SELECT n FROM t WHERE k = 1 FOR UPDATE")
			if err == nil {
				_, err = b.do("UPDATE t SET n = n - 1 WHERE k = 1")
			}
			if err == nil {
				_, err = b.do("COMMIT")
			} else {
				_, _ = b.do("ROLLBACK")
			}
			if err == nil && fmt.Sprint(rows) == fmt.Sprint(before) {
				t.Errorf("it found %v", rows)
			}
			done <- err
		}()
		a.must("UPDATE t SET n = n + 2 WHERE k = 1")
		_, err := a.do("COMMIT")
		for _, err := range []error{err, <-done} {
			if err != nil && pgerr.CodeOf(err) != pgerr.SerializationFailure {
				t.Error(err)
			}
			if err != nil {
				return false
			}
		}
		return true
	}
	for tries := 1; !both(); tries++ {
		if tries == 50 {
			t.Fatal("they never took turns")
		}
	}
	// Shares do not wait for each other.
	a.must("BEGIN")
	a.must("SELECT n FROM t WHERE k = 1 FOR SHARE")
	b.must("BEGIN")
	b.must("SELECT n FROM t WHERE k = 1 FOR SHARE")
	a.must("COMMIT")
	b.must("COMMIT")

	a.must("UPDATE t SET n = 0")
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
