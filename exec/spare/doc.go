// Package spare hands on the memory of long arrays that are gone, until the collector
// finds them.
//
//	Reuse ─▶ list of weak pointers, by size ─▶ Zeroed, Dirty
//	                   │
//	                   ▼ the collector
//
// Nothing here is charged: what is taken is charged by who takes it, and a spare is garbage.
package spare
