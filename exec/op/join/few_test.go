package join_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/op/join"
	"github.com/tributarydb/tributary/internal/optest"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// TestJoinFewMatches: where most probe rows have no match, one thread builds a filter over the hash
// table while the others go on probing; no match is lost.
func TestJoinFewMatches(t *testing.T) {
	const build, probe, gap = 2000, 60_000, 1_000_000_007 // too far apart for an array indexed by key
	r := rand.New(rand.NewPCG(2, 3))
	ts := []types.Type{types.Int8, types.Int8}
	keys, times := make([]int64, probe), map[int64]int{}
	for i := range keys {
		keys[i] = r.Int64N(50*build) * gap
		times[keys[i]]++
	}
	right := optest.Cut(build, func(from, n int) []arrow.Array {
		return []arrow.Array{optest.Int8s(n, func(i int) int64 { return int64(from+i) * gap }), optest.Int8s(n, func(i int) int64 { return int64(from + i) })}
	})
	left := optest.Cut(probe, func(from, n int) []arrow.Array {
		return []arrow.Array{optest.Int8s(n, func(i int) int64 { return keys[from+i] }), optest.Int8s(n, func(i int) int64 { return keys[from+i] / gap })}
	})
	for _, kind := range []plan.JoinKind{plan.Inner, plan.Left, plan.Semi, plan.Anti, plan.RightSemi} {
		rt := &op.Runtime{Threads: 3, Pool: mem.NewPool("n", 0)}
		c := joinCase{kind: kind, keys: []int{0, 1}}.config(ts, rt.Threads)
		out := ts
		if kind == plan.Inner || kind == plan.Left {
			out = append(ts[:2:2], ts...)
		}
		rows, err := optest.Drive(t.Context(), join.New(rt, nil, c, optest.Source(rt.Threads, left), optest.Source(rt.Threads, right)), out)
		if err != nil {
			t.Fatal(err)
		}
		matched, found := 0, 0
		for k := range int64(build) {
			matched += times[k*gap]
			found += min(times[k*gap], 1)
		}
		want := map[plan.JoinKind]int{plan.Inner: matched, plan.Left: probe, plan.Semi: matched, plan.Anti: probe - matched, plan.RightSemi: found}[kind]
		if len(rows) != want {
			t.Errorf("%v: %d rows, not %d", kind, len(rows), want)
		}
		for _, row := range rows {
			if k := row[0].(int64); (k < build*gap) != (kind != plan.Anti) && kind != plan.Left {
				t.Fatalf("%v gives %v", kind, row)
			}
		}
	}
}
