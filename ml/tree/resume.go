package tree

import (
	"math"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
)

// The encoded state of a driver has the splits that are decided but no
// histograms: after a resume the histograms of both children are built where
// one would have been subtracted.

// Encode implements family.Driver.
func (d *driver) Encode(e *canon.E) error {
	e.U8(d.phase)
	e.Bool(d.g != nil)
	if d.g != nil {
		d.g.encode(e)
	}
	e.F64s(d.base)
	e.F64(d.spread)
	e.F64(d.bound)
	e.I64(d.total)
	e.F64(d.residual)
	encodeTrees(e, d.trees)
	d.state.Encode(e)
	e.F64(d.best)
	e.Int(d.bestAt)
	e.F64(d.bestLoss)
	e.Bool(d.finished)
	e.Bool(d.drop)
	if d.p.dart != nil {
		e.F64s(d.weights)
	}
	if d.phase == opRenew {
		canon.Put(e, d.search)
	}
	if d.phase == opGrow || d.phase == opRenew && !d.search.Labels {
		e.Int(d.round.First)
		for _, t := range d.growers {
			t.encode(e)
		}
		encodeSplits(e, d.splits)
		encodeTakes(e, d.takes)
	}
	if d.phase == opMeans {
		d.seen.Encode(e)
	}
	e.Int(d.before)
	e.Bool(d.measure)
	if d.g != nil {
		d.g.encodeRest(e)
	}
	if e.Bool(d.from != nil); d.from != nil {
		d.from.Encode(e)
	}
	if d.p.rank != nil {
		e.F64(d.precision)
		e.F64(d.bestPrecision)
	}
	return nil
}

// UnmarshalBinary implements family.Driver.
func (d *driver) UnmarshalBinary(state []byte) error {
	r := canon.Read(state)
	d.phase, d.fresh, d.step = r.U8(), true, nil
	if r.Bool() {
		d.g = decodeGround(r)
	}
	d.base, d.spread, d.bound, d.total, d.residual = r.F64s(), r.F64(), r.F64(), r.I64(), r.F64()
	d.trees = decodeTrees(r)
	d.state = family.DecodeState(r)
	d.best, d.bestAt, d.bestLoss, d.finished, d.drop = r.F64(), r.Int(), r.F64(), r.Bool(), r.Bool()
	if d.p.dart != nil {
		if d.weights = r.F64s(); len(d.weights)*d.p.outputs != len(d.trees) {
			r.Fail()
		}
	}
	if d.phase == opRenew {
		d.search = canon.Get[search](r)
	}
	before := d.phase == opSketch || d.phase == opMeans || d.phase == opSketchAll // there are no bins yet
	ok := r.OK() && d.phase <= opSketchAll && (before || d.g != nil && len(d.g.cols) == d.p.dense+len(d.p.codeSlots)) &&
		(before || d.phase == opBin || len(d.base) == d.p.outputs)
	for i := range d.trees {
		ok = ok && d.trees[i].uses(d.g.bins)
	}
	if !ok {
		r.Fail()
		return r.Done("the state of a training of trees")
	}
	if before || d.phase == opBin {
		d.fresh = false // workers without state need none for the sketch
	}
	if d.phase == opMeans {
		d.seen = decodeSketch(r)
		if d.seen.dense != d.p.dense || len(d.seen.counts) != sum1(d.p.codeSlots) || len(d.seen.gaps) != len(d.p.codeSlots) {
			r.Fail()
		}
	}
	if d.phase == opGrow || d.phase == opRenew && !d.search.Labels {
		if first := r.Int(); first != len(d.trees) {
			r.Fail()
		}
		d.finished = false
		d.begin()
		for _, t := range d.growers {
			if !t.decode(r) {
				r.Fail()
			}
		}
		d.splits = decodeSplits(r)
		d.builds, d.takes = nil, decodeTakes(r)
		for _, t := range d.takes {
			if t.Tree < 0 || int(t.Tree) >= len(d.growers) || t.Node < 0 || int(t.Node) >= len(d.growers[t.Tree].nodes) || d.growers[t.Tree].nodes[t.Node].best == nil {
				r.Fail()
				break
			}
		}
		for _, s := range d.splits {
			if s.Tree < 0 || int(s.Tree) >= len(d.growers) || s.Node < 0 || s.Left <= s.Node || int(s.Left)+1 >= len(d.growers[s.Tree].nodes) {
				r.Fail()
				break
			}
			t := d.growers[s.Tree]
			for i := s.Left; i <= s.Left+1; i++ {
				if t.nodes[i].wanted {
					d.builds = append(d.builds, t.build(i))
				}
			}
		}
	}
	if d.before, d.measure, d.from = 0, false, nil; r.OK() && r.Left() > 0 { // older states end here
		if d.before, d.measure = r.Int(), r.Bool(); d.g != nil {
			d.g.decodeRest(r)
		}
	}
	if r.OK() && r.Left() > 0 && r.Bool() {
		var err error
		if d.from, err = decodeModel(d.p.fitted, false, r); err != nil {
			return err
		}
	}
	if d.p.rank != nil {
		d.precision, d.bestPrecision = r.F64(), r.F64()
	}
	if d.phase == opRenew && (!r.OK() || !d.search.resume(d)) {
		r.Fail()
	}
	return r.Done("the state of a training of trees")
}

func (t *grower) encode(e *canon.E) {
	e.U32(uint32(len(t.nodes)))
	for i := range t.nodes {
		n := &t.nodes[i]
		e.U64(n.seed)
		e.Int(n.depth)
		e.I64(n.rows)
		e.I64s(n.sum)
		e.F64(n.lo)
		e.F64(n.hi)
		e.F64(n.more)
		e.U32(uint32(n.left))
		e.Bool(n.wanted)
		e.Bool(n.cols != nil)
		e.U32(uint32(len(n.cols)))
		for _, c := range n.cols {
			e.U32(uint32(c))
		}
		e.Bool(n.best != nil)
		if c := n.best; c != nil {
			e.Int(c.col)
			e.Int(c.thr)
			c.set.encode(e)
			e.F64(c.gain)
			e.F64(c.more)
			e.I64s(c.left)
			e.I64s(c.right)
		}
	}
	encodeSplits(e, t.done)
}

func (t *grower) decode(d *canon.D) bool {
	t.nodes = nil
	per := 2
	if t.p.votes() {
		per = t.p.channels
	}
	ok := true
	for range d.Count(50) {
		n := growNode{seed: d.U64(), depth: d.Int(), rows: d.I64(), sum: d.I64s(), lo: d.F64(), hi: d.F64(), more: d.F64(), left: int32(d.U32()), wanted: d.Bool()}
		some := d.Bool()
		count := d.Count(4)
		if some {
			n.cols = make([]int, count)
		}
		for i := range count {
			c := int(d.U32())
			ok = ok && some && c < len(t.g.cols)
			if ok {
				n.cols[i] = c
			}
		}
		if d.Bool() {
			n.best = &choice{col: d.Int(), thr: d.Int(), set: decodeSet(d), gain: d.F64(), more: d.F64(), left: d.I64s(), right: d.I64s()}
			ok = ok && n.best.col >= 0 && n.best.col < len(t.g.cols) && len(n.best.left) == per && len(n.best.right) == per
		}
		ok = ok && len(n.sum) == per && n.left >= 0
		t.nodes = append(t.nodes, n)
	}
	for i := range t.nodes {
		l := int(t.nodes[i].left)
		ok = ok && (l == 0 || l > i && l+1 < len(t.nodes) && t.nodes[i].best != nil)
	}
	for i := range t.nodes { // children come after their parents
		n := &t.nodes[i]
		if i == 0 {
			n.path = math.MaxUint64
		}
		if ok && n.left > 0 {
			t.nodes[n.left].path, t.nodes[n.left+1].path = t.below(n), t.below(n)
		}
	}
	t.done = decodeSplits(d)
	if len(t.nodes) > 0 {
		t.mean()
	}
	return ok && d.OK() && len(t.nodes) > 0
}

func encodeTakes(e *canon.E, list []take) {
	e.U32(uint32(len(list)))
	for _, t := range list {
		e.U32(uint32(t.Tree))
		e.U32(uint32(t.Node))
		e.I64(t.Rows)
	}
}

func decodeTakes(d *canon.D) (list []take) {
	for range d.Count(16) {
		list = append(list, take{int32(d.U32()), int32(d.U32()), d.I64()})
	}
	return list
}

func encodeSplits(e *canon.E, list []split) {
	e.U32(uint32(len(list)))
	for _, s := range list {
		e.U32(uint32(s.Tree))
		e.U32(uint32(s.Node))
		e.U32(uint32(s.Left))
		e.U32(uint32(s.Col))
		s.Set.encode(e)
	}
}

func decodeSplits(d *canon.D) (list []split) {
	for range d.Count(48) {
		list = append(list, split{int32(d.U32()), int32(d.U32()), int32(d.U32()), int32(d.U32()), decodeSet(d)})
	}
	return list
}
