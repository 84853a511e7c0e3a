package gram

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/canon"
)

// value returns sum i.
func value(s *Sums, i int) *big.Int {
	low, high := s.at(i)
	v := new(big.Int).Lsh(big.NewInt(high), spill)
	return v.Add(v, big.NewInt(low))
}

// someSums returns sums of any size: those that fit in Low, those that need High, and runs of
// zeros.
func someSums(r *rand.Rand, n int) Sums {
	s := NewSums(n)
	bits := 1 + r.IntN(61)
	s.Room(1 << bits)
	if r.IntN(2) == 0 {
		s.High = make([]int64, n)
	}
	for i := 0; i < n; i++ {
		if r.IntN(4) == 0 {
			i += r.IntN(20)
			continue
		}
		s.Low[i] = r.Int64N(2<<bits) - 1<<bits
		if s.High != nil && r.IntN(2) == 0 {
			s.High[i] = (r.Int64() - 1<<62) >> (4 + r.IntN(60))
		}
	}
	return s
}

// TestSumsRoundTrip: sums of any size decode to what was encoded, merging them in slices and in any
// order gives the same, and truncated bytes are refused.
func TestSumsRoundTrip(t *testing.T) {
	const n = 200
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		var want [n]*big.Int
		for i := range want {
			want[i] = new(big.Int)
		}
		var parts [][]byte
		for range 1 + r.IntN(6) {
			s := someSums(r, n)
			var e canon.E
			s.Encode(&e)
			parts = append(parts, e.B)
			d := canon.Read(e.B)
			got := DecodeSums(d)
			if err := d.Done("sums"); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if value(&got, i).Cmp(value(&s, i)) != 0 {
					t.Fatalf("sum %d is %v, not %v", i, value(&got, i), value(&s, i))
				}
				want[i].Add(want[i], value(&s, i))
			}
		}
		read := func(b []byte) Sums { return DecodeSums(canon.Read(b)) }
		var list []Sums
		for from := 0; from < n; from += 7 {
			var s Sums
			for _, b := range parts {
				whole := read(b)
				s.Merge(whole.Slice(from, from+7))
			}
			list = append(list, s)
		}
		slices.Reverse(parts)
		var whole Sums
		for _, b := range parts {
			whole.Merge(read(b))
		}
		joined := Join(list)
		var a, b canon.E
		joined.Encode(&a)
		whole.Encode(&b)
		if !slices.Equal(a.B, b.B) {
			t.Fatalf("trial %d: slices have other bytes", trial)
		}
		for i := range want {
			if value(&whole, i).Cmp(want[i]) != 0 || joined.At(i, 1) != whole.At(i, 1) {
				t.Fatalf("trial %d: sum %d is %v, not %v", trial, i, value(&whole, i), want[i])
			}
		}
		if trial > 0 {
			continue
		}
		for k := range a.B {
			if d := canon.Read(a.B[:k]); len(DecodeSums(d).Low) > n || d.Done("sums") == nil {
				t.Fatalf("%d of %d bytes were taken for sums", k, len(a.B))
			}
		}
	}
}

// TestSumsAreValues: converting many sums at once equals converting each, whatever the scale.
func TestSumsAreValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		s := someSums(r, 1+r.IntN(100))
		scale := math.Ldexp(0.5+float64(r.IntN(2))*r.Float64()/2, r.IntN(2200)-1100)
		from := r.IntN(len(s.Low))
		v := make([]float64, r.IntN(len(s.Low)-from+1))
		s.Values(v, from, scale)
		for i := range v {
			if want := s.At(from+i, scale); v[i] != want && (v[i] == v[i] || want == want) {
				t.Fatalf("sum %v over %v is %v, not %v", value(&s, from+i), scale, v[i], want)
			}
		}
	}
}

// TestJoinReusesMemory: Join reuses the memory of sums that were freed, and returns the right sums.
func TestJoinReusesMemory(t *testing.T) {
	for k := range 5 {
		a, b := NewSums(chunkSums), NewSums(77+k)
		for i := range a.Low {
			a.Low[i] = int64(k*1000 + i)
		}
		for i := range b.Low {
			b.Low[i] = int64(-k - i)
		}
		got := Join([]Sums{a, b})
		if want := append(slices.Clone(a.Low), b.Low...); !slices.Equal(got.Low, want) {
			t.Fatalf("round %d: joined sums are others", k)
		}
		for i := range got.Low {
			got.Low[i] = -1
		}
		got.Free()
	}
}

// TestSumsNeedOneWord: sums of few rows need one word each, and so do those of many rows if they
// stay small; sums of many rows do not overflow.
func TestSumsNeedOneWord(t *testing.T) {
	little := NewSums(1)
	for i := range 1 << 20 {
		little.Room(Factor)
		little.Low[0] += int64(1-i%2*2) * Factor
	}
	if little.High != nil || value(&little, 0).Sign() != 0 {
		t.Errorf("what comes to nothing is %v", value(&little, 0))
	}
	for rows, high := range map[int]bool{1 << 10: false, 1 << 17: false, 1 << 18: true} {
		s := NewSums(1)
		for range rows {
			s.Room(Factor)
			s.Low[0] += Factor
		}
		if got := fmt.Sprint(value(&s, 0), s.High != nil); got != fmt.Sprint(new(big.Int).Mul(big.NewInt(int64(rows)), big.NewInt(Factor)), high) {
			t.Errorf("%d rows: %s", rows, got)
		}
	}
}

func BenchmarkEncodeSums(b *testing.B) {
	s := NewSums(1 << 15)
	r := rand.New(rand.NewPCG(1, 2))
	s.Room(1 << 46)
	for i := range s.Low {
		if r.IntN(3) > 0 {
			s.Low[i] = r.Int64N(1<<47) - 1<<46
		}
	}
	var e canon.E
	b.SetBytes(8 << 15)
	for b.Loop() {
		e.B = e.B[:0]
		s.Encode(&e)
		got := DecodeSums(canon.Read(e.B))
		got.Merge(s)
	}
}

// TestSumsInReusedMemory decodes sums of which many are zero into memory with old contents.
func TestSumsInReusedMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for k := range 20 {
		n := chunkSums - k*1000
		s := NewSums(n)
		for i := 0; i < n; i++ {
			if s.Low[i] = r.Int64N(1<<50) - 1<<49; r.IntN(10) == 0 {
				i += r.IntN(40)
			}
		}
		if k == 7 {
			clear(s.Low)
		}
		s.most = 1 << 50
		var e canon.E
		s.Encode(&e)
		got := DecodeSums(canon.Read(e.B))
		if !slices.Equal(got.Low, s.Low) {
			t.Fatalf("%d sums are others after they were sent", n)
		}
		for i := range got.Low {
			got.Low[i] = -1
		}
		got.Free()
		if got.Low != nil {
			t.Fatal("sums that were given back are there")
		}
	}
}
