package hashindex_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/store/hashindex"
)

// TestFind compares with a search through all hashes, some of which occur many times.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 8, 9, 100, 5000} {
		hashes := make([]uint64, n)
		for i := range hashes {
			if hashes[i] = r.Uint64(); i > 0 && i%3 == 0 {
				hashes[i] = hashes[r.IntN(i)]
			}
		}
		x := hashindex.New(hashes)
		other, excluded := 0, 0
		for try := range 2000 {
			h := r.Uint64()
			if n > 0 && try%2 == 0 {
				h = hashes[r.IntN(n)]
			}
			var want []uint32
			for i, has := range hashes {
				if has == h {
					want = append(want, uint32(i))
				}
			}
			got := x.Find(h, nil)
			if x.Most(h) < len(got) {
				t.Fatalf("of %d: at most %d rows, but there are %d", n, x.Most(h), len(got))
			}
			if !slices.IsSorted(got) {
				t.Fatalf("of %d: rows %v are not in order", n, got)
			}
			for _, row := range want { // there may be more: only half of a hash is compared
				if !slices.Contains(got, row) {
					t.Fatalf("of %d: rows %v, want %v among them", n, got, want)
				}
			}
			switch {
			case len(want) == 0:
				if other++; x.Filter().Lacks(h) {
					excluded++
				}
			case x.Filter().Lacks(h):
				t.Fatalf("of %d: the filter excludes a hash of row %d", n, want[0])
			}
		}
		if excluded*10 < other*9 {
			t.Errorf("of %d: the filter excludes %d of %d hashes that are not there", n, excluded, other)
		}
	}
}

// TestBudget: indexes that were not used since the last eviction make room for others,
// and nothing else does.
func TestBudget(t *testing.T) {
	const size = 1 << 20
	pool := mem.NewPool("test", 8*3*size) // an eighth: room for three
	var b hashindex.Budget
	b.Charge(pool.LastingAccount("indexes"))
	slots := make([]hashindex.Slot, 4)
	add := func(i int) bool {
		if !b.Take(size) {
			return false
		}
		b.Keep(&slots[i], hashindex.New([]uint64{uint64(i)}), size)
		return true
	}
	for i := range 3 {
		if !add(i) {
			t.Fatalf("no room for index %d", i)
		}
	}
	if add(3) {
		t.Fatal("an index was evicted that had been used")
	}
	if slots[0].Look() == nil || slots[2].Look() == nil {
		t.Fatal("an index is gone")
	}
	if !add(3) || slots[1].Peek() != nil || slots[0].Peek() == nil || slots[2].Peek() == nil || slots[3].Peek() == nil {
		t.Fatal("not the unused index was evicted")
	}
	if b.Take(3*size + 1) {
		t.Fatal("room for more than the budget")
	}
	for i := range slots {
		b.Drop(&slots[i])
	}
	if n := b.Reserved(); n != 0 {
		t.Errorf("%d bytes are still charged", n)
	}
}
