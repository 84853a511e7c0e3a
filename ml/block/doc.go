// Package block holds the encoded rows of a training on one node: Block, numbers in the
// tiles that the kernels want, and Blocks, a set of them.
//
//	Put ───────▶ in memory ── no room ──▶ file, mapped when it is opened, and the last ones stay so
//
// State is memory for what a family keeps of each row. All is charged to the job's pool,
// and what does not fit lies in files (package tempfile).
package block
