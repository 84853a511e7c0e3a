package txn

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// committed is the catalog of a cluster of one node.
type committed struct{ st *catalog.State }

func (c *committed) Current() *catalog.State       { return c.st }
func (c *committed) Barrier(context.Context) error { return nil }

func (c *committed) commit(t *testing.T, changes ...catalog.Change) {
	t.Helper()
	st, _, err := c.st.Commit(c.st.Version()+1, changes)
	if err != nil {
		t.Fatal(err)
	}
	c.st = st
}

func schema(n int) catalog.Change {
	return &catalog.PutSchema{Schema: &catalog.Schema{OID: types.OID(20000 + n), Name: fmt.Sprint("s", n), Owner: catalog.BootstrapRoleOID}}
}

// sees lists which of the test's schemas are visible.
func sees(t *testing.T, st *catalog.State, err error) (out []int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		if st.SchemaByName(fmt.Sprint("s", n)) != nil {
			out = append(out, n)
		}
	}
	return out
}

// TestIsolation: a statement sees the changes of its own transaction, and those commits of others that
// its isolation level allows.
func TestIsolation(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		level string
		last  []int
	}{{"read committed", []int{0, 1, 2}}, {"repeatable read", []int{0, 1}}, {"serializable", []int{0, 1}}} {
		m := &committed{catalog.New()}
		m.commit(t, schema(0))
		var pin Pin
		x := New(1, &pin)
		x.Isolation = IsolationOf(c.level)
		st, err := x.Begin(ctx, m)
		if got := sees(t, st, err); !slices.Equal(got, []int{0}) {
			t.Errorf("%s: %v at first", c.level, got)
		}
		st, err = x.Add(schema(1))
		if got := sees(t, st, err); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("%s: %v with its own", c.level, got)
		}
		first := pin.version.Load()
		m.commit(t, schema(2))
		st, err = x.Begin(ctx, m)
		if got := sees(t, st, err); !slices.Equal(got, c.last) {
			t.Errorf("%s: %v after another's commit", c.level, got)
		}
		if pin.version.Load() != first || first == 0 {
			t.Errorf("%s: the pin moved from %d to %d", c.level, first, pin.version.Load())
		}
	}
}

// TestSavepoints: ROLLBACK TO undoes the changes and pending effects since the newest savepoint of
// that name, which stays defined.
func TestSavepoints(t *testing.T) {
	m := &committed{catalog.New()}
	x := New(1, nil)
	if _, err := x.Begin(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	var undone []string
	save := func(name, as string) {
		if err := x.Savepoint(name, func() { undone = append(undone, as) }); err != nil {
			t.Fatal(err)
		}
	}
	add := func(n int) {
		if _, err := x.Add(schema(n)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want []int, undo ...string) {
		t.Helper()
		st, err := x.State()
		if got := sees(t, st, err); !slices.Equal(got, want) || !slices.Equal(undone, undo) {
			t.Fatalf("sees %v, undone %v", got, undone)
		}
		undone = nil
	}
	add(0)
	save("a", "first a")
	add(1)
	save("b", "b")
	add(2)
	save("a", "second a")
	add(3)
	x.Failed = true
	if err := x.RollbackToSavepoint("a"); err != nil || x.Failed {
		t.Fatal(err, x.Failed)
	}
	check([]int{0, 1, 2}, "second a")
	add(4)
	if err := x.RollbackToSavepoint("a"); err != nil { // the savepoint was kept
		t.Fatal(err)
	}
	check([]int{0, 1, 2}, "second a")
	if err := x.Release("b"); err != nil { // releases the second a too
		t.Fatal(err)
	}
	check([]int{0, 1, 2})
	if err := x.RollbackToSavepoint("b"); pgerr.CodeOf(err) != pgerr.InvalidSavepointSpecification {
		t.Fatal(err)
	}
	if err := x.RollbackToSavepoint("a"); err != nil {
		t.Fatal(err)
	}
	check([]int{0}, "first a")
}

// TestFailedChange: a change that cannot be applied has no effect, and all changes of a failed
// statement are undone.
func TestFailedChange(t *testing.T) {
	m := &committed{catalog.New()}
	x := New(1, nil)
	if _, err := x.Begin(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Add(schema(0)); err != nil {
		t.Fatal(err)
	}
	mark := x.Mark()
	if _, err := x.Add(schema(1), &catalog.DropSchema{OID: 29999}); err == nil {
		t.Error("a schema was dropped that is not there")
	}
	st, err := x.State()
	if got := sees(t, st, err); !slices.Equal(got, []int{0}) || len(x.Changes()) != 1 {
		t.Error(got, x.Changes())
	}
	if st, err = x.Peek([]catalog.Change{schema(2)}); !slices.Equal(sees(t, st, err), []int{0, 2}) || x.Mark() != mark {
		t.Error("a look kept what it looked at")
	}
	if _, err := x.Add(schema(3)); err != nil {
		t.Fatal(err)
	}
	x.RollbackTo(mark)
	if st, err = x.State(); !slices.Equal(sees(t, st, err), []int{0}) {
		t.Error("the statement's change stayed")
	}
}

func TestReadOnly(t *testing.T) {
	var none *Txn
	if err := none.Writable("INSERT"); err != nil {
		t.Error(err)
	}
	x := New(1, nil)
	if err := x.Writable("INSERT"); err != nil {
		t.Error(err)
	}
	x.ReadOnly = true
	if err := x.Writable("INSERT"); pgerr.CodeOf(err) != pgerr.ReadOnlySQLTransaction || err.Error() == "" {
		t.Error(err)
	}
}

// TestSnapshots: an exported snapshot can be imported as long as the exporting transaction is open,
// and what it sees is kept from the import on.
func TestSnapshots(t *testing.T) {
	ctx := context.Background()
	m := &committed{catalog.New()}
	m.commit(t, schema(0))
	s := Snapshots{Nodes: func() int { return 1 }}
	var pins [2]Pin
	from, to := New(1, &pins[0]), New(2, &pins[1])
	if _, err := from.Begin(ctx, m); err != nil {
		t.Fatal(err)
	}
	id, err := s.Export(from, 7)
	if err != nil {
		t.Fatal(err)
	}
	m.commit(t, schema(1))
	if err := s.Import(to, id); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Error("read committed:", err)
	}
	to.Isolation = RepeatableRead
	if err := s.Import(to, id); err != nil {
		t.Fatal(err)
	}
	st, err := to.Begin(ctx, m)
	if got := sees(t, st, err); !slices.Equal(got, []int{0}) {
		t.Error(got)
	}
	all := func(yield func(*Pin) bool) { _ = yield(&pins[0]) && yield(&pins[1]) }
	pins[0].Free()
	if got := s.Oldest(all); got != st.Version() {
		t.Errorf("version %d is the oldest, the importer reads %d", got, st.Version())
	}
	pins[1].Free()
	if got := s.Oldest(all); got != 0 {
		t.Error(got)
	}
	s.End(from)
	late := New(3, &pins[0])
	late.Isolation = RepeatableRead
	if err := s.Import(late, id); pgerr.CodeOf(err) != pgerr.InvalidParameterValue {
		t.Error("after its end:", err)
	}
	if err := s.Import(to, id); pgerr.CodeOf(err) != pgerr.ActiveSQLTransaction {
		t.Error("after a query:", err)
	}
	if err := from.Savepoint("a", func() {}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Export(from, 7); pgerr.CodeOf(err) != pgerr.ActiveSQLTransaction {
		t.Error("from a savepoint:", err)
	}
}
