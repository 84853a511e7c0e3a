package aggregate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// codedRows are rows of three keys, int8, int4 and int2.
type codedRows struct {
	keys [][3]int64
	null [][3]bool
}

func (r codedRows) key(i int) string { return fmt.Sprint(r.keys[i], r.null[i]) }

func (r codedRows) columns() []arrow.Array {
	n := len(r.keys)
	a, b, c := make([]int64, n), make([]int32, n), make([]int16, n)
	valid := [3][]byte{}
	for i, key := range r.keys {
		a[i], b[i], c[i] = key[0], int32(key[1]), int16(key[2])
		for k, null := range r.null[i] {
			if null && valid[k] == nil {
				valid[k] = batch.AllOnes(n)
			}
			if null {
				batch.ClearBit(valid[k], i)
			}
		}
	}
	return []arrow.Array{batch.FromSlice(arrow.PrimitiveTypes.Int64, a, valid[0]), batch.FromSlice(arrow.PrimitiveTypes.Int32, b, valid[1]),
		batch.FromSlice(arrow.PrimitiveTypes.Int16, c, valid[2])}
}

// codedBatch returns rows whose keys are random numbers from `from` on, below from + spans.
func codedBatch(rnd *rand.Rand, n int, from, spans [3]int64, nulls bool) (r codedRows) {
	for range n {
		var key [3]int64
		var null [3]bool
		for k := range key {
			if null[k] = nulls && rnd.IntN(20) == 0; !null[k] {
				key[k] = from[k] + rnd.Int64N(spans[k])
			}
		}
		r.keys, r.null = append(r.keys, key), append(r.null, null)
	}
	return r
}

// TestGroupCodes: rows with several integer keys, whose ranges grow in both directions, with or
// without NULLs, get the group of their key, whether the keys are combined to one integer code or
// hashed. The groups of two tables merge likewise, of which one has codes of an older layout.
func TestGroupCodes(t *testing.T) {
	ts := []types.Type{types.Int8, types.Int4, types.Int2}
	coded := map[bool]int{}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := &aggShared{keyTypes: ts, layouts: newCodeLayouts(ts)}
		start := [3]int64{[]int64{0, -5, math.MaxInt64 - 1<<20, math.MinInt64, 1 << 40, -300}[seed%6], rnd.Int64N(100) - 50, 7}
		spans := [3]int64{1 + rnd.Int64N(150), 1 + rnd.Int64N(3), 1 + rnd.Int64N(3)}
		nulls := seed%3 == 0
		var want []map[string]int
		for range 2 {
			o := &aggThread{s: s}
			o.t = newGroupTable(ts, nil)
			o.t.layouts, o.t.rng = s.layouts, &groupRange{}
			s.with = append(s.with, o)
			want = append(want, map[string]int{})
		}
		for i := range 24 {
			at := rnd.IntN(2)
			g, seen := s.with[at].t, want[at]
			if rnd.IntN(9) == 0 && start[0] < math.MaxInt64-1<<20 {
				for k := range spans {
					spans[k] += rnd.Int64N(2)
					if grown := rnd.Int64N(2); start[k]-grown > math.MinInt64+1 {
						start[k], spans[k] = start[k]-grown, spans[k]+grown
					}
				}
			}
			if i == 20 && seed%4 == 1 {
				spans[1] = 1 << 30 // too wide for codes
			}
			rows := codedBatch(rnd, 1+rnd.IntN(2000), start, spans, nulls && i > 5)
			for i, group := range g.find(rows.columns(), len(rows.keys)) {
				if _, ok := seen[rows.key(i)]; !ok {
					seen[rows.key(i)] = len(seen)
				}
				if int(group) != seen[rows.key(i)] {
					t.Fatalf("seed %d: %s is group %d, not %d", seed, rows.key(i), group, seen[rows.key(i)])
				}
			}
			if g.n() != len(seen) {
				t.Fatalf("seed %d: %d groups, not %d", seed, g.n(), len(seen))
			}
		}
		s.sameCodes()
		s.alike()
		coded[s.with[0].t.rng != nil]++
		got := map[string]int{}
		for me := range uint64(3) {
			out := newGroupTable(ts, nil)
			out.layouts, out.rng = s.layouts, &groupRange{}
			for _, o := range s.with {
				if err := out.absorb(context.Background(), o.t, o.t.share(me, 3, nil)); err != nil {
					t.Fatal(err)
				}
			}
			cols := out.keyColumns(0, out.n())
			for i := range out.n() {
				var r codedRows
				key, null := [3]int64{}, [3]bool{}
				for k, c := range cols {
					if null[k] = c.IsNull(i); !null[k] {
						key[k] = types.DatumAt(ts[k], c, i).(int64)
					}
				}
				r.keys, r.null = append(r.keys, key), append(r.null, null)
				got[r.key(0)]++
			}
		}
		all := map[string]int{}
		for _, w := range want {
			for key := range w {
				all[key] = 1
			}
		}
		for key, n := range all {
			if got[key] != n {
				t.Fatalf("seed %d: %s is merged into %d groups", seed, key, got[key])
			}
		}
		if len(got) != len(all) {
			t.Fatalf("seed %d: %d merged groups, not %d", seed, len(got), len(all))
		}
	}
	if least := int(seeds / 4); coded[true] < least || coded[false] < least {
		t.Errorf("%d tables with codes, %d with hashes", coded[true], coded[false])
	}
}

// TestGroupCodesInOrder: keys of a sorted table keep their codes while their ranges grow, in an
// array of not many more bytes than there are groups.
func TestGroupCodesInOrder(t *testing.T) {
	ts := []types.Type{types.Int4, types.Int4, types.Int4}
	for _, order := range [][3]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		g := newGroupTable(ts, nil)
		g.layouts, g.rng = newCodeLayouts(ts), &groupRange{}
		spans := [3]int{6000, 10, 3}
		var vals [3][]int32
		flush := func() {
			var cols []arrow.Array
			for k := range vals {
				cols = append(cols, batch.FromSlice(arrow.PrimitiveTypes.Int32, slices.Clone(vals[k]), nil))
				vals[k] = vals[k][:0]
			}
			g.find(cols, cols[0].Len())
		}
		var key [3]int
		for key[order[0]] = range spans[order[0]] {
			for key[order[1]] = range spans[order[1]] {
				for key[order[2]] = range spans[order[2]] {
					for k := range vals {
						vals[k] = append(vals[k], int32(key[k]))
					}
					if len(vals[0]) == 8192 {
						flush()
					}
				}
			}
		}
		flush()
		if g.rng == nil || g.n() != 180_000 || g.rng.bytes() > 8*180_000*4 {
			t.Errorf("order %v: a range: %v, %d groups, %d bytes", order, g.rng != nil, g.n(), g.rng.bytes())
		}
	}
}
