// Package onnx reads and writes ONNX models: protocol buffers with a graph of operators of the domains
// ai.onnx and ai.onnx.ml.
//
//	write  encoders, then the shape, as operators: the graph takes the raw columns
//	read   any graph of operators that ml/graph has; rows are its first dimension
//
// A written graph has an input a column, [N, 1]: a double for a number, date or timestamp (days since
// 1970), a string for a category, "" being NULL; an array is [N, its length]. NaN is NULL. Its outputs are
// "variable" of a number or a vector, "label" and "probabilities" of classes, "label" and "distance" of
// clusters; of several targets with "_" and the target's name behind.
//
// Tested by ml/interchange/formats, and by the check of clients with the real systems.
package onnx
