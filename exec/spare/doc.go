// Package spare reuses the memory of long arrays that are not needed any more, until the garbage
// collector frees them.
//
//	Reuse ─▶ list of weak pointers, by size ─▶ Zeroed, Dirty
//	                   │
//	                   ▼ the collector
//
// Nothing here is charged: the caller charges what it takes, and a spare is garbage.
package spare
