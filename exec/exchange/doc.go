// Package exchange moves rows between the stages of a statement. The contract
// (op.Exchange, op.ExchangeWriter) belongs to the operators that use it; here
// are what every implementation shares and the one within a process. The one
// between nodes is cluster/flow.
//
//	stage's threads ─► Router ─► ExchangeWriter ──► Queue ─► Receive
//	                 by hash, to all, …           a sender and destination
//
// A Queue holds a bounded number of bytes: a sender waits for the reader's
// credit, so that a slow stage slows those before it and nothing piles up.
package exchange
