package bins

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeys: keys are in the order of numbers, and lead back to them.
func TestKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	list := []float32{0, float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -1, 1}
	for range 2000 {
		list = append(list, float32(r.NormFloat64()*math.Exp(10*r.NormFloat64())))
	}
	slices.Sort(list)
	for i, v := range list {
		if i > 0 && Key(list[i-1]) > Key(v) {
			t.Fatalf("the keys of %v and %v", list[i-1], v)
		}
		if Number(Key(v)) != v {
			t.Fatalf("the number with the key of %v is %v", v, Number(Key(v)))
		}
	}
	if Key(0) != Key(float32(math.Copysign(0, -1))) {
		t.Error("-0 is not 0")
	}
}

// plain counts the edges that are not above a number.
func plain(edges []float64, v float64, s Scale) byte {
	if v-v != 0 {
		return None
	}
	v = float64((v - s.Center) * s.By)
	if s.Narrow {
		v = float64(float32(v))
	}
	x, n := float32(v-s.Middle), byte(0)
	for _, e := range edges {
		if x >= float32(e) {
			n++
		}
	}
	return n
}

// TestFind: every body finds what a plain loop does, of edges far apart, beside each other or none, and of all lengths.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var table Table
	for round := range 300 {
		spread := []float64{1, 1e-3, 1e30, 3}[round%4]
		var edges []float64
		for range r.IntN(254) * (round % 3) / 2 {
			e := float64(float32(r.NormFloat64() * spread))
			if round%4 == 3 {
				e = math.Round(e * 40)
			}
			edges = append(edges, e)
		}
		switch round % 7 {
		case 0:
			edges = append(edges, 0, math.Inf(1))
		case 1:
			edges = append(edges, math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32)
		}
		slices.Sort(edges)
		edges = slices.Compact(edges)
		edges = edges[:min(len(edges), None-1)]
		table.Set(edges)
		s := Scale{By: 1}
		if round%2 == 1 {
			s = Scale{r.NormFloat64(), 1 / (0.1 + r.Float64()), r.NormFloat64(), round%5 == 0}
		}
		v := make([]float64, r.IntN(700))
		for i := range v {
			switch r.IntN(12) {
			case 0:
				v[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, 5e-324}[r.IntN(8)]
			case 1, 2:
				if len(edges) > 0 {
					v[i] = edges[r.IntN(len(edges))]
				}
			default:
				v[i] = r.NormFloat64() * spread
			}
		}
		want := make([]byte, len(v))
		for i := range v {
			want[i] = plain(edges, v[i], s)
		}
		check := func(name string, find func(dst []byte)) {
			got := make([]byte, len(v)+1)
			got[len(v)] = 77
			if find(got); !bytes.Equal(got[:len(v)], want) || got[len(v)] != 77 {
				t.Fatalf("%s, %d edges: %v, not %v", name, len(edges), got, want)
			}
		}
		check("Find", func(dst []byte) { table.Find(dst, v, s) })
		check("Go", func(dst []byte) { table.find(dst, v, s) })
		checkBodies(&table, v, s, check)

		var c Counter
		var n [256]int64
		c.Add(want, &table)
		c.Add(want, &table)
		c.Take(&n, 2*len(want), &table)
		c.Take(&n, 0, &table)
		for _, b := range want {
			n[b] -= 2
		}
		if n != [256]int64{} {
			t.Fatalf("other counts: %v", n)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 1))
	var edges []float64
	for k := range 40 {
		edges = append(edges, float64(k-20)/8)
	}
	var table Table
	table.Set(edges)
	v, dst := make([]float64, 8192), make([]byte, 8192)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	s := Scale{By: 1}
	var c Counter
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v)), "ns/number")
		})
	}
	run("go", func() { table.find(dst, v, s) })
	benchBodies(run, &table, dst, v, s)
	run("count", func() { c.Add(dst, &table) })
	run("countGo", func() { c.add(dst) })
}
