package join_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestJoinCopiesRows: for a large build side, threads make a row-wise copy of its columns. Right
// columns must be right before, while and after it is made, and where there is no memory for it.
// The columns are functions of the key, which the test checks.
func TestJoinCopiesRows(t *testing.T) {
	const build, probe = 300_000, 400_000
	const little = 30 << 20 // enough for the rows and the hash table, not for the copy
	ts := []types.Type{types.Int8, types.Text, types.Int8, types.Int8}
	text := func(k int64) types.Datum {
		if k%7 == 0 {
			return nil
		}
		return fmt.Sprint("n", k*31)
	}
	columns := func(n int, key func(i int) int64) []arrow.Array {
		texts := make([]types.Datum, n)
		for i := range texts {
			texts[i] = text(key(i))
		}
		double := optest.Int8s(n, func(i int) int64 { return 2 * key(i) })
		return []arrow.Array{optest.Int8s(n, key), optest.Array(t, types.Text, texts), double, optest.Int8s(n, func(i int) int64 { return -key(i) })}
	}
	for _, kind := range []plan.JoinKind{plan.Inner, plan.Left} {
		for _, limit := range []int64{0, little} {
			t.Run(fmt.Sprintf("%s/%d", kindNames[kind], limit), func(t *testing.T) {
				r := rand.New(rand.NewSource(3))
				perm := r.Perm(build)
				right := optest.Cut(build, func(from, n int) []arrow.Array {
					return columns(n, func(i int) int64 { return int64(perm[from+i]) })
				})
				want := int64(0)
				left := optest.Cut(probe, func(from, n int) []arrow.Array {
					keys := make([]int64, n)
					for i := range keys {
						keys[i] = int64(r.Intn(build + build/20))
						if kind == plan.Left || keys[i] < build {
							want++
						}
					}
					return columns(n, func(i int) int64 { return keys[i] })
				})
				pool := mem.NewPool("n", 0).Child("s", limit)
				rt := &op.Runtime{Threads: 2, Pool: pool}
				roots := join.New(rt, nil, joinCase{kind: kind, keys: []int{0}}.config(ts, 2), optest.Source(2, left), optest.Source(2, right))
				rows, errs := make([]int64, len(roots)), make([]error, len(roots))
				var wg sync.WaitGroup
				for i, o := range roots {
					wg.Go(func() { rows[i], errs[i] = checkCopied(o, build, text) })
				}
				wg.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				if got := rows[0] + rows[1]; got != want {
					t.Errorf("%d rows, not %d", got, want)
				}
				if limit == 0 && pool.Peak() <= little {
					t.Errorf("%d bytes at most: there was no copy", pool.Peak())
				}
				if n := pool.Close(); n > 0 {
					t.Errorf("%d bytes are still charged", n)
				}
			})
		}
	}
}

// checkCopied reads all rows of a thread and checks their right columns.
func checkCopied(o op.Operator, build int64, text func(k int64) types.Datum) (rows int64, err error) {
	ctx := context.Background()
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := o.Open(ctx); err != nil {
		return 0, err
	}
	for {
		b, err := o.Next(ctx)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range b.Rows() {
			at := i
			if b.Sel != nil {
				at = int(b.Sel[i])
			}
			get := func(ty types.Type, col int) types.Datum { return types.DatumAt(ty, b.Cols[col], at) }
			k := get(types.Int8, 0).(int64)
			want := [4]types.Datum{k, text(k), 2 * k, -k}
			if k >= build {
				want = [4]types.Datum{}
			}
			if got := [4]types.Datum{get(types.Int8, 4), get(types.Text, 5), get(types.Int8, 6), get(types.Int8, 7)}; got != want {
				return rows, fmt.Errorf("beside %d: %v, not %v", k, got, want)
			}
		}
		rows += int64(b.Rows())
	}
}
