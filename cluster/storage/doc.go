// Package storage ties a cluster to the bucket that has its files (--storage). The place is an archive (package archive): a backup,
// the commits after it, and the files of both. What is here is what an archive has not:
//
//	place/LEASE            whose storage it is: number, cluster, until when
//	place/tributary-backup the same cluster, and the number, once it has a backup of its own there
//	place/files, backups   as in any archive
//	place/log-NUMBER       commits of the cluster with the lease of that number
//
// A lease counts up with each cluster that takes it, so none writes where another does. Files have random names.
//
// docs/decisions/0100-storage.md says why.
//
// Tested by cluster/node (storage_test.go).
package storage
