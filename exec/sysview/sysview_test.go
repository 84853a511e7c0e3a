package sysview

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	boss = catalog.BootstrapRoleOID
	ann  = types.OID(16390)
	bob  = types.OID(16391)
)

// shop is a database with one object of every kind.
func shop(t testing.TB) *catalog.State {
	schema := types.OID(16384)
	usage := []catalog.Grant{{Role: 0, Grantor: boss, Privs: "U"}}
	rel := func(oid types.OID, name string, kind catalog.RelKind) *catalog.Relation {
		return &catalog.Relation{OID: oid, Schema: schema, Name: name, Kind: kind, Owner: boss}
	}
	customers := rel(16400, "customers", catalog.KindTable)
	customers.Partitions = 2
	customers.Columns = []catalog.Column{
		{Name: "id", Num: 1, Type: types.Int4, NotNull: true, Default: "nextval('shop.customers_id_seq'::regclass)", Sequence: 16401},
		{Name: "email", Num: 2, Type: types.Type{OID: types.VarcharOID, Mod: 124}},
		{Name: "gone", Num: 3, Type: types.Text, Dropped: true},
		{Name: "credit", Num: 4, Type: types.FixedNumeric(12, 2, true), Default: "0", Missing: nil},
		{Name: "state", Num: 5, Type: types.Type{OID: 16386, Mod: -1}},
		{Name: "tags", Num: 6, Type: types.Type{OID: 1009, Mod: -1}},
		{Name: "at", Num: 7, Type: types.Type{OID: types.TimestamptzOID, Mod: 3}},
	}
	customers.Constraints = []catalog.Constraint{
		{OID: 16410, Name: "customers_pkey", Kind: 'p', Columns: []int16{1}, Index: 16402},
		{OID: 16411, Name: "customers_credit_check", Kind: 'c', Columns: []int16{4}, Check: "credit >= 0"},
		{OID: 16412, Name: "customers_lower_idx", Kind: 'i', Columns: []int16{0}, Index: 16403},
	}
	customers.ACL = []catalog.Grant{{Role: ann, Grantor: boss, Privs: "r*w"}}
	seq := rel(16401, "customers_id_seq", catalog.KindSequence)
	seq.Seq = &catalog.Sequence{Type: types.Int4, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt32, Cache: 1, OwnedTable: 16400, OwnedColumn: 1}
	pkey := rel(16402, "customers_pkey", catalog.KindIndex)
	pkey.Index = &catalog.Index{Table: 16400, Columns: []int16{1}, Options: []byte{0}, Unique: true, Primary: true, Method: "btree"}
	lower := rel(16403, "customers_lower_idx", catalog.KindIndex)
	lower.Index = &catalog.Index{Table: 16400, Columns: []int16{0, 4}, Exprs: []string{"lower(email)", ""}, Options: []byte{0, 1}, Unique: true, Method: "btree", Where: "credit > 0"}
	orders := rel(16404, "orders", catalog.KindTable)
	orders.Partitions = 1
	orders.Columns = []catalog.Column{
		{Name: "id", Num: 1, Type: types.Int8, NotNull: true, Identity: 'd', Sequence: 16405},
		{Name: "customer_id", Num: 2, Type: types.Int4, NotNull: true},
		{Name: "twice", Num: 3, Type: types.Int8, Generated: "id * 2"},
	}
	orders.Constraints = []catalog.Constraint{{OID: 16413, Name: "orders_customer_id_fkey", Kind: 'f', Columns: []int16{2}, RefTable: 16400,
		RefCols: []int16{1}, OnDelete: 'c', OnUpdate: 'a'}}
	ident := rel(16405, "orders_id_seq", catalog.KindSequence)
	ident.Seq = &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, Cache: 1, OwnedTable: 16404, OwnedColumn: 1}
	view := rel(16406, "rich", catalog.KindView)
	view.Query, view.DependsOn = "SELECT id FROM shop.customers WHERE credit > 100", []catalog.Dep{{OID: 16400}, {OID: 16400, Column: 1}}
	view.Columns = []catalog.Column{{Name: "id", Num: 1, Type: types.Int4}}

	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	changes := []catalog.Change{
		&catalog.PutRole{Role: &catalog.Role{OID: ann, Name: "ann", Login: true, Inherit: true, ConnLimit: -1, MemberOf: []catalog.Membership{{Role: bob, Admin: true}}}},
		&catalog.PutRole{Role: &catalog.Role{OID: bob, Name: "bob's", Inherit: true, ConnLimit: 3, Settings: map[string]string{"work_mem": "1MB", "a.b": "c"}}},
		&catalog.PutSchema{Schema: &catalog.Schema{OID: schema, Name: "shop", Owner: boss, ACL: usage}},
		&catalog.PutEnum{Enum: &catalog.EnumType{OID: 16386, ArrayOID: 16387, Schema: schema, Name: "mood", Owner: boss, Labels: []string{"sad", "glad"}}},
		&catalog.PutRelation{Rel: seq}, &catalog.PutRelation{Rel: customers}, &catalog.PutRelation{Rel: pkey}, &catalog.PutRelation{Rel: lower},
		&catalog.PutRelation{Rel: ident}, &catalog.PutRelation{Rel: orders}, &catalog.PutRelation{Rel: view},
		&catalog.PutComment{On: catalog.Dep{OID: 16400}, Text: "people who buy"},
		&catalog.PutComment{On: catalog.Dep{OID: 16400, Column: 2}, Text: "lower case"},
		&catalog.PutNode{Node: &catalog.Node{ID: 7, Name: "n7", Addr: "h:1", PG: "h:2", HTTP: "h:3", Cores: 2, Threads: 4, Memory: 1 << 30, JoinedAt: at}},
		&catalog.AppendSegments{Table: 16400, Part: 1, Segments: []*catalog.Segment{{ID: catalog.SegmentID{9}, Rows: 10, Bytes: 20000, Nodes: []uint64{7},
			DeletedRows: 2, Zones: []catalog.Zone{{Column: 2, Nulls: 5, Distinct: 4}}}}},
		&catalog.PutModel{Model: &catalog.Model{OID: 16420, Schema: schema, Name: "m", Owner: boss, Default: 2, Versions: []catalog.ModelVersion{
			{Number: 1, Algorithm: "linear_regression", Target: []string{"y"}, TrainLoss: 2, CreatedAt: at},
			{Number: 2, Algorithm: "logistic_regression", Target: []string{"y"}, Features: []catalog.ModelFeature{{Name: "x0", Type: types.Float8}}, Rows: 100,
				Iterations: 2, TrainLoss: 0.25, Metrics: []catalog.NamedValue{{Name: "accuracy", Value: 0.9}, {Name: "bad", Value: math.NaN()}}, Seconds: 1.5,
				Bytes: []byte("abc"), Statement: "TRAIN MODEL m", Options: []catalog.NamedText{{Name: "l2_reg", Value: "0.1"}}, CreatedAt: at,
				History: []catalog.Iteration{{Number: 1, TrainLoss: 0.5, ValidationLoss: math.NaN(), Seconds: 1}, {Number: 2, TrainLoss: 0.25, ValidationLoss: 0.3, Seconds: 0.5}}}}}},
		&catalog.PutJob{Job: &catalog.Job{OID: 16430, Schema: schema, Model: "m", Owner: boss, State: catalog.JobRunning, Statement: "RETRAIN MODEL m",
			Coordinator: 7, Iteration: 2, Phase: "iterate", Rows: 50, CreatedAt: at, UpdatedAt: at, MaxIterations: 32, History: []catalog.Iteration{{Number: 1, TrainLoss: 9, ValidationLoss: math.NaN(), Seconds: 2}, {Number: 2, TrainLoss: 8, ValidationLoss: math.NaN(), Seconds: 2}}}},
		&catalog.PutSetting{Name: "work_mem", Value: "8MB"},
	}
	bytes := codec.Marshal(changes)
	changes, err := codec.Unmarshal[[]catalog.Change](bytes)
	if err != nil {
		t.Fatal(err)
	}
	st, _, err := catalog.New().Commit(1, changes)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

type fakeHost struct{}

func (fakeHost) Sessions() []SessionRow {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	return []SessionRow{
		{Node: "n7", PID: 11, User: boss, UserName: "tributary", Application: "psql", ClientAddr: "127.0.0.1:999", Backend: at, Query: at, State: "active", Text: "SELECT 1", Memory: 5},
		{Node: "n7", PID: 12, User: ann, UserName: "ann", Backend: at, State: "idle", Text: "SELECT 2"},
		{Node: "n7", PID: 13, User: boss, UserName: "tributary", Backend: at, Query: at, State: "active", Text: "SELECT 3", QueueNode: "n3", QueuePlace: 4}}
}
func (fakeHost) Nodes() []NodeRow {
	return []NodeRow{{ID: 7, State: "ready", Leader: true, MemoryUsed: 3, Admitted: 5, Queued: 6, Version: "0.2.0", Binary: 2, HeartbeatAge: 20 * time.Millisecond}, {ID: 3, Name: "joining", Address: "h:9", State: "down"}}
}
func (fakeHost) Settings() []SettingRow {
	return []SettingRow{{Name: "work_mem", Setting: "4096", Unit: "kB", Context: "user", Kind: "integer", Source: "default", Min: "64", Boot: "4096", Reset: "4096"}}
}
func (fakeHost) Prepared() []PreparedRow {
	return []PreparedRow{{Name: "p", Statement: "PREPARE p AS SELECT $1", Params: []types.OID{23}, FromSQL: true}}
}
func (fakeHost) Cursors() []CursorRow { return []CursorRow{{Name: "c", Statement: "SELECT 1"}} }
func (fakeHost) Locks() []LockRow {
	return []LockRow{{Type: "advisory", Object: 5, SubID: 1, PID: 11, Mode: "ExclusiveLock", Granted: true}}
}
func (fakeHost) Tasks() []TaskRow {
	return []TaskRow{{Statement: "s1", Stage: 1, Node: "n7", State: "running", Rows: 5}}
}

func (fakeHost) Archive() (int64, time.Time) { return 0, time.Time{} }

// NodeRows has two nodes that counted the same statement.
func (fakeHost) NodeRows(relation string, _ []int16) ([][]types.Datum, error) {
	if relation == "pg_stat_statements" {
		row := func(calls int64, mean, deviation float64) []types.Datum {
			return []types.Datum{int64(boss), int64(1), true, int64(77), "SELECT $1", int64(0), 0.0, 0.0, 0.0, 0.0, 0.0,
				calls, float64(calls) * mean, 1.0, 10.0 * mean, mean, deviation, calls, int64(16384)}
		}
		return [][]types.Datum{row(2, 2, 1), row(2, 4, 1)}, nil
	}
	if relation == "statements" {
		return [][]types.Datum{{"n1", int64(11), "a-1"}, {"n2", int64(12), "b-1"}}, nil
	}
	return nil, nil
}
func (fakeHost) ModelRows(relation string, _ *catalog.ModelVersion, _ []types.Datum, put func([]types.Datum) error) error {
	if relation == "weights" {
		return put([]types.Datum{nil, "x0", 0.5, nil, nil, nil, nil, nil})
	}
	return nil
}

var testEnv = &function.Env{Types: &types.Env{ExtraFloatDigits: 1, Settings: datetime.Settings{Now: time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)}}}

// cells reads some columns of a relation as text, NULL as "∅".
func cells(t testing.TB, st *catalog.State, role types.OID, schema, name string, cols []plan.Column) [][]string {
	out, err := Open(&plan.Virtual{Schema_: schema, Name: name, Cols: cols}, st, SessionInfo{Role: role}, fakeHost{}, testEnv)
	if err != nil {
		t.Fatalf("%s.%s: %v", schema, name, err)
	}
	var rows [][]string
	for _, b := range out {
		for i := range b.N {
			row := make([]string, len(cols))
			for j, c := range cols {
				row[j] = "∅"
				if d := types.DatumAt(c.Type, b.Cols[j], i); d != nil {
					row[j] = types.TextOf(c.Type, d, testEnv.Types)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TestEveryRelation reads all system relations: rows fit the declared columns, and columns that are
// NOT NULL have no NULL.
func TestEveryRelation(t *testing.T) {
	st := shop(t)
	for _, sh := range shapes().list {
		cols, _, ok := Catalog().Virtual(sh.space, sh.name)
		if !ok {
			t.Fatalf("%s.%s has no shape", sh.space, sh.name)
		}
		seen := map[string]bool{}
		for _, row := range cells(t, st, boss, sh.space, sh.name, cols) {
			for i, c := range row {
				if c == "∅" && sh.notNull[i] {
					t.Errorf("%s.%s: %s is NULL in %v", sh.space, sh.name, cols[i].Name, row)
				}
			}
			if cols[0].Name == "oid" {
				if seen[row[0]] {
					t.Errorf("%s.%s: oid %s twice", sh.space, sh.name, row[0])
				}
				seen[row[0]] = true
			}
		}
		cells(t, catalog.New(), ann, sh.space, sh.name, cols[:1]) // all exist in an empty database too
		if oid, ok := RelationOID(sh.space, sh.name); !ok || oid != sh.oid || oid >= types.FirstUserOID {
			t.Errorf("%s.%s: oid %d", sh.space, sh.name, oid)
		}
		if s, n, ok := RelationName(sh.oid); !ok || s != sh.space || n != sh.name {
			t.Errorf("oid %d is %s.%s, want %s.%s", sh.oid, s, n, sh.space, sh.name)
		}
	}
	for name := range producers {
		space, rel, _ := strings.Cut(name, ".")
		if _, ok := RelationOID(space, rel); !ok {
			t.Errorf("rows for %s, which has no shape", name)
		}
	}
}

// TestReferences follows the OIDs from one catalog to another: every foreign key that PostgreSQL's
// pg_get_catalog_foreign_keys() lists must hold.
//
//	pg_index indrelid,indkey pg_attribute attrelid,attnum array opt
//
// means that each element of indkey, except 0, is an attnum of the table indrelid.
func TestReferences(t *testing.T) {
	st := shop(t)
	text, err := os.ReadFile("testdata/foreign_keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	// rows returns the keys of a catalog; those with arrays several times.
	rows := func(rel, names string) [][]string {
		all, _, ok := Catalog().Virtual("pg_catalog", rel)
		if !ok {
			t.Fatalf("no %s", rel)
		}
		var cols []plan.Column
		for _, n := range strings.Split(names, ",") {
			cols = append(cols, all[slices.IndexFunc(all, func(c plan.Column) bool { return c.Name == n })])
		}
		var out [][]string
		for _, r := range cells(t, st, boss, "pg_catalog", rel, cols) {
			last := len(r) - 1
			for _, e := range strings.FieldsFunc(r[last], func(c rune) bool { return strings.ContainsRune(" {},", c) }) {
				out = append(out, append(append([]string(nil), r[:last]...), e))
			}
		}
		return out
	}
	followed := 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		known := map[string]bool{}
		for _, r := range rows(f[2], f[3]) {
			known[strings.Join(r, " ")] = true
		}
		for _, r := range rows(f[0], f[1]) {
			switch last := r[len(r)-1]; {
			case last == "∅", f[5] == "opt" && (last == "0" || last == "-"):
			case f[0] == "pg_aggregate": // aggregates have no transition functions in this catalog
			case !known[strings.Join(r, " ")]:
				t.Errorf("%s: %v is not there", line, r)
			default:
				followed++
			}
		}
	}
	if followed < 1000 {
		t.Errorf("only %d references", followed)
	}
}

// TestGolden compares rows of the shop database. Options: rel=schema.name, cols=(…), role=, and
// from=N to leave out rows whose first column is below N.
func TestGolden(t *testing.T) {
	st := shop(t)
	datadriven.RunTest(t, "testdata/rows", func(t *testing.T, d *datadriven.TestData) string {
		var rel string
		d.ScanArgs(t, "rel", &rel)
		role, from := boss, 0
		if d.HasArg("role") {
			role = ann
		}
		if d.HasArg("from") {
			d.ScanArgs(t, "from", &from)
		}
		space, name, _ := strings.Cut(rel, ".")
		all, _, ok := Catalog().Virtual(space, name)
		if !ok {
			return "no such relation\n"
		}
		cols := all
		if a := slices.IndexFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "cols" }); a >= 0 {
			cols = nil
			for _, n := range d.CmdArgs[a].Vals {
				i := slices.IndexFunc(all, func(c plan.Column) bool { return c.Name == n })
				if i < 0 {
					return "no column " + n + "\n"
				}
				cols = append(cols, all[i])
			}
		}
		var b strings.Builder
		for _, r := range cells(t, st, role, space, name, cols) {
			var n int
			if _, err := fmt.Sscan(r[0], &n); from > 0 && (err != nil || n < from) {
				continue
			}
			if d.HasArg("has") && !strings.Contains(strings.Join(r, "|"), d.CmdArgs[slices.IndexFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "has" })].Vals[0]) {
				continue
			}
			b.WriteString(strings.Join(r, " | ") + "\n")
		}
		return b.String()
	})
}
