package pmml

import (
	"fmt"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// part is what predicts one target, or one number.
type part struct {
	algorithm string
	shape     shape.Shape
	label     types.Type
	target    string // its field; "" where what is predicted is no column
	classes   []string
	output    string // the field of the prediction
}

// Functions and elements of models.
const (
	regression     = "regression"
	classification = "classification"
	chained        = "MiningModel" // the element of a chain
)

func (p *part) function() string {
	if p.classes != nil {
		return classification
	}
	return regression
}

// partsOf returns the parts of a model.
func partsOf(m *model.Model) (parts []part, err error) {
	list := []*model.Model{m}
	if m.Targets != nil {
		list = nil
		for i := range m.Targets {
			list = append(list, m.Part(i))
		}
	}
	for _, of := range list {
		s, err := interchange.ShapeOf(of)
		if err != nil {
			return nil, err
		}
		p := part{algorithm: of.Algorithm, shape: s, classes: of.Classes(), label: of.Fitted.Label.Type, output: of.Columns()[0].Name}
		if of.Task == family.Regression || of.Task == family.Classification {
			p.target = of.Fitted.Label.Name
		}
		l, ok := s.(*shape.Linear)
		if !ok || l.Link != shape.Identity || l.Outputs == 1 {
			parts = append(parts, p)
			continue
		}
		per := len(l.Weights) / l.Outputs
		for k := range l.Outputs { // components
			one := p
			one.shape = &shape.Linear{Outputs: 1, Weights: l.Weights[k*per:][:per], Intercepts: l.Intercepts[k : k+1]}
			one.output = fmt.Sprintf("%s[%d]", p.output, k+1)
			parts = append(parts, one)
		}
	}
	return parts, nil
}

// unsupported is the error for what PMML does not have.
func unsupported(what string) error {
	return pgerr.Unsupported("%s cannot be written in a pmml file", what).WithHint("The formats onnx and json have them.")
}

// dataType is the type of what a part predicts.
func (p *part) dataType() string {
	switch t := p.label; {
	case p.classes == nil:
		return "double"
	case t.OID == types.BoolOID:
		return "boolean"
	case t.OID == types.Int2OID, t.OID == types.Int4OID:
		return "integer"
	}
	return "string"
}

// addTarget adds the field of a part's target, and names that of its prediction.
func (d *document) addTarget(p *part) {
	if _, net := p.shape.(*shape.Layers); net && p.target == "" {
		p.target = p.output // a net says of which field its outputs are
	}
	if p.target != "" {
		p.target = d.name(p.target)
	}
	if p.output = d.name(p.output); p.target == "" {
		return
	}
	if p.classes == nil {
		d.fields.empty("DataField", "name", p.target, "optype", "continuous", "dataType", p.dataType())
		return
	}
	d.fields.open("DataField", "name", p.target, "optype", "categorical", "dataType", p.dataType())
	for _, c := range p.classes {
		d.fields.empty("Value", "value", c)
	}
	d.fields.close("DataField")
}
