package pmml

import (
	"bytes"
	"encoding/xml"
	"strconv"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is pmml.
var Format = &interchange.Format{
	Name: "pmml",
	Doc:  "PMML 4.4: weights, trees, clusters and plain nets, encoders included; it is only written",
	Is: func(b []byte) bool {
		return bytes.Contains(b[:min(len(b), 1024)], []byte("<PMML"))
	},
	Write: write,
}

func write(f *interchange.File) ([]byte, error) {
	m := f.Model
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	d := &document{narrow: m.Fitted.Narrow, nonZero: map[string]string{}}
	for i := range m.Fitted.Cols {
		d.taken = append(d.taken, m.Fitted.Cols[i].Name)
	}
	_, trees := parts[0].shape.(*shape.Trees)
	for i := range m.Fitted.Cols {
		if err := d.column(&m.Fitted.Cols[i], d.narrow && !trees); err != nil {
			return nil, err
		}
	}
	for i := range parts {
		d.addTarget(&parts[i])
	}
	var body markup
	if len(parts) == 1 {
		err = d.model(&body, &parts[0], f.Name)
	} else {
		err = d.several(&body, parts, f.Name)
	}
	if err != nil {
		return nil, err
	}
	var out markup
	out.WriteString(xml.Header)
	out.open("PMML", "xmlns", "http://www.dmg.org/PMML-4_4", "version", "4.4")
	d.header(&out, f)
	out.open("DataDictionary")
	out.Write(d.fields.Bytes())
	out.close("DataDictionary")
	out.Write(body.Bytes()[:d.local])
	if d.derived.Len() > 0 {
		out.open("LocalTransformations")
		out.Write(d.derived.Bytes())
		out.close("LocalTransformations")
	}
	out.Write(body.Bytes()[d.local:])
	out.close("PMML")
	for _, m := range []*markup{&d.fields, &d.derived, &body} { // the header is but for reading
		if m.wrong != "" {
			return nil, pgerr.Unsupported("the text %s has characters that XML, and so a pmml file, cannot hold", strconv.Quote(m.wrong)).
				WithHint("The format json takes every model.")
		}
	}
	return out.Bytes(), nil
}

// header says where the model comes from.
func (d *document) header(out *markup, f *interchange.File) {
	out.open("Header", "description", f.Statement())
	out.empty("Application", "name", "Tributary")
	if f.Version != nil {
		for _, in := range f.Version.Inputs {
			out.leaf("Annotation", in.Name+" = "+in.Expr)
		}
	}
	out.close("Header")
}

// several writes a chain of models whose results are its outputs. Those of a chain within it would not be seen.
func (d *document) several(m *markup, parts []part, name string) error {
	for i := range parts {
		if _, weights := parts[i].shape.(*shape.Linear); !weights || parts[i].classes != nil {
			return unsupported("a model of several targets, but for numbers by weights,")
		}
	}
	m.open(chained, "modelName", name, "functionName", regression, "algorithmName", parts[0].algorithm)
	d.schema(m, parts...)
	m.open("Output")
	for i := range parts {
		p := &parts[i]
		inner := d.name("result" + strconv.Itoa(i+1))
		m.open("OutputField", "name", p.output, "optype", "continuous", "dataType", "double", "feature", "transformedValue")
		field(inner)(m)
		m.close("OutputField")
		p.output = inner
	}
	m.close("Output")
	d.begun(m)
	m.open("Segmentation", "multipleModelMethod", "modelChain")
	for i := range parts {
		m.segment(i)
		if err := d.model(m, &parts[i], name); err != nil {
			return err
		}
		m.close("Segment")
	}
	m.close("Segmentation")
	m.close(chained)
	return nil
}

// model writes the model of a part.
func (d *document) model(m *markup, p *part, name string) error {
	switch s := p.shape.(type) {
	case *shape.Linear:
		return d.linear(m, p, s, name)
	case *shape.Trees:
		return d.trees(m, p, s, name)
	case *shape.Layers:
		return d.layers(m, p, s, name)
	case *shape.Centroids:
		d.centroids(m, p, s, name)
		return nil
	}
	return pgerr.Unsupported("a model of %s cannot be written in a pmml file", p.algorithm).WithHint("The format json takes every model.")
}
