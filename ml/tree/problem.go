package tree

import (
	"math"
	"slices"
	"unsafe"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
)

// problem is derived from the setup alone, and the same in the driver and all workers.
type problem struct {
	*params
	loss
	weight      float64 // of all rows to train on
	seed        uint64
	dense       int
	codeSlots   []int
	classes     int   // 0: a number
	outputs     int   // scores of a row, or numbers of a leaf
	channels    int   // histograms of a node: one, or for a forest's votes one a class
	together    int   // trees grown at a time
	fewRows     int64 // up to how many rows of a node are sent to the root
	limits      limits
	weightUnits float64 // of the sketch: weights are counted in units of 1/weightUnits
	// narrow is the greatest hash of a row in the sketch's sample where rows differ: half of
	// them, or more, and there are enough in the sample. Without it each thread keeps far
	// more rows than the sample has until it has seen many.
	narrow    uint64
	held      bool
	names     []string // by column: the input column
	fitted    *feature.Fitted
	direction []int8   // by column: the monotone constraint
	lists     []uint64 // by column: the lists of interaction_constraints that have it, a bit each; nil for none
}

func newProblem(s *family.Setup, forest bool) *problem {
	f := s.Fitted
	p := &problem{params: newParams(s.Options, forest, s.Classes() > 0), seed: mix(s.Seed + 1), dense: f.Dense, codeSlots: f.CodeSlots(), classes: s.Classes(), narrow: math.MaxUint64,
		weight: s.Weight, channels: 1, together: 1, fewRows: maxTakenRows, held: s.Held > 0, fitted: f}
	_, exp := math.Frexp(s.Weight)
	p.weightUnits = math.Ldexp(1, 48-exp)
	if n := 2 * sampleSize(p.dense); s.Rows > 2*int64(n) {
		p.narrow = uint64(float64(n) / float64(s.Rows) * (1 << 64))
	}
	p.loss = newLoss(s.Options, p.classes)
	p.outputs = p.Outputs()
	if forest {
		p.channels, p.together = p.outputs, min(p.trees, forestTogether)
	} else {
		p.together = p.outputs
	}
	var inputs []string
	for _, c := range f.Cols {
		inputs = append(inputs, c.Name)
	}
	lists, _ := listsOf(s.Options, inputs) // Plan has checked them
	p.offset = s.Offset() + 1
	for i, sl := range f.Slots()[:f.Dense] {
		p.names = append(p.names, sl.Column)
		p.direction = append(p.direction, 0)
		for k, c := range f.Cols {
			if c.Name == sl.Column {
				p.direction[i] = p.constraint(k, c.Name)
			}
		}
	}
	for _, c := range codeNames(f) {
		p.names = append(p.names, c)
		p.direction = append(p.direction, 0)
	}
	if lists != nil {
		for _, name := range p.names {
			p.lists = append(p.lists, lists[slices.Index(inputs, name)])
		}
	}
	return p
}

// forestTogether is how many trees of a forest grow at a time: more trees at a time
// need fewer steps, and more memory for each row.
const forestTogether = 8

// votes reports whether the histograms count classes.
func (p *problem) votes() bool { return p.channels > 1 }

// pairs reports whether gradient and curvature are separate integers.
func (p *problem) pairs(g *ground) bool { return g.wide && !p.votes() }

// ground is what the first pass over the rows determined for the rest of a training:
// bins, units and bounds.
type ground struct {
	*bins
	unit   float64 // weights are integral multiples of this power of two
	wide   bool    // weights may be so large that gradient and curvature do not fit one integer
	most   int     // the greatest multiple
	copies []copies
	yUnit  float64 // labels are summed in units of 1/yUnit
	eUnit  float64 // likewise the means that offsets give rows, of a loss with the link log
	// The least and the greatest offset.
	low, high float64
}

// copies is the number of copies of a row, in units of weight.
type copies struct {
	hash uint64
	n    int64
}

// Bounds of weights in units: beyond the first, weights are rounded to the
// second's resolution; up to the last, a row's gradient and curvature share an
// integer.
const (
	maxWeightBits = 16
	maxPacked     = 16
)

func newGround(p *problem, s *sketch, m means, start *model) *ground {
	g := &ground{bins: newBins(p, s, m), unit: 1}
	if start != nil {
		g.bins.from(start, p.maxBin)
	}
	if s.wMax > 0 {
		_, exp := math.Frexp(s.wMax)
		g.unit = math.Ldexp(1, max(min(s.grid, 0), exp-maxWeightBits))
		g.most = int(math.RoundToEven(s.wMax / g.unit))
	}
	g.wide = g.most > maxPacked || p.open
	most := max(s.yMax, -s.yMin)
	if p.offset > 0 {
		g.low, g.high = s.low, s.high
		most = p.offsets(g, most)
	}
	_, exp := math.Frexp(most)
	g.yUnit = math.Ldexp(1, 46-exp)
	if p.sampled() && !s.sample.cut {
		for i, h := range s.sample.hash {
			if n := int64(math.RoundToEven(float64(s.sample.w[i]) / (g.unit * p.weightUnits))); n > 1 {
				g.copies = append(g.copies, copies{h, n})
			}
		}
	}
	return g
}

// groundBytes returns the most memory that bounds and bins take.
func (p *problem) groundBytes() int64 {
	n := int64(p.dense+len(p.codeSlots)) * int64(unsafe.Sizeof(column{}))
	for _, slots := range p.codeSlots {
		n += int64(slots)
	}
	if m := p.meansLen(); m > 0 { // the sums, and the categories in their order
		n += 8*int64(m) + 40*int64(sum1(p.codeSlots)) + sketchBytes(p.dense, sum1(p.codeSlots))
	}
	return n + 8*int64(p.dense*p.maxBin)
}

// sampled reports whether trees are grown on samples of the rows.
func (p *problem) sampled() bool { return p.bootstrap || p.subsample < 1 }

func (g *ground) encode(e *canon.E) {
	g.bins.encode(e)
	e.F64(g.unit)
	e.Bool(g.wide)
	e.Int(g.most)
	e.F64(g.yUnit)
	e.U32(uint32(len(g.copies)))
	for _, c := range g.copies {
		e.U64(c.hash)
		e.I64(c.n)
	}
}

// encodeRest writes what encode does not: checkpoints of older versions have none of it.
func (g *ground) encodeRest(e *canon.E) {
	e.F64(g.eUnit)
	e.F64(g.low)
	e.F64(g.high)
}

func (g *ground) decodeRest(d *canon.D) { g.eUnit, g.low, g.high = d.F64(), d.F64(), d.F64() }

func decodeGround(d *canon.D) *ground {
	g := &ground{bins: decodeBins(d), unit: d.F64(), wide: d.Bool(), most: d.Int(), yUnit: d.F64()}
	for range d.Count(16) {
		g.copies = append(g.copies, copies{d.U64(), d.I64()})
	}
	if !(g.unit > 0) || math.IsInf(g.unit, 0) || g.most < 0 || g.most > 1<<(maxWeightBits+1) {
		d.Fail()
	}
	return g
}

// units returns a row's weight as a multiple of the unit.
func (g *ground) units(w float64) int64 { return int64(math.RoundToEven(w / g.unit)) }

// A row's gradient g and curvature h are integers in one int64, g<<shift + h, so
// that one addition updates a histogram (as LightGBM's quantised training has
// it: Shi et al., "Quantized Training of Gradient Boosting Decision Trees",
// 2022). Sums of at most cap units of weight fit. Where curvature is a count,
// that leaves more bits to the gradient:
//
//	counts  |g| < 2^19 in units of bound/2^19   h = 256 a count   26 bits for h
//	curved  |g| ≤ 2^15 in units of 2^-15        h ≤ 2^15, 2^-17   32 bits for h
//
// A bootstrapped row counts k times, copies of a row may count 256ths. Those of an open loss,
// of which few rows may have much larger ones than all others, have an integer each, and all its
// bits that the sum over all rows leaves.
type packing struct {
	shift        uint
	gUnit, hUnit float64 // a gradient of 1 is gUnit, a curvature of 1 hUnit
	cap          int     // units of weight
}

// draw is the unit of how often a row is drawn.
const draw = 256

// packing returns the packing for gradients of at most bound.
func (p *problem) packing(g *ground, bound float64) packing {
	switch {
	case p.forest && p.classes > 0:
		return packing{26, draw, draw, 1<<18 - 1}
	case p.open:
		// A weight is rounded to at most twice as many units.
		_, all := math.Frexp(p.weight / g.unit)
		_, exp := math.Frexp(bound)
		unit := math.Ldexp(1, min(38, 61-all)-exp)
		return packing{32, unit, unit, 1<<16 - 1}
	case p.flat:
		_, exp := math.Frexp(bound)
		return packing{26, math.Ldexp(1, 18-exp), draw, 1<<18 - 1}
	}
	return packing{32, 1 << 15, 1 << 17, 1<<16 - 1}
}

// rowsFit returns how many rows of any weight always fit a packed sum.
func (p *problem) rowsFit(g *ground, k packing) int {
	most := max(g.most, 1)
	if p.bootstrap {
		most *= maxDraws
	}
	return k.cap / most
}
