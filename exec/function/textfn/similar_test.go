package textfn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/exec/function"
)

// TestDistance: the distance by bits is that of the whole table.
func TestDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		b := make([]byte, r.IntN([]int{3, 12, 66, 130}[r.IntN(4)]))
		for i := range b {
			b[i] = byte('a' + r.IntN(1+r.IntN(5)))
		}
		return string(b)
	}
	for range 5000 {
		s, u := text(), text()
		if r.IntN(2) == 0 && u != "" {
			at := r.IntN(len(u))
			s = u[:at] + strings.Repeat("x", r.IntN(3)) + u[at+r.IntN(len(u)-at):]
		}
		if min(len(s), len(u)) > 64 {
			continue // which is the table itself
		}
		got, err := distance(&function.Call{}, s, u)
		if want := edits([]rune(s), []rune(u), 1, 1, 1); err != nil || got != int64(want) {
			t.Fatalf("%q and %q: %d, %v, want %d", s, u, got, err, want)
		}
	}
}
