// Package copyfmt reads and writes the formats of COPY (PostgreSQL manual, "COPY"): text, csv and
// binary, and writes parquet, which exec/source reads. It turns bytes into batches and batches into
// bytes; it does not know where the bytes come from or go to.
//
//	bytes ─▶ records (lines, quoted lines, tuples) ─▶ fields ─▶ column builders ─▶ batch
//
// A Decoder pulls from an io.Reader, so a slow consumer slows the producer. It
// holds one batch and one record, and refuses records over MaxRecord bytes.
package copyfmt
