package block

import (
	"runtime"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spare"
)

// TestSpares: a dataset reuses the blocks of one that was closed before, cleared to zero, and no
// other dataset gets the same memory.
func TestSpares(t *testing.T) {
	const rows, dense = 8192, 7
	fill := func(v []float32) {
		for i := range v {
			v[i] = float32(i)
		}
	}
	blocks := NewBlocks(Config{Pool: mem.NewPool("spares", 0), Temp: t.TempDir()})
	was := map[*float32]bool{}
	for id := range 3 {
		b := New(rows, dense, 0, true)
		fill(b.X32)
		was[&b.X32[0]] = true
		if err := blocks.Reserve(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := blocks.Put(id, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := blocks.Close(); err != nil {
		t.Fatal(err)
	}
	again, kept := 0, map[*float32]bool{}
	for range 4 {
		b := New(rows-4, dense, 0, true) // a little smaller
		for i, v := range b.X32 {
			if v != 0 {
				t.Fatalf("number %d of a new block is %v", i, v)
			}
		}
		fill(b.X32)
		if at := &b.X32[0]; kept[at] {
			t.Fatal("two blocks have the same memory")
		} else if kept[at] = true; was[at] {
			again++
		}
	}
	if again != 3 {
		t.Errorf("%d of 3 blocks were used again", again)
	}
	runtime.KeepAlive(was)
}

// TestDirtyBlocks: newDirty does not clear the memory of a block; Clear(end) must set everything
// from row `end` on to zero, whatever was in memory before.
func TestDirtyBlocks(t *testing.T) {
	const rows, dense = 8192, 3
	for _, narrow := range []bool{true, false} {
		for _, end := range []int{0, 1, 8, 4099, rows - 3, rows} {
			old := New(rows, dense, 0, narrow)
			for i := range rows {
				for j := range dense {
					old.Set(i, j, 7)
				}
			}
			spare.Reuse(old.X32)
			spare.Reuse(old.X64)
			b := newDirty(rows, dense, 0, narrow)
			b.W = spare.Dirty[float64](len(b.Y))
			for i := range end {
				for j := range dense {
					b.Set(i, j, float64(i+j))
				}
			}
			for i := range b.Y {
				b.Y[i], b.W[i] = 5, 6 // as reused memory may have it
			}
			b.Clear(end)
			for i := range b.Y {
				if out := i >= end; out != (b.Y[i] == 0) || out != (b.W[i] == 0) {
					t.Fatalf("rows up to %d: the label of row %d is %v, its weight %v", end, i, b.Y[i], b.W[i])
				}
			}
			for i := range rows {
				for j := range dense {
					want := float64(i + j)
					if i >= end {
						want = 0
					}
					if v := b.Value(i, j); v != want {
						t.Fatalf("narrow %v, rows up to %d: row %d column %d is %v", narrow, end, i, j, v)
					}
				}
			}
			runtime.KeepAlive(old)
		}
	}
}
