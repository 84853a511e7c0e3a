package net

import (
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/types"
)

// The families of windows: consecutive rows of one partition, in its order.

const maxCells = 4096 // of a layer

func unitsOption(def, doc string) []*family.Option {
	read := family.Integers(1, maxCells)
	own := []*family.Option{{Names: []string{"units", "lstm_units", "hidden_units"}, Type: "integers", Default: def, Doc: doc, Read: func(v family.Value) (any, error) {
		if a, ok := v.Value.(types.Array); ok && (len(a.Elems) == 0 || len(a.Elems) > maxLayers) {
			return nil, v.Bad("a list of 1 to 64 integers")
		}
		return read(v)
	}}}
	return append(own, family.WindowOptions()...)
}

func sequencesOption(doc string) *family.Option {
	return &family.Option{Names: []string{"return_sequences"}, Type: "boolean", Default: "false", Doc: doc, Read: family.Boolean}
}

// ofRows are the options that recurrent layers do not have.
var ofRows = []string{"activation", "initializer", "layer_norm"}

var lstmFamily = &nets{
	info: family.Info{Name: "lstm", Classifiers: []string{"lstm_classifier"}, Regressors: []string{"lstm_regressor"},
		Doc: "Layers of long short-term memory over windows of rows; the target is that of a window's last row. A float or numeric target is a regression, any other a classification."},
	own:     append(unitsOption("`[64]`", "The units of each layer."), sequencesOption("Learn the targets of all rows of a window. Predictions are still those of the last row.")),
	windows: true,
}

var lstmAutoencoder = &nets{
	info: family.Info{Name: "lstm_autoencoder", Task: family.Sequence,
		Doc: "Layers of long short-term memory that learn to reproduce a window of rows: from the state after its last row, which is repeated, through mirrored layers. Windows that it reproduces badly are unlike those from which it has learnt."},
	own:     append(unitsOption("`[64, 32]`", "The units of each layer of the encoder; the decoder has them in reverse order."), sequencesOption("No narrow middle layer: there are only the layers of `units`, and each passes every step to the next.")),
	self:    true,
	windows: true,
}

// recurrent is the architecture of layers over windows.
type recurrent struct {
	steps     int
	units     []int
	sequences bool // the output has every step
	self      bool // an autoencoder: the target is the window
}

// recurrentOf reads the options; nil where samples are rows.
func (f *nets) recurrentOf(o *family.Values, p *family.Plan) *recurrent {
	if !f.windows {
		return nil
	}
	r := &recurrent{steps: p.Windows.Length, sequences: o.Bool("return_sequences", false), self: f.self}
	def := []float64{64}
	if f.self {
		def = []float64{64, 32}
	}
	for _, n := range o.Floats("units", def) {
		r.units = append(r.units, int(n))
	}
	return r
}

// grainOf returns the least number of windows of a unit of work. Few, so that a mini-batch
// is divided evenly among threads; but not too few, because each unit has a gradient of
// all parameters to clear and to merge, and weights larger than the second-level cache
// must be used for many samples each time they are read.
func grainOf(r *recurrent) int {
	if r.steps >= fewSteps && slices.Max(r.units) <= nearUnits {
		return microRows / 4
	}
	return microRows
}

const (
	fewSteps  = 16
	nearUnits = 160
)

// build adds the layers; the first one's input gradient is not needed.
func (r *recurrent) build(in shape, first bool, rate float64, add func(layer)) {
	n := uint64(0)
	lstms := func(units int, sequences bool) {
		l := &lstm{in: in, units: units, sequences: sequences, first: first && n == 0}
		add(l)
		if in = l.out(); rate > 0 {
			add(&dropout{in: in, rate: rate, id: n})
		}
		n++
	}
	middle := r.self && !r.sequences
	for i, u := range r.units {
		lstms(u, i < len(r.units)-1 || r.sequences)
	}
	if !middle {
		return
	}
	again := &repeat{in: in, steps: r.steps}
	add(again)
	in = again.out()
	for i := len(r.units) - 1; i >= 0; i-- {
		lstms(r.units[i], true)
	}
}

func (r *recurrent) encode(e *canon.E) {
	e.U32(uint32(r.steps))
	e.U32(uint32(len(r.units)))
	for _, n := range r.units {
		e.U32(uint32(n))
	}
	e.Bool(r.sequences)
}

// decodeRecurrent reads what encode wrote.
func decodeRecurrent(d *canon.D, self bool) *recurrent {
	r := &recurrent{steps: int(d.U32()), self: self}
	n := d.Count(4)
	if r.steps < 1 || r.steps > 1e6 || n < 1 || n > maxLayers {
		d.Fail()
		return r
	}
	for range n {
		units := int(d.U32())
		if units < 1 || units > maxCells {
			d.Fail()
		}
		r.units = append(r.units, units)
	}
	r.sequences = d.Bool()
	return r
}

// loadWindows fills in with n windows of a block, and zeros of no categories behind them.
func (f *feed) loadWindows(b *block.Block, from, n int, in *tensor) {
	width, steps := b.Dense, in.steps
	if in.n > n {
		clear(in.v)
		for i := n * steps * b.Codes; i < in.n*steps*b.Codes; i++ {
			f.codes[i] = -1
		}
	}
	for k := range n * steps {
		i, s := k/steps, k%steps
		r := int(b.Windows[from+i]) + s
		tile, l := r&^(f64.Lanes-1), r&(f64.Lanes-1)
		to := in.step(s) // empty where all columns are categories
		if b.X32 != nil {
			for j, x := 0, b.X32[tile*width:]; j < width; j++ {
				to[j*in.n+i] = x[j*f64.Lanes+l]
			}
		} else {
			for j, x := 0, b.X64[tile*width:]; j < width; j++ {
				to[j*in.n+i] = float32(x[j*f64.Lanes+l])
			}
		}
		for j := range b.Codes {
			f.codes[k*b.Codes+j] = b.Code[tile*b.Codes+j*f64.Lanes+l]
		}
	}
	f.tape.codes = f.codes[:in.n*steps*b.Codes]
}

// Length implements family.Sequencer.
func (p *predictor) Length() int { return p.net.in.steps }
