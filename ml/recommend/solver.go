package recommend

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// conjugate is how many steps of conjugate gradients a problem gets in an iteration. They begin from the vector before,
// so that iterations go on where these ended.
const conjugate = 3

// slab is how many ratings are brought together at once.
const slab = 1024

// solver solves the problems of one side, one after the other, on one goroutine. A vector v of an entity minimises
//
//	Σ a (b/a - v·q)² + vᵀ·base·v + l2·v²  over its ratings, where q are the other side's vectors
//
// so that (base + l2 + Σ a q qᵀ) v = Σ b q.
type solver struct {
	*sides
	l2, alpha, mean float64
	fixed           []float32 // the other side's vectors
	base            []float64 // tiles of a symmetric matrix; nil for none
	d               int       // width
	x, r, p, ap     []float64 // vectors, padded with zeros to whole tiles
	acc             []float64
	tile            []float32 // the vectors of the ratings at hand
	a, b, z         []float64 // of these: what they weigh, the same times what they ask for, and scratch
	none            []float32 // a vector of zeros
	from, to        int       // the ratings in tile
}

// solverBytes is the memory of a solver.
func solverBytes(d int) int64 {
	return 8*int64(4*(d+f64.Lanes)+f64.Lanes*d+3*slab) + 4*int64((slab+1)*d)
}

func newSolver(s *sides, l2, alpha float64) *solver {
	d := s.width()
	n := f64.Tiles(d) * f64.Lanes
	vectors := make([]float64, 4*n)
	v := &solver{sides: s, l2: l2, alpha: alpha, d: d, x: vectors[:n], r: vectors[n : 2*n], p: vectors[2*n : 3*n], ap: vectors[3*n:],
		acc: make([]float64, f64.Lanes*d), tile: make([]float32, slab*d), none: make([]float32, d)}
	rows := make([]float64, 3*slab)
	v.a, v.b, v.z = rows[:slab], rows[slab:2*slab], rows[2*slab:]
	return v
}

// widen is f64.Widen for any length.
func widen(to []float64, from []float32) {
	for i, x := range from[:len(to)] {
		to[i] = float64(x)
	}
}

// gramOf returns the tiles of YᵀY.
func gramOf(y []float32, d int) []float64 {
	sums, wide := make([]float64, d*d), make([]float64, d)
	for from := 0; from < len(y); from += d {
		widen(wide, y[from:from+d])
		for j, v := range wide {
			f64.Axpy(sums[j*d+j:(j+1)*d], v, wide[j:])
		}
	}
	out := make([]float64, f64.Tiles(d)*f64.Lanes*d)
	for i := range d {
		for j := range d {
			out[(i/f64.Lanes*d+j)*f64.Lanes+i%f64.Lanes] = sums[min(i, j)*d+max(i, j)]
		}
	}
	return out
}

// load brings ratings [from, to) together, at most slab.
func (v *solver) load(r *ratings, from, to int) {
	if v.from == from && v.to == to {
		return
	}
	v.from, v.to = from, to
	var rows [f64.Lanes]*float32
	d := v.d
	for i := 0; i < to-from; i += f64.Lanes {
		for l := range rows {
			at := from + i + l
			if at >= to {
				rows[l], v.a[i+l], v.b[i+l] = &v.none[0], 0, 0
				continue
			}
			own := int(r.Other[at]) * d
			rows[l] = &v.fixed[own]
			value := float64(r.Value[at])
			switch {
			case v.implicit:
				a := float64(v.alpha * math.Abs(value))
				v.a[i+l], v.b[i+l] = a, 0
				if value > 0 {
					v.b[i+l] = 1 + a
				}
			default:
				a := 1.0
				if r.Weight != nil {
					a = float64(r.Weight[at])
				}
				v.a[i+l], v.b[i+l] = a, float64(a*(value-v.mean-float64(v.fixed[own+d-1])))
			}
		}
		f64.Gather32(v.tile[i*d:], &rows, d)
		if !v.implicit { // the other side's intercept is in b, and one's own counts for each rating
			for l := range rows {
				v.tile[i*d+(d-1)*f64.Lanes+l] = 1
			}
		}
	}
}

// padded is n rounded up to whole tiles.
func padded(n int) int { return f64.Tiles(n) * f64.Lanes }

// margins sets z to the products of u with the ratings at hand.
func (v *solver) margins(u []float64) []float64 {
	n := padded(v.to - v.from)
	z := v.z[:n]
	clear(z)
	f64.Margins(z, v.tile[:n*v.d], u[:v.d])
	return z
}

// fold adds the lanes of acc up to out.
func (v *solver) fold(out []float64) {
	for j := range v.d {
		a := v.acc[j*f64.Lanes:][:f64.Lanes]
		out[j] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
	}
}

// constant adds (base + l2)·u, times sign, to out.
func (v *solver) constant(out, u []float64, sign float64) {
	if v.base != nil {
		n := len(out)
		z := v.z[:n] // d is at most slab
		clear(z)
		f64.Margins(z, v.base, u[:v.d])
		f64.Axpy(out[:v.d], sign, z[:v.d])
	}
	f64.Axpy(out[:v.d], sign*v.l2, u[:v.d])
}

// each calls do for the ratings [from, to), slab by slab.
func (v *solver) each(r *ratings, from, to int, do func()) {
	clear(v.acc)
	for at := from; at < to; at += slab {
		v.load(r, at, min(at+slab, to))
		do()
	}
}

// solve computes the vector of the entity with ratings [from, to) into out, beginning from begin, nil for zeros.
func (v *solver) solve(out, begin []float32, r *ratings, from, to int) {
	d := v.d
	v.from, v.to = 0, 0
	clear(v.x)
	if begin != nil {
		widen(v.x[:d], begin)
	}
	v.each(r, from, to, func() {
		z := v.margins(v.x)
		for i, m := range z {
			z[i] = v.b[i] - float64(v.a[i]*m)
		}
		f64.AddGrad(v.acc, v.tile[:len(z)*d], z)
	})
	v.fold(v.r)
	v.constant(v.r, v.x, -1)
	copy(v.p, v.r)
	was := f64.Dot(v.r, v.r)
	for range conjugate {
		if !(was > 1e-20) {
			break
		}
		v.each(r, from, to, func() {
			z := v.margins(v.p)
			for i := range z {
				z[i] *= v.a[i]
			}
			f64.AddGrad(v.acc, v.tile[:len(z)*d], z)
		})
		v.fold(v.ap)
		v.constant(v.ap, v.p, 1)
		step := was / f64.Dot(v.p, v.ap)
		f64.Axpy(v.x, step, v.p)
		f64.Axpy(v.r, -step, v.ap)
		now := f64.Dot(v.r, v.r)
		ratio := now / was
		for j := range d {
			v.p[j] = v.r[j] + float64(ratio*v.p[j])
		}
		was = now
	}
	for j := range out {
		out[j] = float32(v.x[j])
	}
}

// loss returns the sum of the squared errors of a vector, without the penalty.
func (v *solver) loss(vector []float32, r *ratings, from, to int) float64 {
	d := v.d
	widen(v.x[:d], vector)
	sum := 0.0
	v.each(r, from, to, func() {
		z := v.margins(v.x)
		for i, m := range z[:v.to-v.from] {
			if !v.implicit {
				e := v.b[i]/v.a[i] - m
				sum += float64(v.a[i] * float64(e*e))
				continue
			}
			p := 0.0
			if v.b[i] > 0 {
				p = 1
			}
			e := p - m
			sum += float64(float64((1+v.a[i])*e)*e) - float64(m*m)
		}
	})
	if v.base != nil {
		clear(v.ap)
		f64.Margins(v.ap, v.base, v.x[:d])
		sum += f64.Dot(v.ap[:d], v.x[:d])
	}
	return sum
}
