// Package dataset holds the rows of a training job on one node, in an order
// that depends on nothing but the rows themselves.
//
// The dataset query brings rows to nodes in any order. Each row becomes a
// record, its canonical bytes behind a 128-bit hash of them:
//
//	record   hash, 16 bytes big-endian │ NULL bits │ slots of 8, 4, 2, 1 bytes │ variable bytes
//	         every part is a multiple of eight bytes; -0 is 0, NaNs are one NaN,
//	         numerics have no trailing zeros: equal values have equal bytes
//
// Slots are little-endian, as the machines that we run on are.
//
// The hash deals it: its first 12 bits name one of 4096 buckets, a leaf is a
// range of buckets, and within a leaf records stand in the order of their bytes,
// hash first; of copies of a record all but the first by a hash of their
// ordinal. The number of leaves follows from the number of rows alone. So the
// contents of leaf i are a function of the multiset of rows, wherever and in
// whatever order they came in; and since a hash has no meaning, the order is
// also the shuffle that mini-batches want, and its low bits draw the holdout, but
// for rows with many copies, of which a share is held out: see Holdout.
//
//	Add ─▶ records as they come      any goroutine, any order; spill to a file
//	         │  keys dealt to buckets 0 … 4095
//	         │ TakeBucket / PutBucket     ship to the node that owns the leaf
//	         ▼
//	       Finish, Settle(leaf) ─▶ Leaf   an order of records, in the file made when it is looked at
//	         │  package feature encodes
//	         ▼
//	       Blocks                     tiles of numbers for the kernels; dito
//
// The copies of a row that are more than one row in 256 are dealt by their
// ordinals over all leaves: see Common.
//
// A keyed store (Config.Windows) hashes the columns of a partition only, and
// orders the rows of one by values of other columns: it is for windows.
//
// A store in place (Config.InPlace) is for rows whose order means nothing:
// buckets are then runs of rows as they came, and leaves are not sorted.
//
// A store whose rows can be read again (Config.Flow) forgets those that it has no
// memory for. They are encoded as they come the second time; a store with a
// CodedLayout deals what the encoders made of them, by the hashes of the rows.
//
// Everything held is charged to the job's pool. When it does not fit, it goes
// to temporary files, which have no name any more once they are open.
package dataset
