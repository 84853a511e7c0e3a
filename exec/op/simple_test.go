package op_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// positive keeps rows whose column 0 (int4) is above 0.
type positive struct{}

func (positive) Select(_ context.Context, b *batch.Batch) (*batch.Batch, error) {
	out := b.With(b.Cols)
	out.Sel = []int32{}
	for i := 0; i < b.Rows(); i++ {
		at := i
		if b.Sel != nil {
			at = int(b.Sel[i])
		}
		if d := types.DatumAt(types.Int4, b.Cols[0], at); d != nil && d.(int64) > 0 {
			out.Sel = append(out.Sel, int32(at))
		}
	}
	return out, nil
}

// double is column 0 times 2 as int8.
type double struct{}

func (double) Eval(_ context.Context, b *batch.Batch) (arrow.Array, error) {
	c := kernel.Compact(b.With(b.Cols[:1])).Cols[0]
	vals, valid := make([]int64, c.Len()), batch.AllOnes(c.Len())
	for i := range vals {
		if d := types.DatumAt(types.Int4, c, i); d != nil {
			vals[i] = d.(int64) * 2
		} else {
			batch.ClearBit(valid, i)
		}
	}
	return batch.FromSlice(types.Int8.Arrow(), vals, valid), nil
}

func (d double) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return d.Eval(ctx, b)
}

func filtered(tb optest.Table) (out []types.Row) {
	for _, r := range tb.Rows {
		if r[0] != nil && r[0].(int64) > 0 {
			out = append(out, r)
		}
	}
	return out
}

func positives(rt *op.Runtime) []op.Filter { return slices.Repeat([]op.Filter{positive{}}, rt.Threads) }

func TestFilterProject(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(1)), 300, types.Int4, types.Text)
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Want: filtered(tb), Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		return op.NewFilter(in[0], positives(rt))
	}})
	var want, swapped []types.Row
	for _, r := range filtered(tb) {
		want = append(want, types.Row{r[1], r[0].(int64) * 2, r[0]})
		swapped = append(swapped, types.Row{r[1], r[0]})
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Int8, types.Int4}, Want: want,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			items := slices.Repeat([][]op.Item{{{Col: 1}, {Program: double{}}, {Col: 0}}}, rt.Threads)
			return op.NewProject(op.NewFilter(in[0], positives(rt)), items)
		}})
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Int4}, Want: swapped,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewProject(op.NewFilter(in[0], positives(rt)), optest.Columns(rt.Threads, 1, 0))
		}})
}

func TestAppendGather(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	a, b := optest.Random(r, 100, types.Int4, types.Text), optest.Random(r, 60, types.Int4, types.Text)
	want := slices.Concat(a.Rows, b.Rows)
	optest.Run(t, optest.Case{Inputs: []optest.Table{a, b}, Out: a.Types, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		return op.NewAppend(rt, in)
	}})
	// a gather over operators whose threads wait for each other, below a LIMIT
	optest.Run(t, optest.Case{Inputs: []optest.Table{a, b}, Out: a.Types, Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
		out := op.NewGather(op.NewAppend(rt, in))
		for i := 1; i < len(out); i++ {
			out[i] = silent{out[i], t}
		}
		return out
	}})
}

// silent fails the test if it returns rows.
type silent struct {
	op.Operator
	t *testing.T
}

func (s silent) Next(ctx context.Context) (*batch.Batch, error) {
	b, err := s.Operator.Next(ctx)
	if err == nil {
		s.t.Error("a thread above 0 gives rows")
	}
	return b, err
}

// meets waits in a barrier for the other threads, unless it fails.
type meets struct {
	bar *op.Barrier
	err error
}

func (o meets) Open(context.Context) error { return nil }
func (o meets) Close() error               { return nil }
func (o meets) Next(ctx context.Context) (*batch.Batch, error) {
	if o.err != nil {
		return nil, o.err
	}
	if err := o.bar.Wait(ctx, nil); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// TestGatherFails: an error of thread 0's input, which has a goroutine of its own, ends the statement while
// other threads wait for that thread.
func TestGatherFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // it waited for ever
	defer cancel()
	bar, failed := op.NewBarrier(2), pgerr.New(pgerr.DivisionByZero, "division by zero")
	_, err := optest.Drive(ctx, op.NewGather([]op.Operator{meets{bar, failed}, meets{bar, nil}}), nil)
	if !pgerr.Is(err, pgerr.DivisionByZero) {
		t.Error(err)
	}
}

// failsToClose counts how often it is closed, which fails.
type failsToClose struct {
	op.Operator
	n *int
}

func (o failsToClose) Close() error {
	*o.n++
	return errors.Join(o.Operator.Close(), io.ErrUnexpectedEOF)
}

// TestCloseFails: the operators below one that cannot be closed are, in a deep plan too, and each a few times at
// most.
func TestCloseFails(t *testing.T) {
	closed, deep, n := 0, 0, 0
	var below [][]op.Operator
	in := op.NewAppend(&op.Runtime{Threads: 1}, nil)
	for range 40 {
		in = op.Count(&op.Stats{}, []op.Operator{failsToClose{in[0], &n}}, below)
		below = [][]op.Operator{in}
	}
	if err := in[0].Close(); !errors.Is(err, io.ErrUnexpectedEOF) || n < 40 || n > 80 {
		t.Errorf("%v, and %d calls", err, n)
	}
	// One that panics before it closes what it reads.
	leaf := op.Count(&op.Stats{}, []op.Operator{failsToClose{op.NewAppend(&op.Runtime{Threads: 1}, nil)[0], &closed}}, nil)
	mid := op.Count(&op.Stats{}, []op.Operator{panicsToClose{leaf[0]}}, [][]op.Operator{leaf})
	top := op.Count(&op.Stats{}, []op.Operator{failsToClose{mid[0], &deep}}, [][]op.Operator{mid})
	if err := top[0].Close(); !pgerr.Is(err, pgerr.InternalError) || closed == 0 {
		t.Errorf("%v, the input was closed %d times", err, closed)
	}
}

type panicsToClose struct{ op.Operator }

func (panicsToClose) Close() error { panic("on purpose") }

// panics is a reader whose opening panics.
func panics(context.Context) ([]op.BatchReader, error) { panic("on purpose") }

// TestSharedPanics: threads do not wait for one that panicked while it opened their readers.
func TestSharedPanics(t *testing.T) {
	rt := &op.Runtime{Threads: 3}
	_, err := optest.Drive(context.Background(), op.NewShared(rt, panics), nil)
	if !pgerr.Is(err, pgerr.InternalError) {
		t.Error(err)
	}
}

func TestMax1Row(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for n := range 4 {
		tb := optest.Random(r, n, types.Int4)
		c := optest.Case{Inputs: []optest.Table{tb}, Out: tb.Types, Want: tb.Rows, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewMax1Row(in[0])
		}}
		if n > 1 {
			c.Err = func(err error) bool { return pgerr.Is(err, pgerr.CardinalityViolation) }
		}
		optest.Run(t, c)
	}
}

func TestSetCount(t *testing.T) {
	ts := []types.Type{types.Text, types.Int8, types.Int8}
	var in optest.Table
	in.Types = ts
	for l := range int64(5) {
		for r := range int64(5) {
			in.Rows = append(in.Rows, types.Row{fmt.Sprint(l, r), l, r})
		}
	}
	for _, kind := range []plan.SetOpKind{plan.Intersect, plan.Except} {
		for _, all := range []bool{false, true} {
			var want []types.Row
			for _, row := range in.Rows {
				l, r := row[1].(int64), row[2].(int64)
				n := min(l, r)
				if kind == plan.Except {
					if n = max(0, l-r); !all && r > 0 {
						n = 0
					}
				}
				if !all {
					n = min(n, 1)
				}
				for range n {
					want = append(want, row[:1])
				}
			}
			optest.Run(t, optest.Case{Inputs: []optest.Table{in}, Out: ts[:1], Want: want, Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
				return op.NewSetCount(rt, in[0], kind, all)
			}})
		}
	}
}

func TestShared(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	ts := []types.Type{types.Int4, types.Text}
	for _, readers := range []int{0, 1, 2, 5} {
		var all []types.Row
		var parts []optest.Table
		for i := range readers {
			tb := optest.Random(r, 50*i, ts...)
			parts = append(parts, tb)
			all = append(all, tb.Rows...)
		}
		opened, closed := 0, 0
		open := func(context.Context) ([]op.BatchReader, error) {
			opened++
			var out []op.BatchReader
			for _, p := range parts {
				out = append(out, &optest.Reader{Batches: p.Batches(t, optest.Form{Size: 7, Dict: true, Mix: true}), Closed: &closed})
			}
			return out, nil
		}
		optest.Run(t, optest.Case{Out: ts, Want: all, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
			return op.NewShared(rt, open)
		}})
		if closed != opened*readers {
			t.Errorf("%d of %d readers are closed", closed, opened*readers)
		}
	}
}

func TestBuffer(t *testing.T) {
	tb := optest.Wide(rand.New(rand.NewSource(6)), 3000, 100)
	for _, budget := range []int64{0, 256 << 10} {
		pool := mem.NewPool("n", budget)
		dir := spill.NewDir(spill.Options{Parent: t.TempDir(), Pool: pool})
		rt := &op.Runtime{Threads: 1, Pool: pool, Spill: dir}
		buf := op.NewBuffer(rt, tb.Types)
		for _, b := range tb.Batches(t, optest.Form{Size: 50, Sel: true, Dict: true, Mix: true}) {
			if err := buf.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := buf.Finish(context.Background()); err != nil {
			t.Fatal(err)
		}
		if (buf.Spilled() > 0) != (budget > 0) || buf.Rows() != 3000 {
			t.Errorf("%d bytes on disk, %d rows", buf.Spilled(), buf.Rows())
		}
		var wg sync.WaitGroup
		last := len(tb.Types) - 1
		for _, cols := range [][]int{nil, {last, 0}, {}} {
			rd, err := buf.Open(cols)
			if err != nil {
				t.Fatal(err)
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				defer rd.Close()
				want, ts, n := tb.Rows, tb.Types, 0
				if cols != nil {
					ts, want = nil, make([]types.Row, len(tb.Rows))
					for _, c := range cols {
						ts = append(ts, tb.Types[c])
						for i, r := range tb.Rows {
							want[i] = append(want[i], r[c])
						}
					}
				}
				var got []types.Row
				for {
					b, err := rd.Next(context.Background())
					if err != nil {
						if err != io.EOF {
							t.Error(err)
						}
						break
					}
					got, n = append(got, optest.RowsOf(b, ts)...), n+b.Rows()
				}
				if n != len(want) || !slices.Equal(optest.Texts(got, ts, true), optest.Texts(want, ts, true)) {
					t.Errorf("columns %v: what is read is not what was written", cols)
				}
			}()
		}
		wg.Wait()
		buf.Close()
		buf.Close()
		if pool.Used() != 0 {
			t.Errorf("%d bytes are still charged", pool.Used())
		}
		dir.Close()
	}
}

// repeat is a set-returning function: each row as often as column 0 says (0 to 3), in two batches.
type repeat struct {
	b  *batch.Batch
	at int
}

func (p *repeat) Start(_ context.Context, b *batch.Batch) error {
	p.b, p.at = b, 0
	return nil
}

func (p *repeat) Next(_ context.Context, max int) ([]int32, []arrow.Array, []int64, error) {
	if p.at == p.b.Rows() {
		return nil, nil, nil, io.EOF
	}
	var parents []int32
	var ord []int64
	for ; p.at < p.b.Rows() && len(parents) < max; p.at++ {
		at := p.at
		if p.b.Sel != nil {
			at = int(p.b.Sel[at])
		}
		n, _ := types.DatumAt(types.Int4, p.b.Cols[0], at).(int64)
		for k := range n {
			parents, ord = append(parents, int32(p.at)), append(ord, k+1)
		}
	}
	if len(parents) == 0 {
		return nil, nil, nil, io.EOF
	}
	return parents, []arrow.Array{batch.FromSlice(types.Int8.Arrow(), slices.Clone(ord), nil)}, ord, nil
}

func TestProjectSet(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	tb := optest.Table{Types: []types.Type{types.Int4, types.Text}}
	var want []types.Row
	for i := range 100 {
		n := int64(r.Intn(4))
		tb.Rows = append(tb.Rows, types.Row{n, fmt.Sprint(i)})
		for k := range n {
			want = append(want, types.Row{fmt.Sprint(i), k + 1, k + 1})
		}
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Text, types.Int8, types.Int8}, Want: want,
		Build: func(rt *op.Runtime, in [][]op.Operator) []op.Operator {
			var ps []op.SetProgram
			for range rt.Threads {
				ps = append(ps, &repeat{})
			}
			return op.NewProjectSet(rt, in[0], []int{1}, ps, true)
		}})
}

// distributing returns the splits of leaf 3.
type distributing struct {
	mu sync.Mutex
	n  int
}

func (d *distributing) Next(ctx context.Context, leaf int, _ *op.Split) (*op.Split, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n == 0 || leaf != 3 {
		return nil, io.EOF
	}
	d.n--
	return &op.Split{Scan: leaf, Part: d.n}, ctx.Err()
}

func TestScan(t *testing.T) {
	tb := optest.Random(rand.New(rand.NewSource(9)), 90, types.Int4, types.Text)
	boom := errors.New("boom")
	for _, fails := range []bool{false, true} {
		c := optest.Case{Out: tb.Types, Want: tb.Rows, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
			return op.NewScan(rt, nil, 3, &distributing{n: 9}, func(_ context.Context, sp *op.Split) (op.BatchReader, error) {
				cut := optest.Table{Types: tb.Types, Rows: tb.Rows[sp.Part*10 : sp.Part*10+10]}
				rd := &optest.Reader{Batches: cut.Batches(t, optest.Form{Size: 4})}
				if fails && sp.Part == 2 {
					rd.Err = boom
				}
				return rd, nil
			})
		}}
		if fails {
			c.Err = func(err error) bool { return errors.Is(err, boom) }
		}
		optest.Run(t, c)
	}
	batches := tb.Batches(t, optest.Form{Size: 7})
	optest.Run(t, optest.Case{Out: tb.Types, Want: tb.Rows, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
		return op.NewStatic(rt, batches)
	}})
}
