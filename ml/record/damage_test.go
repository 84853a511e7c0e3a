package record

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDamagedRows flips bits of rows on disk before they are read into leaves, sent to another
// node, or read from leaves: that fails or returns the right rows.
func TestDamagedRows(t *testing.T) {
	ctx := context.Background()
	var in []*batch.Batch
	for i := range 12 {
		in = append(in, someBatch(rand.New(rand.NewPCG(uint64(i), 5)), 400, false))
	}
	layout, err := NewLayout(testCols)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(limit int64) *Store {
		s := NewStore(layout, Config{Pool: mem.NewPool("t", limit), Temp: t.TempDir(), Seed: 7})
		for _, b := range in {
			if err := s.Add(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	ref := fill(0)
	const leaves = 4
	want := makeLeaves(t, ref, leaves)
	ref.Close()
	r := rand.New(rand.NewPCG(3, 4))
	failed := map[string]int{}
	for i := range 60 {
		s := fill(640 << 10)
		if s.file.Size() == 0 {
			t.Fatal("nothing was spilled")
		}
		spoil := func() {
			if err := s.file.Damage(r.Int64N(s.file.Size()), r.IntN(8)); err != nil {
				t.Fatal(err)
			}
		}
		switch i % 2 {
		case 0: // opened
			spoil()
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			bad := false
			for k := range leaves {
				l, err := s.MakeLeaf(ctx, k*block.Buckets/leaves, (k+1)*block.Buckets/leaves)
				if err != nil {
					t.Fatal(err)
				}
				v, err := l.Open()
				if err == nil {
					v.Close()
					if got := dump(t, l); !bytes.Equal(got, want[k]) {
						t.Fatal("a leaf has other rows")
					}
					l.Free()
				} else if bad = true; !pgerr.Is(err, pgerr.DataCorrupted) {
					t.Fatal(err)
				}
			}
			if bad {
				failed["open"]++
			}
		case 1: // shipped
			spoil()
			other := NewStore(layout, Config{Pool: mem.NewPool("o", 0), Temp: t.TempDir(), Seed: 7})
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			var err error
			for b := 0; b < block.Buckets && err == nil; b++ {
				err = s.Take(b, b+1, func(rec []byte) error { return other.Put(rec) })
			}
			if err == nil {
				equalLeaves(t, makeLeaves(t, other, leaves), want)
			} else if failed["ship"]++; !pgerr.Is(err, pgerr.DataCorrupted) {
				t.Fatal(err)
			}
			other.Close()
		}
		s.Close()
	}
	for _, how := range []string{"open", "ship"} {
		if failed[how] < 10 {
			t.Errorf("%s: %d of 30 bits were seen", how, failed[how])
		}
	}
}
