package net

import (
	"sync"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
)

// predictor is a trained net.
type predictor struct {
	f      *nets
	fit    *feature.Fitted
	spec   *spec
	net    *net
	units  units
	params []float32
	slots  []feature.Slot // of an autoencoder's output
	feeds  sync.Pool
}

func newPredictor(f *nets, fit *feature.Fitted, sp *spec, n *net, u units, params []float32) *predictor {
	p := &predictor{f: f, fit: fit, spec: sp, net: n, units: u, params: params}
	if f.self {
		p.slots = fit.Slots()
	}
	p.feeds.New = func() any {
		d := newFeed(n, f.self)
		d.begin()
		d.tape.once = true
		return d
	}
	return p
}

// Encode implements family.Predictor.
func (p *predictor) Encode(e *canon.E) {
	p.spec.encode(e)
	e.F64(p.units.mean)
	e.F64(p.units.dev)
	e.F32s(p.params)
}

// Decode implements family.Family.
func (f *nets) Decode(fit *feature.Fitted, d *canon.D) (family.Predictor, error) {
	sp := f.decodeSpec(d)
	u, params := units{d.F64(), d.F64()}, d.F32s()
	if !d.OK() {
		return nil, d.Done("a net")
	}
	n := sp.build(fit, f.outputs(fit))
	bad := n.params() != len(params) || n.scratch(1) > sampleNumbers || f.windows && len(sp.hidden) > 0 || u.mean-u.mean != 0 || !(u.dev > 0) || u.dev-u.dev != 0 || (sp.loss == lossCross) != (len(fit.Keys) > 0 && !f.self)
	for _, v := range params {
		bad = bad || v-v != 0
	}
	if bad {
		d.Fail()
		return nil, d.Done("a net")
	}
	return newPredictor(f, fit, sp, n, u, params).known(), nil
}

// known is the predictor with its optional interfaces: that of single rows with a
// numeric target or classes implements family.Explainer.
func (p *predictor) known() family.Predictor {
	if p.f.self || p.f.windows {
		return p
	}
	return &explained{p}
}

// plain is the predictor without the optional interfaces.
func (p *predictor) plain() *predictor { return p }

// Bytes implements family.Predictor.
func (p *predictor) Bytes() int64 {
	return 4*int64(len(p.params)) + 1024
}

// Scratch implements family.ScratchPredictor.
func (p *predictor) Scratch() int64 { return newFeed(p.net, p.f.self).bytes() }

// Score implements family.Predictor.
func (p *predictor) Score(b *block.Block) *family.Scores {
	s := &family.Scores{Rows: b.Units()}
	columns := func(n int) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = make([]float64, b.Units())
		}
		return out
	}
	of := p.net.out()
	width := of.width
	switch k := len(p.fit.Keys); {
	case p.f.self:
		s.Vector, s.Extra = columns(of.size()), columns(1)
	case k > 0:
		s.Probs = columns(k)
	default:
		s.Value = make([]float64, b.Units())
	}
	d := p.feeds.Get().(*feed)
	defer p.feeds.Put(d)
	probs := make([]float64, width)
	var row, want []float32 // of a sample
	for from := 0; from < b.Units(); from += p.net.micro {
		n := min(p.net.micro, b.Units()-from)
		in := d.load(b, from, n)
		out := p.net.forward(p.params, in, d.tape)
		if p.f.self {
			y := d.autoencoderTarget(b, in)
			for i := range n {
				row, want = out.sample(i, row), y.sample(i, want)
				s.Extra[0][from+i] = p.net.loss.eval(&tensor{1, of, row}, &tensor{1, of, want}, []float64{1}, nil)
				for j, v := range row {
					slot := p.slots[j%width]
					s.Vector[j][from+i] = float64(float64(v)*slot.Scale) + slot.Center
				}
			}
			continue
		}
		for i := range n {
			z, at := out.step(of.steps - 1)[i:], from+i // the last step of a window
			switch {
			case s.Value != nil:
				s.Value[at] = float64(float64(z[0])*p.units.dev) + p.units.mean
			case width == 1:
				z := float64(z[0])
				s.Probs[0][at], s.Probs[1][at] = f64.Sigmoid1(-z), f64.Sigmoid1(z)
			default:
				softmaxInto(probs, z, out.n)
				for k, v := range probs {
					s.Probs[k][at] = v
				}
			}
		}
	}
	return s
}
