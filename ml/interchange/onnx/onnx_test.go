package onnx

import (
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/interchange"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// TestMissingOperators: one error names all that is missing, each once, in order.
func TestMissingOperators(t *testing.T) {
	b := &builder{}
	b.input("x", tDouble, 1)
	v := b.op("ml.SVMRegressor", []string{"x"})
	v = b.op("Sin", []string{b.op("Sin", []string{v})})
	b.output("y", b.op("Conv", []string{b.op("Abs", []string{v})}), tDouble, -1, 1)
	_, err := read(b.file("m", nil), &interchange.Options{})
	const want = "operator Conv, operator Sin, operator ai.onnx.ml.SVMRegressor is not supported in onnx files"
	if pgerr.CodeOf(err) != pgerr.FeatureNotSupported || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestBounded: a small file does not make a large model, or one that is large when it runs.
func TestBounded(t *testing.T) {
	for name, make := range map[string]func(b *builder) string{
		"a tensor": func(b *builder) string {
			big := b.op("Expand", []string{"x", b.axes(1<<20, 1<<12)})
			return b.op("ReduceSum", []string{big, b.axes(1)}, integer("keepdims", 1))
		},
		"many tensors": func(b *builder) string {
			var all []string
			for range 40 {
				all = append(all, b.op("Expand", []string{"x", b.axes(1, 1<<19)}))
			}
			return b.sum(b.concat(all))
		},
		"a product": func(b *builder) string {
			wide := b.op("Reshape", []string{b.op("Expand", []string{"x", b.axes(1, 1<<15)}), b.axes(-1, 1)})
			return b.op("ReduceSum", []string{b.op("MatMul", []string{wide, b.op("Transpose", []string{wide})}), b.axes(0, 1)}, integer("keepdims", 1))
		},
	} {
		b := &builder{}
		b.input("x", tDouble, 1)
		b.output("y", make(b), tDouble, -1, 1)
		if _, err := read(b.file("m", nil), &interchange.Options{}); pgerr.CodeOf(err) != pgerr.InvalidBinaryRepresentation {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesOfOutputs: a feature may be called like an output.
func TestNamesOfOutputs(t *testing.T) {
	b := &builder{}
	b.input("variable", tDouble, 1)
	b.output("variable", b.op("Abs", []string{"variable"}), tDouble, -1, 1)
	if _, err := read(b.file("m", nil), &interchange.Options{}); err != nil {
		t.Error(err)
	}
}
