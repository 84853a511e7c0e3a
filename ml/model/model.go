package model

import (
	"io"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/calibration"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Model is a trained model. It is immutable.
type Model struct {
	Algorithm string // the family's name
	Task      family.Task
	Outputs   []family.Output // as in the plan
	Windows   *Windows        // for a model of sequences
	Targets   []string        // for a model of several; nil for others
	Fitted    *feature.Fitted
	Predictor family.Predictor
	// Adjustment is what becomes of the predictor's scores; nil where they are the predictions.
	Adjustment *calibration.Adjustment
}

// score scores the rows, or the windows, of a block.
func (m *Model) score(b *block.Block) *family.Scores {
	s := m.Predictor.Score(b)
	if m.Adjustment != nil {
		s = m.Adjustment.Apply(s)
	}
	return s
}

// Windows are the sequences that a model scores: a window is Length consecutive rows of
// a partition, in the order of OrderBy, starting at every Stride-th row.
type Windows struct {
	PartitionBy, OrderBy []record.Column
	Length, Stride       int
}

// Columns returns the columns of a prediction, the value of predict() first: a
// classifier's has the target's type.
func (m *Model) Columns() []family.Output {
	if m.Targets != nil {
		return m.Outputs
	}
	return columnsOf(m.Task, m.Outputs, m.Fitted.Label)
}

// columnsOf returns the columns of predictions of a model of this task with this target.
func columnsOf(task family.Task, outputs []family.Output, target record.Column) []family.Output {
	out := append([]family.Output(nil), outputs...)
	if task == family.Classification {
		out[0].Type = target.Type
	}
	if target.Name != "" && out[0].Name == "" {
		out[0].Name = "predicted_" + target.Name
	}
	return out
}

// Part returns the model of one of several targets, the first being 0.
func (m *Model) Part(target int) *Model {
	out := *m
	out.Targets, out.Fitted, out.Task = nil, m.Fitted.ForTarget(target), family.Regression
	if out.Fitted.Keys != nil {
		out.Task = family.Classification
	}
	out.Outputs, out.Predictor = m.Outputs[target+1:target+2], m.Predictor.(family.TargetsPredictor).Part(target)
	return &out
}

// Classes returns the classes as text, in the order of probabilities; nil for a model
// that is not a classifier.
func (m *Model) Classes() []string {
	var out []string
	for _, k := range m.Fitted.Keys {
		out = append(out, feature.KeyText(m.Fitted.Label.Type, k))
	}
	return out
}

const (
	magic    = "TRIBMODL"
	version  = 2
	windowed = 3 // version 2 with windows
	several  = 4 // version 2 with the names of several targets, all numbers; no longer written
	both     = 5 // version 2 with these and then windows; no longer written
	targeted = 6 // version 2 with the targets beside the label, and windows or none
	adjusted = 7 // an adjustment, and then one of the others
)

// Encode returns the canonical encoding.
func (m *Model) Encode() []byte {
	var e canon.E
	m.encode(&e)
	return e.B
}

// Write writes the canonical encoding in chunks.
func (m *Model) Write(w io.Writer) error {
	e := canon.To(w)
	m.encode(e)
	return e.Flush()
}

func (m *Model) encode(e *canon.E) {
	e.B = append(e.B, magic...)
	if m.Adjustment != nil {
		e.U8(adjusted)
		m.Adjustment.Encode(e)
	}
	switch {
	case m.Targets != nil:
		e.U8(targeted)
		e.U32(uint32(len(m.Fitted.More)))
		for _, t := range m.Fitted.More {
			e.Str(t.Name)
			e.Type(t.Type)
			e.Strs(t.Keys)
		}
		e.Bool(m.Windows != nil)
		if m.Windows != nil {
			m.Windows.encode(e)
		}
	case m.Windows != nil:
		e.U8(windowed)
		m.Windows.encode(e)
	default:
		e.U8(version)
	}
	e.Str(m.Algorithm)
	e.Str(string(m.Task))
	e.U32(uint32(len(m.Outputs)))
	for _, o := range m.Outputs {
		e.Str(o.Name)
		e.Type(o.Type)
	}
	m.Fitted.Encode(e)
	m.Predictor.Encode(e)
}

func (w *Windows) encode(e *canon.E) {
	for _, cols := range [][]record.Column{w.PartitionBy, w.OrderBy} {
		e.U32(uint32(len(cols)))
		for _, c := range cols {
			e.Str(c.Name)
			e.Type(c.Type)
		}
	}
	e.U32(uint32(w.Length))
	e.U32(uint32(w.Stride))
}

func decodeWindows(d *canon.D) *Windows {
	w := &Windows{}
	for _, cols := range []*[]record.Column{&w.PartitionBy, &w.OrderBy} {
		for range d.Count(5) {
			*cols = append(*cols, record.Column{Name: d.Str(), Type: d.Type()})
		}
	}
	if w.Length, w.Stride = int(d.U32()), int(d.U32()); w.Length < 1 || w.Stride < 1 {
		d.Fail()
	}
	return w
}

// firsts returns the first rows of the windows of a partition of n rows, and for
// each of its rows the number of the window that it ends, or -1.
func (w *Windows) firsts(n int) (first, ends []int32) {
	first, ends = []int32{}, make([]int32, n)
	for i := range ends {
		ends[i] = -1
		if at := i + 1 - w.Length; at >= 0 && at%w.Stride == 0 {
			ends[i] = int32(len(first))
			first = append(first, int32(at))
		}
	}
	return first, ends
}

// Decode decodes a model. The model does not alias b.
func Decode(b []byte) (*Model, error) { return DecodeWithin(b, nil) }

// DecodeWithin is Decode with a charge for about the memory that the model takes,
// before it is allocated.
func DecodeWithin(b []byte, charge func(bytes int64) error) (*Model, error) {
	if len(b) < len(magic)+2 || string(b[:len(magic)]) != magic {
		return nil, pgerr.New(pgerr.DataCorrupted, "invalid encoding of a model")
	}
	v := b[len(magic)]
	d := canon.ReadWithin(b[len(magic)+1:], charge)
	m := &Model{}
	if v == adjusted {
		m.Adjustment, v = calibration.Decode(d), d.U8()
		if !d.OK() {
			return nil, d.Done("a model")
		}
	}
	if v < version || v > targeted {
		return nil, pgerr.Unsupported("model format %d is not supported", v)
	}
	var more []feature.Target
	switch v {
	case several, both:
		for _, name := range d.Strs() {
			more = append(more, feature.Target{Column: record.Column{Name: name, Type: types.Float8}})
		}
		if more = more[min(1, len(more)):]; more == nil {
			d.Fail()
		}
	case targeted:
		for range d.Count(10) {
			more = append(more, feature.Target{Column: record.Column{Name: d.Str(), Type: d.Type()}, Keys: d.Strs()})
		}
		if more == nil {
			d.Fail()
		}
	}
	if v == windowed || v == both || v == targeted && d.Bool() {
		m.Windows = decodeWindows(d)
	}
	m.Algorithm, m.Task = d.Str(), family.Task(d.Str())
	for range d.Count(5) {
		m.Outputs = append(m.Outputs, family.Output{Name: d.Str(), Type: d.Type()})
	}
	m.Fitted = feature.DecodeFitted(d)
	if len(m.Outputs) == 0 || more != nil && len(m.Outputs) != len(more)+2 {
		d.Fail()
	}
	if !d.OK() {
		return nil, d.Done("a model")
	}
	f, err := families.Decoder(m.Algorithm)
	if err != nil {
		return nil, err
	}
	if m.Fitted.More = more; more != nil {
		m.Targets = []string{m.Fitted.Label.Name}
		for _, t := range more {
			m.Targets = append(m.Targets, t.Name)
		}
	}
	f = family.Several(f, m.Targets)
	if m.Predictor, err = f.Decode(m.Fitted, d); err != nil {
		return nil, err
	}
	if p, ok := m.Predictor.(family.Sequencer); ok && p.Length() != 1 && (m.Windows == nil || p.Length() != m.Windows.Length) {
		d.Fail()
	}
	if m.Adjustment != nil && (m.Targets != nil || !m.Adjustment.Fits(len(m.Fitted.Keys))) {
		d.Fail()
	}
	if err := d.Done("a model"); err != nil {
		return nil, err
	}
	return m, nil
}
