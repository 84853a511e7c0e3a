package pmml

import (
	"slices"
	"strconv"

	"github.com/tributarydb/tributary/ml/shape"
)

// segment begins a segment that is always used.
func (m *markup) segment(i int) {
	m.open("Segment", "id", strconv.Itoa(i+1))
	m.empty("True")
}

// schema lists the columns, in a model within another the derived fields too, and the targets of parts.
func (d *document) schema(m *markup, parts ...part) {
	m.open("MiningSchema")
	for _, f := range d.inputs {
		attrs := []string{"name", f}
		if slices.Contains(d.finite, f) {
			attrs = append(attrs, "invalidValueTreatment", "asMissing")
		}
		m.empty("MiningField", attrs...)
	}
	if d.local > 0 {
		for _, f := range d.computed {
			m.empty("MiningField", "name", f)
		}
	}
	for i := range parts {
		if t := parts[i].target; t != "" {
			m.empty("MiningField", "name", t, "usageType", "target")
		}
	}
	m.close("MiningSchema")
}

// reads is the schema of a model in a chain, which has no target.
func (m *markup) reads(fields []string) {
	m.open("MiningSchema")
	for _, f := range fields {
		m.empty("MiningField", "name", f)
	}
	m.close("MiningSchema")
}

// head begins a model of a part: the columns that it reads, and its target.
func (d *document) head(m *markup, p *part, element, name string, attrs ...string) {
	m.open(element, append([]string{"modelName", name, "functionName", p.function(), "algorithmName", p.algorithm}, attrs...)...)
	d.schema(m, *p)
	if element != chained { // else the last of the chain has them
		d.outputs(m, p)
	}
	d.begun(m)
}

// outputs are those of a part.
func (d *document) outputs(m *markup, p *part) {
	m.open("Output")
	kind := "continuous"
	if p.classes != nil {
		kind = "categorical"
	}
	m.empty("OutputField", "name", p.output, "optype", kind, "dataType", p.dataType(), "feature", "predictedValue")
	for _, c := range p.classes {
		m.empty("OutputField", "name", d.name("probability("+c+")"), "optype", "continuous", "dataType", "double", "feature", "probability", "value", c)
	}
	m.close("Output")
}

// begun notes that the derived fields of the whole come next.
func (d *document) begun(m *markup) {
	if d.local == 0 {
		d.local = m.Len()
	}
}

// sum is a weighted sum of fields.
type sum struct {
	intercept float64
	fields    []string
	weights   []float64
	slots     []int // of a code, whose slot counts as 1 and others as 0; -1 for a number
}

func (t *sum) add(field string, slot int, weight float64) {
	if weight != 0 {
		t.fields, t.slots, t.weights = append(t.fields, field), append(t.slots, slot), append(t.weights, weight)
	}
}

// used are the fields of a sum.
func (t *sum) used() (out []string) {
	for _, f := range t.fields {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// normalization is what PMML calls the links of RegressionModel.
var normalization = map[shape.Link]string{
	shape.Identity: "none", shape.Exp: "exp", shape.Logistic: "logit", shape.Softmax: "softmax", shape.Share: "simplemax", shape.Each: "simplemax",
}

// tables writes the tables of a RegressionModel: of one margin of two classes that of the second class, and
// an empty one.
func (m *markup) tables(p *part, list []sum) {
	for k := range list {
		t := &list[k]
		attrs := []string{"intercept", number(t.intercept)}
		if p.classes != nil {
			attrs = append(attrs, "targetCategory", p.classes[k+len(p.classes)-len(list)])
		}
		m.open("RegressionTable", attrs...)
		for _, codes := range []bool{false, true} { // numbers come first
			for i, f := range t.fields {
				switch {
				case codes != (t.slots[i] >= 0):
				case codes:
					m.empty("CategoricalPredictor", "name", f, "value", strconv.Itoa(t.slots[i]), "coefficient", number(t.weights[i]))
				default:
					m.empty("NumericPredictor", "name", f, "coefficient", number(t.weights[i]))
				}
			}
		}
		m.close("RegressionTable")
	}
	if len(list) == 1 && len(p.classes) == 2 {
		m.empty("RegressionTable", "intercept", "0", "targetCategory", p.classes[0])
	}
}

// how is the normalisation of a part's margins.
func how(link shape.Link, margins int) (string, error) {
	n, ok := normalization[link]
	if !ok {
		return "", unsupported("probabilities that are separate for each class")
	}
	if link == shape.Share && margins == 1 {
		n = "none"
	}
	return n, nil
}

// margin is a margin that a chain computes: by·x + base, x being what its model gives.
type margin struct{ base, by float64 }

// chain writes models of margins, each by write, which calls outputs where its outputs stand; and behind
// them the model that makes of the margins what is predicted.
func (d *document) chain(m *markup, p *part, name string, link shape.Link, margins []margin, write func(k int, outputs func())) error {
	norm, err := how(link, len(margins))
	if err != nil {
		return err
	}
	d.head(m, p, chained, name)
	m.open("Segmentation", "multipleModelMethod", "modelChain")
	list := make([]sum, len(margins))
	for k, z := range margins {
		list[k].intercept = z.base
		x := d.name("margin" + strconv.Itoa(k+1))
		from, by := x, z.by
		if link == shape.Each {
			from, by, list[k].intercept = d.name("share"+strconv.Itoa(k+1)), 1, 0
		}
		list[k].add(from, -1, by)
		m.segment(k)
		write(k, func() {
			m.open("Output")
			m.empty("OutputField", "name", x, "optype", "continuous", "dataType", "double", "feature", "predictedValue")
			if link == shape.Each {
				m.open("OutputField", "name", from, "optype", "continuous", "dataType", "double", "feature", "transformedValue")
				odds := apply("exp", apply("-", constant(0-z.base), apply("*", constant(z.by), field(x))))
				apply("/", constant(1), apply("+", constant(1), odds))(m)
				m.close("OutputField")
			}
			m.close("Output")
		})
		m.close("Segment")
	}
	m.segment(len(margins))
	m.open("RegressionModel", "functionName", p.function(), "normalizationMethod", norm)
	m.open("MiningSchema")
	for k := range list {
		m.empty("MiningField", "name", list[k].fields[0])
	}
	if p.target != "" {
		m.empty("MiningField", "name", p.target, "usageType", "target")
	}
	m.close("MiningSchema")
	d.outputs(m, p)
	m.tables(p, list)
	m.close("RegressionModel")
	m.close("Segment")
	m.close("Segmentation")
	m.close("MiningModel")
	return nil
}
