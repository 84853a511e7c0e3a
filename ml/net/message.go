package net

import (
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f32"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// The steps.
const (
	opMoments uint8 = iota + 1 // the target's mean and deviation; no body
	opLearn                    // the loss and its gradient
	opLoss                     // the loss alone
	numOps                     // the training is done
)

// units standardise a numeric target: the net predicts (y - mean) / dev.
type units struct{ mean, dev float64 }

// request is the body of opLearn and opLoss.
type request struct {
	params []float32
	units  units
	// key of dropout's hashes in this step.
	key     uint64
	measure bool // the reconstruction errors of an autoencoder are summed too
}

// Encode implements family.Message.
func (r *request) Encode(e *canon.E) {
	e.LentF32s(r.params)
	e.F64(r.units.mean)
	e.F64(r.units.dev)
	e.U64(r.key)
	e.Bool(r.measure)
}

// DecodeStep implements family.Family.
func (f *nets) DecodeStep(op uint8, d *canon.D) family.Message {
	if op != opLearn && op != opLoss {
		d.Fail()
	}
	return &request{d.LentF32s(), units{d.F64(), d.F64()}, d.U64(), d.Bool()}
}

// partial is a partial of opLearn and opLoss: sums over rows, by weight.
type partial struct {
	sums
	grad []float32
	// pool receives the gradient's memory when it has been added to another.
	pool *sync.Pool
}

// Encode implements family.Message.
func (p *partial) Encode(e *canon.E) {
	p.sums.encode(e)
	e.SparseF32s(p.grad) // sparse: of embeddings only the rows' categories have a gradient
}

func (s *sums) encode(e *canon.E) {
	for _, v := range []float64{s.weight, s.loss, s.squares, s.absolute} {
		e.F64(v)
	}
}

func decodeSums(d *canon.D) sums { return sums{d.F64(), d.F64(), d.F64(), d.F64()} }

// free returns the gradient's memory for reuse.
func (p *partial) free() {
	if p.pool != nil && p.grad != nil {
		p.pool.Put(&p.grad)
	}
}

// moments is a partial of opMoments: the weight of rows, the target's mean, and
// the sum of squares around it.
type moments struct{ Weight, Mean, Squares float64 }

// Encode implements family.Message.
func (m *moments) Encode(e *canon.E) { canon.Put(e, m) }

// add adds those of other rows (Chan, Golub and LeVeque 1983).
func (m *moments) add(o moments) {
	if !(o.Weight > 0) {
		return
	}
	w := m.Weight + o.Weight
	d := o.Mean - m.Mean
	m.Mean += float64(d * (o.Weight / w))
	m.Squares += o.Squares + float64(float64(d*d)*(m.Weight*(o.Weight/w)))
	m.Weight = w
}

// DecodePartial implements family.Family.
func (f *nets) DecodePartial(op uint8, d *canon.D) family.Message {
	switch op {
	case opMoments:
		return canon.Get[moments](d)
	case opLearn, opLoss:
		return &partial{sums: decodeSums(d), grad: d.SparseF32s()}
	}
	d.Fail()
	return &partial{}
}

// Merge implements family.Family.
func (f *nets) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	switch a := left.(type) {
	case *moments:
		if b, ok := right.(*moments); ok {
			a.add(*b)
			return a, nil
		}
	case *partial:
		if b, ok := right.(*partial); ok && len(a.grad) == len(b.grad) {
			a.add(b.sums)
			f32.Add(a.grad, b.grad)
			b.free()
			return a, nil
		}
	}
	return nil, pgerr.New(pgerr.DataCorrupted, "partials of different kinds cannot be merged")
}

// Slice implements family.Sliced.
func (p *partial) Slice(from, to int) family.Message {
	s := &partial{}
	if from == 0 {
		*s = *p
		s.pool = nil // the others need the gradient
	}
	s.grad = family.Cut(p.grad, from, to)
	return s
}

// Join implements family.Sliced.
func (p *partial) Join(list []family.Message) (family.Message, error) {
	grad, err := family.Join(list, func(s *partial) []float32 { return s.grad })
	out := *p
	out.grad = grad
	return &out, err
}
