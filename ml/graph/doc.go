// Package graph is small graphs of operators on tensors, with the meaning that ONNX gives them: the shape
// of a model that came from a file and is none of package shape. A graph is data (Graph); Compile checks it
// and makes it a Program, whose Run takes a few rows at a time.
//
//	Input columns ─▶ tensors [rows, width] ─▶ operators, in order ─▶ numbers, or labels and probabilities
//
// Numbers of any kind are float64 in memory and rounded to their kind after each operator, so that a graph
// of float32 computes as it would elsewhere. What is compiled comes from anywhere: counts, dimensions and
// axes are checked when operators run, on a trial row at Compile; sizes are bounded.
//
// Tested by ml/interchange/formats.
package graph
