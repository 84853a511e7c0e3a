package join

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel"
)

// TestTagFilter: a hash table in which most probes find nothing gets a filter, one in which most
// find something gets none, and both find what probing every slot finds.
func TestTagFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for _, rows := range []int{3, 700, 5000, 70_000} {
		for _, share := range []float64{0.01, 0.9} { // the share of probe rows with a match
			n := slotCount(int64(rows))
			table := &hashTable{slots: make([]uint64, n), mask: uint64(n - 1), next: make([]uint32, (rows/kernel.ChunkRows+1)*kernel.ChunkRows)}
			keys := make([]uint64, rows)
			for i := range keys {
				keys[i] = r.Uint64()
			}
			for from := 0; from < rows; from += kernel.ChunkRows {
				table.insertHashes(keys[from:min(from+kernel.ChunkRows, rows)], nil, from/kernel.ChunkRows)
			}
			f := new(found)
			for range 3 + 4*int(n)/1000 {
				f.hashes = f.hashes[:0]
				for range 1000 {
					h := r.Uint64()
					if r.Float64() < share {
						h = keys[r.IntN(rows)]
					}
					f.hashes = append(f.hashes, h)
				}
				var want []int32
				for i, h := range f.hashes {
					if lookUp(table.slots, table.mask, h) != 0 {
						want = append(want, int32(i))
					}
				}
				f.room(len(f.hashes))
				table.findHashes(f)
				if !slices.Equal(f.rows, want) {
					t.Fatalf("%d rows, %g: found %d, not %d", rows, share, len(f.rows), len(want))
				}
				for k, i := range f.rows {
					if head := lookUp(table.slots, table.mask, f.hashes[i]); f.heads[k] != head {
						t.Fatalf("%d rows, %g: head %d, not %d", rows, share, f.heads[k], head)
					}
				}
			}
			x := table.filter.Load()
			if has, want := x != nil, share < 0.5 && n >= minFiltered; has != want {
				t.Errorf("%d rows, %g: a filter: %v", rows, share, has)
			}
			if x == nil {
				continue
			}
			lacks := make([]uint64, 100_000)
			for i := range lacks {
				lacks[i] = r.Uint64()
			}
			if n := x.among(lacks, make([]int32, len(lacks))); n > len(lacks)/8 {
				t.Errorf("%d rows: the filter lets %d of %d through", rows, n, len(lacks))
			}
		}
	}
}
