// Package sketch estimates the number of distinct values of a column from their hashes. (Flajolet
// et al., "HyperLogLog", 2007.)
//
//	values ─▶ hashes ─▶ 1,024 registers: by the top bits, the hash with the most leading zeros
//
// Few hashes change a register. Numbers in a small range are added once each, however many rows
// have them; for others, with AVX-512, eight hashes are compared with their registers at once.
package sketch
