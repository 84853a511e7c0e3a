package order_test

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/order"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/sql/types"
)

// BenchmarkSort sorts 10M rows by a random int8 with a payload of two columns.
func BenchmarkSort(b *testing.B) {
	const n = 10_000_000
	ts := []types.Type{types.Int8, types.Int8, types.Int8}
	r := rand.New(rand.NewSource(1))
	in := optest.Cut(n, func(from, n int) []arrow.Array {
		return []arrow.Array{optest.Int8s(n, func(int) int64 { return r.Int63() }), optest.Int8s(n, func(i int) int64 { return int64(i) }), optest.Int8s(n, func(i int) int64 { return int64(i) })}
	})
	for _, c := range []struct {
		name  string
		limit int64
		top   int64
	}{{"memory", 0, -1}, {"spill", 256 << 20, -1}, {"top100", 0, 100}} {
		for _, threads := range []int{1, 2} {
			b.Run(c.name+"/threads="+string(rune('0'+threads)), func(b *testing.B) {
				optest.Bench(b, threads, c.limit, -1, func(rt *op.Runtime) []op.Operator {
					cfg := order.Config{Types: ts, Keys: optest.Columns(rt.Threads, 0), Specs: []kernel.KeySpec{{Type: types.Int8}}, Limit: c.top}
					return order.NewSort(rt, nil, cfg, optest.Source(rt.Threads, in))
				})
			})
		}
	}
}
