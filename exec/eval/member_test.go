package eval

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/vector"
)

// TestMembersOfIntegers: IN lists of all lengths over a smallint column, some with numbers beyond
// its range.
func TestMembersOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		list := make([]int64, r.IntN(8))
		for i := range list {
			if list[i] = r.Int64N(12) - 3; r.IntN(4) == 0 {
				list[i] += 1 << 16 // truncated to 16 bits it would equal another
			}
		}
		if len(list) == 0 {
			list = []int64{1 << 40}
		}
		v := make([]int16, r.IntN(40))
		out := make([]uint8, len(v))
		for i := range v {
			v[i], out[i] = int16(r.IntN(16)-5), 7
		}
		inInts(newIntSet(list), out, v)
		for i, x := range v {
			if want := vector.ByteOf(slices.Contains(list, int64(x))); out[i] != want {
				t.Errorf("round %d: %d in %v is %d, want %d", round, x, list, out[i], want)
			}
		}
	}
}
