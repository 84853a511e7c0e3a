// Package sketch estimates how many different values a column has, by the values' hashes.
// (Flajolet et al., "HyperLogLog", 2007.)
//
//	values ─▶ hashes ─▶ 1,024 registers: the hash of fewest leading zeros by the top bits
//
// Few hashes change a register. Numbers of a small range are added once each, whatever their
// number of rows; of others, with AVX-512, the hashes of eight are compared with their registers
// at once.
package sketch
