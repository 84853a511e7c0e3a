package linear

import (
	"math"
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opBounds   uint8 = iota + 1 // least and greatest values, weights and targets
	opGram                      // products of the columns and the target
	opEvaluate                  // sums of losses and derivatives at θ
	opRows                      // the rows themselves, of which there are few
	numOps
)

// errorsNeed asks an evaluation for what standard errors need besides the Hessian.
const errorsNeed optim.Need = 1 << 7

// request is what a step sends down.
type request struct {
	// opEvaluate
	Need  optim.Need
	Theta []float64
	Along []float64 // the vector of the Hessian-vector product
	Width float64   // of the loss's smoothing
	Bound []float64 // of the dense columns' sizes, powers of two
	most            // the bounds that sums are scaled for

	// opGram, and opEvaluate with a Hessian
	Columns       gram.Columns
	Shift, Factor float64 // for the target, which is scaled to (y-Shift)·Factor
}

// most has the greatest absolute values of rows' derivatives, losses and second
// derivatives, and of these times a product's vector.
type most struct{ Resid, Loss, Curv, Bend float64 }

// Encode implements family.Message.
func (r *request) Encode(e *canon.E) {
	e.U8(uint8(r.Need))
	e.LentF64s(r.Theta)
	e.LentF64s(r.Along)
	e.F64(r.Width)
	e.F64s(r.Bound)
	r.most.encode(e)
	r.Columns.Encode(e)
	e.F64(r.Shift)
	e.F64(r.Factor)
}

func (m *most) encode(e *canon.E) {
	e.F64(m.Resid)
	e.F64(m.Loss)
	e.F64(m.Curv)
	e.F64(m.Bend)
}

func decodeMost(d *canon.D) most { return most{d.F64(), d.F64(), d.F64(), d.F64()} }

// raise sets m to the greater of both, field by field.
func (m *most) raise(o most) {
	m.Resid, m.Loss, m.Curv, m.Bend = math.Max(m.Resid, o.Resid), math.Max(m.Loss, o.Loss), math.Max(m.Curv, o.Curv), math.Max(m.Bend, o.Bend)
}

// DecodeStep implements family.Family.
func (g *glm) DecodeStep(op uint8, d *canon.D) family.Message {
	r := &request{Need: optim.Need(d.U8()), Theta: d.LentF64s(), Along: d.LentF64s(), Width: d.F64(), Bound: d.F64s(), most: decodeMost(d), Columns: gram.DecodeColumns(d),
		Shift: d.F64(), Factor: d.F64()}
	if op != opGram && op != opEvaluate && op != opRows {
		d.Fail()
	}
	return r
}

// partial is what a step sends up.
type partial struct {
	*bounds            // opBounds
	most               // opEvaluate: the maxima found
	Sums    gram.Sums  // opEvaluate: the gradient and then the loss
	Hess    gram.Sums  // opGram, opEvaluate: products, the upper triangle
	Units   int64      // rows of weight 1
	Weight  exact.Sum  // of the others, where it was asked for
	Pearson *exact.Sum // derivatives' squares over second derivatives
	Rows    []float64  // opRows
	// spent is the pool of the sums' memory; nil where they were decoded, or are shared.
	spent *sync.Pool
	came  bool // decoded, or joined from slices
}

// Free implements family.Reused.
func (p *partial) Free() {
	switch {
	case p.spent != nil:
		v := p.Sums.Low
		p.spent.Put(&v)
	case p.came:
		p.Sums.Free()
	default:
		return
	}
	p.Sums, p.spent, p.came = gram.Sums{}, nil, false
}

// bounds are gram.Bounds with those of the target.
type bounds struct {
	*gram.Bounds
	YLow, YHigh float64
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) {
	e.Bool(p.bounds != nil)
	if p.bounds != nil {
		p.Bounds.Encode(e)
		e.F64(p.YLow)
		e.F64(p.YHigh)
		return
	}
	p.most.encode(e)
	p.Sums.Encode(e)
	p.Hess.Encode(e)
	e.I64(p.Units)
	e.B = p.Weight.Append(e.B)
	e.Bool(p.Pearson != nil)
	if p.Pearson != nil {
		e.B = p.Pearson.Append(e.B)
	}
	if p.Rows != nil {
		e.F64s(p.Rows)
	}
}

// DecodePartial implements family.Family.
func (g *glm) DecodePartial(op uint8, d *canon.D) family.Message {
	p := &partial{came: true}
	if has := d.Bool(); op == 0 || op >= numOps || has != (op == opBounds) {
		d.Fail()
	}
	if op == opBounds {
		p.bounds = &bounds{gram.DecodeBounds(d), d.F64(), d.F64()}
		return p
	}
	p.most, p.Sums, p.Hess, p.Units = decodeMost(d), gram.DecodeSums(d), gram.DecodeSums(d), d.I64()
	if b := d.Take(exact.Bytes); b != nil {
		p.Weight.Decode(b)
	}
	if d.Bool() {
		p.Pearson = &exact.Sum{}
		if b := d.Take(exact.Bytes); b != nil {
			p.Pearson.Decode(b)
		}
	}
	if op == opRows && d.Left() > 0 {
		if p.Rows = d.F64s(); len(p.Rows) > mostValues {
			d.Fail()
		}
	}
	return p
}

// Merge implements family.Family.
func (g *glm) Merge(op uint8, left, right family.Message) (family.Message, error) {
	l, ok := left.(*partial)
	r, ok2 := right.(*partial)
	if !ok || !ok2 || (l.bounds == nil) != (r.bounds == nil) || len(l.Sums.Low) != len(r.Sums.Low) || len(l.Hess.Low) != len(r.Hess.Low) ||
		(l.Pearson == nil) != (r.Pearson == nil) {
		return nil, pgerr.New(pgerr.DataCorrupted, "partials of a linear model do not belong together")
	}
	if l.bounds != nil {
		l.Bounds.Merge(r.Bounds)
		l.YLow, l.YHigh = min(l.YLow, r.YLow), max(l.YHigh, r.YHigh)
		return l, nil
	}
	l.Rows = append(l.Rows, r.Rows...)
	l.most.raise(r.most)
	l.Sums.Merge(r.Sums)
	r.Free()
	l.Hess.Merge(r.Hess)
	l.Units += r.Units
	l.Weight.Merge(&r.Weight)
	if l.Pearson != nil {
		l.Pearson.Merge(r.Pearson)
	}
	return l, nil
}

// weight returns the total weight of the rows of an evaluation.
func (p *partial) weight() float64 { return float64(p.Units) + p.Weight.Value() }

// gradient scales integer sums to the weighted sums of derivatives, or of the Hessian's
// product, and of losses. room is memory for the former, nil to allocate it.
func (p *problem) gradient(r *request, s *gram.Sums, room []float64) (grad []float64, loss float64) {
	n := p.size()
	if grad = room; len(grad) != n {
		grad = make([]float64, n)
	}
	scale := gram.Half(r.Resid)
	if r.Need&optim.Product != 0 {
		scale = gram.Half(r.Bend)
	}
	s.Values(grad, 0, scale)
	for k := range p.slopes {
		for j, v := range r.Bound {
			grad[k*p.per+j] = float64(grad[k*p.per+j] * float64(2*v))
		}
	}
	for i := p.slopes * p.per; i < n; i++ { // a scale's derivative was in a unit of residuals
		grad[i] = float64(grad[i] * r.Width)
	}
	return grad, s.At(n, gram.Half(r.Loss))
}

// matrix scales products to a square, upper triangle, of the columns and the
// intercept; factors are those of the columns and of what comes after them.
func matrix(s *gram.Sums, factors []float64, unit float64) []float64 {
	n := len(factors)
	out := make([]float64, n*n)
	at := 0
	for i := range n {
		for j := i; j < n; j++ {
			out[i*n+j] = s.At(at, float64(factors[i]*factors[j])) / unit
			at++
		}
	}
	return out
}

// Slice implements family.Sliced. The vector is Sums and then Hess.
func (p *partial) Slice(from, to int) family.Message {
	s := &partial{}
	if from == 0 {
		*s = *p
		s.spent, s.came = nil, false // the others need the sums
	}
	n := len(p.Sums.Low)
	s.Sums, s.Hess = p.Sums.Slice(from, to), p.Hess.Slice(from-n, to-n)
	return s
}

// Join implements family.Sliced.
func (p *partial) Join(list []family.Message) (family.Message, error) {
	out := *p
	for _, v := range []struct {
		to *gram.Sums
		of func(*partial) gram.Sums
	}{
		{&out.Sums, func(p *partial) gram.Sums { return p.Sums }}, {&out.Hess, func(p *partial) gram.Sums { return p.Hess }},
	} {
		sums, err := family.Join(list, func(p *partial) []gram.Sums { return []gram.Sums{v.of(p)} })
		if err != nil {
			return nil, err
		}
		*v.to = gram.Join(sums)
	}
	out.spent, out.came = nil, true
	for _, m := range list {
		if s, ok := m.(*partial); ok {
			s.Free()
		}
	}
	return &out, nil
}

// elements is the length of the vector in a step's partials.
func (p *problem) elements(op uint8, r *request) int {
	square := (p.per + 1) * (p.per + 2) / 2
	switch {
	case op == opGram:
		return square
	case r.Need&optim.Hessian != 0:
		return p.size() + 1 + square
	}
	return p.size() + 1
}
