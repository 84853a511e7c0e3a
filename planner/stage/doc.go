// Package stage places an optimised plan on nodes: it decides where rows must
// move, puts Exchanges there, and cuts the tree at them into stages. It also
// prints plans for EXPLAIN.
//
//	Sort                         stage 0, gateway     Sort
//	  Aggregate          ─▶                            Aggregate final
//	    Join                                             Receive 1
//	      Scan                   stage 1, all nodes    Aggregate partial ─▶ 0 (hash, gather)
//	      Scan                                           Join
//	                                                       Scan
//	                                                       Receive 2
//	                             stage 2, all nodes    Scan ─▶ 1 (broadcast)
//
// Each node of the tree returns its rows in some distribution: all at the gateway, spread over the
// nodes in no order, or by the hash of some columns. A node that needs another distribution gets an
// Exchange below it. On a single node all rows are where they are needed and the whole plan is one
// stage; the threads of its task share the work.
//
// What is read at the gateway: values, virtual relations, functions in FROM,
// buffers, recursive unions. Tables and sources are read where they are.
package stage
