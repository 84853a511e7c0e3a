// Package node owns everything on one machine and starts and stops it in
// order: memory pool, store, catalog, engine.
//
//	start:  pool → store → meta → engine → (wire, by cmd)
//	stop:   (wire) → engine → meta → store
package node
