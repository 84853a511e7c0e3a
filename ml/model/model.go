package model

import (
	"crypto/sha256"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/families"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Model is a trained model. It is immutable.
type Model struct {
	Algorithm string // the family's name
	Task      family.Task
	Outputs   []family.Output // as the plan has them
	Fitted    *feature.Fitted
	Predictor family.Predictor
}

// Features are the columns that scoring needs, in order.
func (m *Model) Features() []dataset.Column {
	out := make([]dataset.Column, len(m.Fitted.Cols))
	for i := range out {
		out[i] = m.Fitted.Cols[i].Column
	}
	return out
}

// Columns are the columns of a prediction, the value of predict() first: a
// classifier's is of the target's type.
func (m *Model) Columns() []family.Output { return Columns(m.Task, m.Outputs, m.Fitted.Label) }

// Columns are the columns of predictions of a model of this task with this
// target.
func Columns(task family.Task, outputs []family.Output, target dataset.Column) []family.Output {
	out := append([]family.Output(nil), outputs...)
	if task == family.Classification {
		out[0].Type = target.Type
	}
	if target.Name != "" && out[0].Name == "" {
		out[0].Name = "predicted_" + target.Name
	}
	return out
}

// Classes are the classes as text, in the order of probabilities; nil for a
// model that is no classifier.
func (m *Model) Classes() []string {
	var out []string
	for _, k := range m.Fitted.Keys {
		out = append(out, feature.KeyText(m.Fitted.Label.Type, k))
	}
	return out
}

const (
	magic   = "TRIBMODL"
	version = 2
)

// Encode gives the canonical bytes.
func (m *Model) Encode() []byte {
	e := canon.E{B: []byte(magic)}
	e.U8(version)
	e.Str(m.Algorithm)
	e.Str(string(m.Task))
	e.U32(uint32(len(m.Outputs)))
	for _, o := range m.Outputs {
		e.Str(o.Name)
		e.Type(o.Type)
	}
	m.Fitted.Encode(&e)
	m.Predictor.Encode(&e)
	return e.B
}

// SHA256 is the hash of a model's canonical bytes.
func SHA256(encoded []byte) [32]byte { return sha256.Sum256(encoded) }

// Decode reads what Encode wrote.
func Decode(b []byte) (*Model, error) {
	if len(b) < len(magic)+2 || string(b[:len(magic)]) != magic {
		return nil, pgerr.New(pgerr.DataCorrupted, "invalid encoding of a model")
	}
	if v := b[len(magic)]; v != version {
		return nil, pgerr.Unsupported("model format %d is not supported", v)
	}
	d := canon.Read(b[len(magic)+1:])
	m := &Model{Algorithm: d.Str(), Task: family.Task(d.Str())}
	for range d.Count(5) {
		m.Outputs = append(m.Outputs, family.Output{Name: d.Str(), Type: d.Type()})
	}
	m.Fitted = feature.DecodeFitted(d)
	if len(m.Outputs) == 0 {
		d.Fail()
	}
	if !d.OK() {
		return nil, d.Done("a model")
	}
	f, err := families.Find(m.Algorithm)
	if err != nil {
		return nil, err
	}
	if m.Predictor, err = f.Decode(m.Fitted, d); err != nil {
		return nil, err
	}
	if err := d.Done("a model"); err != nil {
		return nil, err
	}
	return m, nil
}
