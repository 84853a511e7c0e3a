package shape

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Shape is one of the shapes of this package.
type Shape interface {
	// Bytes is about the memory it takes.
	Bytes() int64
}

// Link makes predictions of margins.
type Link uint8

// The links. Their numbers are part of models' bytes: append only.
const (
	Identity Link = iota // the margin is the number
	Exp                  // its exponential is
	Logistic             // one margin: the log-odds of the second class
	Softmax              // a margin a class
	Share                // margins are probabilities: of each class, or, one margin, of the second class
	Each                 // a log-odds for each class against the others; probabilities are brought to a sum of 1
	Separate             // a log-odds for each class against the others, each a probability by itself
	numLinks
)

// Valid reports whether it is one of the links.
func (l Link) Valid() bool { return l < numLinks }

// Classes reports whether a link makes probabilities.
func (l Link) Classes() bool { return l >= Logistic }

// Apply changes margins, output by output, into numbers or probabilities.
func (l Link) Apply(z [][]float64) {
	if len(z) == 0 {
		return
	}
	switch l {
	case Exp:
		for _, v := range z {
			for i := range v {
				v[i] = f64.Exp1(v[i])
			}
		}
	case Logistic, Each, Separate:
		for _, v := range z {
			for i := range v {
				v[i] = f64.Sigmoid1(v[i])
			}
		}
		if l == Each {
			share(z)
		}
	case Softmax:
		for i := range z[0] {
			top := math.Inf(-1)
			for k := range z {
				top = max(top, z[k][i])
			}
			for k := range z {
				z[k][i] = f64.Exp1(z[k][i] - top)
			}
		}
		share(z)
	}
}

// share divides the numbers of a row by their sum.
func share(z [][]float64) {
	for i := range z[0] {
		sum := 0.0
		for k := range z {
			sum += z[k][i]
		}
		for k := range z {
			if sum > 0 {
				z[k][i] /= sum
			} else {
				z[k][i] = 1 / float64(len(z))
			}
		}
	}
}

// Linear is a weighted sum of numbers and of the codes' slots, for each output.
type Linear struct {
	Outputs    int
	Weights    []float64 // output by output: of the dense numbers, then of the slots
	Intercepts []float64 // by output
	Link       Link
}

// Bytes implements Shape.
func (s *Linear) Bytes() int64 { return 8 * int64(len(s.Weights)+len(s.Intercepts)) }

// Centroids are points; a row belongs to the nearest, the first of equals, counted from 1.
type Centroids struct {
	K  int
	At []float64 // one after the other, each as Linear.Weights
}

// Bytes implements Shape.
func (s *Centroids) Bytes() int64 { return 8 * int64(len(s.At)) }

// Layers is a feed-forward net over the dense numbers, followed by the vectors of the codes.
type Layers struct {
	Embeddings []Embedding // by code; none where there are no codes
	Layers     []Layer
	Mean, Dev  float64 // of a number that is predicted: it is output·Dev + Mean
	// Center and Scale take the outputs back to what the rows had, of a net that predicts its input.
	Center, Scale []float64
	Link          Link
}

// Embedding has a vector for each slot of a code; no code is zeros.
type Embedding struct {
	Width   int
	Vectors []float32 // slot by slot
}

// LayerKind says what a layer computes.
type LayerKind string

// The kinds of layers.
const (
	Dense      LayerKind = "dense"      // x·W + B
	Norm       LayerKind = "layer_norm" // to mean 0 and variance 1, times W, plus B
	Activation LayerKind = "activation" // Function of each number
)

// NormEpsilon is added to the variance in Norm.
const NormEpsilon = 1e-5

// Layer is one layer. In and Out are its widths.
type Layer struct {
	Kind     LayerKind
	In, Out  int
	W, B     []float32 // Dense: W has a row an input
	Function string    // relu, tanh, sigmoid, or gelu by its approximation with tanh
}

// Bytes implements Shape.
func (s *Layers) Bytes() (n int64) {
	for _, l := range s.Layers {
		n += 4 * int64(len(l.W)+len(l.B))
	}
	for _, e := range s.Embeddings {
		n += 4 * int64(len(e.Vectors))
	}
	return n
}
