// Package node owns everything on one machine and starts and stops it in
// order: memory pool, store, catalog, worker, engine.
//
//	start:  pool → store → meta → worker → engine → (wire, by cmd)
//	stop:   (wire) → engine → worker → meta → store
package node
