package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// TestDivided: a table with a distribution key has all its rows, each in a segment of the part
// given by its hash, in insertion order within it, however much memory there is; compaction keeps
// rows in their part.
func TestDivided(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 36))
	rel := &catalog.Relation{OID: 1, Name: "t", DistributionKey: []int16{2, 1}, Partitions: 7}
	var nums []int16
	for _, c := range cols {
		nums = append(nums, c.Num)
		rel.Columns = append(rel.Columns, catalog.Column{Name: fmt.Sprint("c", c.Num), Num: c.Num, Type: c.Type})
	}
	for _, limit := range []int64{0, 2 << 20} {
		s := open(t, nil)
		w := &store.TableWriters{Store: s}
		if limit > 0 {
			w.Pool = mem.NewPool("n", 2*limit).Child("statement", limit)
		}
		one, err := w.Writer(ctx, &plan.TableWrite{Table: rel, Cols: nums})
		if err != nil {
			t.Fatal(err)
		}
		var want rows
		for i := range 40 {
			in := randomRows(r, []int{1, 300, 2000}[min(i, 2)])
			b := toBatch(t, in, i%3 == 0)
			if i%2 == 1 {
				for k := range in {
					if r.IntN(3) > 0 {
						b.Sel = append(b.Sel, int32(k))
					}
				}
				kept := rows{}
				for _, k := range b.Sel {
					kept = append(kept, in[k])
				}
				in = kept
			}
			if err := one.Write(ctx, b); err != nil {
				t.Fatal(err)
			}
			want = append(want, in...)
		}
		list, err := one.Flush(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && w.Pool.Peak() > limit {
			t.Errorf("%d bytes were held", w.Pool.Peak())
		}
		hasher := kernel.NewHasher([]types.Type{types.Text, types.Int4})
		part := func(in rows) []int {
			b := toBatch(t, in, false)
			var out []int
			for _, h := range hasher.Hash([]arrow.Array{b.Cols[1], b.Cols[0]}, len(in), nil) {
				out = append(out, kernel.Dest(h, rel.Partitions))
			}
			return out
		}
		parts, byPart := part(want), make([]rows, rel.Partitions)
		for i, row := range want {
			byPart[parts[i]] = append(byPart[parts[i]], row)
		}
		slices.SortStableFunc(list, func(a, b catalog.Written) int { return cmp.Compare(a.Seq, b.Seq) })
		segs := make([][]*catalog.Segment, rel.Partitions)
		for _, x := range list {
			if x.Segment.Of != rel.Partitions {
				t.Fatalf("a segment is of %d parts", x.Segment.Of)
			}
			segs[x.Segment.Part] = append(segs[x.Segment.Part], x.Segment)
		}
		for p := range segs {
			if got, _ := readAll(t, s, scanOf(cols), manifest(segs[p]...), 0, 0); !same(got, byPart[p]) {
				t.Fatalf("part %d has %d rows, not the %d of its hash", p, len(got), len(byPart[p]))
			}
			ch, err := s.Compact(ctx, rel, p, segs[p], nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range ch.New {
				if g.Part != p || g.Of != rel.Partitions {
					t.Fatalf("part %d became %d of %d", p, g.Part, g.Of)
				}
			}
		}
		other := *segs[0][0]
		other.Of = 0
		ch, err := s.Compact(ctx, rel, 0, []*catalog.Segment{segs[0][0], &other}, nil, nil, nil)
		if err != nil || ch.New[0].Of != 0 {
			t.Fatalf("segments of other hashes together are said to be of a part: %v", err)
		}
	}
}
