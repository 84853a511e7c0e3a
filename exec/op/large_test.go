package op_test

import (
	"context"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestLongResults: a projection with long results returns them in several batches, complete and in
// order.
func TestLongResults(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Int4}}
	var want []types.Row
	r := rand.New(rand.NewSource(3))
	for range 900 {
		n := int64(r.Intn(40))
		tb.Rows = append(tb.Rows, types.Row{n})
		want = append(want, types.Row{n, strings.Repeat("x", 300*int(n))})
	}
	optest.Run(t, optest.Case{Inputs: []optest.Table{tb}, Out: []types.Type{types.Int4, types.Text}, Want: want, Threads: []int{1}, Ordered: true,
		Build: func(_ *op.Runtime, in [][]op.Operator) []op.Operator {
			return op.NewProject(in[0], [][]op.Item{{{Col: 0}, {Program: optest.Repeating{Len: 300, Limit: 100_000}}}})
		}})
}

// TestLongRows: batches of long rows from a scan are divided.
func TestLongRows(t *testing.T) {
	tb := optest.Table{Types: []types.Type{types.Text}}
	for i := range 40 {
		tb.Rows = append(tb.Rows, types.Row{strings.Repeat(string(rune('a'+i%26)), 1<<20)})
	}
	whole := tb.Batches(t, optest.Form{Size: 40})
	threads := op.NewScan(&op.Runtime{Threads: 1}, nil, 3, &distributing{n: 1}, func(context.Context, *op.Split) (op.BatchReader, error) {
		return &optest.Reader{Batches: whole}, nil
	})
	n, batches := 0, 0
	for {
		b, err := threads[0].Next(context.Background())
		if err != nil {
			break
		}
		if b.Bytes() > 9<<20 {
			t.Errorf("a batch of %d bytes", b.Bytes())
		}
		for i := range b.Rows() {
			if got := types.DatumAt(types.Text, b.Cols[0], i); got != tb.Rows[n][0] {
				t.Fatalf("row %d is another", n)
			}
			n++
		}
		batches++
	}
	if n != 40 || batches < 5 {
		t.Errorf("%d rows in %d batches", n, batches)
	}
	if err := threads[0].Close(); err != nil {
		t.Error(err)
	}
}

// holding is a program and a filter that holds its last result until it is called again or released.
type holding struct{ holds *bool }

func (h holding) Eval(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	*h.holds = true
	return double{}.Eval(ctx, b)
}

func (h holding) EvalScratch(ctx context.Context, b *batch.Batch) (arrow.Array, error) {
	return h.Eval(ctx, b)
}

func (h holding) Select(ctx context.Context, b *batch.Batch) (*batch.Batch, error) {
	*h.holds = true
	return positive{}.Select(ctx, b)
}

func (h holding) Release() { *h.holds = false }

// TestProgramsAreReleased: a projection and a filter release what their programs hold when they are at
// the end of their rows, before they are closed: a sort above them gives its rows then. Where they are
// closed before the end, they do it then.
func TestProgramsAreReleased(t *testing.T) {
	ctx := context.Background()
	tb := optest.Table{Types: []types.Type{types.Int4}, Rows: []types.Row{{int64(1)}, {int64(2)}, {int64(3)}, {int64(4)}}}
	for _, all := range []bool{true, false} {
		var filters, computes bool
		in := op.NewFilter(optest.Source(1, tb.Batches(t, optest.Form{Size: 2})), []op.Filter{holding{&filters}})
		o := op.NewProject(in, [][]op.Item{{{Col: 0}, {Program: holding{&computes}}}})[0]
		if err := o.Open(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Next(ctx); err != nil || !filters || !computes {
			t.Fatalf("after the first batch: %v, %v, %v", filters, computes, err)
		}
		for all {
			if _, err := o.Next(ctx); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if all && (filters || computes) {
			t.Errorf("at the end the filter holds %v, the projection %v", filters, computes)
		}
		if err := o.Close(); err != nil || filters || computes {
			t.Errorf("closed: %v, %v, %v", filters, computes, err)
		}
	}
}
