package net

// rng is a counter-based generator: draw n is a hash of the key and n (SplitMix64: Steele, Lea and
// Flood 2014).
type rng struct{ key, n uint64 }

const golden = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64.
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// hash folds numbers to one.
func hash(v ...uint64) uint64 {
	h := uint64(0)
	for _, x := range v {
		h = mix(h + golden + x)
	}
	return h
}

func (r *rng) next() uint64 {
	r.n++
	return mix(r.key + r.n*golden)
}

// uniform draws from [-limit, limit).
func (r *rng) uniform(limit float64) float32 {
	u := float64(r.next()>>11) * 0x1p-53
	return float32(limit * (u + u - 1))
}

func (r *rng) fill(p []float32, limit float64) {
	for i := range p {
		p[i] = r.uniform(limit)
	}
}
