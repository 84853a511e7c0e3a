package node

import (
	"context"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestSessionsAddUp: sessions on two nodes update the same rows concurrently with single statements.
// A statement that conflicts is run again: none fails, and no update is lost.
func TestSessionsAddUp(t *testing.T) {
	nodes := start(t, 2)
	c := connect(t, nodes[0])
	c.must("create table counters (id int primary key, n int)")
	c.must("insert into counters select i, 0 from generate_series(1, 3) i")
	const sessions, each = 4, 15
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for i := range sessions {
		s := connect(t, nodes[i%2])
		wg.Go(func() {
			for range each {
				if _, err := s.do("update counters set n = n + 1 where id <> 2"); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("session %d: %v", i, err)
		}
	}
	got := c.must("select id, n from counters order by id")
	if want := []string{"1|60", "2|0", "3|60"}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestConflictIsSeen: the serialization failure of a transaction of several statements is returned to
// the client, whether BEGIN or the protocol's Sync delimits it. Only single statements are run again:
// the client may have acted on the results of the others.
func TestConflictIsSeen(t *testing.T) {
	nodes := start(t, 1)
	a, b := connect(t, nodes[0]), connect(t, nodes[0])
	a.must("create table t (i int primary key, n int)")
	a.must("insert into t values (1, 0)")
	// execute runs statements of a without a Sync, so that their transaction stays open.
	execute := func(sql ...string) {
		t.Helper()
		for _, sql := range sql {
			p, err := a.query(sql)
			if err == nil {
				_, err = read(p)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []struct {
		statements []string
		again      bool
	}{
		{[]string{"update t set n = n + 1"}, true},
		{[]string{"update t set n = n + 1 returning n"}, false},
		{[]string{"update t set n = n + 1", "select 1"}, false},
		{[]string{"select 1", "update t set n = n + 1"}, false},
	} {
		execute(x.statements...)
		b.must("update t set n = 10")
		err := a.s.Sync(context.Background(), true)
		want := "10"
		if x.again {
			want = "11"
		} else if pgerr.CodeOf(err) != pgerr.SerializationFailure {
			t.Errorf("%q: %v", x.statements, err)
		}
		if got := b.must("select n from t"); got[0] != want {
			t.Errorf("%q: n is %v, not %s", x.statements, got, want)
		}
	}
	a.must("begin")
	a.must("update t set n = 1")
	b.must("update t set n = 2")
	if _, err := a.do("commit"); pgerr.CodeOf(err) != pgerr.SerializationFailure {
		t.Errorf("a transaction block: %v", err)
	}
	if got := a.must("select n from t"); got[0] != "2" {
		t.Errorf("n is %v", got)
	}
}
