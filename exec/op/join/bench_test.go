package join_test

import (
	"math/rand"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// BenchmarkJoin joins 6M rows with 1.5M, as lineitem with orders in TPC-H: consecutive keys, keys
// with gaps (which need a hash table), and a small build side.
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
		rb := optest.Cut(c.build, func(from, n int) []arrow.Array {
			return []arrow.Array{optest.Int8s(n, func(i int) int64 { return int64(perm[from+i]) * c.gap }), optest.Int8s(n, func(i int) int64 { return int64(i) })}
		})
		lb := optest.Cut(probe, func(from, n int) []arrow.Array {
			return []arrow.Array{optest.Int8s(n, func(i int) int64 { return int64(r.Intn(build)) * c.gap }), optest.Int8s(n, func(i int) int64 { return int64(i) })}
		})
		for _, kind := range []plan.JoinKind{plan.Inner, plan.Semi} {
			for _, threads := range []int{1, 2} {
				b.Run(c.name+"/"+kindNames[kind]+"/threads="+string(rune('0'+threads)), func(b *testing.B) {
					optest.Bench(b, threads, c.limit, -1, func(rt *op.Runtime) []op.Operator {
						jc := joinCase{kind: kind, keys: []int{0}}.config(ts, rt.Threads)
						jc.LOut = []int{1}
						if kind == plan.Inner {
							jc.ROut = []int{1}
						}
						return join.New(rt, nil, jc, optest.Source(rt.Threads, lb), optest.Source(rt.Threads, rb))
					})
				})
			}
		}
	}
}
