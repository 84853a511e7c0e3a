// Package codec encodes Go values as bytes: the one form of catalog states, changes
// and cluster commands in durable logs and snapshots, and of plans and all other
// messages between nodes.
//
// Equal values have equal encodings in every process, which lets states be compared by their hash.
// Structs are length-prefixed lists of their exported fields in order, so fields may be added at
// the end:
//
//	struct     length, field, field, …    missing fields read as zero,
//	                                      unknown ones are skipped
//	slice      count+1, elements          0 is nil
//	map        count+1, sorted pairs      0 is nil
//	pointer    0, or 1 and the value
//	integers   varint (signed: zigzag)    floats   8 bytes; of a
//	                                      []float32 4 each
//	string     length, bytes              [n]T     n elements
//	Datum      tag, value                 union    kind, value
//
// A union is an interface whose types are registered in an order (Union); a type
// may have an encoding of its own (Register) or another's (As). Layout writes all of that down, for
// tests that keep it: a field in the middle of a struct would make what an older
// node wrote mean something else.
//
// Decoding is bounded by its input: a length is checked against the bytes that
// are left before anything is allocated.
package codec
