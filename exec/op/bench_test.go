package op_test

import (
	"context"
	"io"
	"math/rand"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// cut puts n rows, made by gen for each batch, into batches.
func cut(n int, gen func(from, n int) []arrow.Array) []*batch.Batch {
	var out []*batch.Batch
	for from := 0; from < n; from += batch.DefaultSize {
		m := min(batch.DefaultSize, n-from)
		out = append(out, batch.New(gen(from, m), m))
	}
	return out
}

func int8s(n int, f func(i int) int64) arrow.Array {
	v := make([]int64, n)
	for i := range v {
		v[i] = f(i)
	}
	return batch.FromSlice(types.Int8.Arrow(), v, nil)
}

// exhaust runs the lanes to their ends and counts the rows.
func exhaust(b *testing.B, root []op.Operator) (rows int64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, o := range root {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n := int64(0)
			err := o.Open(context.Background())
			for err == nil {
				var x *batch.Batch
				if x, err = o.Next(context.Background()); err == nil {
					n += int64(x.Rows())
				}
			}
			if err != io.EOF {
				b.Error(err)
			}
			o.Close()
			mu.Lock()
			rows += n
			mu.Unlock()
		}()
	}
	wg.Wait()
	return rows
}

func bench(b *testing.B, lanes int, limit int64, rows int64, root func(rt *op.Runtime) []op.Operator) {
	for b.Loop() {
		pool := mem.NewPool("n", limit)
		dir := spill.NewDir(spill.Options{Parent: b.TempDir(), Pool: pool})
		if n := exhaust(b, root(&op.Runtime{Lanes: lanes, Pool: pool, Spill: dir})); n != rows && rows >= 0 {
			b.Fatalf("%d rows, want %d", n, rows)
		}
		b.ReportMetric(float64(pool.Spilled())/(1<<20), "spilled-MiB")
		dir.Close()
	}
}

// BenchmarkJoin joins 6M rows with 1.5M, as lineitem with orders: dense keys,
// keys with gaps (a hash table), and a small build side.
func BenchmarkJoin(b *testing.B) {
	const probe, build = 6_000_000, 1_500_000
	ts := []types.Type{types.Int8, types.Int8}
	for _, c := range []struct {
		name  string
		build int
		gap   int64
		limit int64
	}{{"dense", build, 4, 0}, {"sparse", build, 1_000_003, 0}, {"small", 1000, 1_000_003, 0}, {"spill", build, 1_000_003, 24 << 20}} {
		r := rand.New(rand.NewSource(1))
		perm := r.Perm(c.build)
		rb := cut(c.build, func(from, n int) []arrow.Array {
			return []arrow.Array{int8s(n, func(i int) int64 { return int64(perm[from+i]) * c.gap }), int8s(n, func(i int) int64 { return int64(i) })}
		})
		lb := cut(probe, func(from, n int) []arrow.Array {
			return []arrow.Array{int8s(n, func(i int) int64 { return int64(r.Intn(build)) * c.gap }), int8s(n, func(i int) int64 { return int64(i) })}
		})
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Semi} {
			for _, lanes := range []int{1, 2} {
				b.Run(c.name+"/"+kindNames[kind]+"/lanes="+string(rune('0'+lanes)), func(b *testing.B) {
					bench(b, lanes, c.limit, -1, func(rt *op.Runtime) []op.Operator {
						jc := joinCase{kind: kind, keys: []int{0}}.config(ts, rt.Lanes)
						jc.LOut = []int{1}
						if kind == plan.Inner {
							jc.ROut = []int{1}
						}
						return op.NewJoin(rt, nil, jc, optest.Source(rt.Lanes, lb), optest.Source(rt.Lanes, rb))
					})
				})
			}
		}
	}
}

// BenchmarkSort sorts 10M rows by a random int8 with a payload of two columns.
func BenchmarkSort(b *testing.B) {
	const n = 10_000_000
	ts := []types.Type{types.Int8, types.Int8, types.Int8}
	r := rand.New(rand.NewSource(1))
	in := cut(n, func(from, n int) []arrow.Array {
		return []arrow.Array{int8s(n, func(int) int64 { return r.Int63() }), int8s(n, func(i int) int64 { return int64(i) }), int8s(n, func(i int) int64 { return int64(i) })}
	})
	for _, c := range []struct {
		name  string
		limit int64
		top   int64
	}{{"memory", 0, -1}, {"spill", 256 << 20, -1}, {"top100", 0, 100}} {
		for _, lanes := range []int{1, 2} {
			b.Run(c.name+"/lanes="+string(rune('0'+lanes)), func(b *testing.B) {
				bench(b, lanes, c.limit, -1, func(rt *op.Runtime) []op.Operator {
					cfg := op.SortConfig{Types: ts, Keys: optest.Columns(rt.Lanes, 0), Specs: []kernel.KeySpec{{Type: types.Int8}}, Limit: c.top}
					return op.NewSort(rt, nil, cfg, optest.Source(rt.Lanes, in))
				})
			})
		}
	}
}
