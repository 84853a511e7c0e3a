package formats

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
)

// This is PMML as the standard says it, evaluated in the plainest way, as far as files of ours use it. A value
// is a float64 or a string; nil is missing.

type element struct {
	name  string
	attrs map[string]string
	text  string
	in    []*element
}

func (e *element) all(name string) (out []*element) {
	for _, c := range e.in {
		if c.name == name {
			out = append(out, c)
		}
	}
	return out
}

func (e *element) one(name string) *element {
	if l := e.all(name); l != nil {
		return l[0]
	}
	return &element{}
}

func readXML(t testing.TB, b []byte) *element {
	t.Helper()
	root := &element{}
	stack := []*element{root}
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		tok, err := d.Token()
		if err == io.EOF {
			return root.in[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		top := stack[len(stack)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			e := &element{name: tok.Name.Local, attrs: map[string]string{}}
			for _, a := range tok.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			top.in = append(top.in, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(tok)
		}
	}
}

// evaluator has the fields of a row.
type evaluator struct {
	t      testing.TB
	root   *element
	values map[string]any
}

func (v *evaluator) num(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		v.t.Fatal(err)
	}
	return f
}

// field is a field's value, which may be one that is derived.
func (v *evaluator) field(name string) any {
	if x, ok := v.values[name]; ok {
		return x
	}
	for _, d := range v.root.in[len(v.root.in)-1].one("LocalTransformations").all("DerivedField") {
		if d.attrs["name"] == name {
			x := v.expr(d.in[0])
			if s, ok := x.(string); ok {
				x = v.num(s)
			}
			if f, ok := x.(float64); ok && d.attrs["dataType"] == "float" {
				x = float64(float32(f))
			}
			v.values[name] = x
			return x
		}
	}
	v.t.Fatalf("there is no field %q", name)
	return nil
}

func truth(b bool) any {
	if b {
		return 1.0
	}
	return 0.0
}

func (v *evaluator) expr(e *element) any {
	switch e.name {
	case "FieldRef":
		return v.field(e.attrs["field"])
	case "Constant":
		if e.attrs["missing"] == "true" {
			return nil
		}
		return v.num(e.text)
	case "MapValues":
		return v.lookUp(e)
	case "Apply":
	default:
		v.t.Fatalf("expression %s", e.name)
	}
	arg := func(i int) float64 {
		x, ok := v.expr(e.in[i]).(float64)
		if !ok {
			return math.NaN()
		}
		return x
	}
	var out float64
	switch f := e.attrs["function"]; f {
	case "isMissing":
		return truth(v.expr(e.in[0]) == nil)
	case "if":
		if arg(0) == 1 {
			return v.expr(e.in[1])
		} else if len(e.in) < 3 {
			return nil
		}
		return v.expr(e.in[2])
	case "equal":
		return truth(arg(0) == arg(1))
	case "greaterThan":
		return truth(arg(0) > arg(1))
	case "+":
		out = arg(0) + arg(1)
	case "-":
		out = arg(0) - arg(1)
	case "*":
		out = arg(0) * arg(1)
	case "/":
		out = arg(0) / arg(1)
	case "exp":
		out = math.Exp(arg(0))
	case "abs":
		out = math.Abs(arg(0))
	default:
		v.t.Fatalf("function %s", f)
	}
	if out != out {
		return nil
	}
	return out
}

func (v *evaluator) lookUp(e *element) any {
	x := v.field(e.one("FieldColumnPair").attrs["field"])
	def, mapped := e.attrs["defaultValue"], ""
	if x == nil {
		def = e.attrs["mapMissingTo"]
	}
	for _, row := range e.one("InlineTable").all("row") {
		in := row.one("in").text
		if f, ok := x.(float64); ok && v.num(in) == f || x == in {
			mapped = row.one("out").text
		}
	}
	if mapped == "" {
		mapped = def
	}
	if mapped == "" {
		return nil
	}
	return v.num(mapped)
}

// model is what a model predicts: numbers, or a probability for each class in order.
func (v *evaluator) model(e *element, classes []string) []float64 {
	switch e.name {
	case "RegressionModel":
		return v.regression(e, classes)
	case "TreeModel":
		return []float64{v.tree(e.one("Node"))}
	case "MiningModel":
	default:
		v.t.Fatalf("model %s", e.name)
	}
	var out []float64
	sum := 0.0
	for _, s := range e.one("Segmentation").all("Segment") {
		m := s.in[1]
		out = v.model(m, classes)
		sum += out[0]
		for _, o := range m.one("Output").all("OutputField") {
			switch o.attrs["feature"] {
			case "predictedValue":
				v.values[o.attrs["name"]] = out[0]
			case "transformedValue":
				v.values[o.attrs["name"]] = v.expr(o.in[0])
			}
		}
	}
	if e.one("Segmentation").attrs["multipleModelMethod"] == "sum" {
		return []float64{sum}
	}
	return out
}

func (v *evaluator) regression(e *element, classes []string) []float64 {
	var z []float64
	var of []string
	for _, t := range e.all("RegressionTable") {
		y := v.num(t.attrs["intercept"])
		for _, p := range t.in {
			switch x := v.field(p.attrs["name"]); {
			case p.name == "CategoricalPredictor" && x == nil:
			case p.name == "CategoricalPredictor":
				if x == v.num(p.attrs["value"]) {
					y += v.num(p.attrs["coefficient"])
				}
			case x == nil:
				y = math.NaN()
			default:
				y += v.num(p.attrs["coefficient"]) * x.(float64)
			}
		}
		z, of = append(z, y), append(of, t.attrs["targetCategory"])
	}
	sum := 0.0
	for _, y := range z {
		sum += y
	}
	switch e.attrs["normalizationMethod"] {
	case "exp":
		z[0] = math.Exp(z[0])
	case "none", "":
		if len(z) == 2 {
			z[1] = 1 - z[0]
		}
	case "logit":
		z[0] = 1 / (1 + math.Exp(-z[0]))
		z[1] = 1 - z[0]
	case "simplemax":
		for k := range z {
			z[k] /= sum
		}
	case "softmax":
		sum, top := 0.0, slices.Max(z)
		for k := range z {
			z[k] = math.Exp(z[k] - top)
			sum += z[k]
		}
		for k := range z {
			z[k] /= sum
		}
	default:
		v.t.Fatal(e.attrs)
	}
	if len(z) == 1 {
		return z
	}
	out := make([]float64, len(classes))
	for k, c := range of {
		out[slices.Index(classes, c)] = z[k]
	}
	return out
}

func (v *evaluator) tree(n *element) float64 {
	kids := n.all("Node")
	if len(kids) == 0 {
		return v.num(n.attrs["score"])
	}
	p := kids[0].in[0]
	at := 1
	switch x := v.field(p.attrs["field"]); {
	case x == nil:
		if at = 0; kids[1].attrs["id"] == n.attrs["defaultChild"] {
			at = 1
		}
	case p.name == "SimplePredicate":
		if x.(float64) <= v.num(p.attrs["value"]) {
			at = 0
		}
	default:
		if slices.Contains(strings.Fields(p.one("Array").text), fmt.Sprint(x)) {
			at = 0
		}
	}
	return v.tree(kids[at])
}

// evaluate is what a file predicts of rows.
func evaluate(t testing.TB, root *element, f *interchange.File, want expected) (out [][]float64) {
	for _, row := range want.Rows {
		v := &evaluator{t: t, root: root, values: map[string]any{}}
		for i, c := range want.Columns {
			v.values[c] = row[i]
		}
		out = append(out, v.model(root.in[len(root.in)-1], f.Model.Classes()))
	}
	return out
}

// TestPMML: models of other systems, which have trees of all kinds, weights, scaling, categories and missing
// values, predict the same when they are written as PMML.
func TestPMML(t *testing.T) {
	count := 0
	for _, list := range []string{"expected.json", "sklearn.json"} {
		for file, want := range readExpected(t, list) {
			f := written(t, file)
			s := shapeOf(t, f.Model)
			b, err := find("pmml").Write(f)
			switch s.(type) {
			case *shape.Linear, *shape.Trees:
			default:
				if err == nil {
					t.Errorf("%s: a graph is written", file)
				}
				continue
			}
			if err != nil {
				if file != "lgb_ova.txt" {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			count++
			compare(t, evaluate(t, readXML(t, b), f, want), want, 2e-5)
		}
	}
	if count < 25 {
		t.Errorf("%d models are written", count)
	}
}
