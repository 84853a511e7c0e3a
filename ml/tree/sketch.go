package tree

import (
	"cmp"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// sketch is the summary of the first pass over the rows: enough to choose bins, units
// of weight and a bound of labels. Every part is a set, a sum of integers or an
// extremum, so that the order of rows does not matter.
//
// Quantiles come from a sample: the rows whose contents hash lowest, as bottom-k
// sketches take them (Cohen and Kaplan, "Summarizing data using bottom-k
// sketches", 2007). A row that is in the final sample was in every one before
// it, so the weight of its copies is complete.
type sketch struct {
	dense      int
	yMin, yMax float64
	grid       int     // the exponent of the lowest bit of any weight
	wMax       float64 // the largest weight
	low, high  float64 // of offsets
	seen       []values
	counts     []int64 // weight by slot of codes, in weightUnits
	gaps       []int64 // by code: weight of rows without a category
	sample     sample
	narrow     uint64 // the sample's max once a column has many values: its rows differ then
}

// values is the set of distinct values of a number column, until there are too many.
type values struct {
	missing, many bool
	n             int
	table         []uint64 // of bits+1, 0 for free, a power of two long
}

// sample are the rows of the lowest hashes.
type sample struct {
	size int  // the maximum number of rows
	cut  bool // rows have been dropped
	max  uint64
	hash []uint64
	w    []int64   // in weightUnits
	x    []float64 // dense values, row by row
}

// sampleSize is the number of rows of a sample: a million values, within limits.
func sampleSize(dense int) int { return min(max(1<<20/max(dense, 1), 1<<12), 1<<15) }

func newSketch(dense, codes, slots int) *sketch {
	return &sketch{dense: dense, yMin: math.Inf(1), yMax: math.Inf(-1), grid: math.MaxInt32, low: math.Inf(1), high: math.Inf(-1), seen: make([]values, dense),
		counts: make([]int64, slots), gaps: make([]int64, codes), narrow: math.MaxUint64, sample: sample{size: sampleSize(dense), max: math.MaxUint64}}
}

// sketchBytes bounds the memory of a sketch.
func sketchBytes(dense, slots int) int64 {
	return 2*int64(sampleSize(dense))*int64(8*dense+16) + int64(dense)*8*(4*maxBins+40) + int64(slots)*8
}

// key returns a value's bits, the same for equal values.
func key(v float64) uint64 {
	if v != v {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v + 0)
}

// hashes computes the hashes of the contents of a tile's rows: of all values and the
// label, but not of the weight, since a row of weight two is to be the same as the row
// twice.
func hashes(b *block.Block, tile int, seed uint64, h *[f64.Lanes]uint64) {
	const k = 0x9e3779b97f4a7c15
	for l := range h {
		h[l] = seed ^ 0x6a09e667f3bcc909
	}
	for j := range b.Dense {
		at := (tile*b.Dense + j) * f64.Lanes
		if b.X32 != nil {
			for l, v := range b.X32[at : at+f64.Lanes] {
				x := (h[l] ^ key(float64(v))) * k
				h[l] = x ^ x>>31
			}
		} else {
			for l, v := range b.X64[at : at+f64.Lanes] {
				x := (h[l] ^ key(v)) * k
				h[l] = x ^ x>>31
			}
		}
	}
	for j := range b.Codes {
		for l, c := range b.Code[(tile*b.Codes+j)*f64.Lanes:][:f64.Lanes] {
			x := (h[l] ^ uint64(uint32(c))) * k
			h[l] = x ^ x>>31
		}
	}
	for l, y := range b.Y[tile*f64.Lanes:][:f64.Lanes] {
		h[l] = mix(h[l] ^ key(y))
	}
}

// mix is the finaliser of MurmurHash3 (Appleby 2011).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// tilesSeen is after how many tiles it is asked whether a column has many values.
const tilesSeen = 64

// add adds the rows of a block.
func (s *sketch) add(p *problem, b *block.Block) error {
	var h [f64.Lanes]uint64
	for tile := range b.Padded() / f64.Lanes {
		first := tile * f64.Lanes
		rows := min(b.Rows-first, f64.Lanes)
		if tile%tilesSeen == 0 && s.narrow < s.sample.max && slices.ContainsFunc(s.seen, func(v values) bool { return v.many }) {
			s.sample.max = s.narrow
		}
		hashes(b, tile, p.seed, &h)
		for j := range s.seen {
			s.seen[j].tile(b, (tile*b.Dense+j)*f64.Lanes, b.W[first:first+rows])
		}
		for l, w := range b.W[first : first+rows] {
			if !(w > 0) {
				continue
			}
			y := b.Y[first+l]
			if y-y != 0 || w-w != 0 {
				return pgerr.New(pgerr.NumericValueOutOfRange, "a label or weight is not a finite number")
			}
			if p.offset > 0 {
				off := b.Value(first+l, p.offset-1)
				if off-off != 0 {
					return pgerr.New(pgerr.NumericValueOutOfRange, "an offset is not a finite number")
				}
				s.low, s.high = min(s.low, off), max(s.high, off)
			}
			s.yMin, s.yMax, s.wMax = min(s.yMin, y), max(s.yMax, y), max(s.wMax, w)
			if w == 1 {
				s.grid = min(s.grid, 0)
			} else {
				s.grid = min(s.grid, lowest(w))
			}
			fixed := int64(math.RoundToEven(w * p.weightUnits))
			for j := range b.Codes {
				if c := b.Code[(tile*b.Codes+j)*f64.Lanes+l]; c >= 0 {
					s.counts[c] += fixed
				} else {
					s.gaps[j] += fixed
				}
			}
			if h[l] <= s.sample.max {
				s.sample.take(h[l], fixed, b, tile, l)
			} else {
				s.sample.cut = true
			}
		}
	}
	return nil
}

// lowest returns the exponent of a number's lowest set bit.
func lowest(w float64) int {
	frac, exp := math.Frexp(w)
	m := uint64(math.Abs(frac) * (1 << 53))
	n := 0
	for m&1 == 0 {
		m >>= 1
		n++
	}
	return exp - 53 + n
}

// tile adds the values at index at of rows of positive weight.
func (v *values) tile(b *block.Block, at int, w []float64) {
	if v.many && v.missing {
		return
	}
	var last uint64
	for l, w := range w {
		var x float64
		if b.X32 != nil {
			x = float64(b.X32[at+l])
		} else {
			x = b.X64[at+l]
		}
		switch {
		case !(w > 0):
		case x != x:
			v.missing = true
		case !v.many:
			if k := key(x) + 1; k != last {
				v.put(k)
				last = k
			}
		}
	}
}

// put adds a key, of bits+1.
func (v *values) put(k uint64) {
	if v.many {
		return
	}
	if 2*v.n >= len(v.table) {
		old := v.table
		v.table = make([]uint64, max(2*len(old), 64))
		v.n = 0
		for _, o := range old {
			if o != 0 {
				v.put(o)
			}
		}
	}
	mask := uint64(len(v.table) - 1)
	for i := mix(k) & mask; ; i = (i + 1) & mask {
		switch v.table[i] {
		case k:
			return
		case 0:
			v.table[i] = k
			if v.n++; v.n > maxBins {
				v.many, v.table, v.n = true, nil, 0
			}
			return
		}
	}
}

// list returns the values, ascending.
func (v *values) list() []float64 {
	var out []float64
	for _, k := range v.table {
		if k != 0 {
			out = append(out, math.Float64frombits(k-1))
		}
	}
	slices.Sort(out)
	return out
}

// take adds lane l of a tile to the sample.
func (s *sample) take(hash uint64, w int64, b *block.Block, tile, l int) {
	if n := len(s.hash); n == cap(s.hash) {
		s.room(min(max(2*n, 256), 2*s.size), b.Dense)
	}
	s.hash, s.w = append(s.hash, hash), append(s.w, w)
	for j := range b.Dense {
		at := (tile*b.Dense+j)*f64.Lanes + l
		if b.X32 != nil {
			s.x = append(s.x, float64(b.X32[at]))
		} else {
			s.x = append(s.x, b.X64[at])
		}
	}
	if len(s.hash) >= 2*s.size {
		s.compact(b.Dense)
	}
}

// room makes room for n rows. Appending to what has megabytes copies and clears it at every fourth part more.
func (s *sample) room(n, dense int) {
	s.hash = slices.Grow(s.hash, n-len(s.hash))
	s.w = slices.Grow(s.w, n-len(s.w))
	s.x = slices.Grow(s.x, n*dense-len(s.x))
}

// compact merges equal rows and keeps the lowest hashes, ascending, of those up to max.
func (s *sample) compact(dense int) {
	type item struct {
		hash uint64
		row  int
	}
	order := make([]item, len(s.hash))
	for i, h := range s.hash {
		order[i] = item{h, i}
	}
	slices.SortFunc(order, func(a, b item) int {
		switch {
		case a.hash < b.hash:
			return -1
		case a.hash > b.hash:
			return 1
		}
		return a.row - b.row
	})
	room := min(len(order), s.size)
	if len(order) >= 2*s.size { // more will come
		room = 2 * s.size
	}
	out := sample{size: s.size, cut: s.cut, max: s.max, hash: make([]uint64, 0, room), w: make([]int64, 0, room), x: make([]float64, 0, room*dense)}
	for _, it := range order {
		i, n := it.row, len(out.hash)
		switch {
		case n > 0 && out.hash[n-1] == s.hash[i]:
			out.w[n-1] += s.w[i]
			continue
		case n == s.size:
			out.cut = true
			out.max = out.hash[n-1]
		case s.hash[i] > s.max: // others have dropped such rows
			out.cut = true
		default:
			out.hash, out.w = append(out.hash, s.hash[i]), append(out.w, s.w[i])
			out.x = append(out.x, s.x[i*dense:][:dense]...)
			continue
		}
		break
	}
	*s = out
}

// column returns the different values of a number column in the sample, ascending,
// and the weight of each.
func (s *sample) column(j, dense int) (vals []float64, w []int64) {
	type item struct {
		x float64
		w int64
	}
	items := make([]item, 0, len(s.w))
	for i, w := range s.w {
		if x := s.x[i*dense+j]; x == x {
			items = append(items, item{x, w})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.x, b.x) })
	for _, it := range items {
		if n := len(vals); n > 0 && vals[n-1] == it.x {
			w[n-1] += it.w
		} else {
			vals, w = append(vals, it.x), append(w, it.w)
		}
	}
	return vals, w
}

func (s *sketch) merge(o *sketch) error {
	if o.dense != s.dense || len(o.counts) != len(s.counts) || len(o.gaps) != len(s.gaps) {
		return errShape()
	}
	s.yMin, s.yMax = min(s.yMin, o.yMin), max(s.yMax, o.yMax)
	s.low, s.high = min(s.low, o.low), max(s.high, o.high)
	s.grid, s.wMax = min(s.grid, o.grid), max(s.wMax, o.wMax)
	for j := range s.seen {
		v, w := &s.seen[j], &o.seen[j]
		v.missing = v.missing || w.missing
		if w.many {
			v.many, v.table, v.n = true, nil, 0
		}
		for _, k := range w.table {
			if k != 0 {
				v.put(k)
			}
		}
	}
	for i, n := range o.counts {
		s.counts[i] += n
	}
	for i, n := range o.gaps {
		s.gaps[i] += n
	}
	a, b := &s.sample, &o.sample
	a.hash, a.w, a.x = append(a.hash, b.hash...), append(a.w, b.w...), append(a.x, b.x...)
	a.cut, a.max = a.cut || b.cut, min(a.max, b.max)
	if len(a.hash) > a.size {
		a.compact(s.dense)
	}
	return nil
}

func errShape() error { return pgerr.Internal("partials of trees do not fit each other") }

// Encode implements family.Message.
func (s *sketch) Encode(e *canon.E) {
	e.U32(uint32(s.dense))
	e.F64(s.yMin)
	e.F64(s.yMax)
	e.Int(s.grid)
	e.F64(s.wMax)
	e.F64(s.low)
	e.F64(s.high)
	for j := range s.seen {
		v := &s.seen[j]
		e.Bool(v.missing)
		e.Bool(v.many)
		e.F64s(v.list())
	}
	e.I64s(s.counts)
	e.I64s(s.gaps)
	e.Bool(s.sample.cut)
	e.U64(s.sample.max)
	e.U32(uint32(len(s.sample.hash)))
	for i, h := range s.sample.hash {
		e.U64(h)
		e.I64(s.sample.w[i])
	}
	e.F64s(s.sample.x)
}

func decodeSketch(d *canon.D) *sketch {
	s := &sketch{dense: d.Count(6), yMin: d.F64(), yMax: d.F64(), grid: d.Int(), wMax: d.F64(), low: d.F64(), high: d.F64()}
	s.seen = make([]values, s.dense)
	for j := range s.seen {
		v := &s.seen[j]
		v.missing, v.many = d.Bool(), d.Bool()
		for _, x := range d.F64s() {
			v.put(key(x) + 1)
		}
	}
	s.counts, s.gaps = d.I64s(), d.I64s()
	s.sample = sample{size: sampleSize(s.dense), cut: d.Bool(), max: d.U64()}
	for range d.Count(16) {
		s.sample.hash, s.sample.w = append(s.sample.hash, d.U64()), append(s.sample.w, d.I64())
	}
	s.sample.x = d.F64s()
	if len(s.sample.x) != len(s.sample.hash)*s.dense {
		d.Fail()
	}
	return s
}
