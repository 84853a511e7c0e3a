package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// margins4: what margins does, of four vectors of weights at once, for each of which a
// value is then read and widened a fourth as often. d is not 0.
func margins4(s isa, elem int) { marginsOf(s, elem, 4) }

// margins2: of two.
func margins2(s isa, elem int) { marginsOf(s, elem, 2) }

func marginsOf(s isa, elem, of int) {
	kernel(fmt.Sprint("margins", of, "x")+elemName(elem)+s.suffix, "func(z *float64, zstride int, x *"+elemType(elem)+", w *float64, d, tiles int)")
	z, zs := Load(Param("z"), GP64()), Load(Param("zstride"), GP64()).(reg.GPVirtual)
	x, w := Load(Param("x"), GP64()).(reg.GPVirtual), Load(Param("w"), GP64())
	d, tiles := Load(Param("d"), GP64()), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	SHLQ(Imm(3), zs)
	ws, stride := GP64(), GP64()
	MOVQ(d, ws)
	SHLQ(Imm(3), ws)
	MOVQ(d, stride)
	if elem == 8 {
		SHLQ(Imm(6), stride)
	} else {
		SHLQ(Imm(5), stride)
	}
	each := func(p reg.Register, by reg.GPVirtual) []Mem {
		list := []Mem{{Base: p}, {Base: p, Index: by, Scale: 1}}
		if of == 4 {
			third := GP64()
			LEAQ(Mem{Base: p, Index: by, Scale: 2}, third)
			ADDQ(by, third)
			list = append(list, Mem{Base: p, Index: by, Scale: 2}, Mem{Base: third})
		}
		return list
	}
	body := func(n int) {
		at := each(z, zs)
		acc := make([][]reg.VecVirtual, of)
		for k := range acc {
			acc[k] = s.vecs(n * s.parts)
			for i, a := range acc[k] {
				VMOVUPD(at[k].Offset(i*s.width), a)
			}
		}
		p, p3, wp, w3, left := GP64(), GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		if n == 4 {
			LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
			ADDQ(stride, p3)
		}
		MOVQ(w, wp)
		if of == 4 {
			LEAQ(Mem{Base: w, Index: ws, Scale: 2}, w3)
			ADDQ(ws, w3)
		}
		MOVQ(d, left)
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		var v []reg.VecVirtual
		for _, m := range rows(n, p, p3, stride) {
			for h := range s.parts {
				v = append(v, s.vec())
				s.loadElem(elem, m.Offset(h*s.width*elem/8), v[len(v)-1])
			}
		}
		for k, m := range []Mem{{Base: wp}, {Base: wp, Index: ws, Scale: 1}, {Base: wp, Index: ws, Scale: 2}, {Base: w3}}[:of] {
			wj := s.vec()
			VBROADCASTSD(m, wj)
			for i := range v {
				VFMADD231PD(v[i], wj, acc[k][i])
			}
		}
		ADDQ(U32(uint32(8*elem)), p)
		if n == 4 {
			ADDQ(U32(uint32(8*elem)), p3)
		}
		ADDQ(Imm(8), wp)
		if of == 4 {
			ADDQ(Imm(8), w3)
		}
		DECQ(left)
		JNZ(LabelRef(loop))
		for k := range acc {
			for i, a := range acc[k] {
				VMOVUPD(a, at[k].Offset(i*s.width))
			}
		}
		ADDQ(U32(uint32(64*n)), z)
		if n == 4 {
			LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x)
		} else {
			ADDQ(stride, x)
		}
	}
	if s.parts == 1 {
		tileLoop("tiles", tiles, body)
	} else { // there are no registers for more than a tile
		Label("tiles")
		body(1)
		DECQ(tiles)
		JNZ(LabelRef("tiles"))
	}
	s.done()
}
