package ddl_test

import (
	"testing"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/ddl"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestForeignKeyType(t *testing.T) {
	typ := func(o types.OID) types.Type { return types.Type{OID: o, Mod: -1} }
	cases := []struct{ child, parent, want types.OID }{
		{types.Int4OID, types.Int4OID, types.Int4OID},
		{types.Int2OID, types.Int8OID, types.Int8OID},
		{types.Int8OID, types.Int2OID, types.Int8OID},
		{types.VarcharOID, types.TextOID, types.TextOID},
		{types.Int4OID, types.NumericOID, types.NumericOID},
		{types.NumericOID, types.Int4OID, 0}, // no implicit cast in this direction
		{types.DateOID, types.TimestampOID, types.TimestampOID},
		{types.TimestampOID, types.DateOID, 0},
		{types.TextOID, types.Int4OID, 0},
		{types.BoolOID, types.Int4OID, 0},
	}
	for _, c := range cases {
		got, ok := ddl.ForeignKeyType(typ(c.child), typ(c.parent))
		if ok != (c.want != 0) || ok && got.OID != c.want {
			t.Errorf("%s to %s: %v %v", types.TypeName(c.child), types.TypeName(c.parent), got, ok)
		}
	}
}

// defs executes DDL statements on a catalog.
type defs struct {
	t  *testing.T
	st *catalog.State
}

func (d *defs) do(sql string) (*ddl.Result, error) {
	d.t.Helper()
	list, err := parse.Parse(sql, parse.Postgres)
	if err != nil {
		d.t.Fatal(err)
	}
	next := d.st.NextOID()
	env := &ddl.Env{Bind: &bind.Session{Names: bind.Names{State: d.st, SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID}, Text: list[0]}, Super: true, Partitions: 2,
		NewOID: func() (types.OID, error) { next++; return next, nil }}
	res, err := ddl.Plan(env, list[0])
	if err != nil {
		return nil, err
	}
	st, _, err := d.st.Commit(d.st.Version()+1, res.Changes)
	if err == nil {
		d.st = st
	}
	return res, err
}

func (d *defs) must(sql string) *ddl.Result {
	d.t.Helper()
	res, err := d.do(sql)
	if err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return res
}

// referenced returns the tables that the catalog lists as referring to a table.
func (d *defs) referenced(name string) (out []string) {
	d.t.Helper()
	for _, oid := range d.st.Relation(catalog.PublicOID, name).ReferencedBy {
		r := d.st.RelationByOID(oid)
		if r == nil {
			d.t.Fatalf("%s says that dropped table %d refers to it", name, oid)
		}
		out = append(out, r.Name)
	}
	return out
}

// TestReferencedBy: the list of tables that refer to a table follows CREATE, ALTER and DROP.
func TestReferencedBy(t *testing.T) {
	d := &defs{t, catalog.New()}
	d.must("create table p (id int primary key, code text unique)")
	is := func(want ...string) {
		t.Helper()
		got := d.referenced("p")
		if len(got) != len(want) {
			t.Fatalf("%v refer to p, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v refer to p, want %v", got, want)
			}
		}
	}
	d.must("create table a (x int references p, y text references p (code), constraint again foreign key (x) references p)")
	is("a")
	d.must("create table b (x int)")
	if res := d.must("alter table b add foreign key (x) references p"); len(res.Checks) != 1 {
		t.Errorf("%d checks of the rows that are there", len(res.Checks))
	}
	is("a", "b")
	d.must("alter table a drop constraint again")
	is("a", "b")
	d.must("alter table a drop column x")
	is("a", "b")
	d.must("alter table a drop column y")
	is("b")
	d.must("create table c (x int references p, self int references c (x), unique (x))")
	is("b", "c")
	d.must("drop table c")
	is("b")
	if _, err := d.do("drop table p"); pgerr.CodeOf(err) != pgerr.DependentObjectsStillExist {
		t.Error(err)
	}
	d.must("alter table p drop constraint p_pkey cascade")
	is()
	if n := len(d.st.Relation(catalog.PublicOID, "b").Constraints); n != 0 {
		t.Errorf("b has %d constraints", n)
	}
}

// TestDeferrable: DEFERRABLE and the like after a column constraint REFERENCES.
func TestDeferrable(t *testing.T) {
	d := &defs{t, catalog.New()}
	d.must("create table p (id int primary key)")
	d.must("create table c (x int references p deferrable initially deferred not null, y int not null references p deferrable, z int references p on delete restrict)")
	want := []struct{ deferrable, deferred bool }{{true, true}, {true, false}, {false, false}}
	for i, k := range d.st.Relation(catalog.PublicOID, "c").Constraints {
		if k.Kind != 'f' || k.Deferrable != want[i].deferrable || k.InitiallyDeferred != want[i].deferred {
			t.Errorf("constraint %d is %+v", i, k)
		}
	}
	if _, err := d.do("create table u (x int unique deferrable)"); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Error(err)
	}
}
