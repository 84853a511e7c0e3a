// Package archive sends the commits of a cluster to its archive, so that it can be restored to any moment.
// The archive is a place with backups, written by package backup:
//
//	place    backup ── log ── log ── log            written by whatever node leads
//	                                   │
//	catalog                       Archive.Version   up to which commits are there
//	                                   │
//	node     history (package past) ───┴── commits that are to be sent
//
// Commits follow from each other and are the same on every node, so a file of them can be written by two nodes, or
// twice. The catalog says how far the place is, once it is: it is never further than the place. Until then no node removes
// the commits, nor files that they need. Where commits are missing all the same, a new backup is made.
//
// Tested by cluster/node (archive_test.go).
package archive
