// Command gen writes the amd64 kernels of the packages f64 and f32 with avo
// (go generate), those of the package that -pkg names.
//
// Where two instruction sets are worth it, AVX2+FMA and AVX-512, a kernel is made
// twice, doing the same operations on the same lanes. The Go twins in those
// packages say which.
package main
