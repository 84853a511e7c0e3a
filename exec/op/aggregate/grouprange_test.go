package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// rangeTable groups batches of keys, checks that each key has one group, and returns the table, or
// nil if it no longer finds groups by an array over the range of keys.
func rangeTable(t *testing.T, next func() []int64, batches int) *groupTable {
	t.Helper()
	g, seen := newGroupTable([]types.Type{types.Int8}, nil), map[int64]uint32{}
	for range batches {
		keys := next()
		groups := g.find([]arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, keys, nil)}, len(keys))
		for i, k := range keys {
			if _, ok := seen[k]; !ok {
				seen[k] = uint32(len(seen))
			}
			if groups[i] != seen[k] {
				t.Fatalf("key %d is group %d, not %d", k, groups[i], seen[k])
			}
		}
	}
	if g.n() != len(seen) {
		t.Fatalf("%d groups, not %d", g.n(), len(seen))
	}
	if g.rng == nil {
		return nil
	}
	return g
}

// TestGroupRangeInAnyOrder: keys of a narrow range in random order are grouped by an array over the
// range, wherever the range is.
func TestGroupRangeInAnyOrder(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 1))
		const keys = 150000
		from := []int64{0, -keys / 2, math.MaxInt64 - keys, math.MinInt64}[seed%4]
		g := rangeTable(t, func() []int64 {
			list := make([]int64, 8192)
			for i := range list {
				list[i] = from + rnd.Int64N(keys)
			}
			return list
		}, 30)
		if g == nil || g.rng.bytes() > 4*2*keys {
			t.Errorf("seed %d: no range, or one of many bytes", seed)
		}
	}
}

// TestGroupRangeInStretches: for keys in runs that are far apart, as a thread sees that reads some
// splits of a sorted table, the array has memory for these runs only.
func TestGroupRangeInStretches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	at, n := int64(0), 0
	g := rangeTable(t, func() []int64 {
		if n++; n%8 == 0 {
			at += 5_000_000 * (1 - 2*rnd.Int64N(2))
		}
		list := make([]int64, 8192)
		for i := range list {
			list[i] = at
			at += 4 * rnd.Int64N(2)
		}
		return list
	}, 100)
	if g == nil || g.rng.bytes() > 8*4*2*100*8192 {
		t.Error("no range, or one of many bytes")
	}
}

// TestGroupRangeGivenUp: keys too far apart for an array are grouped by a hash table.
func TestGroupRangeGivenUp(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		keys int
		of   int64
		kept bool
	}{{2, 1, true}, {10, 900, true}, {10, 1 << 20, false}, {8192, 2 * firstSpread * 8192, false}, {8192, firstSpread * 4096, true}, {8192, math.MaxInt64, false}} {
		g := rangeTable(t, func() []int64 {
			list := make([]int64, c.keys)
			for i := range list {
				list[i] = rnd.Int64N(c.of)
			}
			return list
		}, 1)
		if (g != nil) != c.kept {
			t.Errorf("%d keys of %d: has a range: %v", c.keys, c.of, !c.kept)
		}
	}
	ends := []int64{math.MinInt64, math.MaxInt64, 0}
	if rangeTable(t, func() []int64 { ends = append(ends, 5); return ends }, 2) != nil {
		t.Error("a range as far as integers go")
	}
}
