package source

import "math"

// stream is a sequence of random numbers that is the same everywhere: a
// counter through a mixing function (SplitMix64), keyed by the seed, what the
// numbers are for and the block they are in. All arithmetic on floats is
// rounded step by step: an explicit conversion keeps the compiler from fusing
// a multiplication with an addition on processors that can.
type stream struct {
	key, n uint64
	spare  float64
	has    bool
}

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// newStream returns the stream of one purpose (a column's number, or one of the
// purposes below) and block.
func newStream(seed, purpose, block uint64) *stream {
	return &stream{key: mix(mix(mix(seed+golden)+purpose*golden) + block*golden)}
}

// Purposes beside the columns, which count from 0.
const (
	forParameters uint64 = 1<<32 + iota
	forLabels
	forNoise
	forOrder
	forFeatures
)

func (s *stream) bits() uint64 {
	s.n++
	return mix(s.key + s.n*golden)
}

// uniform returns a number in [0, 1).
func (s *stream) uniform() float64 { return float64(s.bits()>>11) * 0x1p-53 }

// between returns a number in [lo, hi).
func (s *stream) between(lo, hi float64) float64 { return lo + float64((hi-lo)*s.uniform()) }

// below returns a number in [0, n).
func (s *stream) below(n int64) int64 { return int64(s.bits()>>1) % n }

// normal returns a normal number of mean 0 and variance 1 (Marsaglia's polar method).
func (s *stream) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u := float64(2*s.uniform()) - 1
		v := float64(2*s.uniform()) - 1
		q := float64(u*u) + float64(v*v)
		if q >= 1 || q == 0 {
			continue
		}
		f := math.Sqrt(float64(-2*logarithm(q)) / q)
		s.spare, s.has = float64(v*f), true
		return float64(u * f)
	}
}

const (
	ln2High = 0x1.62e42fee00000p-1 // ln 2, its last 21 bits zero: times an exponent it is exact
	ln2Low  = 0x1.a39ef35793c76p-33
)

// logarithm is ln x for finite x > 0, within 2 units in the last place:
// x = m·2^e with m near 1, and ln m = 2 atanh((m-1)/(m+1)) by its series.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	q := float64(s * s)
	sum := 0.0
	for k := 23; k >= 3; k -= 2 {
		sum = float64(q * (sum + 1/float64(k)))
	}
	ln := float64(2*s) + float64(2*s*sum)
	return float64(float64(e)*ln2High) + (ln + float64(float64(e)*ln2Low))
}

// dot returns Σ a·b, added in order.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// order is a random permutation of 0 … n-1 that needs no memory: a Feistel
// network over the next power of four, walked until the value is below n.
type order struct {
	n    uint64
	half uint
	keys [6]uint64
}

func newOrder(n int64, s *stream) order {
	o := order{n: uint64(n), half: 1}
	for o.half < 31 && uint64(1)<<(2*o.half) < o.n {
		o.half++
	}
	for i := range o.keys {
		o.keys[i] = s.bits()
	}
	return o
}

func (o order) at(i int64) int64 {
	mask := uint64(1)<<o.half - 1
	x := uint64(i)
	for {
		l, r := x>>o.half, x&mask
		for _, k := range o.keys {
			l, r = r, l^mix(r+k)&mask
		}
		if x = l<<o.half | r; x < o.n {
			return int64(x)
		}
	}
}
