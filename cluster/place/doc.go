// Package place decides, purely, which nodes hold which segment files: where a new file
// goes, and what to copy or drop when nodes come, go, or fill unevenly. Its input is
// the members and the files, its output a list of actions, which package repl carries
// out.
//
//	a file ── wants min(Replicas, members) holders
//	  writer first, then by rendezvous hash: each node has a score for the
//	  file, the highest win, so that a change of members moves few files
//
// A file of rows that are divided by the hash of a key goes first to the nodes that
// rows of that hash are sent to, its homes, so that they need not be sent.
//
// A member that is dead for less than the grace still counts as a holder: most
// come back. A draining one holds until its files are elsewhere.
package place
