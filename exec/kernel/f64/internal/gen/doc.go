// Command gen writes the amd64 kernels of package f64 with avo:
//
//	go run ./internal/gen -out kernels_amd64.s -stubs stubs_amd64.go -pkg f64
//
// Each kernel is made twice, for AVX2+FMA and for AVX-512, doing the same
// operations on the same lanes. The Go twins in package f64 say which.
package main
