// Command gen writes the amd64 kernels of the packages f64 and f32 with avo
// (go generate), those of the package that -pkg names.
//
// Where two instruction sets are worth it, AVX2+FMA and AVX-512, a kernel is made
// twice, doing the same operations on the same lanes. The Go twins in those
// packages say which.
//
// Tested by exec/kernel/f64, exec/kernel/f32 (each kernel is compared with its twin in Go).
package main
