// Package copydata is COPY: a table's or a query's rows as bytes, to a client or a file,
// and bytes from there as rows of a table.
//
//	client bytes ─Write─▶ pipe ─▶ copyfmt.Decoder ─▶ rows ─▶ write.Run.Load
//	rows ─▶ copyfmt.Encoder ─Read─▶ client bytes
//
// Tested by cluster/node/copyparquet_test.go, cluster/node/copypacked_test.go, cluster/node/testdata/sql/files.txt.
package copydata
