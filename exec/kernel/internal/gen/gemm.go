package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemms are tiles of C of two registers of columns and up to six rows: their chains, which
// hide the latency, and what they need fill the registers. For what is left of C beside
// them there are tiles of one register, and twelve rows or again up to six.
func gemms() {
	for rows := 1; rows <= 6; rows++ {
		gemm(avx2, rows, 2, rows == 6)
		gemm(avx512, rows, 2, rows == 6)
		gemm(avx2, rows, 1, false)
	}
	gemm(avx2, 12, 1, true)
}

// gemm: tiles of C of n rows and so many registers of columns, groups of them
// below each other where there are to be many. Chains run over so many steps of k each.
// Distances are in bytes: ldc, from row to row and from k to k of A, from the end of a step
// to the next in A, and from k to k of B, whose steps follow each other.
func gemm(s isa, n, regs int, many bool) {
	kernel(fmt.Sprintf("gemm%dx%d%s", n, regs, s.suffix), "func(c *float32, ldc int, a *float32, arow, ak int, b *float32, bk int, k, steps, apart, groups int, add bool)")
	steps := AllocLocal(8)
	c, ldc := Load(Param("c"), GP64()).(reg.GPVirtual), Load(Param("ldc"), GP64()).(reg.GPVirtual)
	a, arow := Load(Param("a"), GP64()).(reg.GPVirtual), Load(Param("arow"), GP64()).(reg.GPVirtual)
	ak := Load(Param("ak"), GP64())
	b0, bk := Load(Param("b"), GP64()), Load(Param("bk"), GP64())
	add, err := Param("add").Resolve()
	if err != nil {
		panic(err)
	}
	groups, err := Param("groups").Resolve()
	if err != nil {
		panic(err)
	}
	apart, err := Param("apart").Resolve()
	if err != nil {
		panic(err)
	}
	Label("groups")
	left := Load(Param("steps"), GP64())
	MOVQ(left, steps)
	acc := make([][]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = s.vecs(regs)
		for _, v := range acc[i] {
			VXORPS(v, v, v)
		}
	}
	CMPB(add.Addr, Imm(0))
	JE(LabelRef("start"))
	for i, m := range rowsAt(n, threes(n, c, ldc), ldc) {
		for h, v := range acc[i] {
			VMOVUPS(m.Offset(h*s.width), v)
		}
	}
	Label("start")
	ap, b := threes(n, a, arow), GP64()
	MOVQ(b0, b)
	Label("step")
	left = Load(Param("k"), GP64())
	Label("k")
	cols := s.vecs(regs)
	for h, v := range cols {
		VMOVUPS(Mem{Base: b, Disp: h * s.width}, v)
	}
	for i, m := range rowsAt(n, ap, arow) {
		v := s.vec()
		VBROADCASTSS(m, v)
		for h, w := range cols {
			VFMADD231PS(w, v, acc[i][h])
		}
	}
	for _, p := range ap {
		ADDQ(ak, p)
	}
	ADDQ(bk, b)
	DECQ(left)
	JNZ(LabelRef("k"))
	DECQ(steps)
	JZ(LabelRef("end"))
	for _, p := range ap {
		ADDQ(apart.Addr, p)
	}
	JMP(LabelRef("step"))
	Label("end")
	end := n
	if many {
		end++ // where the next group begins
	}
	below := threes(end, c, ldc)
	for i, m := range rowsAt(n, below, ldc) {
		for h, v := range acc[i] {
			VMOVUPS(v, m.Offset(h*s.width))
		}
	}
	if many {
		MOVQ(below[n/3], c)
		next := threes(end, a, arow)
		MOVQ(next[n/3], a)
		DECQ(groups.Addr)
		JNZ(LabelRef("groups"))
	}
	s.done()
}

// threes returns new pointers to every third of n rows that lie step bytes apart.
func threes(n int, x, step reg.GPVirtual) []reg.Register {
	list := []reg.Register{GP64()}
	MOVQ(x, list[0])
	for len(list) < (n+2)/3 {
		p := GP64()
		LEAQ(Mem{Base: step, Index: step, Scale: 2}, p)
		ADDQ(list[len(list)-1], p)
		list = append(list, p)
	}
	return list
}

// rowsAt returns the operands of n rows by pointers to every third.
func rowsAt(n int, threes []reg.Register, step reg.Register) []Mem {
	var m []Mem
	for i := range n {
		at := Mem{Base: threes[i/3]}
		if i%3 > 0 {
			at.Index, at.Scale = step, uint8(i%3)
		}
		m = append(m, at)
	}
	return m
}

// pack: k rows of 16 columns, from stride to step bytes apart; of source columns
// only those of the mask are read, the others are 0.
func pack() {
	kernel("packAVX2", "func(dst *float32, step int, src *float32, stride int, k int, mask *[16]int32)")
	dst, step := Load(Param("dst"), GP64()), Load(Param("step"), GP64())
	src, stride := Load(Param("src"), GP64()), Load(Param("stride"), GP64())
	k, mask := Load(Param("k"), GP64()), Load(Param("mask"), GP64())
	var m [2]reg.VecVirtual
	for h := range m {
		m[h] = YMM()
		VMOVUPS(Mem{Base: mask, Disp: 32 * h}, m[h])
	}
	Label("loop")
	for h := range m {
		v := YMM()
		VMASKMOVPS(Mem{Base: src, Disp: 32 * h}, m[h], v)
		VMOVUPS(v, Mem{Base: dst, Disp: 32 * h})
	}
	ADDQ(stride, src)
	ADDQ(step, dst)
	DECQ(k)
	JNZ(LabelRef("loop"))
	avx2.done()
}

// packTransposed: eight rows of k ≥ 8 floats as k rows of eight, step bytes apart.
func packTransposed() {
	kernel("packTransposedAVX2", "func(dst *float32, step int, rows *[8]*float32, k int)")
	dst, rows := Load(Param("dst"), GP64()), Load(Param("rows"), GP64())
	step, err := Param("step").Resolve()
	if err != nil {
		panic(err)
	}
	n := Load(Param("k"), GP64())
	var base [8]reg.GPVirtual
	for i := range base {
		base[i] = GP64()
		MOVQ(Mem{Base: rows, Disp: 8 * i}, base[i])
	}
	k := GP64()
	eights(k, n, func() {
		var r [8]reg.VecVirtual
		for i := range r {
			r[i] = YMM()
			VMOVUPS(Mem{Base: base[i], Index: k, Scale: 4}, r[i])
		}
		out := GP64()
		MOVQ(k, out)
		IMULQ(step.Addr, out)
		ADDQ(dst, out)
		for _, v := range transpose8(r) {
			VMOVUPS(v, Mem{Base: out})
			ADDQ(step.Addr, out)
		}
	})
	avx2.done()
}

// packSteps: of eight columns, stride bytes apart, so many steps of k numbers, a multiple of eight, as
// rows of eight, step bytes apart and one step's after the other's. A step begins apart bytes
// behind the end of the one before.
func packSteps() {
	kernel("packStepsAVX2", "func(dst *float32, step int, src *float32, stride, apart int, k, steps int)")
	dst, step := Load(Param("dst"), GP64()).(reg.GPVirtual), Load(Param("step"), GP64()).(reg.GPVirtual)
	src, stride := Load(Param("src"), GP64()).(reg.GPVirtual), Load(Param("stride"), GP64()).(reg.GPVirtual)
	apart, steps, next := Load(Param("apart"), GP64()), Load(Param("steps"), GP64()), GP64()
	MOVQ(step, next)
	SHLQ(Imm(3), next)
	from, to := threes(8, src, stride), threes(8, dst, step)
	Label("step")
	left := Load(Param("k"), GP64())
	Label("k")
	var r [8]reg.VecVirtual
	for i, m := range rowsAt(8, from, stride) {
		r[i] = YMM()
		VMOVUPS(m, r[i])
	}
	columns := transpose8(r)
	for i, m := range rowsAt(8, to, step) {
		VMOVUPS(columns[i], m)
	}
	for i := range from {
		ADDQ(Imm(32), from[i])
		ADDQ(next, to[i])
	}
	SUBQ(Imm(8), left)
	JNZ(LabelRef("k"))
	for _, p := range from {
		ADDQ(apart, p)
	}
	DECQ(steps)
	JNZ(LabelRef("step"))
	avx2.done()
}
