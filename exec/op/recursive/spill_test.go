package recursive_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/recursive"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// TestRecursiveSpills: a recursive UNION whose rows do not fit in memory returns each row once, in
// rounds of many rows, most of which were seen before, and in rounds of one row.
func TestRecursiveSpills(t *testing.T) {
	ts := []types.Type{types.Int4, types.Text}
	const wide, chain = 20000, 20200
	row := func(n int64) types.Row {
		if n%1000 == 7 {
			return types.Row{nil, nil}
		}
		return types.Row{n, strings.Repeat("node ", int(n%9)) + strconv.FormatInt(n, 10)}
	}
	after := func(r types.Row) []types.Row {
		n, ok := r[0].(int64)
		switch {
		case !ok:
			return []types.Row{row(3)}
		case n < wide:
			return []types.Row{row((7*n + 1) % wide), row((13*n + 5) % wide), row(n)}
		case n < chain:
			return []types.Row{row(n + 1)}
		}
		return nil
	}
	start := optest.Table{Types: ts, Rows: []types.Row{row(0), row(wide), row(0)}}
	var want []types.Row
	seen := map[string]bool{}
	for round := start.Rows; len(round) > 0; {
		var next []types.Row
		for _, r := range round {
			if key := optest.Text(r, ts); !seen[key] {
				seen[key] = true
				want = append(want, r)
				next = append(next, after(r)...)
			}
		}
		round = next
	}
	if len(want) < wide/2 {
		t.Fatalf("%d rows", len(want))
	}
	for _, budget := range []int64{0, 1 << 20, 512 << 10} {
		spilled := optest.Once(t, optest.Case{Out: ts, Want: want, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
			return recursive.New(rt, nil, recursive.Config{Types: ts,
				Init: func(context.Context) (op.Operator, error) {
					return optest.Source(1, start.Batches(t, optest.Form{Size: 2}))[0], nil
				},
				Step: func(ctx context.Context, w *op.Buffer) (op.Operator, error) {
					rd, err := w.Open(nil)
					if err != nil {
						return nil, err
					}
					defer rd.Close()
					next := optest.Table{Types: ts}
					for {
						b, err := rd.Next(ctx)
						if err == io.EOF {
							break
						}
						if err != nil {
							return nil, err
						}
						for _, r := range optest.RowsOf(b, ts) {
							next.Rows = append(next.Rows, after(r)...)
						}
					}
					return optest.Source(1, next.Batches(t, optest.Form{Size: 500, Dict: true, Mix: true}))[0], nil
				}})
		}}, 1, optest.Form{Size: 500}, budget)
		if spilled > 0 != (budget > 0) {
			t.Errorf("%d bytes were spilled with a budget of %d", spilled, budget)
		}
	}
}

// TestRecursiveRounds: a round with many new rows returns few batches even if the rows seen before
// are on disk, however many rounds there were.
func TestRecursiveRounds(t *testing.T) {
	ts := []types.Type{types.Int8}
	const width, rounds = 1000, 100
	var start optest.Table
	start.Types = ts
	var want []types.Row
	for i := range int64(width * rounds) {
		want = append(want, types.Row{i})
	}
	start.Rows = want[:width]
	batches, built := 0, 0
	spilled := optest.Once(t, optest.Case{Out: ts, Want: want, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
		return recursive.New(rt, nil, recursive.Config{Types: ts,
			Init: func(context.Context) (op.Operator, error) {
				return optest.Source(1, start.Batches(t, optest.Form{Size: width}))[0], nil
			},
			Step: func(ctx context.Context, w *op.Buffer) (op.Operator, error) {
				rd, err := w.Open(nil)
				if err != nil {
					return nil, err
				}
				defer rd.Close()
				built++
				var next []*batch.Batch
				for {
					b, err := rd.Next(ctx)
					if err == io.EOF {
						break
					}
					if err != nil {
						return nil, err
					}
					batches++
					rows := optest.Table{Types: ts}
					for _, r := range optest.RowsOf(b, ts) {
						if n := r[0].(int64) + width; n < width*rounds {
							rows.Rows = append(rows.Rows, types.Row{n})
						}
					}
					next = append(next, rows.Batches(t, optest.Form{Size: width})...)
				}
				return optest.Source(1, next)[0], nil
			}})
	}}, 1, optest.Form{Size: width}, 1<<20)
	if spilled == 0 || built != rounds {
		t.Errorf("%d bytes were spilled, %d rounds", spilled, built)
	}
	if batches > 2*rounds {
		t.Errorf("%d rounds of %d rows came in %d batches", rounds, width, batches)
	}
}
