package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemmRows is the most rows of a tile of C: with two registers of columns their
// chains, which hide the latency, and what they need fill the registers.
const gemmRows = 6

// gemm: tiles of C of this many rows and two registers of columns, groups of them
// below each other. Steps are in bytes: ldc, from row to row and from k to k of
// A, and from k to k of B.
func gemm(s isa, n int) {
	kernel(fmt.Sprintf("gemm%d%s", n, s.suffix), "func(c *float32, ldc int, a *float32, arow, ak int, b *float32, bk int, k, groups int, add bool)")
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64()).(reg.GPVirtual)
	a, arow := Load(Param("a"), GP64()), Load(Param("arow"), GP64()).(reg.GPVirtual)
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
	Label("groups")
	c3 := GP64()
	LEAQ(Mem{Base: ldc, Index: ldc, Scale: 2}, c3)
	ADDQ(c, c3)
	acc := make([][2]reg.VecVirtual, n)
	for i := range acc {
		acc[i] = [2]reg.VecVirtual{s.vec(), s.vec()}
		for h := range 2 {
			VXORPS(acc[i][h], acc[i][h], acc[i][h])
		}
	}
	CMPB(add.Addr, Imm(0))
	JE(LabelRef("start"))
	for i, m := range sixRows(n, c, c3, ldc) {
		for h := range 2 {
			VMOVUPS(m.Offset(h*s.width), acc[i][h])
		}
	}
	Label("start")
	ap, a3, b, left := GP64(), GP64(), GP64(), Load(Param("k"), GP64())
	MOVQ(a, ap)
	LEAQ(Mem{Base: arow, Index: arow, Scale: 2}, a3)
	ADDQ(a, a3)
	MOVQ(b0, b)
	Label("k")
	lo, hi := s.vec(), s.vec()
	VMOVUPS(Mem{Base: b}, lo)
	VMOVUPS(Mem{Base: b, Disp: s.width}, hi)
	for i, m := range sixRows(n, ap, a3, arow) {
		v := s.vec()
		VBROADCASTSS(m, v)
		VFMADD231PS(lo, v, acc[i][0])
		VFMADD231PS(hi, v, acc[i][1])
	}
	ADDQ(ak, ap)
	if n > 3 {
		ADDQ(ak, a3)
	}
	ADDQ(bk, b)
	DECQ(left)
	JNZ(LabelRef("k"))
	for i, m := range sixRows(n, c, c3, ldc) {
		for h := range 2 {
			VMOVUPS(acc[i][h], m.Offset(h*s.width))
		}
	}
	if n == gemmRows {
		LEAQ(Mem{Base: c3, Index: ldc, Scale: 2}, c)
		ADDQ(ldc, c)
		LEAQ(Mem{Base: arow, Index: arow, Scale: 2}, a3)
		LEAQ(Mem{Base: a, Index: a3, Scale: 2}, a)
	}
	DECQ(groups.Addr)
	JNZ(LabelRef("groups"))
	s.done()
}

// sixRows gives the operands of n rows that lie step bytes apart; x3 points three
// of them behind x.
func sixRows(n int, x reg.Register, x3 reg.Register, step reg.Register) []Mem {
	var m []Mem
	for i := range n {
		base := x
		if i >= 3 {
			base = x3
		}
		at := Mem{Base: base}
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
