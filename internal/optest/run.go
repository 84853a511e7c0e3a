package optest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

func nan() float64 { return math.NaN() }
func inf() float64 { return math.Inf(1) }

// Case is an operator, its inputs and its expected output.
type Case struct {
	Inputs []Table
	// Build makes the operator's threads over the inputs' threads.
	Build func(rt *op.Runtime, in [][]op.Operator) []op.Operator
	Out   []types.Type
	Want  []types.Row
	// Ordered: the order of rows counts.
	Ordered bool
	// Check, if set, is used instead of Want, for results that may vary.
	Check func(t *testing.T, got []types.Row)
	// Err, if set, reports whether the error returned is the expected one.
	Err func(error) bool
	// Spills says that with a small budget the operator must write to disk;
	// 0 is a budget of 1 MiB.
	Spills bool
	Budget int64
	// Threads, if set, are the numbers of threads to run with.
	Threads []int
}

// Run runs the case in all forms.
func Run(t *testing.T, c Case) {
	t.Helper()
	threads := c.Threads
	if threads == nil {
		threads = []int{1, 4}
	}
	forms := []Form{{Size: 8192}, {Size: 3, Dict: true}, {Size: 8192, Sel: true, Dict: true}, {Size: 100, Dict: true, Mix: true}, {Size: 1, Sel: true}}
	if testing.Short() {
		threads, forms = threads[len(threads)-1:], forms[2:4]
	}
	rows := 0
	for _, in := range c.Inputs {
		rows += len(in.Rows)
	}
	for _, l := range threads {
		for _, f := range forms {
			if f.Size < 100 && rows > 5000 {
				continue
			}
			t.Run(fmt.Sprintf("threads=%d/size=%d/sel=%v/dict=%v", l, f.Size, f.Sel, f.Dict), func(t *testing.T) {
				c.once(t, l, f, 0)
			})
		}
		t.Run(fmt.Sprintf("threads=%d/give way", l), func(t *testing.T) {
			c.run(t, l, Form{Size: rows/10 + 1, Dict: true, Mix: true}, 0, true)
		})
		if c.Spills {
			t.Run(fmt.Sprintf("threads=%d/spill", l), func(t *testing.T) {
				budget := c.Budget
				if budget == 0 {
					budget = 1 << 20
				}
				if n := c.once(t, l, Form{Size: 1000, Dict: true, Mix: true}, budget); n == 0 {
					t.Error("nothing was spilled")
				}
				if c.Err == nil {
					Stopped(t, c, l, 1000, budget)
				}
			})
		}
		for _, at := range []int{0, 2} {
			t.Run(fmt.Sprintf("threads=%d/close=%d", l, at), func(t *testing.T) { c.stop(t, l, 16, at, false, 0) })
			t.Run(fmt.Sprintf("threads=%d/cancel=%d", l, at), func(t *testing.T) { c.stop(t, l, 16, at, true, 0) })
		}
	}
}

// env is the environment of a run, checked at its end.
type env struct {
	rt   *op.Runtime
	pool *mem.Pool
	dir  *spill.Dir
	tmp  string
}

func newEnv(t *testing.T, threads, rows int, budget int64) *env {
	tmp := t.TempDir()
	node := mem.NewPool("n1", budget)
	pool := node.Child("statement", 0)
	dir := spill.NewDir(spill.Options{Parent: tmp, Pool: pool})
	return &env{rt: &op.Runtime{Threads: threads, BatchSize: rows, Pool: pool, Spill: dir}, pool: pool, dir: dir, tmp: tmp}
}

func (e *env) check(t *testing.T) {
	t.Helper()
	if n := e.pool.Used(); n != 0 {
		t.Errorf("%d bytes are still charged", n)
	}
	if n := e.pool.Close(); n != 0 {
		t.Errorf("accounts with %d bytes are open", n)
	}
	if p := e.dir.Path(); p != "" {
		if left, _ := os.ReadDir(p); len(left) > 0 {
			t.Errorf("%d spill files are left before the directory's end", len(left))
		}
	}
	if err := e.dir.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(e.tmp); len(left) > 0 {
		t.Errorf("left behind: %s", left[0].Name())
	}
	// glog, which the parser's dependency brings, starts one when it is loaded.
	goleak.VerifyNone(t, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

func (c *Case) ops(t *testing.T, e *env, f Form, giveWay bool) []op.Operator {
	var in [][]op.Operator
	for _, tb := range c.Inputs {
		in = append(in, Source(e.rt.Threads, tb.Batches(t, f)))
	}
	if !giveWay {
		return c.Build(e.rt, in)
	}
	for _, list := range in {
		greedy(e.rt, list)
	}
	return greedy(e.rt, c.Build(e.rt, in))
}

// Drive runs the threads to their ends and returns their rows, those of thread 0 first.
func Drive(ctx context.Context, root []op.Operator, ts []types.Type) ([]types.Row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([][]types.Row, len(root))
	errs := make([]error, len(root))
	var wg sync.WaitGroup
	for i, o := range root {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = op.Guard("test", func() error {
				err := o.Open(ctx)
				for err == nil {
					var b *batch.Batch
					if b, err = o.Next(ctx); err == nil {
						for _, col := range b.Cols {
							if col.Len() != b.N {
								return fmt.Errorf("a column has %d rows of %d", col.Len(), b.N)
							}
						}
						out[i] = append(out[i], RowsOf(b, ts)...)
					}
				}
				if err != io.EOF {
					return err
				}
				if _, err := o.Next(ctx); err != io.EOF {
					return fmt.Errorf("after the end comes %w", err)
				}
				return nil
			})
			if errs[i] != nil {
				cancel()
			}
			if err := op.Guard("test", o.Close); err != nil && errs[i] == nil {
				errs[i] = err
			}
			if err := op.Guard("test", o.Close); err != nil && errs[i] == nil {
				errs[i] = err
			}
		}()
	}
	wg.Wait()
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return slices.Concat(out...), first
}

func (c *Case) once(t *testing.T, threads int, f Form, budget int64) (spilled int64) {
	t.Helper()
	return c.run(t, threads, f, budget, false)
}

func (c *Case) run(t *testing.T, threads int, f Form, budget int64, giveWay bool) (spilled int64) {
	t.Helper()
	e := newEnv(t, threads, min(f.Size, 8192), budget)
	defer e.check(t)
	got, err := Drive(context.Background(), c.ops(t, e, f, giveWay), c.Out)
	if c.Err != nil {
		if !c.Err(err) {
			t.Fatalf("error %v", err)
		}
		return e.pool.Spilled()
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Check != nil {
		c.Check(t, got)
		return e.pool.Spilled()
	}
	Compare(t, got, c.Want, c.Out, c.Ordered)
	return e.pool.Spilled()
}

// Compare fails the test with the differences.
func Compare(t *testing.T, got, want []types.Row, ts []types.Type, ordered bool) {
	t.Helper()
	g, w := Texts(got, ts, ordered), Texts(want, ts, ordered)
	if slices.Equal(g, w) {
		return
	}
	for i := 0; i < max(len(g), len(w)); i++ {
		a, b := "(no row)", "(no row)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%d rows, want %d; the first difference is row %d:\n got %s\nwant %s", len(g), len(w), i, a, b)
		}
	}
}

// stop ends the run after some batches, by Close alone or by cancelling first, and returns the
// bytes that it spilled.
func (c *Case) stop(t *testing.T, threads, size, after int, cancelled bool, budget int64) (spilled int64) {
	t.Helper()
	e := newEnv(t, threads, size, budget)
	defer e.check(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	root := c.ops(t, e, Form{Size: size}, false)
	var wg sync.WaitGroup
	for _, o := range root {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := op.Guard("test", func() error {
				if after == 0 && !cancelled {
					return nil // closed before it is opened
				}
				if err := o.Open(ctx); err != nil {
					return err
				}
				for i := 0; i < after; i++ {
					if _, err := o.Next(ctx); err != nil {
						return err
					}
				}
				if cancelled {
					cancel()
					for {
						if _, err := o.Next(ctx); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil && err != io.EOF && !errors.Is(err, context.Canceled) && (c.Err == nil || !c.Err(err)) {
				t.Error(err)
			}
			if err != nil && err != io.EOF {
				cancel()
			}
			if err := op.Guard("test", o.Close); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	return e.pool.Spilled()
}

// Stopped runs the case until each thread has given a batch, then closes it, and returns the
// bytes that it spilled. No file may be left then, though the statement's directory is still there.
func Stopped(t *testing.T, c Case, threads, size int, budget int64) (spilled int64) {
	t.Helper()
	return c.stop(t, threads, size, 1, false, budget)
}

// Once runs the case in one form and returns the bytes that it spilled. Budget 0 is no
// limit.
func Once(t *testing.T, c Case, threads int, f Form, budget int64) (spilled int64) {
	t.Helper()
	return c.once(t, threads, f, budget)
}
