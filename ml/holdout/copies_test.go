package holdout

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// TestNoCommonRowIsLost finds common rows with little memory, and compares with exact counts.
func TestNoCommonRowIsLost(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		c, exact, rows := &Counter{}, map[block.RowHash]int64{}, int64(0)
		for range 200000 {
			var h block.RowHash
			v := r.IntN(1 + r.IntN(1+r.IntN(100000)))
			binary.BigEndian.PutUint64(h[8:], uint64(v)*0xbb67ae8584caa73b) // spread over all bits
			c.Add(h, 1)
			exact[h]++
			rows++
		}
		if c.Missed > rows/commonIn {
			t.Fatalf("%d copies of a row may be missing, of %d rows", c.Missed, rows)
		}
		have := map[block.RowHash]int64{}
		for _, x := range c.List() {
			have[x.Hash] = x.N
		}
		for h, n := range exact {
			if have[h] > n || have[h] < n-c.Missed {
				t.Fatalf("%d copies counted as %d, missing at most %d", n, have[h], c.Missed)
			}
		}
	}
}

// TestUnsure: the set of common rows is certain if each node that missed copies of a row has
// counted all of its own; copies missed by other nodes do not matter.
func TestUnsure(t *testing.T) {
	node := func(node int32, missed int64, whole bool) *Copies {
		c := &Copies{Rows: 10000, Missed: missed, List: []Copy{{Hash: block.RowHash{1}, Node: node, N: 300, Whole: whole}, {Hash: block.RowHash{2}, Node: node, N: 1}}}
		if missed > 0 {
			c.Lossy = 1
		}
		return c
	}
	for _, c := range []struct {
		nodes []*Copies
		sure  bool
	}{
		{[]*Copies{node(0, 0, false)}, true},
		{[]*Copies{node(0, 5, false)}, false},
		{[]*Copies{node(0, 5, true)}, true},
		{[]*Copies{node(0, 5, true), node(1, 5, true)}, true},
		{[]*Copies{node(0, 5, true), node(1, 5, false)}, false},
		{[]*Copies{node(0, 5, true), node(1, 0, false)}, true},
		{[]*Copies{node(0, 5, true), {Rows: 10000, Missed: 5, Lossy: 1}}, false}, // the missed copies may all be of this row
		{[]*Copies{node(0, 30, true)}, false},                                    // another row may be common too
	} {
		all := &Copies{}
		for _, n := range c.nodes {
			var e canon.E
			n.Encode(&e)
			d := canon.Read(e.B)
			all.Merge(DecodeCopies(d))
			if err := d.Done("copies"); err != nil {
				t.Fatal(err)
			}
		}
		if got := all.Unsure(); (got == nil) != c.sure {
			t.Errorf("%+v: unsure of %v", all, got)
		}
	}
}
