package ddl_test

import (
	"testing"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestModelStatements: the changes and errors of DDL that PostgreSQL does not have.
func TestModelStatements(t *testing.T) {
	d := &defs{t, catalog.New()}
	st, _, err := d.st.Commit(d.st.Version()+1, []catalog.Change{&catalog.PutModel{Model: &catalog.Model{OID: d.st.NextOID() + 100, Schema: catalog.PublicOID, Name: "m",
		Owner: catalog.BootstrapRoleOID, Default: 2, Versions: []catalog.ModelVersion{{Number: 1}, {Number: 2}, {Number: 3}}}}})
	if err != nil {
		t.Fatal(err)
	}
	d.st = st
	d.must("create table t (a int)")
	d.must("create role r")
	for _, c := range []struct {
		sql  string
		code pgerr.Code // "" for success
	}{
		{"alter model nosuch rename to x", pgerr.UndefinedObject},
		{"alter model if exists nosuch rename to x", ""},
		{"alter model m set default version 4", pgerr.UndefinedObject},
		{"alter model m set default version 3", ""},
		{"alter model m owner to nosuch", pgerr.UndefinedObject},
		{"alter model m owner to r", ""},
		{"drop role r", pgerr.DependentObjectsStillExist},
		{"drop model m version 3", pgerr.DependentObjectsStillExist},
		{"drop model m version 9", pgerr.UndefinedObject},
		{"drop model if exists m version 9", ""},
		{"alter model m set alias best version 1", ""},
		{"alter model m set alias best version 4", pgerr.UndefinedObject},
		{`alter model m set alias "1" version 1`, pgerr.InvalidName},
		{"drop model m version 1", pgerr.DependentObjectsStillExist},
		{"alter model m drop alias worst", pgerr.UndefinedObject},
		{"alter model m drop alias best", ""},
		{"drop model m version 1", ""},
		{"comment on model m is 'x'", ""},
		{"comment on model nosuch is 'x'", pgerr.UndefinedObject},
		{"grant usage on model m to r", ""},
		{"grant select on model m to r", pgerr.InvalidGrantOperation},
		{"revoke usage on model m from r", ""},
		{"alter model m rename to n", ""},
		{"drop model m", pgerr.UndefinedObject},
		{"drop model if exists m", ""},
		{"drop model n", ""},
		{"alter table nosuch repartition into 2", pgerr.UndefinedTable},
		{"alter table if exists nosuch repartition into 2", ""},
		{"alter table t repartition into 3", ""},
	} {
		res, err := d.do(c.sql)
		switch {
		case c.code == "" && err != nil, c.code != "" && pgerr.CodeOf(err) != c.code:
			t.Errorf("%s: %v, want %q", c.sql, err, c.code)
		case err == nil && res.Tag == "":
			t.Errorf("%s has no tag", c.sql)
		}
	}
	if n := d.st.Relation(catalog.PublicOID, "t").Partitions; n != 3 {
		t.Errorf("%d partitions", n)
	}
	if l := d.st.Models(); len(l) != 0 {
		t.Errorf("%d models are left", len(l))
	}
}
