package op_test

import (
	"context"
	"math/rand"
	"strings"
	"testing"

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
