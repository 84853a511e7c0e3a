package linear

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
)

const (
	// manySlots is the number of one-hot features from which blocks are sorted by slot: a
	// pass's state for fewer, 8 bytes each, fits in a second-level cache.
	manySlots = 1 << 15
	// bySlotShare bounds the memory of sorted blocks, to the training's memory divided by
	// this.
	bySlotShare = 8
)

// sorted caches the blocks of the node's leaves sorted by slot, from the second pass
// over a whole block on: sorting takes as long as a few passes.
type sorted struct {
	node *family.Node
	mu   sync.Mutex
	of   map[family.Rows]*block.BySlot // nil: read once, or there is no memory
	used int64
}

// get returns the block of these rows sorted by slot, nil where it is to be read by
// rows. It must not be called concurrently for the same rows.
func (s *sorted) get(r family.Rows, b *block.Block) (*block.BySlot, error) {
	if s == nil || !r.Whole(b) {
		return nil, nil
	}
	n := int64(b.BySlotBytes())
	s.mu.Lock()
	by, seen := s.of[r]
	sort := seen && by == nil && (s.node.Memory == 0 || s.used+n <= s.node.Memory/bySlotShare)
	if sort {
		s.used += n
	}
	s.of[r] = by
	s.mu.Unlock()
	if !sort {
		return by, nil
	}
	room, err := s.node.Space(int(n))
	if err != nil {
		return nil, err
	}
	by = b.BySlot(room)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[r] = by
	return by, nil
}

// mostSpans is for how many spans a pass collects factors before it adds all of them to
// the sums of slots, of which there are more than a cache holds.
const mostSpans = 4

// span holds the margins, and then the factors, of block.SpanRows rows read by slot,
// output by output.
type span struct {
	by   *block.BySlot
	from int // the first row
	rows int
	z    []float64
}

// spanBytes returns the memory of spans.
func (p *problem) spanBytes() int64 {
	if p.oneHot < manySlots || p.f.Sparse() {
		return 0
	}
	return mostSpans * 8 * int64(p.outputs) * block.SpanRows
}

// bySlot adds all rows of a block.
func (a *pass) bySlot(ctx context.Context, b *block.Block, by *block.BySlot) error {
	for from := 0; from < b.Padded(); from += block.SpanRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.addSpan(b, by, from, min(block.SpanRows, b.Padded()-from))
	}
	return nil
}

// addSpan adds rows as evaluate does, reading a block by its slots.
func (a *pass) addSpan(b *block.Block, by *block.BySlot, from, rows int) {
	p := a.p
	a.room(rows) // for everything that follows
	z, ok := a.spans.Get().(*[]float64)
	if !ok {
		v := make([]float64, p.outputs*block.SpanRows)
		z = &v
	}
	a.span = span{by, from, rows, *z}
	for k := range p.slopes {
		th := a.r.Theta[k*p.per:][:p.per]
		z := a.span.of(k)
		for i := range z {
			z[i] = th[p.per-1]
		}
		by.Margins(z, from/block.SpanRows, th[p.dense:p.per-1])
	}
	for at := from; at < from+rows; at += block.ChunkRows {
		a.evaluate(b, at, min(block.ChunkRows, from+rows-at))
	}
	s := a.span
	if a.span = (span{}); a.lanes == nil {
		a.spans.Put(z)
		return
	}
	if a.pending = append(a.pending, s); len(a.pending) == mostSpans {
		a.addPending()
	}
}

// addPending adds the factors of spans to the sums of slots.
func (a *pass) addPending() {
	list := make([]block.Factors, len(a.pending))
	for k := range a.p.slopes {
		if a.over {
			break
		}
		for i := range a.pending {
			s := &a.pending[i]
			list[i] = block.Factors{By: s.by, Span: s.from / block.SpanRows, R: s.of(k)}
		}
		block.AddGrad(a.slots(k), list)
	}
	for _, s := range a.pending {
		a.spans.Put(&s.z)
	}
	a.pending = a.pending[:0]
}

// room makes sure that the sums do not overflow with so many more rows; it accounts for
// pending ones.
func (a *pass) room(rows int) {
	most := int64(rows) * gram.Factor
	if len(a.pending) > 0 && !a.out.Sums.Fits(most) {
		a.addPending()
	}
	a.out.Sums.Room(most)
}

// of returns those of an output.
func (s *span) of(k int) []float64 { return s.z[k*block.SpanRows:][:s.rows] }

// margins sets z to the margins of output k for rows from at on.
func (a *pass) margins(z []float64, b *block.Block, at, k int) {
	n := a.p.per - 1
	th := a.r.Theta[k*a.p.per:][:n+1]
	if a.span.by == nil {
		b.Margins(z, at, th[:n], th[n])
		return
	}
	copy(z, a.span.of(k)[at-a.span.from:])
	b.AddDense(z, at, th[:n])
}

// gradient adds the contribution of the factors z of rows from at on to the gradient of
// output k's weights.
func (a *pass) gradient(z []float64, b *block.Block, at, k int) {
	p := a.p
	acc := a.lanes[k*p.dense*f64.Lanes:][:p.dense*f64.Lanes]
	if a.span.by == nil {
		b.AddGrad(acc, a.slots(k), at, z)
		return
	}
	b.AddDenseGrad(acc, at, z)
	copy(a.span.of(k)[at-a.span.from:], z)
}

// slots returns the sums of output k's one-hot features.
func (a *pass) slots(k int) []int64 {
	p := a.p
	return a.out.Sums.Low[k*p.per+p.dense:][:p.oneHot]
}
