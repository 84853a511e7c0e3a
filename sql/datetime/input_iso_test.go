package datetime

import (
	"math/rand/v2"
	"testing"
)

// TestISO: what is read in the common form is what all forms give, and nothing is read that is no date.
func TestISO(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	dates, stamps := 0, 0
	parts := func() string {
		s := []byte("2024-02-28 13:59:07.123456")
		for range r.IntN(4) {
			i := r.IntN(len(s))
			s[i] = "0123456789-: .T+Z"[r.IntN(17)]
		}
		switch r.IntN(4) {
		case 0:
			return string(s[:10])
		case 1:
			return string(s[:19])
		}
		return string(s[:r.IntN(len(s)+1)])
	}
	for range 200000 {
		s := parts()
		if day, ok := ISODate(s); ok {
			dates++
			if want, err := ParseDate(s, nil); err != nil || want != day {
				t.Fatalf("%q: %d, want %d, %v", s, day, want, err)
			}
		}
		if ts, ok := ISOTimestamp(s); ok {
			stamps++
			if want, err := ParseTimestamp(s, nil); err != nil || want != ts {
				t.Fatalf("%q: %d, want %d, %v", s, ts, want, err)
			}
		}
	}
	if dates < 10000 || stamps < 40000 {
		t.Error(dates, stamps)
	}
	for _, s := range []string{"", "2023-02-29", "0000-01-01", "2024-13-01", "2024-00-10", "2024-01-00", "2024-1-01", "24-01-01", " 2024-01-01"} {
		if _, ok := ISODate(s); ok {
			t.Error(s)
		}
	}
}
