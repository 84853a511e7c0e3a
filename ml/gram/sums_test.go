package gram

import (
	"math/rand/v2"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// TestSumsTravel: sums of any size come out as they went in, merge in slices as
// they do whole, and cut bytes are a fault.
func TestSumsTravel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() Sums {
		s := NewSums(200)
		for i := range s.Low {
			s.Low[i], s.High[i] = r.Int64()>>r.IntN(64), r.Int64()>>(2+r.IntN(62))
			if r.IntN(2) == 0 {
				s.Low[i], s.High[i] = -s.Low[i], -s.High[i]
			}
		}
		return s
	}
	a, b := random(), random()
	var e canon.E
	a.Encode(&e)
	for n := range e.B {
		if d := canon.Read(e.B[:n]); len(DecodeSums(d).Low) > 200 || d.Done("sums") == nil {
			t.Fatalf("%d of %d bytes were taken for sums", n, len(e.B))
		}
	}
	d := canon.Read(e.B)
	got := DecodeSums(d)
	if err := d.Done("sums"); err != nil {
		t.Fatal(err)
	}
	var merged Sums
	for from := 0; from < 200; from += 7 {
		s := got.Slice(from, from+7)
		s.Merge(b.Slice(from, from+7))
		merged.Low, merged.High = append(merged.Low, s.Low...), append(merged.High, s.High...)
	}
	a.Merge(b)
	for i := range a.Low {
		if a.At(i, 1) != merged.At(i, 1) || a.Low[i] != merged.Low[i] || a.High[i] != merged.High[i] {
			t.Fatalf("sum %d is %d·2^40+%d, not %d·2^40+%d", i, merged.High[i], merged.Low[i], a.High[i], a.Low[i])
		}
	}
}
