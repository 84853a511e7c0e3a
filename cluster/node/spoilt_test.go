package node

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// spoil writes zeros over half of each file of a table on a node, in place, and keeps the time of
// modification different where the clock of the file system is coarse.
func (n *Node) spoil(t *testing.T, table string) {
	t.Helper()
	cat := n.Catalog()
	for _, list := range cat.Manifest(cat.Relation(catalog.PublicOID, table).OID).Partitions {
		for _, ref := range list {
			path := n.segmentPath(ref)
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(make([]byte, st.Size()/2), st.Size()/4); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, st.ModTime().Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const spoiltTable = "create table t (id int, a int, b text); insert into t select i, i % 1000, 'some text ' || i from generate_series(1, 20000) i; " +
	"insert into t select i, i % 1000, 'some text ' || i from generate_series(20001, 40000) i"

// spoiltStatements read the table in different ways.
var spoiltStatements = []string{
	"select count(*), sum(id), sum(a), max(b) from t",
	"select id, a, b from t order by id limit 3",
	"select count(*) from t x join t y on x.id = y.a where y.b like 'some text %'",
	"select b from t where id = 777",
	"with x as materialized (select id, b from t where a < 10) select count(*), sum(length(b)) from x, (select 1) q where id > 0",
}

// TestSpoiltWithReplica: a file that somebody writes to just after it was checked gives no wrong row. A
// statement that meets it begins again with what another node has, or fails.
func TestSpoiltWithReplica(t *testing.T) {
	nodes := start(t, 3)
	c := connect(t, nodes[0], spread)
	c.must(spoiltTable)
	var want [][]string
	for _, sql := range spoiltStatements {
		want = append(want, c.must(sql))
	}
	for i, sql := range spoiltStatements {
		nodes[i%2].spoil(t, "t") // the third has what the others are repaired with
		for try := 0; ; try++ {
			got, err := c.do(sql)
			if err == nil {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%s: %q is not %q", sql, got, want[i])
				}
				break
			}
			// Where rows have left it fails, and each of the four files may make it.
			if !pgerr.Is(err, pgerr.DataCorrupted) || try == 4 {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
}

// TestSpoiltAlone: without another copy a statement over such a file fails, whether it only reads or
// writes, and rows that a cursor returned before are followed by the error.
func TestSpoiltAlone(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	for i, sql := range append(slices.Clone(spoiltStatements), "create table copy as select * from t", "update t set a = a + 1 where id % 3 = 0") {
		c.must(fmt.Sprintf("drop table if exists t; %s; select count(*), sum(id), sum(a), max(b) from t; select count(*) from t where id = 777", spoiltTable))
		n.spoil(t, "t")
		if got, err := c.do(sql); !pgerr.Is(err, pgerr.DataCorrupted) {
			t.Errorf("%d: %s: %q, %v", i, sql, got, err)
		}
	}
	c.must("drop table t; " + spoiltTable + "; begin; declare c cursor for select id, b from t; fetch 5 from c")
	n.spoil(t, "t")
	if got, err := c.do("fetch all from c"); !pgerr.Is(err, pgerr.DataCorrupted) {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// TestTouched: a file whose time of modification alone is another costs nobody an answer.
func TestTouched(t *testing.T) {
	n := start(t, 1)[0]
	c := connect(t, n)
	c.must(spoiltTable)
	for _, sql := range spoiltStatements[:3] {
		want := c.must(sql)
		for _, f := range n.segmentFiles(t) {
			if err := os.Chtimes(f, time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.must(sql); !slices.Equal(got, want) {
			t.Errorf("%s: %q is not %q", sql, got, want)
		}
	}
}
