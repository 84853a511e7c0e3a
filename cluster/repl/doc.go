// Package repl replicates segment files between nodes and keeps each where package
// place wants it.
//
//	Push    a new file to its replicas; returns when a majority has it on disk
//	Fetch   a file this node wants to read and has not (store.Remote)
//	Repair  the same for one that is damaged
//	Lead    the leader's loop: copy what has too few holders, let go of what
//	        has too many, even out, compact
//	Prove   that files are still where a commit is about to say they are
//	sweep   every node's loop: remove files nobody needs, as two looks at what a
//	        majority confirms find
//	scrub   every node's loop: look for files that are missing or damaged, and repair them
//
//	            repl.push (stream)          repl.fetch (stream)
//	  writer ─────────────────▶ replica ◀──────────────────── reader
//	  leader ── repl.copy ────▶ target ── repl.fetch ──▶ holder
//	  leader ── repl.compact ─▶ holder ── Push, Propose
//
// A file is verified by its hash whenever it arrives. Who holds what is in
// the catalog; this package changes it only after the bytes are on disk.
package repl
