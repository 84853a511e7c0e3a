package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// TestBind runs testdata: SQL over a small catalog and the plan it binds to,
// or the error as PostgreSQL words it.
//
//	ddl     CREATE TABLE, VIEW, TYPE … AS ENUM; changes the file's catalog
//	bind    prints the plan
//	params  prints the parameter types; types=(int4,text) are the client's
func TestBind(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		c := newTestCatalog(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := ""
			for _, sql := range splitTest(d.Input) {
				switch d.Cmd {
				case "ddl":
					c.ddl(t, sql)
					out = "ok\n"
				case "bind":
					out += c.bind(sql)
				case "params":
					out += c.params(d, sql)
				default:
					t.Fatalf("unknown command %s", d.Cmd)
				}
			}
			return out
		})
	})
}

func splitTest(s string) []string {
	var out []string
	for _, p := range strings.Split(s, "\n\n") {
		if strings.TrimSpace(p) != "" {
			out = append(out, p)
		}
	}
	return out
}

// testCatalog is a catalog that simple DDL statements define.
type testCatalog struct {
	st  *catalog.State
	oid types.OID
}

func newTestCatalog(t testing.TB) *testCatalog {
	c := &testCatalog{st: catalog.New(), oid: types.FirstUserOID}
	c.put(t, &catalog.PutModel{Model: &catalog.Model{OID: c.next(), Schema: catalog.PublicOID, Name: "iris", Default: 1, Versions: []catalog.ModelVersion{{
		Number: 1, Algorithm: "logistic_regression", Task: catalog.TaskClassification, Target: []string{"species"}, TargetType: types.Text,
		Outputs:  []catalog.ModelFeature{{Name: "predicted_species", Type: types.Text}},
		Features: []catalog.ModelFeature{{Name: "width", Type: types.Float8}, {Name: "len", Type: types.Float8}, {Name: "color", Type: types.Text}},
	}}}})
	c.put(t, &catalog.PutModel{Model: &catalog.Model{OID: c.next(), Schema: catalog.PublicOID, Name: "price", Default: 1, Versions: []catalog.ModelVersion{{
		Number: 1, Algorithm: "linear_regression", Task: catalog.TaskRegression, Target: []string{"b"}, TargetType: types.Float8,
		Outputs:  []catalog.ModelFeature{{Name: "predicted_b", Type: types.Float8}},
		Features: []catalog.ModelFeature{{Name: "a", Type: types.Float8}},
	}}}})
	return c
}

func (c *testCatalog) next() types.OID { c.oid++; return c.oid }

func (c *testCatalog) put(t testing.TB, ch ...catalog.Change) {
	t.Helper()
	st, err := c.st.Apply(ch)
	if err != nil {
		t.Fatal(err)
	}
	c.st = st
}

func (c *testCatalog) session(text *parse.Statement) *Session {
	return &Session{Names: Names{State: c.st, SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID}, Text: text, Virtual: testVirtual{}, Sources: testSources{}}
}

func (c *testCatalog) statement(sql string) (*parse.Statement, error) {
	list, err := parse.Parse(sql, parse.Postgres)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || list[0].Node == nil {
		return nil, fmt.Errorf("not one statement: %s", sql)
	}
	return list[0], nil
}

func (c *testCatalog) bind(sql string) string {
	s, err := c.statement(sql)
	if err != nil {
		return errText(err)
	}
	if _, ok := s.Node.(*ast.SelectStmt); ok {
		q, err := Query(c.session(s), s.Node)
		if err != nil {
			return errText(err)
		}
		if err := check(q); err != nil {
			return "INVALID: " + err.Error() + "\n" + plan.FormatQuery(q)
		}
		return plan.FormatQuery(q)
	}
	d, err := DML(c.session(s), s.Node)
	if err != nil {
		return errText(err)
	}
	if err := checkDML(d); err != nil {
		return "INVALID: " + err.Error() + "\n" + plan.FormatDML(d)
	}
	return plan.FormatDML(d)
}

func (c *testCatalog) params(d *datadriven.TestData, sql string) string {
	s, err := c.statement(sql)
	if err != nil {
		return errText(err)
	}
	ses := c.session(s)
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			o, _ := types.ByName(v)
			ses.ParamTypes = append(ses.ParamTypes, types.Type{OID: o, Mod: -1})
		}
	}
	var ps []types.Type
	if _, ok := s.Node.(*ast.SelectStmt); ok {
		var q *plan.Query
		if q, err = Query(ses, s.Node); err == nil {
			ps = q.Params
		}
	} else {
		var d *plan.DML
		if d, err = DML(ses, s.Node); err == nil {
			ps = d.Params
		}
	}
	if err != nil {
		return errText(err)
	}
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.String()
	}
	return strings.Join(out, ", ") + "\n"
}

func errText(err error) string {
	e := pgerr.From(err)
	s := fmt.Sprintf("%s: %s", e.Code, e.Message)
	if e.Position > 0 {
		s += fmt.Sprintf(" (at %d)", e.Position)
	}
	if e.Detail != "" {
		s += "\nDETAIL: " + e.Detail
	}
	if e.Hint != "" {
		s += "\nHINT: " + e.Hint
	}
	return s + "\n"
}

// ddl makes tables, views and enums.
func (c *testCatalog) ddl(t testing.TB, sql string) {
	t.Helper()
	s, err := c.statement(sql)
	if err != nil {
		t.Fatal(err)
	}
	switch n := s.Node.(type) {
	case *ast.CreateStmt:
		c.table(t, n)
	case *ast.ViewStmt:
		q, err := Query(c.session(s), n.Query.(ast.Stmt))
		if err != nil {
			t.Fatal(err)
		}
		r := &catalog.Relation{OID: c.next(), Schema: catalog.PublicOID, Name: n.View.RelName, Kind: catalog.KindView,
			Query: n.Query.SqlString(), SearchPath: []string{"public"}}
		names := typing.Strs(n.Aliases)
		for i, col := range q.Cols {
			name := col.Name
			if i < len(names) {
				name = names[i]
			}
			r.Columns = append(r.Columns, catalog.Column{Name: name, Num: int16(i + 1), Type: col.Type})
		}
		c.put(t, &catalog.PutRelation{Rel: r})
	case *ast.CreateEnumStmt:
		_, name := typing.Qualified(n.TypeName)
		c.put(t, &catalog.PutEnum{Enum: &catalog.EnumType{OID: c.next(), ArrayOID: c.next(), Schema: catalog.PublicOID, Name: name, Labels: typing.Strs(n.Vals)}})
	default:
		t.Fatalf("ddl of a %T", n)
	}
}

func (c *testCatalog) table(t testing.TB, n *ast.CreateStmt) {
	t.Helper()
	r := &catalog.Relation{OID: c.next(), Schema: catalog.PublicOID, Name: n.Relation.RelName, Kind: catalog.KindTable, Partitions: 1}
	con := func(x *ast.Constraint, cols []int16) {
		k := catalog.Constraint{OID: c.next(), Name: x.Conname, Columns: cols}
		for _, key := range typing.Strs(x.Keys) {
			k.Columns = append(k.Columns, r.Column(key).Num)
		}
		switch x.Contype {
		case ast.CONSTR_PRIMARY:
			k.Kind = 'p'
		case ast.CONSTR_UNIQUE:
			k.Kind = 'u'
		case ast.CONSTR_CHECK:
			k.Kind, k.Check = 'c', x.RawExpr.SqlString()
		default:
			t.Fatalf("constraint %v", x.Contype)
		}
		if k.Name == "" {
			k.Name = fmt.Sprintf("%s_%c%d", r.Name, k.Kind, len(r.Constraints)+1)
		}
		r.Constraints = append(r.Constraints, k)
	}
	for _, e := range typing.Items(n.TableElts) {
		switch e := e.(type) {
		case *ast.ColumnDef:
			typ, err := TypeName(c.session(nil), e.TypeName)
			if err != nil {
				t.Fatal(err)
			}
			r.Columns = append(r.Columns, catalog.Column{Name: e.Colname, Num: int16(len(r.Columns) + 1), Type: typ})
			col := &r.Columns[len(r.Columns)-1]
			for _, x := range typing.Items(e.Constraints) {
				x := x.(*ast.Constraint)
				switch x.Contype {
				case ast.CONSTR_NOTNULL:
					col.NotNull = true
				case ast.CONSTR_DEFAULT:
					col.Default = x.RawExpr.SqlString()
				case ast.CONSTR_GENERATED:
					col.Generated = x.RawExpr.SqlString()
				case ast.CONSTR_IDENTITY:
					col.Identity = byte(x.GeneratedWhen)
					seq := &catalog.Relation{OID: c.next(), Schema: catalog.PublicOID, Name: r.Name + "_" + col.Name + "_seq", Kind: catalog.KindSequence,
						Seq: &catalog.Sequence{Type: types.Int8, Start: 1, Increment: 1, Min: 1, Max: 1 << 60, Cache: 1}}
					c.put(t, &catalog.PutRelation{Rel: seq})
					col.Sequence, col.NotNull = seq.OID, true
				default:
					con(x, []int16{col.Num})
				}
			}
		case *ast.Constraint:
			con(e, nil)
		}
	}
	for i := range r.Constraints {
		if r.Constraints[i].Kind == 'p' {
			for _, num := range r.Constraints[i].Columns {
				r.Columns[num-1].NotNull = true
			}
		}
	}
	c.put(t, &catalog.PutRelation{Rel: r})
}

type testVirtual struct{}

func (testVirtual) Virtual(schema, name string) ([]plan.Column, types.OID, bool) {
	switch schema + "." + name {
	case "pg_catalog.pg_class":
		return []plan.Column{{Name: "oid", Type: types.Oid}, {Name: "relname", Type: types.Name}, {Name: "relkind", Type: types.Char}, {Name: "relnamespace", Type: types.Oid}}, 1259, true
	case "pg_catalog.pg_namespace":
		return []plan.Column{{Name: "oid", Type: types.Oid}, {Name: "nspname", Type: types.Name}}, 2615, true
	case "ml.models":
		return []plan.Column{{Name: "name", Type: types.Text}}, 0, true
	case "ml.weights":
		return []plan.Column{{Name: "feature", Type: types.Text}, {Name: "weight", Type: types.Float8}}, 0, true
	}
	return nil, 0, false
}

func (testVirtual) OfModel(schema, name string) bool { return schema+"."+name == "ml.weights" }

type testSources struct{}

func (testSources) Source(name string, args []plan.Arg) (*plan.Source, error) {
	switch name {
	case "read_csv":
		if len(args) == 0 {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "read_csv needs a path")
		}
		return &plan.Source{Name: name, Args: args, Cols: []plan.Column{{Name: "id", Type: types.Int8}, {Name: "name", Type: types.Text}}, Rows: 1000}, nil
	case "make_regression":
		return &plan.Source{Name: name, Args: args, Cols: []plan.Column{{Name: "x0", Type: types.Float8}, {Name: "y", Type: types.Float8}}, Rows: 100}, nil
	}
	return nil, nil
}
