package profile

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func some() *Profile {
	return &Profile{Rows: 107, Columns: []Column{
		{Name: "x", Numeric: true, Center: 0.5, Edges: []float64{-1, 2.5}, Counts: []int64{20, 30, 50}, Missing: 7},
		{Name: "colour", Categories: []string{"red", "blue"}, Counts: []int64{60, 40, 2}, Missing: 5},
	}}
}

// TestDamage: a profile and counts come back as they were, and bytes that nobody wrote are refused without a panic.
func TestDamage(t *testing.T) {
	c := &Counts{}
	c.Reset(2)
	c.Rows = 3
	c.Column(0)[1], c.Column(0)[Missing], c.Column(1)[0] = 2, 1, 1
	c.AddNew(1, "grün")
	c.AddNew(1, "grün")
	p := some()
	if got, err := Decode(p.Append(nil)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
	if got := (&Counts{}); got.Take(c.Append(nil)) != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%+v", got)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, good := range [][]byte{p.Append(nil), c.Append(nil)} {
		for range 2000 {
			bad := append([]byte(nil), good[:r.IntN(len(good)+1)]...)
			for range r.IntN(4) {
				if len(bad) > 0 {
					bad[r.IntN(len(bad))] = byte(r.Uint32())
				}
			}
			_, _ = Decode(bad)
			got := &Counts{}
			if got.Take(bad) == nil {
				_, _ = Compare(p, got, Settings{Bins: 10})
			}
		}
	}
}

// TestMergedCounts: counts do not depend on how rows are divided.
func TestMergedCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var all Counts
	parts := make([]Counts, 3)
	all.Reset(2)
	for i := range parts {
		parts[i].Reset(2)
	}
	for range 1000 {
		bin, name, fresh := r.IntN(3), string(rune('a'+r.IntN(300))), r.IntN(3) == 0
		for _, c := range []*Counts{&all, &parts[r.IntN(3)]} {
			c.Rows++
			if c.Column(0)[bin]++; fresh {
				c.AddNew(1, name)
			}
		}
	}
	var sum, taken Counts
	for _, i := range []int{2, 0, 1} {
		if err := errors.Join(sum.Merge(&parts[i]), taken.Take(parts[i].Append(nil))); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(&sum, &all) || !reflect.DeepEqual(&taken, &all) {
		t.Error("merged counts are others")
	}
}

// TestPValues compares with scipy 1.16: stats.chi2.sf and special.kolmogorov.
func TestPValues(t *testing.T) {
	for _, c := range []struct{ df, chi, want float64 }{
		{1, 0.000188, 0.9890603008585995}, {9, 12.5, 0.18656597485845106}, {4, 1e-3, 0.9999998750416589}, {100, 80, 0.9296649333406051}, {2, 700, 0}} {
		if got := gammaQ(c.df/2, c.chi/2); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("chi² of %v degrees above %v has %v, not %v", c.df, c.chi, got, c.want)
		}
	}
	for _, c := range []struct{ x, want float64 }{{0, 1}, {0.3, 0.9999906941986655}, {1, 0.26999967167735456}, {1.36, 0.049485876755377876}, {4, 2.532833109818835e-14}} {
		if got := kolmogorov(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Kolmogorov's statistic above %v has %v, not %v", c.x, got, c.want)
		}
	}
	if a, b := kolmogorov(math.Nextafter(1, 0)), kolmogorov(1); math.Abs(a-b) > 1e-12 {
		t.Errorf("the two series do not join: %v and %v", a, b)
	}
}
