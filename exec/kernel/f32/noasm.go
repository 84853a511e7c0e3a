//go:build !amd64 || noasm

package f32

func gemm(a, b operand, c result, m, n, k int) { gemmGo(a, b, c, m, n, k) }
func expAll(dst, src []float32)                { expGo(dst, src) }
func tanhAll(dst, src []float32)               { tanhGo(dst, src) }
func sigmoidAll(dst, src []float32)            { sigmoidGo(dst, src) }
