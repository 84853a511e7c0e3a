package search

import (
	"math/rand"
	"strings"
	"testing"
)

// TestNext: the search by blocks finds what a plain loop finds.
func TestNext(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		s := make([]byte, r.Intn(90))
		for i := range s {
			s[i] = byte('a' + r.Intn(6))
		}
		first, second, gap := byte('a'+r.Intn(6)), byte('a'+r.Intn(6)), 1+r.Intn(9)
		if got, want := next(s, first, second, gap), nextGo(s, first, second, gap); got != want {
			t.Fatalf("%q: %c and %c %d after it: %d, not %d", s, first, second, gap, got, want)
		}
	}
}

// TestRows finds the rows that strings.Contains finds; occurrences that begin in one row and end in
// the next do not count.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 3000 {
		letters := 2 + r.Intn(3)
		text := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte('a' + r.Intn(letters))
			}
			return string(b)
		}
		needle := text(2 + r.Intn(6))
		data := text(r.Intn(5)) // before the first row
		offs := []int32{int32(len(data))}
		var want []int
		for row := range r.Intn(60) {
			s := text(r.Intn(30) * r.Intn(2))
			if strings.Contains(s, needle) {
				want = append(want, row)
			}
			data += s
			offs = append(offs, int32(len(data)))
		}
		data += needle // after the last
		var got []int
		New(needle).Rows(offs, []byte(data), func(row int) { got = append(got, row) })
		if len(got) != len(want) {
			t.Fatalf("%q in %q at %v: rows %v, not %v", needle, data, offs, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%q in %q at %v: rows %v, not %v", needle, data, offs, got, want)
			}
		}
	}
}
