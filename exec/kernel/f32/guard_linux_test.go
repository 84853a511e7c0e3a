package f32

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n floats that end at an unmapped page: reading behind them crashes the test.
func guarded(t *testing.T, n int) []float32 {
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(mem) })
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
}

// TestGemmStaysInside: nothing behind the last element of a matrix is read or written.
func TestGemmStaysInside(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 300 {
		m, n, k := 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(30)
		a, b, c := guarded(t, m*k), guarded(t, k*n), guarded(t, m*n)
		for i := range a {
			a[i] = 1
		}
		for i := range b {
			b[i] = 1
		}
		lda, ldb := k, n
		transA, transB := r.IntN(2) == 1, r.IntN(2) == 1
		if transA {
			lda = m
		}
		if transB {
			ldb = k
		}
		Gemm(transA, transB, m, n, k, a, lda, b, ldb, c, n, false)
		for i, v := range c {
			if v != float32(k) {
				t.Fatalf("%d×%d×%d: element %d is %v", m, n, k, i, v)
			}
		}
	}
}
