package model

import (
	"crypto/sha256"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Kind is a family of models. Numbers are part of the bytes: append only.
type Kind uint8

// The kinds.
const (
	LinearRegression   Kind = 1
	LogisticRegression Kind = 2
)

// String is the algorithm's name in SQL.
func (k Kind) String() string {
	switch k {
	case LinearRegression:
		return "linear_regression"
	case LogisticRegression:
		return "logistic_regression"
	}
	return "unknown"
}

// Model is a trained model. It is immutable.
type Model struct {
	Kind   Kind
	Fitted *feature.Fitted
	Theta  []float64
}

// Outputs is the number of margins of a row: one, or one a class where there
// are more than two.
func Outputs(k Kind, f *feature.Fitted) int {
	if k == LogisticRegression && len(f.Keys) > 2 {
		return len(f.Keys)
	}
	return 1
}

// Objective is the loss that models of this kind are trained with.
func Objective(k Kind, f *feature.Fitted) objective.Objective {
	switch n := Outputs(k, f); {
	case k == LinearRegression:
		return objective.Squared{}
	case n > 1:
		return objective.Softmax{K: n}
	}
	return objective.Logistic{}
}

// Features are the columns that scoring needs, in order.
func (m *Model) Features() []dataset.Column {
	out := make([]dataset.Column, len(m.Fitted.Cols))
	for i := range out {
		out[i] = m.Fitted.Cols[i].Column
	}
	return out
}

// PredictedType is the type of predictions: the label's for a classifier.
func (m *Model) PredictedType() types.Type {
	if m.Kind == LinearRegression {
		return types.Float8
	}
	return m.Fitted.Label.Type
}

// Classes are the classes as text, in the order of probabilities; nil for a
// regression.
func (m *Model) Classes() []string {
	var out []string
	for _, k := range m.Fitted.Keys {
		out = append(out, feature.KeyText(m.Fitted.Label.Type, k))
	}
	return out
}

const (
	magic   = "TRIBMODL"
	version = 1
)

// Encode gives the canonical bytes.
func (m *Model) Encode() []byte {
	e := canon.E{B: []byte(magic)}
	e.U8(version)
	e.U8(uint8(m.Kind))
	m.Fitted.Encode(&e)
	e.F64s(m.Theta)
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
	m := &Model{Kind: Kind(d.U8())}
	m.Fitted = feature.DecodeFitted(d)
	m.Theta = d.F64s()
	if m.Kind != LinearRegression && m.Kind != LogisticRegression || m.Kind == LogisticRegression && len(m.Fitted.Keys) < 2 ||
		d.OK() && len(m.Theta) != Outputs(m.Kind, m.Fitted)*(m.Fitted.Params()+1) {
		d.Fail()
	}
	if err := d.Done("a model"); err != nil {
		return nil, err
	}
	return m, nil
}

// Weight is one learnt number, for people.
type Weight struct {
	Class     string // of a multinomial model, else ""
	Feature   string // the input column; "" for the intercept
	Name      string // the column or what of it, "(intercept)"
	Category  string // of a one-hot slot
	Value     float64
	Unscaled  float64 // for the column as it is, before scaling
	Intercept bool
}

// Weights lists all weights, class by class, the intercept last. The unscaled
// intercept is the margin of a row of zeros.
func (m *Model) Weights() []Weight {
	slots := m.Fitted.Slots()
	n := len(slots) + 1
	classes := m.Classes()
	var out []Weight
	for k := range len(m.Theta) / n {
		class := ""
		if len(m.Theta) > n {
			class = classes[k]
		}
		th := m.Theta[k*n:][:n]
		base := th[n-1]
		for j, s := range slots {
			v := th[j] / s.Scale
			base -= float64(v * s.Center)
			out = append(out, Weight{Class: class, Feature: s.Column, Name: s.Name, Category: s.Category, Value: th[j], Unscaled: v})
		}
		out = append(out, Weight{Class: class, Name: "(intercept)", Value: th[n-1], Unscaled: base, Intercept: true})
	}
	return out
}
