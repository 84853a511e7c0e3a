// Package kernel holds the typed loops over Arrow buffers that operators are
// made of: taking rows, hashing them, comparing them, ordering them. It knows
// how each SQL type is represented (package sql/types) and nothing of plans or
// expressions, and it does no I/O.
//
//	Take      rows of one array by number, -1 yielding NULL
//	Column    an append-only column in chunks of 8,192 rows, read by row id
//	          id = chunk<<13 | row in chunk         NoRow yields NULL
//	Hasher    columns → []uint64; equal values have equal hashes, whatever
//	          their physical type (int4 5 = int8 5, numeric 1.0 = 1.00), on any node
//	KeyEncoder columns → byte strings whose bytes.Compare order is ORDER BY's
//	Order     the permutation that sorts such keys: radix by 12-byte prefixes
//
// Arrays that a kernel returns are immutable like all others. Inputs are dense: a selection is
// applied (Compact) before.
package kernel
