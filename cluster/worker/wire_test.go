package worker_test

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/cluster/worker"
	"github.com/tributarydb/tributary/internal/plantest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/stage"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// sentPlan is a statement's plan for three nodes.
type sentPlan struct {
	*plan.Staged
	sql string
}

func plansOf(t testing.TB) (all []sentPlan) {
	text, err := os.ReadFile("../../planner/stage/testdata/equivalence.sql")
	if err != nil {
		t.Fatal(err)
	}
	w := plantest.Small(t)
	w.Nodes = 3
	for _, sql := range strings.Split(string(text), ";\n") {
		if sql = strings.TrimSpace(sql); sql == "" {
			continue
		}
		q, err := w.Optimize(t, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		p, err := stage.Stage(q.Root, q.Cols, &stage.Env{Nodes: 3, Stats: w})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		all = append(all, sentPlan{p, sql})
	}
	return all
}

// BenchmarkPlansTravel encodes and decodes a plan and reports its size.
func BenchmarkPlansTravel(b *testing.B) {
	plans := plansOf(b)
	bytes, n := 0, 0
	for b.Loop() {
		sent := rpc.Encode(plans[n%len(plans)].Stages)
		if _, err := rpc.Decode[[]plan.Stage](sent); err != nil {
			b.Fatal(err)
		}
		bytes, n = bytes+len(sent), n+1
	}
	b.ReportMetric(float64(bytes)/float64(n), "bytes/plan")
}

// TestPlansTravel: a plan is the same after encoding and decoding.
func TestPlansTravel(t *testing.T) {
	for _, p := range plansOf(t) {
		back, err := rpc.Decode[[]plan.Stage](rpc.Encode(p.Stages))
		if err != nil {
			t.Errorf("%s: %v", p.sql, err)
			continue
		}
		for i := range p.Stages {
			if was, is := plan.Format(p.Stages[i].Root), plan.Format(back[i].Root); was != is {
				t.Errorf("%s\nwas\n%s\nis\n%s", p.sql, was, is)
			}
		}
	}
	big, _ := number.ParseDecimal("-123456789012345678901234567890.5")
	vals := []types.Datum{nil, true, false, int64(0), int64(-7), 1.5, "", "text", []byte{0, 255}, number.DecimalFromInt64(250, 2), big, number.DecimalNaN,
		datetime.Interval{Months: 1, Days: -2, Micros: 3}, datetime.TimeTZ{Micros: 5, Zone: -3600}, [16]byte{1, 2},
		types.Array{Elem: types.Int4, Elems: []types.Datum{int64(1), nil}}, types.Row{nil, "x"}}
	for _, v := range vals {
		back, err := rpc.Decode[plan.Scan](rpc.Encode(plan.Scan{Filter: []expr.Expr{&expr.Const{Val: v, Typ: types.Text}}, Missing: []types.Datum{nil, v}}))
		if err != nil {
			t.Errorf("%v: %v", v, err)
			continue
		}
		if got := back.Filter[0].(*expr.Const).Val; !reflect.DeepEqual(got, v) || !reflect.DeepEqual(back.Missing, []types.Datum{nil, v}) {
			t.Errorf("%#v became %#v", v, got)
		}
	}
}

// TestBoundToSession: a plan with a function that reads the session's state runs on the gateway only.
func TestBoundToSession(t *testing.T) {
	w := newTables(t, 3, 9, 2, 2, 1)
	for _, sql := range []string{"select a, pg_sleep(0) from t", "select a from t where random() >= 0"} {
		p, q := w.staged(t, sql)
		s, end := w.statement(t, sql, worker.Options{})
		r, err := s.Execute(context.Background(), p, w.snapshot(p))
		if err != nil {
			t.Fatal(err)
		}
		got, err := rowsOf(context.Background(), r, q.Cols)
		if err != nil || len(got) != 9 {
			t.Error(got, err)
		}
		tasks := 0
		for _, st := range s.Actuals() {
			tasks = max(tasks, st.Tasks)
		}
		if want := map[bool]int{true: 1, false: 3}[strings.Contains(sql, "sleep")]; tasks != want {
			t.Errorf("%s: %d tasks", sql, tasks)
		}
		r.Close()
		end()
	}
}

// writePlan returns a plan that writes a query's result into a table, on the nodes where the rows are.
func (w *world) writePlan(t *testing.T, sql string) (*plan.Staged, []plan.Column) {
	q, err := w.plans.Optimize(t, sql)
	if err != nil {
		t.Fatal(err)
	}
	rel := &catalog.Relation{OID: 99999, Name: "copy", Kind: catalog.KindTable, Partitions: 3}
	var nums []int16
	for i, c := range q.Cols {
		nums = append(nums, int16(i+1))
		rel.Columns = append(rel.Columns, catalog.Column{Name: c.Name, Num: int16(i + 1), Type: c.Type, Missing: types.Datum(int64(3))})
	}
	out := plan.Column{ID: 999, Name: "segment", Type: types.Bytea}
	return w.stage(t, &plan.TableWrite{Input: q.Root, Table: rel, Cols: nums, Out: out}, nil), []plan.Column{out}
}

// TestWrite runs plans that write on all nodes.
func TestWrite(t *testing.T) {
	w := newWorld(t, 3)
	p, cols := w.writePlan(t, "select a, c from t")
	s, end := w.statement(t, "write", worker.Options{})
	defer end()
	r, err := s.Execute(context.Background(), p, w.snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := int64(0)
	for {
		b, err := r.Next(context.Background())
		if err != nil {
			break
		}
		for i := range b.Rows() {
			x, err := catalog.UnmarshalWritten(types.DatumAt(cols[0].Type, b.Cols[0], i).([]byte))
			if err != nil {
				t.Fatal(err)
			}
			rows += x.Segment.Rows
		}
	}
	if rows != 70 {
		t.Errorf("%d rows were written", rows)
	}
}
