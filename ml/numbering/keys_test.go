package numbering

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestNumberingIsAMap: keys get the numbers that a Go map would give them, also empty ones and long
// ones that differ in one byte; keys that were never added have none.
func TestNumberingIsAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m Keys
	want := map[string]int32{}
	key := func() string {
		switch r.IntN(4) {
		case 0:
			return ""
		case 1:
			return fmt.Sprint(r.IntN(40))
		case 2:
			return fmt.Sprintf("a long key of which only the middle, %04d, is another's", r.IntN(3000))
		}
		return string(make([]byte, r.IntN(20)))
	}
	for range 20000 {
		k := key()
		was, ok := want[k]
		if got := m.Find([]byte(k)); !ok && got != -1 || ok && got != was {
			t.Fatalf("%q is %d before it came, in the map %d, %v", k, got, was, ok)
		}
		if r.IntN(3) > 0 {
			continue
		}
		if !ok {
			want[k] = int32(len(want))
		}
		if got := m.Number([]byte(k)); got != want[k] || m.List[got] != k {
			t.Fatalf("%q is %d, in the map %d", k, got, want[k])
		}
	}
}
