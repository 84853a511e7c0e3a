// Package source makes the rows of the table functions that read files or make
// data: read_csv, read_csv_rejects, sniff_csv, read_json, read_parquet, make_classification,
// make_regression, make_blobs, timeseries, random_matrix, and reshape, transpose
// and slice of it, which are views: matrix.go.
//
//	Source(name, args)      the columns, and an estimate of the rows
//	Parts(s)                into how many splits it is worth dividing
//	Open(s, part, of)       the rows of one split
//
// A source is a row of units — blocks of 8,192 generated rows, chunks of a file, files, row groups
// — and a split is a range of units, so any division yields the same rows, with the same Batch.Seq:
//
//	units    0 1 2 3 4 5 6 7 8 9
//	of = 3   [ 0 ) [  1  ) [  2 )
//
// Parquet's pages are read one by one into memory that is used again (chunk.go, pagehead.go) and decoded
// straight into columns (pages.go), small dictionaries staying dictionaries; columns that repeat and rare types and encodings go through the
// library's reader.
//
// A generator draws a unit's numbers from streams that depend on the seed, the column and the
// unit's number alone. Its arithmetic rounds after every step, so that all processors compute the
// same bits. Files are read by the session's node, or, where they lie in buckets or below the directories that a
// cluster shares, by all nodes, which must find the same ones: the plan carries a digest of them.
//
// Who reads, and whether they may read files of the server, is in Reader; object stores ask for a secret, or the same right.
package source
