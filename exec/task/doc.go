// Package task runs one stage of a statement on one node: the threads'
// goroutines, their end, their errors.
//
//	Start ─► thread 0 … thread L-1     each: Open, Next …, Close
//	            │ root stage              │ other stages
//	            ▼                         ▼
//	         channel of a few batches   Router ─► ExchangeWriter
//	            ▼                         ▼
//	         Next (one reader)          Wait
//
// The first error of a thread cancels the others; a panic is an error (XX000). Close cancels, waits
// for all threads and releases what they held, and may be called at any time, twice too. The rows
// of a root stage are not kept: a slow reader holds the threads up.
package task
