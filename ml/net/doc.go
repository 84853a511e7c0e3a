// Package net holds neural networks, trained by mini-batches over the leaves of a
// training: of rows, and of windows of rows (windows.go).
//
//	options ─▶ net: layers, one vector of parameters ─▶ optimiser ─┐
//	                                                               │ parameters
//	leaf:  rows ─▶ micro-batches ─▶ forward ─▶ loss ─▶ backward ─▶ gradient
//	tree:  sums of gradients                                       │
//	root:  mean, clipped ─▶ optimiser's step ◀─────────────────────┘
//
// Numbers are float32, sums of losses float64. A micro-batch is up to 64 consecutive rows
// of a leaf. Gradients of a part's micro-batches are added in their order, and parts are
// merged in the order of the reduction tree. So a model is the same bytes on any number
// of nodes and threads.
//
// Models of times to events (survival.go) are nets too, with a driver of their
// own: their loss compares rows (cox.go), and they are trained to convergence.
package net
