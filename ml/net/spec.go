package net

import (
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// maxParams bounds the parameters of a net, so that lengths in encodings fit 32
// bits.
const maxParams = 1 << 30

// spec is the architecture of a net, apart from the shape of the rows. It is
// part of the model.
type spec struct {
	hidden     []int
	activation string
	layerNorm  bool
	embedding  int        // 0: by the number of categories
	windows    *recurrent // of sequences, which have no hidden layers
	loss       string
	delta      float64 // of huber
	// For training only; not part of the model.
	dropout float64
	he      bool // He's initialisation of the hidden layers, not Glorot's
}

// specOf reads the options.
func (f *nets) specOf(o *family.Values, p *family.Plan) *spec {
	def := []float64{64, 32}
	if f.self {
		def = []float64{32, 8, 32}
	}
	if f.windows {
		def = nil
	}
	s := &spec{windows: f.recurrentOf(o, p), activation: o.Text("activation", relu), layerNorm: o.Bool("layer_norm", false), embedding: o.Int("embedding", 0),
		loss: lossOf(o, p), delta: o.Float("huber_delta", 1), dropout: o.Float("dropout", 0), he: o.Text("initializer", "") == "he"}
	for _, n := range o.Floats("hidden_units", def) {
		s.hidden = append(s.hidden, int(n))
	}
	return s
}

// lossFn is the loss.
func (s *spec) lossFn() loss {
	switch s.loss {
	case lossMAE:
		return pointwise(absoluteError)
	case lossHuber:
		return huber(s.delta)
	case lossCross:
		return softmax{}
	}
	return pointwise(squaredError)
}

// outputs returns how many numbers a net computes for a row.
func (f *nets) outputs(fit *feature.Fitted) int {
	switch k := len(fit.Keys); {
	case f.self:
		return fit.Params()
	case k > 2:
		return k
	}
	return 1
}

// build makes the net for rows of a shape. It allocates nothing in proportion
// to sizes in the spec, which may come from a damaged file.
func (s *spec) build(fit *feature.Fitted, outputs int) *net {
	in := shape{1, fit.Dense}
	if s.windows != nil {
		in.steps = s.windows.steps
	}
	var layers []layer
	at := in
	if fit.Codes > 0 {
		e := &embedding{in: in, sizes: fit.CodeSlots()}
		for _, n := range e.sizes {
			if w := s.embedding; w > 0 {
				e.wide = append(e.wide, w)
			} else {
				e.wide = append(e.wide, max(1, embeddingWidth(n)))
			}
		}
		layers, at = append(layers, e), e.out()
	}
	add := func(l layer) { layers, at = append(layers, l), l.out() }
	for i, n := range s.hidden {
		add(&dense{in: at, width: n, he: s.he, first: len(layers) == 0})
		if s.layerNorm {
			add(&layerNorm{at})
		}
		if s.activation != linear {
			add(&activation{at, s.activation})
		}
		if s.dropout > 0 {
			add(&dropout{in: at, rate: s.dropout, id: uint64(i)})
		}
	}
	if s.windows != nil {
		s.windows.build(at, len(layers) == 0, s.dropout, add)
	}
	add(&dense{in: at, width: outputs, first: len(layers) == 0})
	return newNet(in, fit.Codes, s.lossFn(), layers...)
}

// net makes the net of a training.
func (f *nets) net(s *family.Setup) (*net, *spec, error) {
	sp := f.specOf(s.Options, s.Plan)
	n := sp.build(s.Fitted, f.outputs(s.Fitted))
	if n.scratch(1) > sampleNumbers {
		return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "windows of %d rows are too long for these units", n.in.steps).At(s.Options.Pos("window")).
			WithHint("Lower window, or units.")
	}
	if n.params() > maxParams {
		return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "a net of %d parameters is too large: the most are %d", n.params(), maxParams).At(s.Options.Pos("hidden_units")).
			WithHint("Lower hidden_units, or the number of features.")
	}
	return n, sp, nil
}

// encode writes what a predictor needs.
func (s *spec) encode(e *canon.E) {
	e.U32(uint32(len(s.hidden)))
	for _, n := range s.hidden {
		e.U32(uint32(n))
	}
	e.Str(s.activation)
	e.Bool(s.layerNorm)
	e.U32(uint32(s.embedding))
	e.Str(s.loss)
	e.F64(s.delta)
	if s.windows != nil {
		s.windows.encode(e)
	}
}

// decodeSpec reads what encode wrote.
func (f *nets) decodeSpec(d *canon.D) *spec {
	s := decodeSpec(d)
	if f.windows {
		s.windows = decodeRecurrent(d, f.self)
	}
	return s
}

func decodeSpec(d *canon.D) *spec {
	s := &spec{}
	n := d.Count(4)
	if n > maxLayers {
		d.Fail()
		return s
	}
	for range n {
		units := int(d.U32())
		if units < 1 || units > maxUnits {
			d.Fail()
		}
		s.hidden = append(s.hidden, units)
	}
	s.activation, s.layerNorm, s.embedding, s.loss, s.delta = d.Str(), d.Bool(), int(d.U32()), d.Str(), d.F64()
	switch s.activation {
	case relu, gelu, tanh, sigmoid, linear:
	default:
		d.Fail()
	}
	switch s.loss {
	case lossMSE, lossMAE, lossHuber, lossCross:
	default:
		d.Fail()
	}
	if s.embedding > 1024 || !(s.delta > 0) {
		d.Fail()
	}
	return s
}
