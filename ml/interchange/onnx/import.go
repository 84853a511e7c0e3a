package onnx

import (
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/ml/graph"
	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Format is the format.
var Format = &interchange.Format{Name: "onnx", Doc: "all that predicts row by row, encoders included", Is: is, Write: write, Read: read}

// is looks for the first field, which is the version of the format, a small number.
func is(b []byte) bool { return len(b) > 2 && b[0] == 1<<3|varint && b[1] > 0 && b[1] < 0x40 }

// importer makes a graph of a file's.
type importer struct {
	m      *protoModel
	o      *interchange.Options
	g      *graph.Graph
	values map[string]int
	cols   interchange.Columns
	names  []string // of the features so far
}

func read(b []byte, o *interchange.Options) (*interchange.File, error) {
	m, err := readModel(b)
	if err != nil {
		return nil, err
	}
	i := &importer{m: m, o: o, g: &graph.Graph{Number: -1, Label: -1, Probs: -1}, values: map[string]int{}}
	if err := i.missing(); err != nil {
		return nil, err
	}
	for _, t := range m.initializers {
		v, err := i.make(t.name)
		if err != nil {
			return nil, err
		}
		i.g.Constants = append(i.g.Constants, graph.Constant{Value: v, Tensor: t.tensor})
	}
	if err := i.inputs(); err != nil {
		return nil, err
	}
	for k := range m.nodes {
		if err := i.node(&m.nodes[k]); err != nil {
			return nil, err
		}
	}
	if err := i.outputs(); err != nil {
		return nil, err
	}
	if f, err := i.lowered(); f != nil || err != nil {
		return f, err
	}
	return i.file()
}

// missing returns the one error for all that the file needs and is not here.
func (i *importer) missing() error {
	var out []string
	g := &graph.Graph{}
	for _, n := range i.m.nodes {
		g.Nodes = append(g.Nodes, graph.Node{Op: name(&n)})
		if n.subgraph {
			out = append(out, "graphs within operator "+n.op)
		}
	}
	for _, op := range graph.Missing(g) {
		out = append(out, "operator "+op)
	}
	if i.m.sparse {
		out = append(out, "sparse tensors")
	}
	if out != nil {
		return interchange.Missing("onnx", out)
	}
	return nil
}

// name is an operator's, with its domain but for ONNX's own.
func name(n *protoNode) string {
	if n.domain == "" || n.domain == "ai.onnx" {
		return n.op
	}
	return n.domain + "." + n.op
}

// make numbers a new value.
func (i *importer) make(name string) (int, error) {
	if _, twice := i.values[name]; twice && name != "" {
		return 0, bad("value %q is made twice", name)
	}
	v := i.g.Values
	i.g.Values++
	if name != "" {
		i.values[name] = v
	}
	return v, nil
}

// inputs makes the features: a column of each tensor is one.
func (i *importer) inputs() error {
	type column struct {
		name string
		text bool
	}
	var cols []column
	for _, in := range i.m.inputs {
		if _, constant := i.values[in.name]; constant {
			continue // before version 4 initializers are inputs too
		}
		k, ok := graph.KindOf(in.kind)
		if !ok || len(in.dims) > 2 || len(in.dims) == 0 {
			return pgerr.Unsupported("input %q is no matrix of rows", in.name)
		}
		width := int64(1)
		if len(in.dims) == 2 {
			width = in.dims[1]
		}
		if width < 1 || width > 1<<16 {
			return pgerr.Unsupported("input %q does not say how many columns it has", in.name)
		}
		for j := range width {
			n := in.name
			if width > 1 {
				n += strconv.FormatInt(j, 10)
			}
			cols = append(cols, column{i.o.Name(len(cols), n), k == graph.Text})
		}
	}
	if err := i.o.CheckFeatures(len(cols)); err != nil {
		return err
	}
	dense, codes, at := 0, 0, 0
	for _, in := range i.m.inputs {
		if _, constant := i.values[in.name]; constant {
			continue
		}
		k, _ := graph.KindOf(in.kind)
		width := 1
		if len(in.dims) == 2 {
			width = int(in.dims[1])
		}
		for _, c := range cols[at : at+width] {
			i.names = append(i.names, c.name)
		}
		at += width
		made := in.name
		flat := len(in.dims) == 1
		if flat {
			made = ""
		}
		var parts []int
		if k == graph.Text {
			if width > 1 {
				made = ""
			}
			for range width {
				v, err := i.make(made)
				if err != nil {
					return err
				}
				i.g.Inputs = append(i.g.Inputs, graph.Input{Value: v, Kind: k, From: codes, Width: 1})
				codes++
				parts = append(parts, v)
			}
		} else {
			v, err := i.make(made)
			if err != nil {
				return err
			}
			i.g.Inputs = append(i.g.Inputs, graph.Input{Value: v, Kind: k, From: dense, Width: width})
			dense += width
			parts = []int{v}
		}
		if len(parts) > 1 {
			v, err := i.make(in.name)
			if err != nil {
				return err
			}
			i.g.Nodes = append(i.g.Nodes, graph.Node{Op: "Concat", In: parts, Out: []int{v}, Attrs: []graph.Attr{{Name: "axis", Ints: []int64{1}}}})
		} else if flat {
			v, err := i.make(in.name)
			if err != nil {
				return err
			}
			i.g.Nodes = append(i.g.Nodes, graph.Node{Op: "Squeeze", In: parts, Out: []int{v}, Attrs: []graph.Attr{{Name: "axes", Ints: []int64{1}}}})
		}
	}
	return nil
}

func (i *importer) node(n *protoNode) error {
	out := graph.Node{Op: name(n), Attrs: n.attrs}
	for _, in := range n.in {
		v, ok := i.values[in]
		switch {
		case in == "":
			v = -1
		case !ok:
			return bad("operator %s takes %q before it is made", n.op, in)
		}
		out.In = append(out.In, v)
	}
	for _, o := range n.out {
		if o == "" {
			out.Out = append(out.Out, -1)
			continue
		}
		v, err := i.make(o)
		if err != nil {
			return err
		}
		out.Out = append(out.Out, v)
	}
	if out.Op == "Softmax" && i.m.opset < 13 {
		out = oldSoftmax(out)
	}
	i.g.Nodes = append(i.g.Nodes, out)
	return nil
}

// oldSoftmax: before opset 13 all axes from the first after the rows on count as one.
func oldSoftmax(n graph.Node) graph.Node {
	for _, a := range n.Attrs {
		if a.Name == "axis" {
			return n
		}
	}
	n.Attrs = append(n.Attrs, graph.Attr{Name: "axis", Ints: []int64{1}})
	return n
}

// outputs finds what the graph predicts. Labels of a classifier say the classes; without labels the first
// output is a number.
func (i *importer) outputs() error {
	if len(i.m.outputs) == 0 {
		return bad("it has no outputs")
	}
	value := func(o protoValue) (int, error) {
		v, ok := i.values[o.name]
		if !ok {
			return -1, bad("output %q is never made", o.name)
		}
		return v, nil
	}
	keys := i.labels()
	var err error
	if keys == nil {
		i.g.Number, err = value(i.m.outputs[0])
		return err
	}
	i.g.Keys, i.g.Classes = keys, keys.Len()
	for _, o := range i.m.outputs {
		k, _ := graph.KindOf(o.kind)
		switch {
		case i.g.Label < 0 && !o.seq && (k == graph.Text || k == graph.I64 || k == graph.Bool):
			i.g.Label, err = value(o)
		case i.g.Probs < 0:
			i.g.Probs, err = value(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// labels returns the classes; nil where the graph is no classifier.
func (i *importer) labels() *graph.Tensor {
	for k := len(i.m.nodes) - 1; k >= 0; k-- {
		n := graph.Node{Op: name(&i.m.nodes[k]), Attrs: i.m.nodes[k].attrs}
		if t := n.Labels(); t != nil && strings.HasPrefix(n.Op, "ai.onnx.ml.") {
			return t
		}
	}
	// Labels that are chosen from a list.
	at := i.m.outputs[0].name
	for range i.m.nodes {
		n := i.m.maker(at)
		if n == nil || len(n.in) == 0 {
			return nil
		}
		switch n.op {
		case "Cast", "Reshape", "Identity", "Squeeze", "Flatten":
			at = n.in[0]
		case "ArrayFeatureExtractor", "Gather":
			return i.m.constantOf(n.in[0])
		default:
			return nil
		}
	}
	return nil
}

// file makes the model.
func (i *importer) file() (*interchange.File, error) {
	words := i.g.Words()
	at := 0
	for k := range i.g.Inputs {
		in := &i.g.Inputs[k]
		if in.Kind == graph.Text {
			in.Words = words
			i.cols.Texts(i.names[at], words)
		} else {
			for j := range in.Width {
				i.cols.Number(i.names[at+j])
			}
		}
		at += in.Width
	}
	f, err := i.cols.Fitted(i.o, i.g.Classes, false)
	if err != nil {
		return nil, err
	}
	if i.g.Keys != nil && i.o.Classes == nil {
		if err := interchange.SetClasses(f, i.g.Keys.Text, i.g.Keys.Num); err != nil {
			return nil, err
		}
	}
	return interchange.Foreign(f, i.g)
}
