package worker

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestQueue: a thread gets splits of a segment that no other thread reads, in order, as long as there
// is one; each split is handed out once.
func TestQueue(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var list []op.Split
		for range rnd.IntN(9) {
			s := &catalog.Segment{}
			for at := range int64(1 + rnd.IntN(6)) {
				list = append(list, op.Split{Segment: s, From: at, To: at + 1})
			}
			if rnd.IntN(5) == 0 {
				list = append(list, op.Split{Part: len(list), Of: 99}) // one file
			}
		}
		q := newQueue([][]op.Split{nil, list})
		threads := make([]*op.Split, 1+rnd.IntN(3))
		begun, seen := map[*catalog.Segment]int{}, map[*op.Split]bool{}
		left := map[*catalog.Segment]int{}
		for i := range list {
			left[list[i].Segment]++
		}
		for n := range list {
			if q.left() != len(list)-n {
				t.Fatalf("seed %d: %d splits are left, not %d", seed, q.left(), len(list)-n)
			}
			at := rnd.IntN(len(threads))
			last := threads[at]
			sp, err := q.Next(t.Context(), 1, last)
			if err != nil || seen[sp] {
				t.Fatalf("seed %d: split %v again, or %v", seed, sp, err)
			}
			seen[sp], threads[at] = true, sp
			s := sp.Segment
			fresh := slices.ContainsFunc(list, func(o op.Split) bool { return o.Segment != nil && begun[o.Segment] == 0 })
			switch {
			case s == nil:
			case int(sp.From) != begun[s]:
				t.Fatalf("seed %d: split %d of a segment comes after %d", seed, sp.From, begun[s])
			case last != nil && last.Segment != nil && left[last.Segment] > 0 && s != last.Segment:
				t.Fatalf("seed %d: the thread leaves a segment with %d splits", seed, left[last.Segment])
			case (last == nil || s != last.Segment) && begun[s] > 0 && fresh:
				t.Fatalf("seed %d: the thread takes a segment that another has begun", seed)
			}
			begun[s]++
			left[s]--
		}
		for _, leaf := range []int{0, 1, 2} {
			if sp, err := q.Next(t.Context(), leaf, threads[0]); err != io.EOF {
				t.Fatalf("seed %d: %v, %v after the last split", seed, sp, err)
			}
		}
	}
}
