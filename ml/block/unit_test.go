package block

import (
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestUnitBlocks: all blocks whose rows have weight 1 share one array of weights: after truncation,
// on disk, and read from there; charged memory is released; and a block that gets other weights
// does not change those of others.
func TestUnitBlocks(t *testing.T) {
	pool := mem.NewPool("t", 0)
	s := NewBlocks(Config{Pool: pool, Temp: t.TempDir()})
	rows := func(id int) int { return 1000 - id%9 }
	for id := range 18 {
		b := NewUnit(1000, 3, 1, id%2 == 0)
		b.Clear(rows(id))
		if b = b.First(rows(id), id%4 == 0); id >= 9 {
			b.OwnWeights()
			b.W[0] = 7
		}
		if b.Y[0] = float64(id); b.Unit() != (id < 9) {
			t.Fatalf("block %d: Unit is %v", id, b.Unit())
		}
		if err := s.Reserve(UnitBytes(rows(id), 3, 1, id%2 == 0)); err != nil {
			t.Fatal(err)
		}
		if id >= 9 {
			if err := s.Reserve(WeightBytes(rows(id))); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(id, b); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id int, b *Block) {
		if b.Rows != rows(id) || b.Y[0] != float64(id) || b.Unit() != (id < 9) || len(b.W) != len(b.Y) {
			t.Fatalf("block %d: %d rows, label %v, Unit %v, %d weights", id, b.Rows, b.Y[0], b.Unit(), len(b.W))
		}
		for i, w := range b.W {
			want := 1.0
			if i >= rows(id) {
				want = 0
			} else if i == 0 && id >= 9 {
				want = 7
			}
			if w != want {
				t.Fatalf("block %d: row %d weighs %v", id, i, w)
			}
		}
	}
	for _, evict := range []bool{false, true} {
		if evict {
			if err := s.Evict(); err != nil {
				t.Fatal(err)
			}
			if pool.Used() != 0 {
				t.Errorf("%d bytes are charged of blocks on disk", pool.Used())
			}
		}
		for id := range 18 {
			b, release, err := s.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			check(id, b)
			release()
		}
	}
	for id := range 18 {
		b, err := s.Take(id)
		if err != nil {
			t.Fatal(err)
		}
		check(id, b)
		s.Unreserve(b.Bytes())
	}
	if pool.Used() != 0 {
		t.Errorf("%d bytes are still charged", pool.Used())
	}
	s.Close()
}
