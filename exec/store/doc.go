// Package store keeps tables on a node's disk: it writes batches into immutable
// segment files, maps and reads them without copying, and removes what no
// manifest mentions any more. Which segments make a table is the catalog's
// knowledge (sql/catalog.Manifest), on which nodes they lie is cluster/place's,
// moving them is cluster/repl's.
//
//	batches ─▶ Writer ─▶ catalog.Segment   rows inline (small), or a file:
//
//	  ┌──────────┬──────────────────────────────┬──────────────┬────────┬─────┐
//	  │ magic 64 │ group 0: chunk col1, col2, … │ group 1: …   │ dicts  │ foot│
//	  └──────────┴──────────────────────────────┴──────────────┴────────┴─────┘
//	  group   up to 64Ki rows                 chunk   the Arrow buffers of one
//	  footer  what is where, zone maps,               column, 64-byte aligned,
//	          checksums, columns by attnum            with a CRC-32C
//
//	Store ── one a node: maps files, counts their pins, installs and sweeps
//	  └ Pin ── one a statement and node: implements op.Tables; what it opened
//	           stays mapped until it is closed
//
// A chunk's checksum is verified when it is touched and was not lately; a mismatch, like a fault
// under the mapping (batch.Guard), is a *CorruptError, which the store repairs with a replica's
// file where it has a Remote, and which is XX001 where it has not. Whoever has read rows asks whether
// files were written to meanwhile (Pin.Intact).
//
// A scan whose filter fixes a key of its table looks it up in hash indexes of the segments, in
// memory, which the store makes for segments that are searched often (Pin.KeySplits). So does a
// scan below a join with few keys, or with few values in its filter, of whatever column
// (reader.pick).
//
// docs/decisions/0005-segment-format.md says why the format is as it is.
package store
