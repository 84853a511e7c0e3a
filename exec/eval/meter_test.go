package eval_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// bound returns the bound expression of SELECT sql.
func bound(t *testing.T, sql string) expr.Expr {
	t.Helper()
	list, err := parse.Parse("SELECT "+sql, parse.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	env := newEnv(newHost())
	q, err := bind.Query(&bind.Session{Names: bind.Names{State: env.Host.Catalog(), SearchPath: []string{"public"}, Role: catalog.BootstrapRoleOID},
		Text: list[0], Env: env.Types}, list[0].Node.(*ast.SelectStmt))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := q.Root.(*plan.Project)
	if !ok || len(p.Items) != 1 {
		t.Fatalf("%s is no single expression: %T", sql, q.Root)
	}
	return p.Items[0].Expr
}

// long are expressions whose results, or intermediate results, take megabytes.
var long = []string{
	`repeat('x', 20000000)`,
	`repeat('x', 3000000) || repeat('y', 3000000) || repeat('z', 3000000)`,
	`replace(repeat('a', 10000), 'a', repeat('b', 1000))`,
	`translate(repeat('a', 5000000), 'a', 'é')`,
	`upper(repeat('a', 5000000))`,
	`initcap(repeat('ab ', 3000000))`,
	`reverse(repeat('ab', 3000000))`,
	`lpad('x', 20000000, 'ab')`,
	`rpad('x', 20000000, 'é')`,
	`concat(repeat('x', 3000000), 1, repeat('x', 3000000))`,
	`concat_ws(repeat(',', 3000000), 1, 2, 3, 4)`,
	`overlay(repeat('x', 5000000) placing repeat('y', 5000000) from 10)`,
	`format('%s%s', repeat('x', 3000000), repeat('y', 3000000))`,
	`quote_literal(repeat('''', 5000000))`,
	`encode(convert_to(repeat('x', 5000000), 'UTF8'), 'base64')`,
	`encode(convert_to(repeat('x', 5000000), 'UTF8'), 'hex')`,
	`encode(convert_to(repeat('é', 3000000), 'UTF8'), 'escape')`,
	`decode(repeat('QUJD', 2000000), 'base64')`,
	`set_byte(convert_to(repeat('x', 9000000), 'UTF8'), 1, 1)`,
	`string_to_array(repeat(',', 5000000), ',')`,
	`array_to_string(string_to_array(repeat(',', 1000000), ','), repeat('x', 20))`,
	`array_fill(repeat('x', 1000), ARRAY[20000])`,
	`to_json(array_fill(repeat('x', 1000), ARRAY[20000]))`,
	`(('[' || repeat('1,', 500000) || '1]')::jsonb)`,
	`repeat('x', 9000000)::bytea`,
	`to_char(1, repeat('9', 2000000))`,
	`regexp_replace(repeat('a', 100000), 'a', repeat('b', 1000), 'g')`,
	`regexp_split_to_array(repeat(',', 3000000), ',')`,
	`like_escape(repeat('x', 9000000), '#')`,
	`(repeat('1', 9000000)::varbit << 1)`,
}

// TestValuesAreCharged: a value that exceeds the memory limit is refused before it is allocated.
func TestValuesAreCharged(t *testing.T) {
	const limit = 8 << 20
	for _, sql := range long {
		e := bound(t, sql)
		node := mem.NewPool("n1", 0)
		pool := node.Child("statement", limit)
		env := newEnv(newHost())
		env.Pool = pool
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := eval.Constant(e, env)
		runtime.ReadMemStats(&after)
		if !pgerr.Is(err, pgerr.OutOfMemory) {
			t.Errorf("%s: %v", sql, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 3*limit {
			t.Errorf("%s: made %d bytes under a limit of %d", sql, made, limit)
		}
		if leaked := pool.Close(); leaked != 0 || node.Used() != 0 {
			t.Errorf("%s: leaked %d, %d left", sql, leaked, node.Used())
		}
	}
}

// countdown is a context that is cancelled at the n-th call of Err.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestValuesAreCancelled: kernels check for cancellation while they compute one long value.
func TestValuesAreCancelled(t *testing.T) {
	for _, sql := range long {
		e := bound(t, sql)
		env := newEnv(newHost())
		env.Pool = mem.NewPool("n1", 0)
		ctx := &countdown{context.Background(), 3}
		if _, err := eval.ConstantContext(ctx, e, env); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestValueTooLong: a value of a gibibyte or more is refused, however much memory there is.
func TestValueTooLong(t *testing.T) {
	for _, sql := range []string{
		`repeat('ab', 536870912)`,
		`replace(repeat('a', 100000), 'a', repeat('b', 100000))`,
		`lpad('x', 1000000000, 'é')`,
		`concat_ws(repeat(',', 300000000), 1, 2, 3, 4, 5)`,
	} {
		e := bound(t, sql)
		env := newEnv(newHost())
		env.Pool = mem.NewPool("n1", 0)
		if _, err := eval.Constant(e, env); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestFoldGivesUp: constant folding in the optimiser neither makes long values nor scans them.
func TestFoldGivesUp(t *testing.T) {
	env := newEnv(newHost())
	for _, sql := range long {
		if _, err := (eval.Folder{Env: env}).Fold(bound(t, sql)); err == nil {
			t.Errorf("%s was folded", sql)
		}
	}
	if d, err := (eval.Folder{Env: env}).Fold(bound(t, `repeat('ab', 3) || 'c'`)); err != nil || d != "abababc" {
		t.Errorf("%v, %v", d, err)
	}
}

// TestFewerRows: where the results of a batch exceed the memory limit, one row at a time may fit.
func TestFewerRows(t *testing.T) {
	e := call("repeat(text,int4)", &expr.Const{Typ: types.Text, Val: "x"}, &expr.Col{ID: 1, Typ: types.Int4})
	env := newEnv(newHost())
	env.Pool = mem.NewPool("n1", 0).Child("statement", 8<<20)
	lengths := make([]types.Datum, 64)
	for i := range lengths {
		lengths[i] = int64(1 << 20)
	}
	col, err := column(types.Int4, lengths)
	if err != nil {
		t.Fatal(err)
	}
	b := batch.New([]arrow.Array{col}, len(lengths))
	p, err := eval.Compile(e, []plan.Column{{ID: 1, Type: types.Int4}}, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(context.Background(), b); !errors.Is(err, vector.ErrBatchTooLarge) || !pgerr.Is(err, pgerr.OutOfMemory) {
		t.Fatal(err)
	}
	for i := range b.Rows() {
		if _, err := p.Eval(context.Background(), b.Slice(i, i+1)); err != nil {
			t.Fatal(i, err)
		}
	}
}

// TestRelease: a released program is charged for nothing, neither for its last result nor for the memory
// it keeps between calls, and may be called again. So is a filter.
func TestRelease(t *testing.T) {
	x := call("repeat(text,int4)", &expr.Const{Typ: types.Text, Val: "x"}, &expr.Col{ID: 1, Typ: types.Int4})
	lengths := make([]types.Datum, 40<<10)
	for i := range lengths {
		lengths[i] = int64(100)
	}
	col, err := column(types.Int4, lengths)
	if err != nil {
		t.Fatal(err)
	}
	b, in := batch.New([]arrow.Array{col}, len(lengths)), []plan.Column{{ID: 1, Type: types.Int4}}
	env := newEnv(newHost())
	env.Pool = mem.NewPool("n1", 0).Child("statement", 64<<20)
	p, err := eval.Compile(call("upper(text)", x), in, env)
	if err != nil {
		t.Fatal(err)
	}
	f, err := eval.CompileFilter([]expr.Expr{call("texteq(text,text)", call("upper(text)", x), x)}, in, env)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for name, run := range map[string]struct {
		call    func() (rows int, err error)
		release func()
	}{
		"program": {func() (int, error) {
			arr, err := p.Eval(ctx, b)
			if err != nil {
				return 0, err
			}
			return arr.Len(), nil
		}, p.Release},
		"filter": {func() (int, error) {
			out, err := f.Select(ctx, b)
			if err != nil {
				return 0, err
			}
			return b.Rows() - out.Rows(), nil
		}, f.Release},
	} {
		for range 2 {
			if n, err := run.call(); err != nil || n != len(lengths) {
				t.Fatalf("%s: %d rows, %v", name, n, err)
			}
			if env.Pool.Used() == 0 {
				t.Errorf("%s: nothing is charged for its result", name)
			}
			run.release()
			if n := env.Pool.Used(); n != 0 {
				t.Errorf("%s: %d bytes are charged once it is released", name, n)
			}
		}
	}
}

// TestSearchesAreCancelled: regular expression matchers do not check for cancellation, but the
// reader that feeds them does.
func TestSearchesAreCancelled(t *testing.T) {
	for _, sql := range []string{
		`repeat('ab', 5000000) ~ '(a|b|ab)*c'`,
		`regexp_replace(repeat('a', 1000000), 'a', 'b', 'g')`,
		`regexp_split_to_array(repeat('a,', 1000000), ',')`,
		`regexp_substr(repeat('ab', 3000000), '(a|b|ab)*c')`,
		`regexp_count(repeat('aa', 100000), '(a)\1')`,
	} {
		env := newEnv(newHost())
		env.Pool = mem.NewPool("n1", 0)
		ctx := &countdown{context.Background(), 200}
		if _, err := eval.ConstantContext(ctx, bound(t, sql), env); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestBacktrackingIsCancelled: a backtracking search, which reads little but may take all the steps
// it is allowed, ends when its statement is cancelled.
func TestBacktrackingIsCancelled(t *testing.T) {
	env := newEnv(newHost())
	ctx, cancel := context.WithCancel(context.Background())
	begun := &begins{Context: ctx, begun: make(chan struct{})}
	go func() {
		<-begun.begun
		cancel()
	}()
	_, err := eval.ConstantContext(begun, bound(t, `repeat('a', 60) ~ '^(a|aa)+(x?)\2[b-d]$'`), env)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// begins closes begun when Done is first called, so when the search has begun.
type begins struct {
	context.Context
	begun chan struct{}
	once  sync.Once
}

func (b *begins) Done() <-chan struct{} {
	b.once.Do(func() { close(b.begun) })
	return b.Context.Done()
}

func TestRegexTooComplex(t *testing.T) {
	for _, sql := range []string{`'a' ~ repeat('(a|b)?', 100000)`, `'a' ~ repeat('a', 500000)`, `'a' ~ ('(x)\1' || repeat('a?', 300000))`} {
		env := newEnv(newHost())
		env.Pool = mem.NewPool("n1", 0)
		if _, err := eval.Constant(bound(t, sql), env); !pgerr.Is(err, pgerr.InvalidRegularExpression) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
