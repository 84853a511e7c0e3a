package f32

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAdam: every kernel has the bits of the definition in Go, and writes nothing behind the end of
// its slices.
func TestAdam(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	s := &AdamStep{0.9, 1 - 0.9, 0.999, 1 - 0.999, 0.271, 0.003, 1e-8, 0.01}
	for n := range 40 {
		const beyond = 5
		var got, want [4][]float32
		for i := range got {
			got[i] = randomMatrix(r, 1, n+beyond).x
			for j, x := range got[i] {
				if i == 3 && x < 0 { // squares
					got[i][j] = -x
				}
			}
			want[i] = slices.Clone(got[i])
		}
		Adam(got[0][:n], got[1][:n], got[2][:n], got[3][:n], s)
		adamGo(want[0][:n], want[1][:n], want[2][:n], want[3][:n], s)
		for i := range got {
			for j := range got[i] {
				same(t, fmt.Sprintf("%d parameters: number %d of array %d", n, j, i), got[i][j], want[i][j])
			}
		}
	}
}
