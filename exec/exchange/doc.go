// Package exchange divides the rows of a stage among the tasks that read them. The contract
// of what carries them there (op.Exchange, op.ExchangeWriter) belongs to the operators that
// use it; cluster/flow implements it.
//
//	stage's threads ─► Router ─► ExchangeWriter ──► Receive
//	                 by hash, to all, …
package exchange
