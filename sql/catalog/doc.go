// Package catalog holds the database's metadata: descriptors of schemas, relations, roles, models,
// jobs and nodes, and the manifest of each table's immutable segments.
//
// A State is one version of all of it and never changes. Changes make a new
// State from an old one, by a pure function:
//
//	committed state ──Apply(changes)──▶ next state     the Raft machine's step
//	       │
//	       └─────────Apply(own changes)──▶ view         what a transaction sees
//
// so a transaction reads its own writes by applying them to the newest (READ COMMITTED) or to its
// first (REPEATABLE READ) committed state, and commits by proposing the same changes. A change
// carries what it expects of the state it is applied to; where that fails Apply returns an error
// (40001 or another 4xxxx) and the old state remains.
//
// The package does no I/O and reads no clock.
//
//	State
//	  schemas    OID → *Schema        relations  OID → *Relation (tables, views,
//	  roles      OID → *Role                     sequences, indexes, matviews)
//	  models     OID → *Model         manifests  table OID → *Manifest
//	  jobs       OID → *Job             partition → [segment, segment, …]
//	  nodes      id  → *Node                      each: file or inline rows,
//	  settings   name → value                     zone maps, deleted rows
package catalog
