package block

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestDamagedBlocks flips bits of blocks on disk: these blocks cannot be opened, the others are
// unchanged.
func TestDamagedBlocks(t *testing.T) {
	pool := mem.NewPool("t", 1<<20)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	defer s.Close()
	const rows, blocks = 400, 12
	for id := range blocks {
		if err := s.Reserve(Bytes(rows, 30, 0, false)); err != nil {
			t.Fatal(err)
		}
		b := New(rows, 30, 0, false)
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
		at, bit := r.Int64N(s.file.Size()), r.IntN(8)
		flip := func() {
			if err := s.file.Damage(at, bit); err != nil {
				t.Fatal(err)
			}
		}
		flip()
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
		flip()
	}
	if hit < 30 {
		t.Errorf("of 60 bits %d were missed", hit)
	}
}

func TestBlocksComeBackFromDisk(t *testing.T) {
	pool := mem.NewPool("t", 4<<20)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	for id := range 40 {
		narrow := id%2 == 0
		if err := s.Reserve(Bytes(1000, 30, 2, narrow)); err != nil {
			t.Fatal(err)
		}
		b := New(1000, 30, 2, narrow)
		for i := range b.X32 {
			b.X32[i] = float32(id + i)
		}
		for i := range b.X64 {
			b.X64[i] = float64(id + i)
		}
		b.Code[17], b.Y[999], b.W[998] = int32(id), float64(id)+0.5, 2
		if err := s.Put(id, b); err != nil {
			t.Fatal(err)
		}
	}
	for id := range 40 {
		b, release, err := s.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		var x float64
		if id%2 == 0 {
			x = float64(b.X32[29999])
		} else {
			x = b.X64[29999]
		}
		if x != float64(id+29999) || b.Code[17] != int32(id) || b.Y[999] != float64(id)+0.5 || b.W[998] != 2 || b.Rows != 1000 {
			t.Errorf("block %d: %v %v %v", id, x, b.Code[17], b.Y[999])
		}
		release()
	}
	if !s.Spilled() || pool.Spilled() == 0 {
		t.Error("nothing was spilled")
	}
	s.Close()
	if pool.Used() != 0 {
		t.Errorf("%d bytes are still charged", pool.Used())
	}
}

// TestBlocksTakenFromDisk: a block that was written to the file can be taken and used after the
// file is closed, and others may read it while it is being written.
func TestBlocksTakenFromDisk(t *testing.T) {
	pool := mem.NewPool("t", 0)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	for id := range 8 {
		b := New(1000, 3, 1, id%2 == 0)
		b.More = [][]float64{make([]float64, len(b.Y)), make([]float64, len(b.Y))}
		b.Y[999], b.More[0][999], b.More[1][0] = float64(id), float64(id)+0.25, float64(id)+0.5
		if err := s.Reserve(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(id, b); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(id int, b *Block) bool {
		return b != nil && b.Y[999] == float64(id) && len(b.More) == 2 && b.More[0][999] == float64(id)+0.25 && b.More[1][0] == float64(id)+0.5
	}
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			for range 50 {
				b, release, err := s.Open(id)
				if err != nil || !whole(id, b) {
					t.Errorf("block %d: %v", id, err)
					return
				}
				release()
			}
		})
	}
	if err := s.Evict(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	var taken []*Block
	for id := range 8 {
		b, err := s.Take(id)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, b)
	}
	s.Close()
	for id, b := range taken {
		if !whole(id, b) {
			t.Errorf("block %d is another", id)
		}
	}
}
