package isolation

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opMost   uint8 = iota + 1 // the greatest weight
	opWeigh                   // weight of the rows of each range of hashes
	opRefine                  // likewise of parts of some ranges
	opDraw                    // the rows of some ranges
	opScore                   // the distribution of scores
	numOps
)

// Of the bits of hashes that ranges have at most, and the rows that are drawn for all trees together at least, where
// there are as many.
const (
	firstBits = 16
	moreBits  = 10
	pool      = 8192
)

// scoreBins is how many scores are told apart for the contamination.
const scoreBins = 1 << 18

// bin is the bin of a score.
func bin(score float64) int { return min(int(score*scoreBins), scoreBins-1) }

// body is the body of all steps but opMost.
type body struct {
	Salt     uint64
	Weight   float64 // weights times this become integers
	Bits     int     // ranges are of hashes that begin with the same so many bits
	More     int     // opRefine: their parts with the same next bits
	Prefixes []int64 // opRefine, opDraw: which ranges, ascending
	Model    *model
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) { canon.Put(e, b) }

func init() {
	canon.Own(func(e *canon.E, m *model) { m.encode(e) }, decodeModel)
}

// partial is the partial of all steps.
type partial struct {
	MaxWeight float64
	Counts    canon.SparseInts // opWeigh, opRefine: by range; opScore: by score
	Rows      []row            // in order
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) { canon.Put(e, p) }

// DecodeStep implements family.Family.
func (forest) DecodeStep(op uint8, d *canon.D) family.Message {
	b := canon.Get[body](d)
	if op <= opMost || op >= numOps || b.Bits < 0 || b.Bits > firstBits+moreBits || b.More < 0 || b.More > moreBits || !slices.IsSorted(b.Prefixes) {
		d.Fail()
	}
	return b
}

// DecodePartial implements family.Family.
func (forest) DecodePartial(op uint8, d *canon.D) family.Message {
	p := canon.Get[partial](d)
	if op == 0 || op >= numOps {
		d.Fail()
	}
	return p
}

// Merge implements family.Family.
func (forest) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	l, r := left.(*partial), right.(*partial)
	l.MaxWeight = max(l.MaxWeight, r.MaxWeight)
	if len(l.Counts) != len(r.Counts) {
		return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	for i, v := range r.Counts {
		l.Counts[i] += v
	}
	if len(r.Rows) > 0 {
		l.Rows = compact(append(l.Rows, r.Rows...))
	}
	return l, nil
}

// worker implements family.Worker; it has no state.
type worker struct{ set *family.Setup }

// NewWorker implements family.Family.
func (forest) NewWorker(s *family.Setup, _ *family.Node) (family.Worker, error) {
	return &worker{set: s}, nil
}

// Close implements family.Worker.
func (w *worker) Close() {}

// PassBytes implements family.Worker.
func (w *worker) PassBytes(s *family.Step) (pass, partial int64) {
	f := w.set.Fitted
	b, _ := s.Body.(*body)
	switch s.Op {
	case opWeigh:
		return 0, 8 << b.Bits
	case opRefine:
		return 4 << b.Bits, 8 * int64(len(b.Prefixes)) << b.More
	case opDraw:
		rows := int64(len(b.Prefixes)) * (4 + w.set.Rows>>b.Bits)
		return 4 << firstBits, min(rows, w.set.Rows) * int64(8*f.Dense+4*f.Codes+112)
	case opScore:
		return scorerBytes(f.Dense, f.Codes), 8 * scoreBins
	}
	return 0, 64
}

// NewPass implements family.Worker.
func (w *worker) NewPass(s *family.Step) (family.Pass, error) {
	p := &pass{worker: w, op: s.Op}
	if s.Op != opMost {
		b, ok := s.Body.(*body)
		if !ok || s.Op == opScore && (b.Model == nil || !b.Model.valid(w.set.Fitted.Dense, w.set.Fitted.Codes)) {
			return nil, pgerr.Internal("a step of an isolation forest has no body that fits")
		}
		p.body = b
		switch s.Op {
		case opRefine, opDraw:
			p.first = newIndex(b.Prefixes, b.Bits)
		case opScore:
			p.s = newScorer(b.Model, w.set.Fitted.Dense, w.set.Fitted.Codes)
		}
	}
	p.reset()
	return p, nil
}

// index finds a range among some.
type index struct {
	prefixes []int64
	shift    int     // of prefixes, to the first bits
	from     []int32 // by these, where those that begin with them begin
}

func newIndex(prefixes []int64, bits int) *index {
	x := &index{prefixes: prefixes, shift: max(0, bits-firstBits), from: make([]int32, 1<<min(bits, firstBits)+1)}
	for _, p := range prefixes {
		if k := p >> x.shift; k >= 0 && int(k)+1 < len(x.from) {
			x.from[k+1]++
		}
	}
	for k := 1; k < len(x.from); k++ {
		x.from[k] += x.from[k-1]
	}
	return x
}

// find returns which of the ranges it is, -1 for none.
func (x *index) find(prefix int64) int {
	k := prefix >> x.shift
	for i := int(x.from[k]); i < int(x.from[k+1]); i++ {
		if x.prefixes[i] == prefix {
			return i
		}
	}
	return -1
}

// pass implements family.Pass.
type pass struct {
	*worker
	op    uint8
	body  *body
	out   *partial
	first *index
	s     *scorer
	rows  map[uint64][]int // opDraw: by hash, which of out.Rows
}

func (p *pass) reset() {
	p.out = &partial{}
	switch p.op {
	case opWeigh:
		p.out.Counts = make([]int64, 1<<p.body.Bits)
	case opRefine:
		p.out.Counts = make([]int64, len(p.body.Prefixes)<<p.body.More)
	case opDraw:
		p.rows = map[uint64][]int{}
	case opScore:
		p.out.Counts = make([]int64, scoreBins)
	}
}

// Partial implements family.Pass.
func (p *pass) Partial() family.Message {
	o := p.out
	o.Rows = compact(o.Rows)
	p.reset()
	return o
}

// Add implements family.Pass.
func (p *pass) Add(ctx context.Context, r family.Rows, b *block.Block) error {
	to := min(r.To, b.Rows)
	for i := r.From; i < to; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(scoreRows, to-i)
		switch p.op {
		case opMost:
			for _, w := range b.W[i : i+n] {
				p.out.MaxWeight = max(p.out.MaxWeight, w)
			}
		case opScore:
			for k, v := range p.s.score(b, i)[:n] {
				p.out.Counts[bin(v)] += exact.Whole(max(b.W[i+k], 0) * p.body.Weight)
			}
		default:
			for k := 0; k < n; k += f64.Lanes {
				p.tile(b, i+k, min(f64.Lanes, n-k))
			}
		}
		i += n
	}
	return nil
}

// tile sums or collects n rows of a tile.
func (p *pass) tile(b *block.Block, from, n int) {
	var h [f64.Lanes]uint64
	hash(&h, p.body.Salt, b, from)
	for l := range n {
		w := b.W[from+l]
		if !(w > 0) {
			continue
		}
		weight := exact.Whole(w * p.body.Weight)
		prefix := int64(h[l] >> 1 >> (63 - p.body.Bits))
		switch p.op {
		case opWeigh:
			p.out.Counts[prefix] += weight
		case opRefine:
			if k := p.first.find(prefix); k >= 0 {
				part := h[l] << p.body.Bits >> 1 >> (63 - p.body.More)
				p.out.Counts[k<<p.body.More+int(part)] += weight
			}
		case opDraw:
			if p.first.find(prefix) >= 0 {
				p.take(b, from+l, h[l], weight)
			}
		}
	}
}

// take collects a row.
func (p *pass) take(b *block.Block, i int, hash uint64, weight int64) {
	r := row{Hash: hash, X: make([]float64, b.Dense), Code: make([]int32, b.Codes), Weight: weight}
	for j := range r.X {
		r.X[j] = b.Value(i, j) + 0
	}
	for j := range r.Code {
		r.Code[j] = b.CodeAt(i, j)
	}
	for _, k := range p.rows[hash] {
		if p.out.Rows[k].compare(&r) == 0 {
			p.out.Rows[k].Weight += weight
			return
		}
	}
	p.rows[hash] = append(p.rows[hash], len(p.out.Rows))
	p.out.Rows = append(p.out.Rows, r)
}

// hash sets h to the hashes of the rows of a tile.
func hash(h *[f64.Lanes]uint64, salt uint64, b *block.Block, from int) {
	const other = 0x6a09e667f3bcc909 // digits of √2
	for l := range h {
		h[l] = salt ^ other
	}
	fold := func(a uint64) uint64 {
		hi, lo := bits.Mul64(a, golden)
		return hi ^ lo
	}
	if b.X32 != nil {
		for k, v := range b.X32[from*b.Dense : (from+f64.Lanes)*b.Dense] {
			h[k%f64.Lanes] = fold(h[k%f64.Lanes] ^ math.Float64bits(float64(v)+0))
		}
	} else {
		for k, v := range b.X64[from*b.Dense : (from+f64.Lanes)*b.Dense] {
			h[k%f64.Lanes] = fold(h[k%f64.Lanes] ^ math.Float64bits(v+0))
		}
	}
	for k, v := range b.Code[from*b.Codes : (from+f64.Lanes)*b.Codes] {
		h[k%f64.Lanes] = fold(h[k%f64.Lanes] ^ uint64(uint32(v)))
	}
	for l, v := range h {
		h[l] = mix(v)
	}
}
