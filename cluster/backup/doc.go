// Package backup keeps backups of a cluster in a directory, writes and reads them.
//
//	DIR/tributary-backup             the format of the directory
//	DIR/files/ab/abcd…               segments and blobs, as nodes have them, by their ids
//	DIR/backups/20261128T214249.123Z-4711.backup
//	                                 one backup: what it is, the catalog's state, a checksum
//
// A file's id is random and its bytes never change, so its name says what is in it: a backup writes what the
// directory has not, whether an earlier backup left it or one that was cut off. The state names the files
// and has the hash of each. A backup exists once its .backup file does, which is written last.
//
// docs/decisions/0079-backups.md says why. Who gives a backup its files, and takes them back, is the
// caller's matter: cluster/coord for statements, cmd for a directory alone.
package backup
