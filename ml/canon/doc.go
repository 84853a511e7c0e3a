// Package canon is the byte form of everything the training engine ships,
// checkpoints or keeps: partials, optimiser states, fitted encoders, models.
//
// A value has one encoding: little-endian numbers of fixed width, lengths as
// uint32 before strings and lists, no padding but before lent numbers, no map order. So
// equal values have equal bytes, and the hash of a model is the hash of what it says.
//
//	E appends; D reads, and is safe on any input: after the first fault it
//	gives zero values, and Done reports the fault as XX001.
package canon
