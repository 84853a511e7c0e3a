package pmml

import (
	"fmt"
	"strconv"

	"github.com/tributarydb/tributary/ml/shape"
)

// functions are what PMML calls the functions of activation.
var functions = map[string]string{"relu": "rectifier", "tanh": "tanh", "sigmoid": "logistic"}

// layers writes a net. Its numbers are those of float32 in float64.
func (d *document) layers(m *markup, p *part, s *shape.Layers, name string) error {
	if s.Center != nil {
		return unsupported("a net that predicts its input")
	}
	inputs := append([]string{}, d.dense...)
	for c, e := range s.Embeddings {
		for j := range e.Width {
			inputs = append(inputs, d.embedded(d.codes[c], e, j))
		}
	}
	d.head(m, p, "NeuralNetwork", name, "activationFunction", "identity")
	m.open("NeuralInputs", "numberOfInputs", strconv.Itoa(len(inputs)))
	for j, f := range inputs {
		m.open("NeuralInput", "id", fmt.Sprintf("0,%d", j))
		m.open("DerivedField", "optype", "continuous", "dataType", "double")
		field(f)(m)
		m.close("DerivedField")
		m.close("NeuralInput")
	}
	m.close("NeuralInputs")
	layer, last := 0, len(s.Layers)-1
	for i := 0; i <= last; i++ {
		l := &s.Layers[i]
		if l.Kind != shape.Dense {
			return unsupported("a net with layers that are normalised") // activations are written with what is before them
		}
		attrs := []string{}
		final := i == last
		if !final && s.Layers[i+1].Kind == shape.Activation {
			i++
			f, ok := functions[s.Layers[i].Function]
			if !ok {
				return unsupported("a net with the activation " + s.Layers[i].Function)
			}
			attrs = append(attrs, "activationFunction", f)
		}
		if final && p.classes != nil {
			attrs = append(attrs, "normalizationMethod", "softmax")
		}
		layer++
		m.open("NeuralLayer", attrs...)
		outs := l.Out
		if final && p.classes != nil && l.Out == 1 {
			m.neuron(layer, 0, l, -1, 1, 0) // the first class, whose log-odds are 0
			m.neuron(layer, 1, l, 0, 1, 0)
			outs = 0
		}
		for k := range outs {
			by, plus := 1.0, 0.0
			if final && p.classes == nil {
				by, plus = s.Dev, s.Mean
			}
			m.neuron(layer, k, l, k, by, plus)
		}
		m.close("NeuralLayer")
	}
	m.open("NeuralOutputs")
	for k, c := range p.classes {
		m.open("NeuralOutput", "outputNeuron", fmt.Sprintf("%d,%d", layer, k))
		m.open("DerivedField", "optype", "categorical", "dataType", "string")
		m.empty("NormDiscrete", "field", p.target, "value", c)
		m.close("DerivedField")
		m.close("NeuralOutput")
	}
	if p.classes == nil {
		m.open("NeuralOutput", "outputNeuron", fmt.Sprintf("%d,0", layer))
		m.open("DerivedField", "optype", "continuous", "dataType", "double")
		field(p.target)(m)
		m.close("DerivedField")
		m.close("NeuralOutput")
	}
	m.close("NeuralOutputs")
	m.close("NeuralNetwork")
	return nil
}

// neuron writes output k of a layer, times a number and plus another; -1 is always 0.
func (m *markup) neuron(layer, id int, l *shape.Layer, k int, by, plus float64) {
	bias := 0.0
	if k >= 0 {
		bias = float64(l.B[k])*by + plus
	}
	m.open("Neuron", "id", fmt.Sprintf("%d,%d", layer, id), "bias", number(bias))
	for j := range l.In {
		w := 0.0
		if k >= 0 {
			w = float64(l.W[j*l.Out+k]) * by
		}
		m.empty("Con", "from", fmt.Sprintf("%d,%d", layer-1, j), "weight", number(w))
	}
	m.close("Neuron")
}

// embedded adds the field of a code's number j of its vector.
func (d *document) embedded(c code, e shape.Embedding, j int) string {
	var in, out []string
	for slot := range c.slots {
		in, out = append(in, strconv.Itoa(slot)), append(out, number(float64(e.Vectors[slot*e.Width+j])))
	}
	return d.derive(fmt.Sprintf("vector(%s)[%d]", c.field, j+1), "continuous", "double", func(m *markup) {
		table(m, c.field, "double", in, out, "mapMissingTo", "0", "defaultValue", "0")
	})
}
