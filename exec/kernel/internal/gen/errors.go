package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// errorEnds is errorEndsGo: of truths and of errors the greatest size and the least above 0,
// by lanes.
func errorEnds(s isa) {
	kernel("errorEnds"+s.suffix, "func(ends *[32]float64, y, p *float64, n int)")
	ends, y, p, n := Load(Param("ends"), GP64()), Load(Param("y"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	less, size := s.vec(), s.vec()
	VMOVUPD(konst(1<<64-1), less)
	VMOVUPD(konst(1<<63-1), size)
	acc := make([][]reg.VecVirtual, 4)
	for i := range acc {
		acc[i] = s.vecs(s.parts)
		for _, a := range acc[i] {
			if i%2 == 0 {
				VXORPD(a, a, a)
			} else {
				VMOVUPD(konst(0x7ff<<52), a)
			}
		}
	}
	Label("loop")
	for h := range s.parts {
		v, d := s.vec(), s.vec()
		VMOVUPD(Mem{Base: y, Disp: s.width * h}, v)
		VSUBPD(Mem{Base: p, Disp: s.width * h}, v, d)
		for i, x := range []reg.VecVirtual{v, d} {
			VANDPD(size, x, x)
			VMAXPD(acc[2*i][h], x, acc[2*i][h])
			VPADDQ(less, x, x) // of 0 it is no number, which is not taken
			VMINPD(acc[2*i+1][h], x, acc[2*i+1][h])
		}
	}
	ADDQ(Imm(64), y)
	ADDQ(Imm(64), p)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	for i := range acc {
		for h, a := range acc[i] {
			VMOVUPD(a, Mem{Base: ends, Disp: 64*i + s.width*h})
		}
	}
	s.done()
}

// errorParts is errorPartsGo: by lanes the sums of two parts, which grids make, of truths,
// their squares, errors, their sizes and their squares, which have four.
func errorParts(s isa) {
	kernel("errorParts"+s.suffix, "func(sums *[104]float64, grids *[5]float64, y, p *float64, n int)")
	sums, grids := Load(Param("sums"), GP64()), Load(Param("grids"), GP64())
	y, p, n := Load(Param("y"), GP64()), Load(Param("p"), GP64()), Load(Param("n"), GP64())
	type sum struct {
		at, grid  int
		acc, rest reg.VecVirtual
	}
	start := func(at, grid int) sum {
		a := sum{at, grid, s.vec(), s.vec()}
		VBROADCASTSD(Mem{Base: grids, Disp: 8 * grid}, a.acc)
		VXORPD(a.rest, a.rest, a.rest)
		return a
	}
	t := s.vec()
	add := func(a sum, v reg.VecVirtual) { // spoils v
		VADDPD(v, a.acc, t)
		VSUBPD(a.acc, t, a.acc)
		VSUBPD(a.acc, v, v)
		VMOVAPD(t, a.acc)
		VADDPD(v, a.rest, a.rest)
	}
	end := func(a sum, h int) {
		g := s.vec()
		VBROADCASTSD(Mem{Base: grids, Disp: 8 * a.grid}, g)
		VSUBPD(g, a.acc, a.acc)
		VMOVUPD(a.acc, Mem{Base: sums, Disp: 64*a.at + s.width*h})
		VMOVUPD(a.rest, Mem{Base: sums, Disp: 64*(a.at+1) + s.width*h})
	}
	at := GP64()
	loop := func(name string, body func()) {
		XORQ(at, at)
		Label(name)
		body()
		ADDQ(Imm(8), at)
		CMPQ(at, n)
		JLT(LabelRef(name))
	}
	for h := range s.parts {
		row := func(of reg.Register) Mem { return Mem{Base: of, Index: at, Scale: 8, Disp: s.width * h} }
		value, square, lost := start(0, 0), start(2, 1), s.vec()
		VXORPD(lost, lost, lost)
		loop(fmt.Sprintf("truths_%d", h), func() {
			v, q, r := s.vec(), s.vec(), s.vec()
			VMOVUPD(row(y), v)
			VMULPD(v, v, q)
			VMOVAPD(q, r)
			VFMSUB231PD(v, v, r) // v·v - q
			VORPD(r, lost, lost)
			add(value, v)
			add(square, q)
		})
		end(value, h)
		end(square, h)
		VMOVUPD(lost, Mem{Base: sums, Disp: 64*12 + s.width*h})
		d, size, high, low := start(4, 2), start(6, 2), start(8, 3), start(10, 4)
		loop(fmt.Sprintf("errors_%d", h), func() {
			v, q, r := s.vec(), s.vec(), s.vec()
			VMOVUPD(row(y), v)
			VSUBPD(row(p), v, v)
			VMULPD(v, v, q)
			VMOVAPD(q, r)
			VFMSUB231PD(v, v, r)
			add(high, q)
			add(low, r)
			VANDPD(konst(1<<63-1), v, r)
			add(d, v)
			add(size, r)
		})
		for _, a := range []sum{d, size, high, low} {
			end(a, h)
		}
	}
	s.done()
}
