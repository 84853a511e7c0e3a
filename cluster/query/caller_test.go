package query

import (
	"reflect"
	"testing"
	"time"

	"github.com/tributarydb/tributary/cluster/settings"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// bare is a host that panics when one of its methods is called.
type bare struct {
	NamedHost
	set *settings.Set
}

// TestDecode decodes a caller that was stored with a statement: it does not depend on settings of the
// role or cluster that have changed since.
func TestDecode(t *testing.T) {
	set := settings.NewSet()
	for _, v := range [][2]string{{"timezone", "Asia/Tokyo"}, {"search_path", `"$user", other, "Odd ""name"`}, {"datestyle", "German, DMY"}, {"dialect", "mysql"},
		{"work_mem", "8MB"}, {"worker_saturation", "3"}, {"tributary.distribute_rows", "7"}, {"statement_timeout", "5000"}, {"my.own", "x"}, {"my.other", ""}} {
		if err := set.Set(v[0], v[1], false); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	first := bare{set: set}
	c := NewCaller(Identity{Role: 11, SessionUser: 12, Temp: 13}, set, Values(set, first), at, first).
		With([]types.Datum{int64(5), nil, "text"}, []types.Type{types.Int8, types.Text, types.Text})
	var second bare
	got, err := Decode(c.Encode(set), 11, func(*settings.Def) string { return "shared" }, func(set *settings.Set) NamedHost {
		second.set = set
		return &second
	})
	if err != nil {
		t.Fatal(err)
	}
	if now := got.Values.Now; !now.Equal(at) {
		t.Error(now)
	}
	if got.Values.Location.String() != "Asia/Tokyo" || got.Values.DateStyle != datetime.DateGerman || got.Values.DateOrder != datetime.OrderDMY {
		t.Errorf("%+v", got.Values)
	}
	same := *got
	same.Host, same.Values = c.Host, c.Values
	if !reflect.DeepEqual(&same, c) {
		t.Errorf("%+v\nnot\n%+v", &same, c)
	}
	for name, want := range map[string]string{"my.own": "x", "my.other": "", "statement_timeout": "0", "memory": "shared"} {
		if v, err := Show(second.set, name); err != nil || v != want {
			t.Errorf("%s is %q, %v", name, v, err)
		}
	}
	if _, err := Decode([]byte{1, 2, 3}, 11, nil, nil); err == nil {
		t.Error("damaged bytes were read")
	}
}

// TestSchemas resolves a role's search path.
func TestSchemas(t *testing.T) {
	st, err := catalog.New().Apply([]catalog.Change{
		&catalog.PutRole{Role: &catalog.Role{OID: 20000, Name: "ann"}},
		&catalog.PutSchema{Schema: &catalog.Schema{OID: 20001, Name: "ann", Owner: 20000}},
		&catalog.PutSchema{Schema: &catalog.Schema{OID: 20002, Name: "closed", Owner: 10}},
		&catalog.PutSchema{Schema: &catalog.Schema{OID: 20003, Name: "temporary", Owner: 20000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := settings.NewSet()
	if err := set.Set("search_path", `closed, "$user", pg_temp, nowhere, public`, false); err != nil {
		t.Fatal(err)
	}
	c := NewCaller(Identity{Role: 20000, SessionUser: 20000, Temp: 20003}, set, &types.Env{}, time.Time{}, nil)
	if got, want := c.schemaNames(st), []string{"temporary", "ann", "public"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
