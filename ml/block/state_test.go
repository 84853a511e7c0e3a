package block

import (
	"testing"

	"github.com/tributarydb/tributary/exec/mem"
)

// TestStateOverflows: per-row state that does not fit in memory is in the file, initially zero, and
// separate from everything else there.
func TestStateOverflows(t *testing.T) {
	pool := mem.NewPool("state", 4<<20)
	s := NewState(Config{Pool: pool, Temp: t.TempDir()})
	var all [][]byte
	for i := range 40 {
		n := 200_000 + i
		b, err := s.Space(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) != n {
			t.Fatalf("%d bytes of %d", len(b), n)
		}
		for k, v := range b {
			if v != 0 {
				t.Fatalf("piece %d: byte %d is %d at first", i, k, v)
			}
			b[k] = byte(i + k)
		}
		all = append(all, b)
	}
	for i, b := range all {
		for k, v := range b {
			if v != byte(i+k) {
				t.Fatalf("piece %d: byte %d is %d", i, k, v)
			}
		}
	}
	if used := pool.Used(); used == 0 || used > 1<<20+128<<10 {
		t.Errorf("%d bytes of memory are used", used)
	}
	if pool.Spilled() < 5_000_000 {
		t.Errorf("%d bytes are in the file", pool.Spilled())
	}
	if b, err := s.Space(0); b != nil || err != nil {
		t.Errorf("no bytes are %v, %v", b, err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := pool.Close(); left != 0 {
		t.Errorf("%d bytes are still charged", left)
	}
}
