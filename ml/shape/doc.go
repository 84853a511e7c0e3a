// Package shape is the neutral description of what predictors compute: a closed set of shapes over the
// numbers and codes that the encoders of a row (ml/feature) make. A family gives the shape of its
// predictor (family.Described); formats of files write shapes and read them; neither knows the other.
//
//	Linear      weights a row, and a link
//	Trees       trees that split by numbers or sets of categories, their sum or mean, and a link
//	Layers      embeddings of codes, then dense layers, norms and activations, and a link
//	Centroids   the nearest of some points
//	Graph       operators on tensors, of a file that is none of the above
//
// A shape has all that it takes to predict, and of trees what explanations need. Shapes are immutable.
// Each is evaluated here in the plainest way: this is what predicts where a shape came from a file, and
// the reference with which families are compared.
//
// Tested by ml/interchange/formats.
package shape
