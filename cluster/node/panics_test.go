package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/build"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// fault is where plans panic: in all operators of a kind of plan node, or in what tables, sources, system
// views and writers open, at a point of their lives.
type fault struct {
	kind, point string
	last        bool // only in the last thread
	after       int  // batches that come before a panic in Next
	hit         atomic.Bool
}

// panicPoints are the points of an operator's and a reader's life.
var panicPoints = []string{"open", "next", "close"}

func (f *fault) at(point string) {
	if f.point == point {
		f.hit.Store(true)
		panic("on purpose")
	}
}

// hook makes plans have the fault, and calls seen with the kinds that there are.
func (f *fault) hook(seen func(kind string)) *build.Hook {
	return &build.Hook{
		Node: func(n plan.Node, threads []op.Operator) []op.Operator {
			kind := strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan.")
			if seen(kind); kind != f.kind {
				return threads
			}
			out := slices.Clone(threads)
			for i, in := range threads {
				if !f.last || i == len(threads)-1 {
					out[i] = &faulty{Operator: in, f: f, left: f.after}
				}
			}
			return out
		},
		Config: func(c *build.Config) {
			of := func(kind string) *fault {
				if seen(kind); kind == f.kind {
					return f
				}
				return &fault{}
			}
			if c.Tables != nil {
				c.Tables = faultyTables{c.Tables, of("tables")}
			}
			if c.Virtuals != nil {
				c.Virtuals = faultyVirtuals{c.Virtuals, of("virtuals")}
			}
			if c.Sources != nil {
				c.Sources = faultySources{c.Sources, of("sources")}
			}
			if c.Exchange != nil {
				c.Exchange = faultyExchange{c.Exchange, of("exchange")}
			}
			if c.Writers != nil {
				c.Writers = faultyWriters{c.Writers, of("writers")}
			}
		},
	}
}

type faulty struct {
	op.Operator
	f      *fault
	left   int
	closed bool
}

func (o *faulty) AllowReuse() { op.AllowReuse(o.Operator) }

func (o *faulty) Open(ctx context.Context) error {
	o.f.at("open")
	return o.Operator.Open(ctx)
}

func (o *faulty) Next(ctx context.Context) (*batch.Batch, error) {
	if o.left--; o.left < 0 {
		o.f.at("next")
	}
	return o.Operator.Next(ctx)
}

func (o *faulty) Close() error {
	if !o.closed { // it may be called again
		o.closed = true
		o.f.at("close")
	}
	return o.Operator.Close()
}

type faultyReader struct {
	op.BatchReader
	f      *fault
	closed bool
}

func (r *faultyReader) AllowReuse() { op.AllowReuse(r.BatchReader) }

func (r *faultyReader) Next(ctx context.Context) (*batch.Batch, error) {
	r.f.at("next")
	return r.BatchReader.Next(ctx)
}

func (r *faultyReader) Close() error {
	if !r.closed {
		r.closed = true
		defer r.f.at("close") // of readers no one knows but who opened them
	}
	return r.BatchReader.Close()
}

type faultyTables struct {
	op.Tables
	f *fault
}

func (t faultyTables) Open(ctx context.Context, s *plan.Scan, sp *op.Split, env *function.Env, keys []op.ScanKeys) (op.BatchReader, error) {
	t.f.at("open")
	r, err := t.Tables.Open(ctx, s, sp, env, keys)
	if err != nil {
		return nil, err
	}
	return &faultyReader{BatchReader: r, f: t.f}, nil
}

type faultyVirtuals struct {
	op.Virtuals
	f *fault
}

func (t faultyVirtuals) Open(ctx context.Context, v *plan.Virtual) (op.BatchReader, error) {
	t.f.at("open")
	r, err := t.Virtuals.Open(ctx, v)
	if err != nil {
		return nil, err
	}
	return &faultyReader{BatchReader: r, f: t.f}, nil
}

type faultySources struct {
	op.Sources
	f *fault
}

func (t faultySources) Open(ctx context.Context, s *plan.Source, part, of int, pool *mem.Pool) (op.BatchReader, error) {
	t.f.at("open")
	r, err := t.Sources.Open(ctx, s, part, of, pool)
	if err != nil {
		return nil, err
	}
	return &faultyReader{BatchReader: r, f: t.f}, nil
}

type faultyExchange struct {
	op.Exchange
	f *fault
}

func (t faultyExchange) Readers(ctx context.Context, r *plan.Receive) ([]op.BatchReader, error) {
	t.f.at("open")
	list, err := t.Exchange.Readers(ctx, r)
	for i := range list {
		list[i] = &faultyReader{BatchReader: list[i], f: t.f}
	}
	return list, err
}

type faultyWriters struct {
	op.Writers
	f *fault
}

func (t faultyWriters) Writer(ctx context.Context, w *plan.TableWrite) (op.Writer, error) {
	t.f.at("open")
	x, err := t.Writers.Writer(ctx, w)
	if err != nil {
		return nil, err
	}
	return faultyWriter{x, t.f}, nil
}

type faultyWriter struct {
	op.Writer
	f *fault
}

func (w faultyWriter) Write(ctx context.Context, b *batch.Batch) error {
	w.f.at("next")
	return w.Writer.Write(ctx, b)
}

func (w faultyWriter) Flush(ctx context.Context) ([]catalog.Written, error) {
	w.f.at("close")
	return w.Writer.Flush(ctx)
}

// panicStatements have, together, all kinds of operators.
var panicStatements = []string{
	"select a, b, upper(c) from pt where a % 3 = 0",
	"select b, count(*), sum(a) from pt group by b",
	"select a, count(distinct c) from pt group by rollup(a, b)",
	"select string_agg(c, ',' order by a) from pt",
	"select x.a, y.c from pt x join pt y on x.a = y.a",
	"select x.a, y.b from pt x left join pu y on x.a = y.a and x.b < y.b",
	"select a from pt where a not in (select a from pu)",
	"select * from pt order by b, c limit 100",
	"select a, c from pt order by b desc, a",
	"select a, row_number() over (partition by b order by a), sum(a) over (partition by b order by a) from pt",
	"select a, count(*) over () from (select a, count(*) from pt group by a) q",
	"select * from (select a, b, row_number() over (partition by b order by a) r from pt) q where r <= 3",
	"select distinct on (b) b, a from pt order by b, a",
	"select a from pt union select a from pu",
	"select a from pt union all select a from pu",
	"select a from pt except all select a from pu",
	"select a from pt intersect select a from pu",
	"with recursive r(n) as (select a from pu where a < 5 union select n + 1 from r where n < 20) select * from r",
	"with recursive r(n) as (select 1 union all select r.n + 1 from r join pu on pu.a = r.n) select count(*) from r",
	"with m as materialized (select b, count(*) n from pt group by b) select * from m x join m y on x.n = y.n",
	"select (select a from pu where b = 7), generate_series(1, 3)",
	"select a, (select b from pu where pu.b = pt.a) from pt",
	"select a, unnest(array[a, b]) from pt",
	"select * from generate_series(1, 1000) g, lateral (select count(*) from pu where a < g % 10) q limit 10",
	"select * from (values (1, 'a'), (2, 'b'), (3, 'c')) v(a, b) join pt using (a)",
	"select count(*) from make_blobs(n_samples => 500, random_state => 1)",
	"insert into pw select a, b, c from pt",
	"update pt set c = 'x' || a where a % 2 = 0",
	"delete from pw where a % 5 = 0 returning a",
	"select relname from pg_class order by 1 limit 5",
}

// stuck is how long a statement may take before it is said to hang.
const stuck = 3 * time.Minute

// within fails the test, with all goroutines, where f does not end.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(stuck):
		b := make([]byte, 1<<20)
		t.Fatalf("%s does not end:\n%s", what, b[:runtime.Stack(b, true)])
	}
}

// TestPanics: whatever panics while a plan runs, wherever and in whichever thread, the statement ends with
// XX000, its session runs the next one, no task is left, and the nodes stop.
func TestPanics(t *testing.T) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(old)
	defer build.Hooked.Store(nil)
	for _, form := range []struct {
		nodes int
		set   []string
	}{{1, nil}, {3, []string{spread, apart}}} {
		if testing.Short() && form.nodes == 1 {
			continue
		}
		t.Run(fmt.Sprint(form.nodes), func(t *testing.T) {
			nodes := start(t, form.nodes, func(o *Options) { o.Threads = 3 })
			c := connect(t, nodes[0], append(form.set, "batch_size = 100")...)
			c.must("create table pt (a int, b int, c text); create table pw (like pt); create table pu (a int, b int)")
			for i := range 4 {
				c.must(fmt.Sprintf("insert into pt select i, i %% 11, 'row ' || i from generate_series(%d, %d) i", i*300, i*300+299))
			}
			c.must("insert into pu select i, i from generate_series(1, 200) i; insert into pu select i, i from generate_series(201, 400) i")
			statements := panicStatements
			for _, name := range c.must(`select quote_ident(nspname) || '.' || quote_ident(relname) from pg_class c join pg_namespace n on n.oid = relnamespace
				where nspname in ('pg_catalog', 'information_schema', 'ml', 'cluster') and relkind in ('r', 'v') order by 1`) {
				statements = append(statements, "select * from "+name)
			}
			met := map[string]bool{}
			for i, sql := range statements {
				if form.nodes > 1 && i >= len(panicStatements) {
					break // they are read by the gateway
				}
				panicsIn(t, c, sql, met, i >= len(panicStatements))
			}
			for _, kind := range []string{"Aggregate", "Buffer", "DistinctOn", "Filter", "FuncScan", "Join", "Limit", "Project", "ProjectSet", "RecursiveUnion",
				"Scan", "SetOp", "Sort", "Source", "TableWrite", "Values", "Virtual", "Window", "tables", "virtuals", "sources"} {
				if !met[kind] && (kind != "TableWrite" || form.nodes > 1) { // few rows are written by the gateway
					t.Errorf("no plan has a %s", kind)
				}
			}
			for _, n := range nodes {
				within(t, "the stop of a node", func() { _ = n.Close() })
			}
		})
	}
}

// panicsIn runs a statement with a panic at each point of each kind of its operators; of a view only where
// it is read.
func panicsIn(t *testing.T, c *client, sql string, met map[string]bool, view bool) {
	t.Helper()
	var mu sync.Mutex
	kinds := map[string]bool{}
	build.Hooked.Store((&fault{}).hook(func(kind string) {
		mu.Lock()
		defer mu.Unlock()
		kinds[kind] = true
	}))
	c.must("begin")
	_, err := c.do(sql)
	c.must("rollback")
	if view && err != nil {
		return // it takes an argument, such as a model
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var list []string
	for k := range kinds {
		met[k] = true
		if !view || k == "virtuals" {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	for _, kind := range list {
		for _, point := range panicPoints {
			for _, form := range []struct {
				last  bool
				after int
			}{{}, {last: true, after: 1}} {
				if form.last && (point == "open" || view) {
					continue
				}
				f := &fault{kind: kind, point: point, last: form.last, after: form.after}
				build.Hooked.Store(f.hook(func(string) {}))
				what := fmt.Sprintf("%s, with a panic in %s of %s %+v,", sql, point, kind, form)
				var err error
				within(t, what, func() { _, err = c.do(sql) })
				build.Hooked.Store(nil)
				var e *pgerr.Error
				if f.hit.Load() && (!errors.As(err, &e) || e.Code != pgerr.InternalError) || !f.hit.Load() && err != nil {
					t.Fatalf("%s gives %v (it came to it: %v)", what, err, f.hit.Load())
				}
				if rows, err := c.do("select count(*) from pu"); err != nil || rows[0] != "400" {
					t.Fatalf("after %s: %v, %v", what, rows, err)
				}
			}
		}
	}
}
