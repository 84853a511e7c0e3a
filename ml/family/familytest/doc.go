// Package familytest holds a family of models to its contract, without a
// cluster: it runs the family's driver over blocks made of plain numbers and
// checks that the model is the same bytes whatever the number of nodes and
// threads, whether messages travel as values or as bytes, and wherever the
// training is broken off and resumed.
//
// Tested by ml/linear, ml/tree, ml/kmeans, ml/decomp, ml/net.
package familytest
