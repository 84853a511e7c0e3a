package node

import (
	"testing"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestSnapshots: an exported snapshot can be imported while the transaction that exported it is open.
func TestSnapshots(t *testing.T) {
	n := start(t, 1)[0]
	a, b, w := connect(t, n), connect(t, n), connect(t, n)
	w.must("create table t (n int); insert into t values (1), (2)")
	fails := func(c *client, code pgerr.Code, sql string) {
		t.Helper()
		if _, err := c.do(sql); pgerr.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
	a.must("begin isolation level repeatable read")
	a.must("insert into t values (3)")
	id := a.must("select pg_export_snapshot()")[0]
	w.must("insert into t values (4), (5); create table later (n int)")
	b.must("begin isolation level repeatable read, read only")
	b.must("set transaction snapshot '" + id + "'")
	if got := b.must("select string_agg(n::text, ',' order by n) from t")[0]; got != "1,2" {
		t.Errorf("the importer reads %s", got)
	}
	fails(b, pgerr.UndefinedTable, "select * from later")
	b.must("rollback")

	b.must("begin isolation level repeatable read; select 1 from t")
	fails(b, pgerr.ActiveSQLTransaction, "set transaction snapshot '"+id+"'")
	b.must("rollback; begin")
	fails(b, pgerr.FeatureNotSupported, "set transaction snapshot '"+id+"'")
	for _, no := range []string{"", "../x", "00000001-00000001-1"} {
		b.must("rollback; begin isolation level serializable")
		fails(b, pgerr.InvalidParameterValue, "set transaction snapshot '"+no+"'")
	}
	b.must("rollback; begin isolation level repeatable read")
	a.must("savepoint s")
	fails(a, pgerr.ActiveSQLTransaction, "select pg_export_snapshot()")
	a.must("rollback to s; commit")
	fails(b, pgerr.InvalidParameterValue, "set transaction snapshot '"+id+"'")
	b.must("rollback")

	// The importing transaction can read the snapshot after the exporting one has ended.
	a.must("begin isolation level repeatable read")
	id = a.must("select pg_export_snapshot()")[0]
	b.must("begin isolation level repeatable read")
	b.must("set transaction snapshot '" + id + "'")
	before := n.engine.OldestRead()
	a.must("rollback")
	w.must("delete from t")
	if now := n.engine.OldestRead(); now != before || now == 0 {
		t.Errorf("the oldest version read is %d, and was %d", now, before)
	}
	if got := b.must("select count(*) from t")[0]; got != "5" {
		t.Errorf("%s rows", got)
	}
	b.must("rollback")
}
