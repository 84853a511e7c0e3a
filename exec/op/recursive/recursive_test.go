package recursive_test

import (
	"context"
	"io"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/recursive"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

func TestRecursive(t *testing.T) {
	ts := []types.Type{types.Int4}
	start := optest.Table{Types: ts, Rows: []types.Row{{int64(40)}, {int64(59)}, {int64(40)}}}
	for _, all := range []bool{true, false} {
		var want []types.Row
		seen := map[int64]bool{}
		for round := []int64{40, 59, 40}; len(round) > 0; {
			var next []int64
			for _, n := range round {
				if !all && seen[n] {
					continue
				}
				seen[n] = true
				want = append(want, types.Row{n})
				if n < 60 && (!all || n > 50 || n == 40) {
					next = append(next, n+2)
					if !all {
						next = append(next, n+1)
					}
				}
			}
			round = next
		}
		optest.Run(t, optest.Case{Out: ts, Want: want, Build: func(rt *op.Runtime, _ [][]op.Operator) []op.Operator {
			closed := 0
			return recursive.New(rt, nil, recursive.Config{Types: ts, All: all,
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
						for _, row := range optest.RowsOf(b, ts) {
							if n := row[0].(int64); n < 60 && (!all || n > 50 || n == 40) {
								next.Rows = append(next.Rows, types.Row{n + 2})
								if !all {
									next.Rows = append(next.Rows, types.Row{n + 1})
								}
							}
						}
					}
					return optest.Source(1, next.Batches(t, optest.Form{Size: 3}))[0], nil
				},
				Close: func() {
					if closed++; closed > 1 {
						t.Error("closed twice")
					}
				},
			})
		}})
	}
}
