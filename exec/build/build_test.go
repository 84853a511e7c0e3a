package build_test

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// world holds the tables that plans read, and hands out their splits.
type world struct {
	tables      map[types.OID]optest.Table
	mu          sync.Mutex
	distributed map[int]int // how many splits of each leaf were handed out
	leaves      []plan.Node
}

const splitRows = 25

func (w *world) Next(_ context.Context, leaf int, _ *op.Split) (*op.Split, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := int64(w.distributed[leaf] * splitRows)
	rows := int64(len(w.tables[w.leaves[leaf].(*plan.Scan).Table].Rows))
	if from >= rows {
		return nil, io.EOF
	}
	w.distributed[leaf]++
	return &op.Split{Scan: leaf, From: from, To: min(from+splitRows, rows)}, nil
}

type list struct{ batches []*batch.Batch }

func (r *list) Next(context.Context) (*batch.Batch, error) {
	if len(r.batches) == 0 {
		return nil, io.EOF
	}
	b := r.batches[0]
	r.batches = r.batches[1:]
	return b, nil
}

func (r *list) Close() error { return nil }

type tables struct {
	t    *testing.T
	w    *world
	some func(optest.Table, []op.ScanKeys) optest.Table // reduces a split's rows by the join keys given to the scan; nil: all rows
}

func (o tables) Intact() error { return nil }

func (o tables) Open(_ context.Context, s *plan.Scan, sp *op.Split, _ *function.Env, keys []op.ScanKeys) (op.BatchReader, error) {
	tb := o.w.tables[s.Table]
	cut := optest.Table{Types: tb.Types, Rows: tb.Rows[sp.From:sp.To]}
	if o.some != nil {
		cut = o.some(cut, keys)
	}
	return &list{cut.Batches(o.t, optest.Form{Size: 9, Dict: true, Mix: true})}, nil
}

// run runs a plan on a number of threads.
func run(t *testing.T, tbs map[types.OID]optest.Table, root plan.Node, threads int, env *function.Env) ([]types.Row, error) {
	t.Helper()
	return runTables(t, tbs, root, threads, env, nil)
}

func runTables(t *testing.T, tbs map[types.OID]optest.Table, root plan.Node, threads int, env *function.Env, some func(optest.Table, []op.ScanKeys) optest.Table) ([]types.Row, error) {
	t.Helper()
	w := &world{tables: tbs, distributed: map[int]int{}, leaves: build.Leaves(root)}
	pool := mem.NewPool("n", 0)
	dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
	defer dir.Close()
	tree, err := build.Stage(context.Background(), build.Config{Stage: &plan.Stage{Root: root}, Env: env, Splits: w, Tables: tables{t, w, some},
		Runtime: &op.Runtime{Threads: threads, BatchSize: 32, Pool: pool, Spill: dir}})
	if err != nil {
		return nil, err
	}
	rows, err := optest.Drive(context.Background(), tree.Root, typesOf(tree.Cols))
	if n := pool.Close(); n != 0 {
		t.Errorf("%d bytes are still charged", n)
	}
	return rows, err
}

func typesOf(cols []plan.Column) (out []types.Type) {
	for _, c := range cols {
		out = append(out, c.Type)
	}
	return out
}

func col(id int, t types.Type) plan.Column {
	return plan.Column{ID: expr.ColID(id), Name: fmt.Sprint("c", id), Type: t}
}
func ref(c plan.Column) *expr.Col { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }
func konst(v int64, t types.Type) expr.Expr {
	return &expr.Const{Val: v, Typ: t}
}

func operator(name string, ret types.Type, a, b expr.Expr) expr.Expr {
	for _, o := range fn.Operators(name) {
		if o.Left == a.Type().OID && o.Right == b.Type().OID {
			return &expr.Call{Fn: o.Func, Args: []expr.Expr{a, b}, Typ: ret, Op: name}
		}
	}
	panic("no operator " + name)
}

func scan(oid int, cols ...plan.Column) *plan.Scan {
	return &plan.Scan{Table: types.OID(oid), Name: fmt.Sprint("t", oid), Cols: cols}
}

// TestSetOps compares with multisets of texts.
func TestSetOps(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	a0, a1, b0, b1 := col(1, types.Text), col(2, types.Numeric), col(3, types.Text), col(4, types.FixedNumeric(9, 2, true))
	o0, o1 := col(5, types.Text), col(6, types.Numeric)
	word := func() types.Datum { return optest.Value(r, types.Text, 3) }
	var ta, tb optest.Table
	ta.Types, tb.Types = []types.Type{a0.Type, a1.Type}, []types.Type{b0.Type, b1.Type}
	for range 120 {
		ta.Rows = append(ta.Rows, types.Row{word(), number.DecimalFromInt64(int64(r.Intn(3)), 0)})
		tb.Rows = append(tb.Rows, types.Row{word(), number.DecimalFromInt64(int64(r.Intn(3)*100), 2)})
	}
	tbs := map[types.OID]optest.Table{1: ta, 2: tb}
	text := func(row types.Row) string {
		return optest.Text(row[:1], []types.Type{types.Text}) + string(row[1].(number.Decimal).HashKey(nil))
	}
	count := func(rows []types.Row) map[string]int {
		m := map[string]int{}
		for _, row := range rows {
			m[text(row)]++
		}
		return m
	}
	l, rr := count(ta.Rows), count(tb.Rows)
	for _, kind := range []plan.SetOpKind{plan.Union, plan.Intersect, plan.Except} {
		for _, all := range []bool{false, true} {
			for _, threads := range []int{1, 3} {
				n := &plan.SetOp{Kind: kind, All: all, Inputs: []plan.Node{scan(1, a0, a1), scan(2, b0, b1)}, Cols: []plan.Column{o0, o1}}
				got, err := run(t, tbs, n, threads, &function.Env{})
				if err != nil {
					t.Fatal(err)
				}
				g := count(got)
				keys := map[string]bool{}
				for k := range l {
					keys[k] = true
				}
				for k := range rr {
					keys[k] = true
				}
				for k := range keys {
					want := 0
					switch kind {
					case plan.Union:
						want = l[k] + rr[k]
					case plan.Intersect:
						want = min(l[k], rr[k])
					case plan.Except:
						if want = max(0, l[k]-rr[k]); !all && rr[k] > 0 {
							want = 0
						}
					}
					if !all {
						want = min(want, 1)
					}
					if g[k] != want {
						t.Errorf("kind %d all %v threads %d: %q comes %d times, want %d", kind, all, threads, k, g[k], want)
					}
					delete(g, k)
				}
				if len(g) > 0 {
					t.Errorf("kind %d all %v: %d rows too many", kind, all, len(g))
				}
				// a projection of one column returns as many rows
				p := &plan.Project{Input: n, Items: []plan.Item{{Col: col(9, types.Numeric), Expr: ref(o1)}}}
				part, err := run(t, tbs, p, threads, &function.Env{})
				if err != nil {
					t.Fatal(err)
				}
				if len(part) != len(got) {
					t.Errorf("kind %d all %v: a column of it has %d rows of %d", kind, all, len(part), len(got))
				}
			}
		}
	}
}

// TestRecursion walks a graph whose edges are a table, which every round reads.
func TestRecursion(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	edges := optest.Table{Types: []types.Type{types.Int4, types.Int4}}
	next := map[int64][]int64{}
	for range 90 {
		a, b := int64(r.Intn(60)), int64(r.Intn(60))
		edges.Rows = append(edges.Rows, types.Row{a, b})
		next[a] = append(next[a], b)
	}
	from, to, w, out := col(1, types.Int4), col(2, types.Int4), col(3, types.Int4), col(4, types.Int4)
	start := &plan.Values{Cols: []plan.Column{col(5, types.Int4)}, Rows: [][]expr.Expr{{konst(1, types.Int4)}, {konst(2, types.Int4)}}}
	step := &plan.Project{Items: []plan.Item{{Col: col(6, types.Int4), Expr: ref(to)}},
		Input: &plan.Join{Kind: plan.Inner, L: &plan.Buffer{ID: 7, Cols: []plan.Column{w}}, R: scan(1, from, to),
			LKeys: []expr.Expr{ref(w)}, RKeys: []expr.Expr{ref(from)}, NullSafe: []bool{false}}}
	reach := map[int64]bool{1: true, 2: true}
	for todo := []int64{1, 2}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		for _, n := range next[at] {
			if !reach[n] {
				reach[n] = true
				todo = append(todo, n)
			}
		}
	}
	for _, threads := range []int{1, 3} {
		n := &plan.RecursiveUnion{ID: 7, Init: start, Step: step, Cols: []plan.Column{out}}
		got, err := run(t, map[types.OID]optest.Table{1: edges}, n, threads, &function.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(reach) {
			t.Errorf("%d rows, want %d", len(got), len(reach))
		}
		for _, row := range got {
			if !reach[row[0].(int64)] {
				t.Errorf("%v cannot be reached", row[0])
			}
		}
	}
}

// TestJoinKeyTypes: keys of different types that are equal are joined.
func TestJoinKeyTypes(t *testing.T) {
	dec := number.DecimalFromInt64
	for _, c := range []struct {
		l, r   types.Type
		vl, vr types.Datum
	}{
		{types.Int2, types.Int8, int64(5), int64(5)},
		{types.Int4, types.Numeric, int64(5), dec(500, 2)},
		{types.FixedNumeric(5, 1, true), types.FixedNumeric(9, 4, true), dec(55, 1), dec(55000, 4)},
		{types.FixedNumeric(5, 1, true), types.Int8, dec(50, 1), int64(5)},
		{types.Float4, types.Float8, 0.5, 0.5},
		{types.Int4, types.Float8, int64(5), 5.0},
		{types.Date, types.Timestamp, int64(2), int64(2 * 86400e6)},
		{types.Text, types.Varchar, "x", "x"},
	} {
		a, b := col(1, c.l), col(2, c.r)
		tbs := map[types.OID]optest.Table{1: {Types: []types.Type{c.l}, Rows: []types.Row{{c.vl}, {nil}}}, 2: {Types: []types.Type{c.r}, Rows: []types.Row{{c.vr}, {nil}}}}
		for _, kind := range []plan.JoinKind{plan.Inner, plan.RightSemi} {
			j := &plan.Join{Kind: kind, L: scan(1, a), R: scan(2, b), LKeys: []expr.Expr{ref(a)}, RKeys: []expr.Expr{ref(b)}, NullSafe: []bool{false}}
			got, err := run(t, tbs, j, 1, &function.Env{})
			if err != nil {
				t.Errorf("%s, %s: %v", c.l, c.r, err)
				continue
			}
			if len(got) != 1 {
				t.Errorf("%s, %s: %d rows", c.l, c.r, len(got))
			}
		}
	}
}

// TestMark: a mark join with a residual condition returns true, false or NULL.
func TestMark(t *testing.T) {
	a, b, c, d, m := col(1, types.Int4), col(2, types.Int4), col(3, types.Int4), col(4, types.Int4), col(5, types.Bool)
	tbs := map[types.OID]optest.Table{
		1: {Types: []types.Type{a.Type, b.Type}, Rows: []types.Row{{int64(1), int64(1)}, {int64(1), int64(9)}, {int64(2), int64(1)}, {nil, int64(1)}, {int64(3), nil}}},
		2: {Types: []types.Type{c.Type, d.Type}, Rows: []types.Row{{int64(1), int64(5)}, {int64(2), nil}, {int64(3), int64(1)}}},
	}
	j := &plan.Join{Kind: plan.Mark, L: scan(1, a, b), R: scan(2, c, d), LKeys: []expr.Expr{ref(a)}, RKeys: []expr.Expr{ref(c)}, NullSafe: []bool{false},
		Residual: []expr.Expr{operator("<", types.Bool, ref(b), ref(d))}, MarkCol: m.ID}
	got, err := run(t, tbs, j, 1, &function.Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := []types.Row{{int64(1), int64(1), true}, {int64(1), int64(9), false}, {int64(2), int64(1), nil}, {nil, int64(1), false}, {int64(3), nil, nil}}
	optest.Compare(t, got, want, []types.Type{types.Int4, types.Int4, types.Bool}, false)
}

func TestLimits(t *testing.T) {
	a := col(1, types.Int4)
	tbs := map[types.OID]optest.Table{1: {Types: []types.Type{types.Int4}, Rows: []types.Row{{int64(3)}, {int64(1)}, {int64(1)}, {int64(2)}}}}
	keys := []plan.SortKey{{Expr: ref(a)}}
	sorted := &plan.Sort{Input: scan(1, a), Keys: keys, Limit: -1}
	for _, c := range []struct {
		count, offset expr.Expr
		ties          bool
		want          int
		code          pgerr.Code
	}{
		{konst(1, types.Int8), nil, false, 1, ""},
		{konst(1, types.Int8), nil, true, 2, ""},
		{nil, konst(3, types.Int8), false, 1, ""},
		{&expr.Const{Typ: types.Int8}, nil, false, 4, ""},
		{konst(1<<62, types.Int8), konst(1<<62, types.Int8), false, 0, ""},
		{konst(1<<63-1, types.Int8), konst(2, types.Int8), false, 2, ""},
		{konst(-1, types.Int8), nil, false, 0, pgerr.InvalidRowCountInLimit},
		{nil, konst(-1, types.Int8), false, 0, pgerr.InvalidRowCountInOffset},
	} {
		got, err := run(t, tbs, &plan.Limit{Input: sorted, Count: c.count, Offset: c.offset, Ties: c.ties, Keys: keys}, 2, &function.Env{})
		if pgerr.CodeOf(err) != c.code || len(got) != c.want {
			t.Errorf("%+v: %d rows, error %v", c, len(got), err)
		}
	}
	on := &plan.DistinctOn{Input: scan(1, a), Keys: []expr.Expr{ref(a)}}
	if got, err := run(t, tbs, on, 3, &function.Env{}); err != nil || len(got) != 3 {
		t.Errorf("%d rows, error %v", len(got), err)
	}
}

// host is a node whose catalog has an enum.
type host struct {
	function.Host
	st *catalog.State
}

func (h host) Catalog() *catalog.State { return h.st }

func TestEnumOrder(t *testing.T) {
	st, err := catalog.New().Apply([]catalog.Change{&catalog.PutEnum{Enum: &catalog.EnumType{OID: 20000, ArrayOID: 20001, Schema: 2200, Name: "mood", Labels: []string{"sad", "ok", "happy"}}}})
	if err != nil {
		t.Fatal(err)
	}
	mood := types.Type{OID: 20000, Mod: -1}
	a := col(1, mood)
	tbs := map[types.OID]optest.Table{1: {Types: []types.Type{mood}, Rows: []types.Row{{"ok"}, {"sad"}, {nil}, {"happy"}, {"ok"}}}}
	got, err := run(t, tbs, &plan.Sort{Input: scan(1, a), Keys: []plan.SortKey{{Expr: ref(a), Desc: true, NullsFirst: true}}, Limit: -1}, 1, &function.Env{Host: host{st: st}})
	if err != nil {
		t.Fatal(err)
	}
	want := []types.Row{{nil}, {"happy"}, {"ok"}, {"ok"}, {"sad"}}
	if !slices.EqualFunc(got, want, func(a, b types.Row) bool { return a[0] == b[0] }) {
		t.Errorf("got %v", got)
	}
}

func TestFunctionsAndValues(t *testing.T) {
	var series *fn.Func
	for _, f := range fn.Lookup("generate_series") {
		if len(f.Args) == 2 && f.Args[0] == types.Int4OID {
			series = f
		}
	}
	out, ord := col(1, types.Int4), col(2, types.Int8)
	f := &plan.FuncScan{Calls: []plan.SetCall{{Fn: series, Args: []expr.Expr{konst(3, types.Int4), konst(100, types.Int4)}, Cols: []plan.Column{out}}}, Ordinality: ord.ID}
	got, err := run(t, nil, f, 2, &function.Env{})
	if err != nil || len(got) != 98 || got[97][0] != int64(100) || got[97][1] != int64(98) {
		t.Errorf("%d rows, error %v", len(got), err)
	}
	in := &plan.Values{Cols: []plan.Column{col(3, types.Int4)}}
	for i := range 100 {
		in.Rows = append(in.Rows, []expr.Expr{konst(int64(i%4), types.Int4)})
	}
	ps := &plan.ProjectSet{Input: in, Calls: []plan.SetCall{{Fn: series, Args: []expr.Expr{konst(1, types.Int4), ref(in.Cols[0])}, Cols: []plan.Column{out}}}, Outer: true}
	if got, err = run(t, nil, ps, 2, &function.Env{}); err != nil || len(got) != 25*(1+1+2+3) {
		t.Errorf("%d rows, error %v", len(got), err)
	}
	// no columns, one row
	one := &plan.Project{Input: &plan.Values{Rows: [][]expr.Expr{{}}}, Items: []plan.Item{{Col: out, Expr: konst(7, types.Int4)}}}
	if got, err = run(t, nil, one, 2, &function.Env{}); err != nil || len(got) != 1 || got[0][0] != int64(7) {
		t.Errorf("rows %v, error %v", got, err)
	}
}
