package graph

// Graph is a graph as data. Values are numbered from 0; each is made once: by an input, a constant, or a
// node.
type Graph struct {
	Inputs    []Input
	Constants []Constant
	Nodes     []Node
	Values    int
	// Number is the value with the prediction of a number, or Label and Probs those of a class: its number
	// among the classes, and the probability of each. -1 for none. Without Probs, Label has probability 1.
	Number, Label, Probs int
	Classes              int
	// Keys are the classes as labels of texts or numbers, where Label is no number of a class.
	Keys *Tensor
}

// Input is a tensor of rows: Width dense numbers from From on, or, for texts, code From, whose slots are
// Words; any other text is one that no word equals.
type Input struct {
	Value       int
	Kind        Kind
	From, Width int
	Words       []string
}

// Constant is a value that does not depend on rows.
type Constant struct {
	Value  int
	Tensor *Tensor
}

// Node is an operator. A missing optional input is -1.
type Node struct {
	Op      string // "Add", or with its domain "ai.onnx.ml.Scaler"
	In, Out []int
	Attrs   []Attr
}

// Attr is an attribute.
type Attr struct {
	Name   string
	Ints   []int64
	Floats []float64
	Texts  []string
	Tensor *Tensor
}

// Bytes implements shape.Shape.
func (g *Graph) Bytes() (n int64) {
	tensor := func(t *Tensor) {
		if t != nil {
			n += 8 * int64(len(t.Num))
			for _, s := range t.Text {
				n += 16 + int64(len(s))
			}
		}
	}
	for _, c := range g.Constants {
		tensor(c.Tensor)
	}
	for _, x := range g.Nodes {
		n += 128
		for _, a := range x.Attrs {
			n += 64 + 8*int64(len(a.Ints)+len(a.Floats)) + 16*int64(len(a.Texts))
			tensor(a.Tensor)
		}
	}
	return 3 * n // as data, and compiled
}

// unknown is the text of a category that no word of an input is.
const unknown = "\x00"

// Words are the texts with which the graph compares its inputs: the constants of all nodes.
func (g *Graph) Words() (out []string) {
	seen := map[string]bool{}
	add := func(list []string) {
		for _, s := range list {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	for _, c := range g.Constants {
		add(c.Tensor.Text)
	}
	for _, n := range g.Nodes {
		for _, a := range n.Attrs {
			if a.Name == "cats_strings" || a.Name == "keys_strings" {
				add(a.Texts)
			}
			if a.Tensor != nil && a.Name == "keys_tensor" {
				add(a.Tensor.Text)
			}
		}
	}
	return out
}

// attrs are a node's attributes by name.
type attrs map[string]*Attr

func (n *Node) attrs() attrs {
	a := attrs{}
	for i := range n.Attrs {
		a[n.Attrs[i].Name] = &n.Attrs[i]
	}
	return a
}

func (a attrs) integer(name string, def int64) int64 {
	if x := a[name]; x != nil && len(x.Ints) == 1 {
		return x.Ints[0]
	}
	return def
}

func (a attrs) float(name string, def float64) float64 {
	if x := a[name]; x != nil && len(x.Floats) == 1 {
		return x.Floats[0]
	}
	return def
}

func (a attrs) text(name, def string) string {
	if x := a[name]; x != nil && len(x.Texts) == 1 {
		return x.Texts[0]
	}
	return def
}

func (a attrs) ints(name string) []int64 {
	if x := a[name]; x != nil {
		return x.Ints
	}
	return nil
}

func (a attrs) texts(name string) []string {
	if x := a[name]; x != nil {
		return x.Texts
	}
	return nil
}

// floats returns a list of numbers, or a tensor of that name and _as_tensor.
func (a attrs) floats(name string) []float64 {
	if x := a[name+"_as_tensor"]; x != nil && x.Tensor != nil {
		return x.Tensor.Num
	}
	if x := a[name]; x != nil {
		return x.Floats
	}
	return nil
}
