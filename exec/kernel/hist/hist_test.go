package hist

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type input struct {
	h    []int64
	bins []uint8
	rows []uint32
	vals []int64
	at   []int32
	cols []int32
}

func draw(r *rand.Rand, n, width, stride int) input {
	in := input{h: make([]int64, width*stride), bins: make([]uint8, n*width), vals: make([]int64, n)}
	for i := range in.bins {
		in.bins[i] = uint8(r.IntN(stride))
	}
	for i := range in.vals {
		in.vals[i] = r.Int64() - r.Int64()
		if r.IntN(3) > 0 {
			in.rows = append(in.rows, uint32(i))
		}
	}
	for c := range width {
		in.at, in.cols = append(in.at, int32(c*stride)), append(in.cols, int32(c))
	}
	return in
}

// plain is the definition of a histogram of gradients.
func (in input) plain(width, stride int) []int64 {
	h := slices.Clone(in.h)
	for _, r := range in.rows {
		for c := range width {
			h[c*stride+int(in.bins[int(r)*width+c])] += in.vals[r]
		}
	}
	return h
}

func TestBodiesAgainstThePlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for width := 1; width < 40; width++ {
		for _, stride := range []int{2, 4, 64, 256} {
			in := draw(r, r.IntN(50), width, stride)
			for i := range in.h {
				in.h[i] = r.Int64N(100)
			}
			want := in.plain(width, stride)
			for name, body := range map[string]func(h []int64){
				"Add":       func(h []int64) { Add(h, stride, in.bins, width, in.rows, in.vals) },
				"addGo":     func(h []int64) { addGo(h, stride, in.bins, width, in.rows, in.vals) },
				"addSomeGo": func(h []int64) { addSomeGo(h, in.at, in.cols, in.bins, width, in.rows, in.vals) },
				"AddSome":   func(h []int64) { AddSome(h, in.at, in.cols, in.bins, width, in.rows, in.vals) },
			} {
				h := slices.Clone(in.h)
				if body(h); !slices.Equal(h, want) {
					t.Fatalf("%s of %d columns of %d bins is wrong", name, width, stride)
				}
			}
			pairs, twice := make([]int64, 2*len(in.h)), make([]int64, 2*len(in.vals))
			for i, v := range in.h {
				pairs[2*i], pairs[2*i+1] = v, v
			}
			for i, v := range in.vals {
				twice[2*i], twice[2*i+1] = v, v
			}
			AddPairs(pairs, in.at, in.cols, in.bins, width, in.rows, twice)
			for i, v := range want {
				if pairs[2*i] != v || pairs[2*i+1] != v {
					t.Fatalf("AddPairs of %d columns of %d bins is wrong", width, stride)
				}
			}
		}
	}
}

func TestPart(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		width, n := 1+r.IntN(5), r.IntN(200)
		in := draw(r, n, width, 256)
		r.Shuffle(len(in.rows), func(i, j int) { in.rows[i], in.rows[j] = in.rows[j], in.rows[i] })
		var goes [256]uint8
		for i := range goes {
			goes[i] = uint8(r.IntN(2))
		}
		col := r.IntN(width)
		var want, others []uint32
		for _, row := range in.rows {
			if goes[in.bins[int(row)*width+col]] == 1 {
				want = append(want, row)
			} else {
				others = append(others, row)
			}
		}
		left := len(want)
		want = append(want, others...)
		bins := in.bins[min(col, len(in.bins)):]
		got, twin := slices.Clone(in.rows), slices.Clone(in.rows)
		if k := Part(got, make([]uint32, len(got)), bins, width, &goes); k != left || !slices.Equal(got, want) {
			t.Fatalf("%d rows: %d go, want %d", len(got), k, left)
		}
		other := make([]uint32, len(twin))
		k := partGo(twin, other, bins, width, &goes)
		if copy(twin[k:], other); k != left || !slices.Equal(twin, want) {
			t.Fatalf("%d rows: %d go by the twin, want %d", len(got), k, left)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	const n, width, stride = 32768, 28, 256
	in := draw(rand.New(rand.NewPCG(1, 1)), n, width, stride)
	var parts [16][]uint32 // rows of the nodes of a tree
	for _, row := range in.rows {
		k := row * 2654435761 >> 28
		parts[k] = append(parts[k], row)
	}
	five := []int32{3, 7, 12, 19, 26}
	for _, c := range []struct {
		name string
		cols int
		body func(rows []uint32)
	}{
		{"Add", width, func(rows []uint32) { Add(in.h, stride, in.bins, width, rows, in.vals) }},
		{"addGo", width, func(rows []uint32) { addGo(in.h, stride, in.bins, width, rows, in.vals) }},
		{"AddSome", 5, func(rows []uint32) { AddSome(in.h, in.at[:5], five, in.bins, width, rows, in.vals) }},
		{"addSomeGo", 5, func(rows []uint32) { addSomeGo(in.h, in.at[:5], five, in.bins, width, rows, in.vals) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, rows := range parts {
					c.body(rows)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(in.rows)*c.cols), "ns/update")
		})
	}
}
