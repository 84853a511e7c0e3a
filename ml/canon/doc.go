// Package canon is the canonical binary encoding of everything the training engine
// sends, checkpoints or stores: partials, optimiser states, fitted encoders, models.
//
// A value has one encoding: little-endian numbers of fixed width, lengths as uint32
// before strings and lists, no padding but before lent numbers, no map order. So equal
// values have equal bytes, and the hash of a model's bytes identifies its content.
//
//	E appends; D reads, and is safe on any input: after the first fault it
//	returns zero values, and Done reports the fault as XX001.
//
// Messages between nodes that are no long vectors are structs of exported fields in the form of
// sql/codec, whose rule of evolution lets nodes of two versions train together: Put and Get.
package canon
