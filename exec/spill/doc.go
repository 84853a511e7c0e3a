// Package spill writes batches to temporary files and reads them back. The operator decides what is
// written, when, and in which order.
//
//	Dir      the temporary directory of one statement on one node
//	 └ Writer  Append … Append, Finish ──► Run  Open ──► Reader  Next … io.EOF
//
//	file:  frame frame frame …
//	frame: uint32 CRC-32C of the rest │ uint32 form │ uint64 raw length
//	       │ uint64 stored length │ the batch (package exec/batch), optionally
//	       compressed
//
// A run is immutable and may be read any number of times, by several readers
// at once. Closing the Dir removes all runs; a crash leaves the directory,
// which Sweep removes at the next start. Bytes written are counted into the
// statement's memory pool and against the Budget of the node's disk.
package spill
