package net

// dropout sets a share of the numbers to 0 while training and scales the others
// up so that their expectation is unchanged (Srivastava et al. 2014). Whether a
// number is dropped is a hash of the tape's key, the sample's number, the layer
// and the position in the sample, so it does not depend on which goroutine
// computes it.
type dropout struct {
	in   shape
	rate float64
	id   uint64 // of the layer in its net
}

func (d *dropout) params() int              { return 0 }
func (d *dropout) init(_ []float32, _ *rng) {}
func (d *dropout) out() shape               { return d.in }
func (d *dropout) scratch(n int) int        { return 2 * n * d.in.size() }

func (d *dropout) forward(_ []float32, in *tensor, t *tape) *tensor {
	if !t.train {
		return in
	}
	out, mask := t.tensor(in.n, d.in), t.tensor(in.n, d.in)
	keep := uint64((1 - d.rate) * (1 << 32))
	scale := float32(1 / (1 - d.rate))
	for i := range in.n {
		r := rng{key: hash(t.key, d.id, uint64(t.first+i))}
		for j := i; j < len(in.v); j += in.n {
			mask.v[j] = 0
			if r.next()>>32 < keep {
				mask.v[j] = scale
			}
		}
	}
	for j, v := range in.v {
		out.v[j] = v * mask.v[j]
	}
	t.push(mask)
	return out
}

func (d *dropout) backward(_, _ []float32, dout *tensor, t *tape) *tensor {
	for i, m := range t.pop().v {
		dout.v[i] *= m
	}
	return dout
}
