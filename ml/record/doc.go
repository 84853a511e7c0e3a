// Package record holds the rows of a training on one node, until they are blocks, in
// leaves that depend on nothing but the rows themselves.
//
// The dataset query brings rows to nodes in any order. Each row becomes a record: a
// 128-bit hash followed by its canonical bytes:
//
//	record   hash, 16 bytes big-endian │ NULL bits │ slots of 8, 4, 2, 1 bytes │ variable bytes
//	         every part is a multiple of eight bytes; -0 is 0, NaNs are one NaN,
//	         numerics have no trailing zeros: equal values have equal bytes
//
// Slots are little-endian, like the supported machines.
//
// The hash distributes it: its first 12 bits name one of 4096 buckets, and a leaf is a
// range of buckets. The number of leaves follows from the number of rows alone. So
// the contents of leaf i are a function of the multiset of rows, wherever and in
// whatever order they came in. Other bits of the hash draw the holdout (package holdout).
//
// Within a leaf rows have no order until they are encoded into a block: it is sorted by
// the hashes of its encoded rows (Order), with copies after the first placed by a
// hash of their ordinal. Since a hash is random, the order is also the shuffle that
// mini-batches need.
//
//	Add ─▶ records as they come      any goroutine, any order; spill to a file
//	         │  keys distributed to buckets 0 … 4095
//	         │ Take / Put     ship to the node that owns the leaf
//	         ▼
//	       Finish, MakeLeaf(leaf) ─▶ Leaf   records, in the file brought together when they are looked at
//	         │  package feature encodes, Order
//	         ▼
//	       block.Blocks               tiles of numbers for the kernels
//
// The copies of a row that are more than one row in 256 are distributed by their
// ordinals over all leaves: see Frequent.
//
// A keyed store (Config.Windows) hashes the columns of a partition only, and
// orders the rows of one by values of other columns: it is for windows. Encoded rows
// of windows say in their records what they are ordered by (Layout.Keyed).
//
// A store in place (Config.InPlace) is for rows whose order does not matter: buckets
// are then runs of rows as they arrived.
//
// A store whose rows can be read again (Config.Flow) drops those that it has no memory
// for. They are encoded as they arrive the second time; a store with a CodedLayout
// distributes the encoded rows, by the hashes of the raw rows, which it does not keep:
// a leaf's block is made of these.
//
// Everything held is charged to the job's pool. What does not fit is spilled to
// temporary files, which are unlinked once they are open.
package record
