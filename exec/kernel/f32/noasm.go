//go:build !amd64 || noasm

package f32

func gemm(a, b operand, c result, m, n, k int)             { gemmGo(a, b, c, m, n, k) }
func packed(memory []float32, a operand, m, k int) operand { return packedNot(memory, a, m, k) }
func gemmSteps(m, n, k, steps int, a, b, c []float32)      { gemmStepsGo(m, n, k, steps, a, b, c) }
func tanhAll(dst, src []float32)                           { tanhGo(dst, src) }
func sigmoidAll(dst, src []float32)                        { sigmoidGo(dst, src) }

func reluAll(dst, src []float32)  { reluGo(dst, src) }
func reluBack(dst, src []float32) { reluBackGo(dst, src) }
func addAll(dst, src []float32)   { addGo(dst, src) }

func adam(x, g, m, v []float32, s *AdamStep) { adamGo(x, g, m, v, s) }

func cellForward(z, was, c, th, h, out []float32) { cellForwardGo(z, was, c, th, h, out) }
func cellBackward(z, was, th, dh, dc []float32)   { cellBackwardGo(z, was, th, dh, dc) }
