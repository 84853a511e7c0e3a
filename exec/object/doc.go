// Package object reads and writes files by their URIs, wherever they lie: on the disks of the server, or in
// buckets of S3-compatible stores.
//
// A Store is what readers of files, COPY, backups and models in files need of a place. Stores finds the store of a
// URI for a role: with the secret of the longest scope that the role may use, or, for members of
// pg_read_server_files and pg_write_server_files, with the credentials of the node.
//
//	URI, role ─ Stores.For ─┬ server files: local
//	                        └ s3://…: bucket ─ Reader ─ Cache (blocks on local disk) ─ ranges by HTTP
//
// An object is read by ranges of the state that it had when it was listed: where its etag is another by then, the
// read fails. A key that is written exists in full or not at all.
package object
