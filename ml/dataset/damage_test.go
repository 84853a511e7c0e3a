package dataset

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// flip inverts a bit of a file, as a faulty disk does; a second call restores it.
func flip(t *testing.T, f *tempFile, at int64, bit int) {
	t.Helper()
	b := make([]byte, 1)
	if _, err := f.f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedBlocks flips bits of blocks on disk: these blocks cannot be opened, the others are
// unchanged.
func TestDamagedBlocks(t *testing.T) {
	pool := mem.NewPool("t", 1<<20)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	defer s.Close()
	const rows, blocks = 400, 12
	for id := range blocks {
		if err := s.Reserve(BlockBytes(rows, 30, 0, false)); err != nil {
			t.Fatal(err)
		}
		b := NewBlock(rows, 30, 0, false)
		for i := range b.X64 {
			b.X64[i] = float64(id + i)
		}
		if err := s.Put(id, b); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	hit := 0
	for range 60 {
		at, bit := r.Int64N(s.file.size), r.IntN(8)
		flip(t, &s.file, at, bit)
		bad := 0
		for id := range blocks {
			b, release, err := s.Open(id)
			if err != nil {
				if bad++; !pgerr.Is(err, pgerr.DataCorrupted) {
					t.Fatal(err)
				}
				continue
			}
			for i, x := range b.X64 {
				if x != float64(id+i) {
					t.Fatalf("block %d has %v at %d", id, x, i)
				}
			}
			release()
		}
		if bad > 1 {
			t.Errorf("a bit at %d spoils %d blocks", at, bad)
		}
		hit += bad
		flip(t, &s.file, at, bit)
	}
	if hit < 30 {
		t.Errorf("of 60 bits %d were missed", hit)
	}
}

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
		if s.file.size == 0 {
			t.Fatal("nothing was spilled")
		}
		spoil := func() { flip(t, &s.file, r.Int64N(s.file.size), r.IntN(8)) }
		switch i % 2 {
		case 0: // opened
			spoil()
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			bad := false
			for k := range leaves {
				l, err := s.MakeLeaf(ctx, k*Buckets/leaves, (k+1)*Buckets/leaves)
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
			for b := 0; b < Buckets && err == nil; b++ {
				err = s.TakeBucket(b, func(rec []byte) error { return other.PutBucket(b, rec) })
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
