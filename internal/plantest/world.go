package plantest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/opt"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/props"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// World is a catalog with statistics that tests set.
type World struct {
	st    *catalog.State
	oid   types.OID
	stats map[types.OID]*props.TableStats
	Nodes int
}

func New() *World {
	return &World{st: catalog.New(), oid: types.FirstUserOID, stats: map[types.OID]*props.TableStats{}}
}

// Table implements Statistics.
func (w *World) Table(oid types.OID) *props.TableStats { return w.stats[oid] }

func (w *World) put(t testing.TB, ch ...catalog.Change) {
	t.Helper()
	st, err := w.st.Apply(ch)
	if err != nil {
		t.Fatal(err)
	}
	w.st = st
}

func (w *World) session(text *parse.Statement) *bind.Session {
	return &bind.Session{Names: bind.Names{State: w.st, SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID}, Text: text}
}

func one(sql string) (*parse.Statement, error) {
	list, err := parse.Parse(sql, parse.Postgres)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || list[0].Node == nil {
		return nil, fmt.Errorf("not one statement: %s", sql)
	}
	return list[0], nil
}

// NewTable makes a table: name, rows, then a line a column:
//
//	name type [notnull] [pk] [ndv=N] [min=V max=V] [nulls=F]
func (w *World) NewTable(t testing.TB, name string, rows float64, cols string) {
	t.Helper()
	w.oid++
	r := &catalog.Relation{OID: w.oid, Owner: catalog.BootstrapRoleOID, Schema: catalog.PublicOID, Name: name, Kind: catalog.KindTable, Partitions: 1}
	st := &props.TableStats{Rows: rows, Cols: map[int16]props.ColStats{}}
	var pk []int16
	for _, line := range strings.Split(strings.TrimSpace(cols), "\n") {
		f := strings.Fields(line)
		s, err := one("create table t (" + f[0] + " " + f[1] + ")")
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		typ, err := bind.TypeName(w.session(nil), s.Node.(*ast.CreateStmt).TableElts.Items[0].(*ast.ColumnDef).TypeName)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		num := int16(len(r.Columns) + 1)
		cs := props.ColStats{Type: typ, Bounds: true}
		for _, a := range f[2:] {
			k, v, _ := strings.Cut(a, "=")
			switch k {
			case "notnull":
				cs.NotNull = true
			case "pk":
				cs.NotNull = true
				pk = append(pk, num)
			case "ndv":
				cs.NDV, _ = strconv.ParseFloat(v, 64)
			case "nulls":
				cs.NullFrac, _ = strconv.ParseFloat(v, 64)
			case "min", "max":
				d, err := types.ParseText(typ, v, nil)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if k == "min" {
					cs.Min = d
				} else {
					cs.Max = d
				}
			default:
				t.Fatalf("%s?", a)
			}
		}
		r.Columns = append(r.Columns, catalog.Column{Name: f[0], Num: num, Type: typ, NotNull: cs.NotNull})
		st.Cols[num] = cs
	}
	if pk != nil {
		w.oid++
		r.Constraints = append(r.Constraints, catalog.Constraint{OID: w.oid, Name: name + "_pkey", Kind: 'p', Columns: pk})
		st.Unique = append(st.Unique, pk)
		if len(pk) == 1 {
			cs := st.Cols[pk[0]]
			cs.NDV = rows
			st.Cols[pk[0]] = cs
		}
	}
	w.stats[r.OID] = st
	w.put(t, &catalog.PutRelation{Rel: r})
}

func (w *World) Bind(sql string) (*plan.Query, error) {
	s, err := one(sql)
	if err != nil {
		return nil, err
	}
	return bind.Query(w.session(s), s.Node)
}

// Plan plans a query up to its stages; it calls poll meanwhile.
func (w *World) Plan(sql string, poll plan.Poll) (*plan.Staged, error) {
	stmt, err := one(sql)
	if err != nil {
		return nil, err
	}
	s := w.session(stmt)
	s.Poll = poll
	b, err := planner.Bind(s, stmt.Node)
	if err != nil {
		return nil, err
	}
	e := w.Planning()
	e.Poll = poll
	p, err := planner.Plan(b, e)
	if err != nil {
		return nil, err
	}
	return p.Staged, nil
}

// Planning returns the planner's environment for a superuser.
func (w *World) Planning() *planner.Env {
	return &planner.Env{State: w.st, Stats: w, Role: catalog.BootstrapRoleOID, Folder: Folder{}, Nodes: w.Nodes}
}

func (w *World) Env() *rule.Env {
	return &rule.Env{Stats: w, Folder: Folder{}, Nodes: w.Nodes}
}

// Optimize binds and optimises, and checks the tree after every rule.
func (w *World) Optimize(t testing.TB, sql string) (*plan.Query, error) {
	t.Helper()
	q, err := w.Bind(sql)
	if err != nil {
		return nil, err
	}
	env := w.Env()
	env.Trace = func(rule string, n plan.Node) {
		if err := opt.Validate(n, false); err != nil {
			t.Errorf("after %s: %v\n%s\n%s", rule, err, sql, plan.Format(n))
		}
	}
	out, err := opt.Optimize(q, env)
	if err != nil {
		return nil, err
	}
	check(t, sql, out)
	return out, nil
}

// check validates a finished query.
func check(t testing.TB, sql string, q *plan.Query) {
	t.Helper()
	if err := opt.Validate(q.Root, true); err != nil {
		t.Errorf("%v\n%s\n%s", err, sql, plan.FormatQuery(q))
	}
	if free := plan.FreeColumns(q.Root); len(free) > 0 {
		t.Errorf("free columns %v\n%s\n%s", len(free), sql, plan.FormatQuery(q))
	}
	have := plan.Emits(q.Root)
	for _, c := range q.Cols {
		if !have[c.ID] {
			t.Errorf("output column %s#%d is lost\n%s\n%s", c.Name, c.ID, sql, plan.FormatQuery(q))
		}
	}
	for _, b := range q.Buffers {
		if b.Root == nil {
			continue
		}
		if err := opt.Validate(b.Root, true); err != nil {
			t.Errorf("buffer %d: %v\n%s\n%s", b.ID, err, sql, plan.FormatQuery(q))
		}
		s := b.Root.Schema()
		if len(s) != len(b.Cols) {
			t.Errorf("buffer %d: %d columns, not %d\n%s", b.ID, len(s), len(b.Cols), sql)
			continue
		}
		for i := range s {
			if s[i].ID != b.Cols[i].ID {
				t.Errorf("buffer %d: columns out of order\n%s", b.ID, sql)
			}
		}
	}
}

// OID returns the OID of a table.
func (w *World) OID(name string) types.OID {
	return w.st.Relation(catalog.PublicOID, name).OID
}

// Resize sets how many rows the statistics say a table has.
func (w *World) Resize(name string, rows float64) {
	st := *w.stats[w.OID(name)]
	st.Rows = rows
	w.stats[w.OID(name)] = &st
}
