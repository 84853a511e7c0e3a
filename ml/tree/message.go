package tree

import (
	"math/bits"
	"sync"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// The steps.
const (
	opSketch    uint8 = iota + 1 // sketch raw values: no body; partial sketch
	opBin                        // compute bins: body with the ground; partial labels
	opRound                      // add the last trees to scores, begin new ones; partial grown
	opGrow                       // split nodes; partial grown
	opMeans                      // after a sketch, where a column has more categories than bins: body scale; partial means
	opRenew                      // search the quantiles of rows' residuals; partial grown
	opSketchAll                  // opSketch again, where it found too few rows: see problem.narrow
)

// body is the body of all steps.
type body struct {
	Ground   *ground   // of opBin, and where workers have no state
	Recovery *recovery // where workers lost their state in the middle of a training
	Round    *round    // of opRound
	Splits   []split   // of opGrow
	Builds   []build
	Takes    []take
	Renew    *renewal // of opRenew
}

// recovery is the data from which workers without state recompute it: the scores
// from all trees so far, the rows' order in growing trees from the splits so
// far.
type recovery struct {
	Past   []tree
	Round  *round // nil: before the first
	Splits []split
}

// round is the start of growing some trees.
type round struct {
	First  int // number of the first tree
	Trees  int // how many grow; 0 at the end
	Base   []float64
	Bound  float64 // of gradients
	Spread float64 // of the targets, about; the unit of losses follows from it
	Update []tree  // the trees of the last round, in the workers' numbering
	Stale  bool    // the scores include trees that the model does not have: they are recomputed
	// Of dart: what the trees that the last round left out changed by, and those that this one leaves
	// out, to be added.
	Changes, Left []tree
}

// split divides a node's rows: those whose bin of the column is in the set go to
// node left, the others to left+1.
type split struct {
	Tree, Node, Left, Col int32
	Set                   set
}

// build asks for a node's histogram.
type build struct {
	Tree, Node int32
	Wide       bool // gradient and curvature are separate integers
	Cols       []int
}

// take requests the rows of a node: few rows are smaller than the histograms of
// all its descendants.
type take struct {
	Tree, Node int32
	Rows       int64 // their number
}

// taken are rows of a node from one block, in any order: the bins of all
// columns that can split, group by group, and the gradients in the form of
// rows.grad.
type taken struct {
	Bins []uint8
	Grad []int64
}

// set is a set of bins.
type set [4]uint64

func (s *set) has(b int) bool { return s[b>>6&3]>>(b&63)&1 != 0 }
func (s *set) add(b int)      { s[b>>6&3] |= 1 << (b & 63) }

// upTo adds the bins 0 … b.
func (s *set) upTo(b int) {
	for w := range s {
		if n := b + 1 - w<<6; n > 0 {
			s[w] |= ^uint64(0) >> max(64-n, 0)
		}
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
func (b *body) Encode(e *canon.E) { canon.Put(e, b) }

func init() {
	canon.Own(func(e *canon.E, g *ground) {
		g.encode(e)
		g.encodeRest(e)
	}, func(d *canon.D) *ground {
		g := decodeGround(d)
		g.decodeRest(d)
		return g
	})
	canon.Own(func(e *canon.E, t *tree) { encodeTrees(e, []tree{*t}) }, func(d *canon.D) *tree {
		if list := decodeTrees(d); len(list) == 1 {
			return &list[0]
		}
		d.Fail()
		return nil
	})
}

func decodeStep(op uint8, d *canon.D) family.Message {
	if (op < opBin || op > opGrow) && op != opRenew {
		d.Fail()
		return nil
	}
	return canon.Get[body](d)
}

// sum is a sum of products of integers, in 128 bits.
type sum struct {
	Hi int64
	Lo uint64
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
	s.Lo, c = bits.Add64(s.Lo, o.Lo, 0)
	s.Hi += o.Hi + int64(c)
}

// float is the sum, rounded.
func (s sum) float() float64 { return float64(s.Hi)*(1<<64) + float64(s.Lo) }

// labels are the sums of labels: the weight of each class, or the weight and
// the sum of numbers.
type labels struct {
	Weight []int64 // in units of weight; one element for numbers
	Y      sum     // of labels in units of 1/yUnit, times weight; with offsets see offset.go
	E      sum     // with offsets of a loss with the link log, in units of 1/eUnit
}

func (l *labels) merge(o *labels) error {
	if len(l.Weight) != len(o.Weight) {
		return errShape()
	}
	for i, w := range o.Weight {
		l.Weight[i] += w
	}
	l.Y.plus(o.Y)
	l.E.plus(o.E)
	return nil
}

// Encode implements family.Message.
func (l *labels) Encode(e *canon.E) { canon.Put(e, l) }

// grown is the partial of opRound and opGrow.
type grown struct {
	Rows     []int64          // opGrow: of each split, left and right
	Hist     canon.SparseInts // of each build, one after the other
	Taken    [][]taken        // of each take
	Loss     [2]sum           // opRound: of rows to train on and held out
	Weight   [2]int64
	Residual float64 // opRound: the greatest magnitude, or of an open loss that of gradient and curvature
	// opRound, of ranked rows: the average precisions of queries.
	Precision [2]sum

	pool *sync.Pool // receives the histograms' memory when they have been added to others; nil for none
}

func (g *grown) merge(o *grown) error {
	if len(g.Rows) != len(o.Rows) || len(g.Hist) != len(o.Hist) || len(g.Taken) != len(o.Taken) {
		return errShape()
	}
	for i, n := range o.Rows {
		g.Rows[i] += n
	}
	h := g.Hist
	for i, n := range o.Hist[:len(h)] {
		h[i] += n
	}
	for i, t := range o.Taken {
		g.Taken[i] = append(g.Taken[i], t...)
	}
	for i := range g.Loss {
		g.Loss[i].plus(o.Loss[i])
		g.Weight[i] += o.Weight[i]
		g.Precision[i].plus(o.Precision[i])
	}
	g.Residual = max(g.Residual, o.Residual)
	o.free()
	return nil
}

// free returns the histograms for reuse.
func (g *grown) free() {
	if g.pool != nil && g.Hist != nil {
		hist := g.Hist
		g.pool.Put(&hist)
		g.Hist, g.pool = nil, nil
	}
}

// Encode implements family.Message.
func (g *grown) Encode(e *canon.E) { canon.Put(e, g) }

// Slice implements family.Sliced.
func (g *grown) Slice(from, to int) family.Message {
	s := &grown{}
	if from == 0 {
		*s = *g
		s.pool = nil // the others need the histograms
	}
	s.Hist = family.Cut(g.Hist, from, to)
	return s
}

// Join implements family.Sliced.
func (g *grown) Join(list []family.Message) (family.Message, error) {
	hist, err := family.Join(list, func(g *grown) []int64 { return g.Hist })
	out := *g
	out.Hist, out.pool = hist, nil
	return &out, err
}
