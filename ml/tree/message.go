package tree

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// The steps.
const (
	opSketch uint8 = iota + 1 // sketch raw values: no body; partial sketch
	opBin                     // compute bins: body with the ground; partial labels
	opRound                   // add the last trees to scores, begin new ones; partial grown
	opGrow                    // split nodes; partial grown
	opMeans                   // after opSketch, where a column has more categories than bins: body scale; partial means
)

// body is the body of all steps.
type body struct {
	ground   *ground   // of opBin, and where workers have no state
	recovery *recovery // where workers lost their state in the middle of a training
	round    *round    // of opRound
	splits   []split   // of opGrow
	builds   []build
	takes    []take
}

// recovery is the data from which workers without state recompute it: the scores
// from all trees so far, the rows' order in growing trees from the splits so
// far.
type recovery struct {
	past   []tree
	round  *round // nil: before the first
	splits []split
}

// round is the start of growing some trees.
type round struct {
	first  int // number of the first tree
	trees  int // how many grow; 0 at the end
	base   []float64
	bound  float64 // of gradients
	spread float64 // the unit of losses is its square / lossUnits
	update []tree  // the trees of the last round, in the workers' numbering
	stale  bool    // the scores include trees that the model does not have: they are recomputed
}

// split divides a node's rows: those whose bin of the column is in the set go to
// node left, the others to left+1.
type split struct {
	tree, node, left, col int32
	set                   set
}

// build asks for a node's histogram.
type build struct {
	tree, node int32
	wide       bool // gradient and curvature are separate integers
	cols       []int
}

// take requests the rows of a node: few rows are smaller than the histograms of
// all its descendants.
type take struct {
	tree, node int32
	rows       int64 // their number
}

// taken are rows of a node from one block, in any order: the bins of all
// columns that can split, group by group, and the gradients in the form of
// rows.grad.
type taken struct {
	bins []uint8
	grad []int64
}

// set is a set of bins.
type set [4]uint64

func (s *set) has(b int) bool { return s[b>>6&3]>>(b&63)&1 != 0 }
func (s *set) add(b int)      { s[b>>6&3] |= 1 << (b & 63) }

// upTo adds the bins 0 … b.
func (s *set) upTo(b int) {
	for i := 0; i <= b; i++ {
		s.add(i)
	}
}

func (s *set) encode(e *canon.E) {
	for _, w := range s {
		e.U64(w)
	}
}

func decodeSet(d *canon.D) (s set) {
	for i := range s {
		s[i] = d.U64()
	}
	return s
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) {
	e.Bool(b.ground != nil)
	if b.ground != nil {
		b.ground.encode(e)
	}
	e.Bool(b.recovery != nil)
	if a := b.recovery; a != nil {
		encodeTrees(e, a.past)
		a.round.encode(e)
		encodeSplits(e, a.splits)
	}
	b.round.encode(e)
	encodeSplits(e, b.splits)
	e.U32(uint32(len(b.builds)))
	for _, bd := range b.builds {
		e.U32(uint32(bd.tree))
		e.U32(uint32(bd.node))
		e.Bool(bd.wide)
		e.U32(uint32(len(bd.cols)))
		for _, c := range bd.cols {
			e.U32(uint32(c))
		}
	}
	encodeTakes(e, b.takes)
}

func decodeStep(op uint8, d *canon.D) family.Message {
	if op < opBin || op > opGrow {
		d.Fail()
		return nil
	}
	b := &body{}
	if d.Bool() {
		b.ground = decodeGround(d)
	}
	if d.Bool() {
		b.recovery = &recovery{past: decodeTrees(d), round: decodeRound(d), splits: decodeSplits(d)}
	}
	b.round, b.splits = decodeRound(d), decodeSplits(d)
	for range d.Count(13) {
		bd := build{tree: int32(d.U32()), node: int32(d.U32()), wide: d.Bool()}
		for range d.Count(4) {
			bd.cols = append(bd.cols, int(d.U32()))
		}
		b.builds = append(b.builds, bd)
	}
	b.takes = decodeTakes(d)
	return b
}

func encodeTakes(e *canon.E, list []take) {
	e.U32(uint32(len(list)))
	for _, t := range list {
		e.U32(uint32(t.tree))
		e.U32(uint32(t.node))
		e.I64(t.rows)
	}
}

func decodeTakes(d *canon.D) (list []take) {
	for range d.Count(16) {
		list = append(list, take{int32(d.U32()), int32(d.U32()), d.I64()})
	}
	return list
}

func (r *round) encode(e *canon.E) {
	e.Bool(r != nil)
	if r == nil {
		return
	}
	e.Int(r.first)
	e.Int(r.trees)
	e.F64s(r.base)
	e.F64(r.bound)
	e.F64(r.spread)
	encodeTrees(e, r.update)
	e.Bool(r.stale)
}

func decodeRound(d *canon.D) *round {
	if !d.Bool() {
		return nil
	}
	return &round{first: d.Int(), trees: d.Int(), base: d.F64s(), bound: d.F64(), spread: d.F64(), update: decodeTrees(d), stale: d.Bool()}
}

func encodeSplits(e *canon.E, list []split) {
	e.U32(uint32(len(list)))
	for _, s := range list {
		e.U32(uint32(s.tree))
		e.U32(uint32(s.node))
		e.U32(uint32(s.left))
		e.U32(uint32(s.col))
		s.set.encode(e)
	}
}

func decodeSplits(d *canon.D) (list []split) {
	for range d.Count(48) {
		list = append(list, split{int32(d.U32()), int32(d.U32()), int32(d.U32()), int32(d.U32()), decodeSet(d)})
	}
	return list
}

// sum is a sum of products of integers, in 128 bits.
type sum struct {
	hi int64
	lo uint64
}

// add adds a·n, n not negative.
func (s *sum) add(a, n int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(n))
	if a < 0 {
		hi -= uint64(n)
	}
	s.plus(sum{int64(hi), lo})
}

func (s *sum) plus(o sum) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + int64(c)
}

// float is the sum, rounded.
func (s sum) float() float64 { return float64(s.hi)*(1<<64) + float64(s.lo) }

func (s sum) encode(e *canon.E) { e.I64(s.hi); e.U64(s.lo) }

func decodeSum(d *canon.D) sum { return sum{d.I64(), d.U64()} }

// labels are the sums of labels: the weight of each class, or the weight and
// the sum of numbers.
type labels struct {
	weight []int64 // in units of weight; one element for numbers
	y      sum     // of labels in units of 1/yUnit, times weight
}

func (l *labels) merge(o *labels) error {
	if len(l.weight) != len(o.weight) {
		return errShape()
	}
	for i, w := range o.weight {
		l.weight[i] += w
	}
	l.y.plus(o.y)
	return nil
}

// Encode implements family.Message.
func (l *labels) Encode(e *canon.E) { e.I64s(l.weight); l.y.encode(e) }

func decodeLabels(d *canon.D) *labels { return &labels{d.I64s(), decodeSum(d)} }

// grown is the partial of opRound and opGrow.
type grown struct {
	rows     []int64   // opGrow: of each split, left and right
	hist     []int64   // of each build, one after the other
	taken    [][]taken // of each take
	loss     [2]sum    // opRound: of rows to train on and held out
	weight   [2]int64
	residual float64 // opRound: the greatest magnitude

	pool *sync.Pool // receives the histograms' memory when they have been added to others; nil for none
}

func (g *grown) merge(o *grown) error {
	if len(g.rows) != len(o.rows) || len(g.hist) != len(o.hist) || len(g.taken) != len(o.taken) {
		return errShape()
	}
	for i, n := range o.rows {
		g.rows[i] += n
	}
	h := g.hist
	for i, n := range o.hist[:len(h)] {
		h[i] += n
	}
	for i, t := range o.taken {
		g.taken[i] = append(g.taken[i], t...)
	}
	for i := range g.loss {
		g.loss[i].plus(o.loss[i])
		g.weight[i] += o.weight[i]
	}
	g.residual = max(g.residual, o.residual)
	o.free()
	return nil
}

// free returns the histograms for reuse.
func (g *grown) free() {
	if g.pool != nil && g.hist != nil {
		hist := g.hist
		g.pool.Put(&hist)
		g.hist, g.pool = nil, nil
	}
}

// Encode implements family.Message.
func (g *grown) Encode(e *canon.E) {
	e.I64s(g.rows)
	e.SparseI64s(g.hist)
	e.U32(uint32(len(g.taken)))
	for _, list := range g.taken {
		e.U32(uint32(len(list)))
		for i := range list {
			e.Bytes(list[i].bins)
			e.I64s(list[i].grad)
		}
	}
	for i := range g.loss {
		g.loss[i].encode(e)
		e.I64(g.weight[i])
	}
	e.F64(g.residual)
}

func decodeGrown(d *canon.D) *grown {
	g := &grown{rows: d.I64s(), hist: d.SparseI64s()}
	for range d.Count(4) {
		var list []taken
		for range d.Count(8) {
			list = append(list, taken{slices.Clone(d.Bytes()), d.I64s()})
		}
		g.taken = append(g.taken, list)
	}
	for i := range g.loss {
		g.loss[i], g.weight[i] = decodeSum(d), d.I64()
	}
	g.residual = d.F64()
	return g
}

// Slice implements family.Sliced.
func (g *grown) Slice(from, to int) family.Message {
	s := &grown{}
	if from == 0 {
		*s = *g
		s.pool = nil // the others need the histograms
	}
	s.hist = family.Cut(g.hist, from, to)
	return s
}

// Join implements family.Sliced.
func (g *grown) Join(list []family.Message) (family.Message, error) {
	hist, err := family.Join(list, func(g *grown) []int64 { return g.hist })
	out := *g
	out.hist, out.pool = hist, nil
	return &out, err
}
