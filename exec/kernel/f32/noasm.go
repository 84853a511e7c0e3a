//go:build !amd64 || noasm

package f32

func gemm(a, b operand, c result, m, n, k int)               { gemmGo(a, b, c, m, n, k) }
func packed(memory []float32, b operand, n, k int) []float32 { return packedNot(memory, b, n, k) }
func expAll(dst, src []float32)                              { expGo(dst, src) }
func tanhAll(dst, src []float32)                             { tanhGo(dst, src) }
func sigmoidAll(dst, src []float32)                          { sigmoidGo(dst, src) }

func cellForward(z, was, c, th, h []float32)    { cellForwardGo(z, was, c, th, h) }
func cellBackward(z, was, th, dh, dc []float32) { cellBackwardGo(z, was, th, dh, dc) }
