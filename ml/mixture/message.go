package mixture

import (
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/gram"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps, after those of package kmeans.
const (
	opBounds  uint8 = iota + 64 // least and greatest values
	opStart                     // sums of the rows nearest to each centroid
	opExpect                    // sums of rows by responsibility, and the likelihood
	opMeasure                   // the likelihood
	numOps
)

// body is the body of all steps but opBounds.
type body struct {
	gram.Columns
	Centers []float64 // opStart
	Model   *components
}

// Encode implements family.Message.
func (b *body) Encode(e *canon.E) {
	b.Columns.Encode(e)
	e.F64s(b.Centers)
	e.Bool(b.Model != nil)
	if b.Model != nil {
		b.Model.Encode(e)
	}
}

// count is the number of components of a step.
func (b *body) count() int {
	if b.Model != nil {
		return b.Model.k
	}
	return len(b.Centers) / max(len(b.Shift), 1)
}

func decodeBody(op uint8, d *canon.D) *body {
	b := &body{Columns: gram.DecodeColumns(d), Centers: d.F64s()}
	if d.Bool() {
		b.Model = decodeComponents(d)
	}
	if op <= opBounds || op >= numOps || (b.Model == nil) != (op == opStart) || op == opStart && (len(b.Shift) == 0 || len(b.Centers)%len(b.Shift) != 0) ||
		b.Model != nil && d.OK() && b.Model.n != len(b.Shift) {
		d.Fail()
	}
	return b
}

// partial is the partial of all steps.
type partial struct {
	Bounds *gram.Bounds // opBounds
	// Sums are, of full covariances, by component the products of the coordinates and of ½ with each other, in
	// shares of the rows. Of others they are one list: products with half the components' shares, of the
	// coordinates, of ½, and of diagonal and spherical ones of the squares of coordinates.
	Sums     []gram.Sums
	Products gram.Sums     // opStart, tied: of the coordinates and of ½ with each other
	Loss     [2]exact.Wide // log-likelihood, of rows to train on and held out, in lossUnit
	Weight   [2]exact.Wide // of those rows
}

// lossUnit is the unit of log-likelihoods and weights.
const lossUnit = 0x1p-30

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) {
	e.Bool(p.Bounds != nil)
	if p.Bounds != nil {
		p.Bounds.Encode(e)
	}
	e.U32(uint32(len(p.Sums)))
	for i := range p.Sums {
		p.Sums[i].Encode(e)
	}
	p.Products.Encode(e)
	for _, w := range []exact.Wide{p.Loss[0], p.Loss[1], p.Weight[0], p.Weight[1]} {
		e.I64(w.Hi)
		e.U64(w.Lo)
	}
}

func decodePartial(op uint8, d *canon.D) *partial {
	p := &partial{}
	if d.Bool() {
		p.Bounds = gram.DecodeBounds(d)
	}
	for range d.Count(2) {
		p.Sums = append(p.Sums, gram.DecodeSums(d))
	}
	p.Products = gram.DecodeSums(d)
	for _, w := range []*exact.Wide{&p.Loss[0], &p.Loss[1], &p.Weight[0], &p.Weight[1]} {
		*w = exact.Wide{Hi: d.I64(), Lo: d.U64()}
	}
	if op < opBounds || op >= numOps || (p.Bounds != nil) != (op == opBounds) {
		d.Fail()
	}
	return p
}

// merge adds another partial of the step.
func (p *partial) merge(o *partial) error {
	if o.Bounds != nil {
		p.Bounds.Merge(o.Bounds)
	}
	if len(p.Sums) != len(o.Sums) {
		return pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
	}
	for i := range o.Sums {
		if len(o.Sums[i].Low) > 0 {
			p.Sums[i].Merge(o.Sums[i])
		}
	}
	if len(o.Products.Low) > 0 {
		p.Products.Merge(o.Products)
	}
	for i := range p.Loss {
		p.Loss[i].Plus(o.Loss[i])
		p.Weight[i].Plus(o.Weight[i])
	}
	return nil
}

// DecodeStep implements family.Family.
func (mixture) DecodeStep(op uint8, d *canon.D) family.Message {
	if op < opBounds {
		return clusters.DecodeStep(op, d)
	}
	return decodeBody(op, d)
}

// DecodePartial implements family.Family.
func (mixture) DecodePartial(op uint8, d *canon.D) family.Message {
	if op < opBounds {
		return clusters.DecodePartial(op, d)
	}
	return decodePartial(op, d)
}

// Merge implements family.Family.
func (mixture) Merge(op uint8, left, right family.Message) (family.Message, error) {
	if op < opBounds {
		return clusters.Merge(op, left, right)
	}
	l, r := left.(*partial), right.(*partial)
	if err := l.merge(r); err != nil {
		return nil, err
	}
	return l, nil
}
