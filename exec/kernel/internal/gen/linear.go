package main

import (
	"math"

	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileLoop runs body for groups of four tiles, then for single ones. step
// moves the pointers on by n tiles.
func tileLoop(name string, tiles reg.GPVirtual, body func(n int)) {
	for _, n := range []int{4, 1} {
		loop, end := fmt.Sprintf("%s_%d", name, n), fmt.Sprintf("%s_%d_end", name, n)
		Label(loop)
		CMPQ(tiles, Imm(uint64(n)))
		JL(LabelRef(end))
		body(n)
		SUBQ(Imm(uint64(n)), tiles)
		JMP(LabelRef(loop))
		Label(end)
	}
}

// rows returns the operands of the same column in n (1 or 4) tiles that lie
// stride bytes apart; x3 points three strides behind x.
func rows(n int, x, x3, stride reg.GPVirtual) []Mem {
	m := []Mem{{Base: x}}
	if n == 4 {
		m = append(m, Mem{Base: x, Index: stride, Scale: 1}, Mem{Base: x, Index: stride, Scale: 2}, Mem{Base: x3})
	}
	return m
}

// margins: z += X·w, four tiles side by side to hide the latency of the chain.
func margins(s isa, elem int) {
	kernel("margins"+elemName(elem)+s.suffix, "func(z []float64, x []"+elemType(elem)+", w []float64)")
	z, tiles := Load(Param("z").Base(), GP64()), Load(Param("z").Len(), GP64()).(reg.GPVirtual)
	x := Load(Param("x").Base(), GP64()).(reg.GPVirtual)
	w, d := Load(Param("w").Base(), GP64()), Load(Param("w").Len(), GP64()).(reg.GPVirtual)
	SHRQ(Imm(3), tiles)
	stride := GP64()
	MOVQ(d, stride)
	shift := 5
	if elem == 8 {
		shift = 6
	}
	SHLQ(Imm(uint64(shift)), stride)
	tileLoop("tiles", tiles, func(n int) {
		acc := s.vecs(n * s.parts)
		for i, a := range acc {
			VMOVUPD(Mem{Base: z, Disp: i * s.width}, a)
		}
		p, p3, wp, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		MOVQ(w, wp)
		MOVQ(d, left)
		ahead := GP64()
		if n == 4 {
			LEAQ(Mem{Base: x, Index: stride, Scale: 8}, ahead)
		}
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		wj := s.vec()
		VBROADCASTSD(Mem{Base: wp}, wj)
		for t, m := range rows(n, p, p3, stride) {
			for h := range s.parts {
				v := s.vec()
				s.loadElem(elem, m.Offset(h*s.width*elem/8), v)
				VFMADD231PD(v, wj, acc[t*s.parts+h])
			}
		}
		if n == 4 {
			// What comes after next: the four streams confuse the processor's own
			// guesses.
			for line := 0; line < 32*elem; line += 64 {
				PREFETCHT1(Mem{Base: ahead, Disp: line})
			}
			ADDQ(U32(uint32(32*elem)), ahead)
		}
		ADDQ(U32(uint32(8*elem)), p)
		ADDQ(U32(uint32(8*elem)), p3)
		ADDQ(Imm(8), wp)
		DECQ(left)
		JNZ(LabelRef(loop))
		for i, a := range acc {
			VMOVUPD(a, Mem{Base: z, Disp: i * s.width})
		}
		ADDQ(U32(uint32(n*64)), z)
		for range n {
			ADDQ(stride, x)
		}
	})
	s.done()
}

// nearBytes is the most of what comes after that grad fetches: with what it works on
// it has to fit in the second cache.
const nearBytes = 1 << 17

// grad: acc += Xᵀ·r, the lane sums of a column passing through registers once
// for four tiles. What it reads is in a near cache, from the margins: meanwhile as
// much that comes after it is fetched, for the margins of the next rows.
func grad(s isa, elem int) {
	kernel("grad"+elemName(elem)+s.suffix, "func(acc []float64, x []"+elemType(elem)+", r []float64)")
	acc, d := Load(Param("acc").Base(), GP64()), Load(Param("acc").Len(), GP64()).(reg.GPVirtual)
	x := Load(Param("x").Base(), GP64()).(reg.GPVirtual)
	r, tiles := Load(Param("r").Base(), GP64()), Load(Param("r").Len(), GP64()).(reg.GPVirtual)
	SHRQ(Imm(3), tiles)
	SHRQ(Imm(3), d)
	stride := GP64()
	MOVQ(d, stride)
	shift := 5
	if elem == 8 {
		shift = 6
	}
	SHLQ(Imm(uint64(shift)), stride)
	size, ahead := Load(Param("x").Len(), GP64()), GP64()
	SHLQ(Imm(uint64(shift-3)), size)
	LEAQ(Mem{Base: x, Index: size, Scale: 1}, ahead)
	tileLoop("tiles", tiles, func(n int) {
		rs := s.vecs(n * s.parts)
		for i, v := range rs {
			VMOVUPD(Mem{Base: r, Disp: i * s.width}, v)
		}
		p, p3, ap, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		MOVQ(acc, ap)
		MOVQ(d, left)
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		as := s.vecs(s.parts)
		for h, a := range as {
			VMOVUPD(Mem{Base: ap, Disp: h * s.width}, a)
		}
		for t, m := range rows(n, p, p3, stride) {
			for h, a := range as {
				v := s.vec()
				s.loadElem(elem, m.Offset(h*s.width*elem/8), v)
				VFMADD231PD(v, rs[t*s.parts+h], a)
			}
		}
		for h, a := range as {
			VMOVUPD(a, Mem{Base: ap, Disp: h * s.width})
		}
		if n == 4 {
			CMPQ(size, U32(nearBytes))
			JGT(LabelRef("near"))
			for line := 0; line < 32*elem; line += 64 {
				PREFETCHT1(Mem{Base: ahead, Disp: line})
			}
			ADDQ(U32(uint32(32*elem)), ahead)
			Label("near")
		}
		ADDQ(U32(uint32(8*elem)), p)
		ADDQ(U32(uint32(8*elem)), p3)
		ADDQ(Imm(64), ap)
		DECQ(left)
		JNZ(LabelRef(loop))
		ADDQ(U32(uint32(n*64)), r)
		for range n {
			ADDQ(stride, x)
		}
	})
	s.done()
}

// dot: lane sums of products of n = len(a) values, a multiple of eight.
func dot(s isa) {
	kernel("dot"+s.suffix, "func(acc *[8]float64, a []float64, b []float64)")
	acc := Load(Param("acc"), GP64())
	a, n := Load(Param("a").Base(), GP64()), Load(Param("a").Len(), GP64())
	b := Load(Param("b").Base(), GP64())
	as := s.vecs(s.parts)
	for h, v := range as {
		VMOVUPD(Mem{Base: acc, Disp: h * s.width}, v)
	}
	Label("loop")
	for h, v := range as {
		t := s.vec()
		VMOVUPD(Mem{Base: a, Disp: h * s.width}, t)
		VFMADD231PD(Mem{Base: b, Disp: h * s.width}, t, v)
	}
	ADDQ(Imm(64), a)
	ADDQ(Imm(64), b)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	for h, v := range as {
		VMOVUPD(v, Mem{Base: acc, Disp: h * s.width})
	}
	s.done()
}

// sigmoids is sigmoidsGo.
func sigmoids(s isa) {
	kernel("sigmoids"+s.suffix, "func(z *float64, n int)")
	z, n := Load(Param("z"), GP64()), Load(Param("n"), GP64())
	Label("loop")
	for part := range s.parts {
		m := Mem{Base: z, Disp: part * s.width}
		v, x, p := s.vec(), s.vec(), s.vec()
		VMOVUPD(m, v)
		s.or(konst(math.Float64bits(math.Copysign(0, -1))), v, x)
		t := s.expCore(x)
		VADDPD(f(1), t, x)
		VMOVUPD(f(1), p)
		VDIVPD(x, p, p)
		VMULPD(p, t, t)
		if s.parts == 1 {
			below := K()
			VPMOVQ2M(v, below)
			VMOVAPD(t, below, p)
		} else {
			VBLENDVPD(v, t, p, p) // by the sign of v
		}
		VMOVUPD(p, m)
	}
	ADDQ(Imm(64), z)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	s.done()
}
