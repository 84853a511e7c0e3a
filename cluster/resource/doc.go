// Package resource keeps what resource groups promise on one node: the memory that a group's statements hold
// together is a pool within the node's (exec/mem), their number is limited by a queue, and how often they begin by a
// rate. Limits are read from the catalog and change while statements run.
//
//	statement ──rate──▶ begins ──long──▶ slot of its group ──▶ tickets of nodes (exec/mem) ──▶ runs
//	                        └──short────────────────────────────────────────────────────────▶ runs
//
// The queue and the rate are state machines without clock, goroutines or locks; Group has these.
package resource
