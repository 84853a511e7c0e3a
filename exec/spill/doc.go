// Package spill puts batches on disk and reads them back. It does not know what they mean: the
// operator decides what to write, when, and in which order.
//
//	Dir      the temporary directory of one statement on one node
//	 └ Writer  Append … Append, Finish ──► Run  Open ──► Reader  Next … io.EOF
//
//	file:  frame frame frame …
//	frame: uint32 CRC-32C of the rest │ uint32 form │ uint64 raw length
//	       │ uint64 stored length │ the batch (package exec/batch), perhaps
//	       compressed
//
// A run is immutable and may be read any number of times, by several readers
// at once. Close of the Dir removes everything; a crash leaves the directory,
// which Sweep removes at the next start. Bytes written are counted into the
// statement's memory pool and against the Budget of the node's disk.
package spill
