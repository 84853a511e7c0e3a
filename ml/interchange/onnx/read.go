package onnx

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tributarydb/tributary/ml/graph"
)

// The messages of a file, as far as they are read.
type (
	protoModel struct {
		nodes        []protoNode
		initializers []protoTensor
		inputs       []protoValue
		outputs      []protoValue
		opset        int64
		sparse       bool
	}
	protoNode struct {
		in, out  []string
		op       string
		domain   string
		attrs    []graph.Attr
		subgraph bool
	}
	protoTensor struct {
		name   string
		tensor *graph.Tensor
	}
	protoValue struct {
		name string
		kind int64 // of elements; 0 where it is no tensor
		dims []int64
		seq  bool
	}
)

// mostDeep bounds how deep messages are nested that are read.
const mostTensors = 1 << 20

func readModel(b []byte) (*protoModel, error) {
	m := &protoModel{}
	var g []byte
	err := fields(b, func(x field) error {
		switch x.number {
		case 7:
			g = x.b
		case 8:
			domain, version := "", int64(0)
			err := fields(x.b, func(x field) error {
				switch x.number {
				case 1:
					domain = string(x.b)
				case 2:
					version = int64(x.n)
				}
				return nil
			})
			if domain == "" || domain == "ai.onnx" {
				m.opset = version
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, bad("it has no graph")
	}
	return m, fields(g, func(x field) error {
		if x.wire != counted {
			return nil
		}
		switch x.number {
		case 1:
			n, err := readNode(x.b)
			m.nodes = append(m.nodes, n)
			return err
		case 5:
			t, err := readTensor(x.b)
			m.initializers = append(m.initializers, t)
			return err
		case 11, 12:
			v, err := readValue(x.b)
			if x.number == 11 {
				m.inputs = append(m.inputs, v)
			} else {
				m.outputs = append(m.outputs, v)
			}
			return err
		case 15:
			m.sparse = true
		}
		return nil
	})
}

func readNode(b []byte) (n protoNode, err error) {
	err = fields(b, func(x field) error {
		switch x.number {
		case 1:
			n.in = append(n.in, string(x.b))
		case 2:
			n.out = append(n.out, string(x.b))
		case 4:
			n.op = string(x.b)
		case 7:
			n.domain = string(x.b)
		case 5:
			a, sub, err := readAttr(x.b)
			n.attrs = append(n.attrs, a)
			n.subgraph = n.subgraph || sub
			return err
		}
		return nil
	})
	return n, err
}

func readAttr(b []byte) (a graph.Attr, subgraph bool, err error) {
	kind := int64(0)
	err = fields(b, func(x field) error {
		switch x.number {
		case 1:
			a.Name = string(x.b)
		case 2:
			return x.floats(4, &a.Floats)
		case 3:
			a.Ints = append(a.Ints, int64(x.n))
		case 4, 9:
			a.Texts = append(a.Texts, string(x.b))
		case 5:
			t, err := readTensor(x.b)
			a.Tensor = t.tensor
			return err
		case 6, 11:
			subgraph = true
		case 7:
			return x.floats(4, &a.Floats)
		case 8:
			return x.ints(&a.Ints)
		case 20:
			kind = int64(x.n)
		}
		return nil
	})
	// A value that is 0 may be left out.
	switch {
	case kind == 1 && a.Floats == nil:
		a.Floats = []float64{0}
	case kind == 2 && a.Ints == nil:
		a.Ints = []int64{0}
	case kind == 3 && a.Texts == nil:
		a.Texts = []string{""}
	}
	return a, subgraph, err
}

func readTensor(b []byte) (out protoTensor, err error) {
	var dims, ints []int64
	var floats []float64
	var texts []string
	var raw []byte
	kind, outside := int64(0), false
	err = fields(b, func(x field) error {
		switch x.number {
		case 1:
			return x.ints(&dims)
		case 2:
			kind = int64(x.n)
		case 4:
			return x.floats(4, &floats)
		case 5, 7, 11:
			return x.ints(&ints)
		case 6:
			texts = append(texts, string(x.b))
		case 8:
			out.name = string(x.b)
		case 9:
			raw = x.b
		case 10:
			return x.floats(8, &floats)
		case 13:
			outside = true
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	k, ok := graph.KindOf(kind)
	switch {
	case outside:
		return out, bad("tensor %q is in another file", out.name)
	case !ok:
		return out, bad("tensor %q has elements of type %d", out.name, kind)
	}
	t := &graph.Tensor{Kind: k}
	n := int64(1)
	for _, d := range dims {
		if d < 0 || d > mostTensors*16 || d > 0 && n > mostTensors*16/d {
			return out, bad("tensor %q is too large", out.name)
		}
		n *= d
		t.Dims = append(t.Dims, int(d))
	}
	switch {
	case k == graph.Text:
		t.Text = texts
	case raw != nil:
		if t.Num, err = rawNumbers(raw, kind); err != nil {
			return out, err
		}
	case floats != nil:
		t.Num = floats
	default:
		for _, v := range ints {
			if kind == 6 || kind == 3 || kind == 5 {
				v = int64(int32(v))
			}
			t.Num = append(t.Num, float64(v))
		}
	}
	if int64(t.Len()) != n {
		return out, bad("tensor %q has %d elements, not %d", out.name, t.Len(), n)
	}
	out.tensor = t
	return out, nil
}

// rawNumbers reads a tensor's elements as they lie in memory.
func rawNumbers(b []byte, kind int64) (out []float64, err error) {
	size := map[int64]int{1: 4, 11: 8, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 12: 4, 13: 8}[kind]
	if size == 0 || len(b)%size != 0 {
		return nil, bad("a tensor's elements are cut off")
	}
	out = make([]float64, 0, len(b)/size)
	for ; len(b) > 0; b = b[size:] {
		var v float64
		switch le := binary.LittleEndian; kind {
		case 1:
			v = float64(math.Float32frombits(le.Uint32(b)))
		case 11:
			v = math.Float64frombits(le.Uint64(b))
		case 2, 9:
			v = float64(b[0])
		case 3:
			v = float64(int8(b[0]))
		case 4:
			v = float64(le.Uint16(b))
		case 5:
			v = float64(int16(le.Uint16(b)))
		case 6:
			v = float64(int32(le.Uint32(b)))
		case 7:
			v = float64(int64(le.Uint64(b)))
		case 12:
			v = float64(le.Uint32(b))
		case 13:
			v = float64(le.Uint64(b))
		}
		out = append(out, v)
	}
	return out, nil
}

// readValue reads the name and type of an input or output.
func readValue(b []byte) (v protoValue, err error) {
	err = fields(b, func(x field) error {
		switch x.number {
		case 1:
			v.name = string(x.b)
		case 2:
			return fields(x.b, func(x field) error {
				switch x.number {
				case 1:
					return fields(x.b, v.tensorType)
				case 4, 5:
					v.seq = true
				}
				return nil
			})
		}
		return nil
	})
	return v, err
}

func (v *protoValue) tensorType(x field) error {
	switch x.number {
	case 1:
		v.kind = int64(x.n)
	case 2:
		return fields(x.b, func(x field) error {
			if x.number != 1 {
				return nil
			}
			dim := int64(-1)
			err := fields(x.b, func(x field) error {
				if x.number == 1 {
					dim = int64(x.n)
				}
				return nil
			})
			v.dims = append(v.dims, dim)
			return err
		})
	}
	return nil
}

// constantOf returns an initializer or the value of a Constant by name.
func (m *protoModel) constantOf(name string) *graph.Tensor {
	for _, t := range m.initializers {
		if t.name == name {
			return t.tensor
		}
	}
	for _, n := range m.nodes {
		if n.op == "Constant" && slices.Contains(n.out, name) {
			for _, a := range n.attrs {
				if a.Tensor != nil {
					return a.Tensor
				}
			}
		}
	}
	return nil
}

// maker returns the node that makes a value.
func (m *protoModel) maker(name string) *protoNode {
	for i := range m.nodes {
		if name != "" && slices.Contains(m.nodes[i].out, name) {
			return &m.nodes[i]
		}
	}
	return nil
}
