package exact

import "math"

// Moments of a group of pairs are what statistics of two variables follow from.
type Moments struct {
	N                int64
	X, Y             float64 // Σx, Σy
	XX, YY, XY       float64 // Σ(x−x̄)², Σ(y−ȳ)², Σ(x−x̄)(y−ȳ); NaN where a value or a product is infinite
	FiniteX, FiniteY bool
}

// Moments returns those of group g, each rounded once.
func (t *Pairs) Moments(g int) Moments {
	p := t.s[g].words()
	m := Moments{N: t.n[g], FiniteX: true, FiniteY: true}
	if m.N == 0 {
		return m
	}
	l := t.whole(g)
	if l == nil {
		bx, by := max(t.x, leastPairBase), max(t.y, leastPairBase)
		m.X, m.Y = t.Values(g)
		ux, uy := int(bx)-1075, int(by)-1075
		var ok, ok1, ok2 bool
		m.XX, ok = wordSpread(&p.xx, &p.x, &p.x, m.N, 2*ux)
		m.YY, ok1 = wordSpread(&p.yy, &p.y, &p.y, m.N, 2*uy)
		m.XY, ok2 = wordSpread(&p.xy, &p.x, &p.y, m.N, ux+uy)
		if ok && ok1 && ok2 {
			return m
		}
		l = &longPair{}
		l.addWords(p, t.x, t.y)
		l.x.n = m.N
	}
	m.X, m.Y, m.FiniteX, m.FiniteY = l.x.Value(), l.y.Value(), l.x.flag == 0, l.y.flag == 0
	l.y.n = l.x.n
	m.XX, m.YY, m.XY = productSpread(&l.xx, &l.x, &l.x), productSpread(&l.yy, &l.y, &l.y), productSpread(&l.xy, &l.x, &l.y)
	return m
}

// Plain reports whether all spreads are finite, and none is of values in a Long.
func (t *Pairs) Plain() bool {
	return len(t.long) == 0 && t.x <= plainBase && t.y <= plainBase
}

// plainBase is the last base of which no 256 bits of products are infinite, times any number of them.
const plainBase = 1400

// A PairSpread is one of the three that a group of pairs has.
type PairSpread int

const (
	SpreadX PairSpread = iota
	SpreadY
	SpreadXY
)

// Spreads writes one of the spreads of groups from on, which are Plain, as Moments has them; of groups without pairs
// it writes nothing.
func (t *Pairs) Spreads(out []float64, which PairSpread, from int) {
	ux, uy := int(max(t.x, leastPairBase))-1075, int(max(t.y, leastPairBase))-1075
	for i := range out {
		p, n := &t.s[from+i], t.n[from+i]
		if n == 0 {
			continue
		}
		var ok bool
		switch which {
		case SpreadX:
			x, xx := p.x.words(), p.xx.words()
			out[i], ok = wordSpread(&xx, &x, &x, n, 2*ux)
		case SpreadY:
			y, yy := p.y.words(), p.yy.words()
			out[i], ok = wordSpread(&yy, &y, &y, n, 2*uy)
		case SpreadXY:
			x, y, xy := p.x.words(), p.y.words(), p.xy.words()
			out[i], ok = wordSpread(&xy, &x, &y, n, ux+uy)
		}
		if !ok {
			m := t.Moments(from + i)
			out[i] = [3]float64{m.XX, m.YY, m.XY}[which]
		}
	}
}

// Values returns Σx and Σy of a group that is Plain.
func (t *Pairs) Values(g int) (x, y float64) {
	a, b := t.s[g].x.words(), t.s[g].y.words()
	return shortSum{lo: a[0], hi: int64(a[1])}.value(max(t.x, leastPairBase)), shortSum{lo: b[0], hi: int64(b[1])}.value(max(t.y, leastPairBase))
}

// productSpread is LongSpread of products, which have lost what is below the least float64: a constant
// column has no spread.
func productSpread(xy, x, y *Long) float64 {
	f := LongSpread(xy, x, y)
	if math.Abs(f) <= float64(x.n)*0x1p-1073 {
		return 0
	}
	return f
}
