package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// builder writes a graph. A value is its name.
type builder struct {
	nodes, initializers, inputs, outputs []message
	n                                    int      // of names given
	taken                                []string // by inputs and outputs
}

// The numbers of types of elements.
const (
	tFloat  = 1
	tInt64  = 7
	tText   = 8
	tDouble = 11
)

// The versions of the operators' sets that are used: old ones, which all runtimes have.
const (
	opset   = 15
	opsetML = 3
)

func (b *builder) name() string {
	b.n++
	return "tributary." + strconv.Itoa(b.n)
}

// op adds an operator with one output.
func (b *builder) op(op string, in []string, attrs ...message) string {
	out := b.name()
	b.put(op, in, []string{out}, attrs...)
	return out
}

// put adds an operator with outputs of these names.
func (b *builder) put(op string, in, out []string, attrs ...message) {
	var m message
	for _, v := range in {
		m.text(1, v)
	}
	for _, v := range out {
		m.text(2, v)
	}
	m.text(3, "n"+strconv.Itoa(len(b.nodes)))
	domain := ""
	if rest, ok := cutML(op); ok {
		op, domain = rest, "ai.onnx.ml"
	}
	m.text(4, op)
	for _, a := range attrs {
		m.bytes(5, a)
	}
	if domain != "" {
		m.text(7, domain)
	}
	b.nodes = append(b.nodes, m)
}

func cutML(op string) (string, bool) {
	const prefix = "ml."
	if len(op) > len(prefix) && op[:len(prefix)] == prefix {
		return op[len(prefix):], true
	}
	return op, false
}

// Attributes.
func attr(name string, kind int64, f func(m *message)) message {
	var m message
	m.text(1, name)
	f(&m)
	m.int(20, kind)
	return m
}

func integer(name string, v int64) message { return attr(name, 2, func(m *message) { m.int(3, v) }) }

func word(name, v string) message { return attr(name, 3, func(m *message) { m.text(4, v) }) }

func integersOf(name string, v []int64) message {
	return attr(name, 7, func(m *message) {
		for _, x := range v {
			m.int(8, x)
		}
	})
}

func words(name string, v []string) message {
	return attr(name, 8, func(m *message) {
		for _, x := range v {
			m.text(9, x)
		}
	})
}

func doubles(name string, v []float64) message {
	return attr(name, 4, func(m *message) { m.bytes(5, tensor(name, tDouble, []int{len(v)}, v, nil)) })
}

// tensor writes numbers or texts.
func tensor(name string, kind int64, dims []int, num []float64, text []string) message {
	var m message
	for _, d := range dims {
		m.int(1, int64(d))
	}
	m.int(2, kind)
	for _, s := range text {
		m.text(6, s)
	}
	m.text(8, name)
	if kind == tText {
		return m
	}
	var raw []byte
	for _, v := range num {
		switch kind {
		case tFloat:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		case tDouble:
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		case tInt64:
			raw = binary.LittleEndian.AppendUint64(raw, uint64(int64(v)))
		}
	}
	m.bytes(9, raw)
	return m
}

// constant adds a tensor.
func (b *builder) constant(kind int64, dims []int, num []float64) string {
	name := b.name()
	b.initializers = append(b.initializers, tensor(name, kind, dims, num, nil))
	return name
}

// double and whole are a number for all rows.
func (b *builder) double(v float64) string { return b.constant(tDouble, []int{1, 1}, []float64{v}) }
func (b *builder) whole(v float64) string  { return b.constant(tInt64, []int{1, 1}, []float64{v}) }

// axes is a list of axes.
func (b *builder) axes(list ...float64) string { return b.constant(tInt64, []int{len(list)}, list) }

func (b *builder) texts(list []string) string {
	name := b.name()
	b.initializers = append(b.initializers, tensor(name, tText, []int{len(list)}, nil, list))
	return name
}

// cast converts numbers.
func (b *builder) cast(v string, kind int64) string {
	return b.op("Cast", []string{v}, integer("to", kind))
}

// concat joins columns.
func (b *builder) concat(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return b.op("Concat", list, integer("axis", 1))
}

// sum adds columns up, row by row, into one.
func (b *builder) sum(v string) string {
	return b.op("ReduceSum", []string{v, b.axes(1)}, integer("keepdims", 1))
}

// table takes a row of a table of doubles or floats for each row's number, a column [N, 1].
func (b *builder) table(kind int64, idx string, width int, rows []float64) string {
	flat := b.op("Squeeze", []string{idx, b.axes(1)})
	return b.op("Gather", []string{b.constant(kind, []int{len(rows) / max(width, 1), width}, rows), flat}, integer("axis", 0))
}

// value writes the name and type of an input or output; a dimension below 0 is the rows'.
func value(name string, kind int64, dims ...int64) message {
	var shape, t, typ, m message
	for _, d := range dims {
		var dim message
		if d < 0 {
			dim.text(2, "rows")
		} else {
			dim.int(1, d)
		}
		shape.bytes(1, dim)
	}
	t.int(1, kind)
	t.bytes(2, shape)
	typ.bytes(1, t)
	m.text(1, name)
	m.bytes(2, typ)
	return m
}

func (b *builder) input(name string, kind int64, width int) {
	b.taken = append(b.taken, name)
	b.inputs = append(b.inputs, value(name, kind, -1, int64(width)))
}

// output names a value as an output, with a stroke behind where a column has the name.
func (b *builder) output(name, v string, kind int64, dims ...int64) {
	for slices.Contains(b.taken, name) {
		name += "_"
	}
	b.taken = append(b.taken, name)
	b.put("Identity", []string{v}, []string{name})
	b.outputs = append(b.outputs, value(name, kind, dims...))
}

// file is the whole model.
func (b *builder) file(name string, metadata [][2]string) []byte {
	var g message
	for _, n := range b.nodes {
		g.bytes(1, n)
	}
	g.text(2, name)
	for _, t := range b.initializers {
		g.bytes(5, t)
	}
	for _, v := range b.inputs {
		g.bytes(11, v)
	}
	for _, v := range b.outputs {
		g.bytes(12, v)
	}
	var m message
	m.int(1, 8) // the version of the format that opset 15 came with
	m.text(2, "tributary")
	m.bytes(7, g)
	for _, set := range []struct {
		domain  string
		version int64
	}{{"", opset}, {"ai.onnx.ml", opsetML}} {
		var s message
		if set.domain != "" {
			s.text(1, set.domain)
		}
		s.int(2, set.version)
		m.bytes(8, s)
	}
	for _, kv := range metadata {
		var p message
		p.text(1, kv[0])
		p.text(2, kv[1])
		m.bytes(14, p)
	}
	return m
}
