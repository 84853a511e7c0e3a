package worker

import (
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/exec/store"
	"github.com/tributarydb/tributary/sql/catalog"
)

// TestQueue: a thread reads on where it was, then a segment that no other has begun as long as there
// is one, and then what others have before them; each split is handed out once.
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
		begun, seen := map[*catalog.Segment]bool{}, map[*op.Split]bool{}
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
			follows := func(o *op.Split) bool { return last != nil && o.Segment == last.Segment && o.From == last.To }
			reads, fresh := false, false
			for i := range list {
				o := &list[i]
				reads = reads || o.Segment != nil && follows(o) && (o == sp || !seen[o])
				fresh = fresh || o.Segment != nil && !begun[o.Segment]
			}
			switch {
			case s == nil:
			case reads && !follows(sp):
				t.Fatalf("seed %d: the thread does not read on", seed)
			case !reads && begun[s] && fresh:
				t.Fatalf("seed %d: the thread takes a segment that another has begun", seed)
			case !begun[s] && sp.From != 0:
				t.Fatalf("seed %d: a segment is begun at split %d", seed, sp.From)
			}
			begun[s] = true
		}
		for _, leaf := range []int{0, 1, 2} {
			if sp, err := q.Next(t.Context(), leaf, threads[0]); err != io.EOF {
				t.Fatalf("seed %d: %v, %v after the last split", seed, sp, err)
			}
		}
	}
}

// TestCut: the rows of a leaf's splits stay the same, in the same order, and threads get many of them;
// rows that were named one by one and what is no table stay as they are.
func TestCut(t *testing.T) {
	a, b := &catalog.Segment{}, &catalog.Segment{}
	list := []op.Split{{Segment: a, To: store.SplitRows}, {Segment: a, From: store.SplitRows, To: store.SplitRows + 7}, {Segment: b, To: 60_000}}
	got := cut(list, 2)
	if len(got) < 2*splitsPerThread/2 || len(got) > 3*splitsPerThread {
		t.Fatalf("%d splits", len(got))
	}
	var joined []op.Split
	for _, sp := range got {
		if n := len(joined) - 1; n >= 0 && joined[n].Segment == sp.Segment && joined[n].To == sp.From && sp.From != store.SplitRows {
			joined[n].To = sp.To
			continue
		}
		joined = append(joined, sp)
	}
	if !reflect.DeepEqual(joined, list) {
		t.Fatalf("%v became %v", list, joined)
	}
	for _, same := range [][]op.Split{nil, {{Segment: a, From: 9, To: 10}, {Segment: b, From: 4, To: 5}}, {{Part: 0, Of: 2}, {Part: 1, Of: 2}}} {
		if got := cut(same, 8); !reflect.DeepEqual(got, same) {
			t.Fatalf("%v became %v", same, got)
		}
	}
	if got := cut(list, 0); !reflect.DeepEqual(got, list) {
		t.Fatalf("for one thread %v became %v", list, got)
	}
}
