package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnEnd is what is known of some values of a column, by lanes.
type columnEnd struct {
	lo, hi, size reg.VecVirtual
	sum          [2]reg.VecVirtual // of values 0 to 3 and 4 to 7
}

// newColumnEnd is that of no values; ones has all bits.
func newColumnEnd(ones reg.VecVirtual) columnEnd {
	e := columnEnd{lo: YMM(), hi: YMM(), size: YMM()}
	VMOVUPS(konst(0x7f8000007f800000), e.lo)
	VMOVUPS(konst(0xff800000ff800000), e.hi)
	VMOVDQA(ones, e.size)
	for i := range e.sum {
		e.sum[i] = YMM()
		VXORPD(e.sum[i], e.sum[i], e.sum[i])
	}
	return e
}

// take takes in the eight values of v, which lie at p, and spoils v.
func (e columnEnd) take(v reg.VecVirtual, p reg.Register, ones reg.VecVirtual) {
	VMINPS(v, e.lo, e.lo)
	VMAXPS(v, e.hi, e.hi)
	VPADDD(v, v, v) // without the sign
	VPADDD(ones, v, v)
	VPMINUD(v, e.size, e.size)
	for h, s := range e.sum {
		wide := YMM()
		VCVTPS2PD(Mem{Base: p, Disp: 16 * h}, wide)
		VADDPD(wide, s, s)
	}
}

// merge takes in others.
func (e columnEnd) merge(o columnEnd) {
	VMINPS(o.lo, e.lo, e.lo)
	VMAXPS(o.hi, e.hi, e.hi)
	VPMINUD(o.size, e.size, e.size)
	for i, s := range o.sum {
		VADDPD(s, e.sum[i], e.sum[i])
	}
}

// put brings the lanes together and stores them.
func (e columnEnd) put(low, high, least, sum Mem) {
	fold := func(v reg.VecVirtual, op func(a, b, to reg.VecVirtual)) reg.Register {
		t := YMM()
		VPERM2F128(Imm(1), v, v, t)
		op(t, v, v)
		for _, order := range []uint64{0x4e, 0xb1} {
			VPERMILPS(Imm(order), v, t)
			op(t, v, v)
		}
		return v.AsX()
	}
	VMOVSS(fold(e.lo, func(a, b, to reg.VecVirtual) { VMINPS(a, b, to) }), low)
	VMOVSS(fold(e.hi, func(a, b, to reg.VecVirtual) { VMAXPS(a, b, to) }), high)
	VMOVD(fold(e.size, func(a, b, to reg.VecVirtual) { VPMINUD(a, b, to) }), least)
	VADDPD(e.sum[1], e.sum[0], e.sum[0])
	half := XMM()
	VEXTRACTF128(Imm(1), e.sum[0], half)
	VADDPD(half, e.sum[0].AsX(), half)
	swapped := XMM()
	VPERMILPD(Imm(1), half, swapped)
	VADDSD(swapped, half, half)
	VMOVSD(half, sum)
}

// columnEnds32: of each column's values the least and greatest, twice the bits of the
// least size above 0, less 1, and the sum, of two tiles at a time. Processors with
// AVX-512 run it too.
func columnEnds() {
	kernel("columnEnds32AVX2", "func(low, high *float32, least *uint32, sums *float64, x *float32, d, tiles int)")
	low, high, least, sums := Load(Param("low"), GP64()), Load(Param("high"), GP64()), Load(Param("least"), GP64()), Load(Param("sums"), GP64())
	x, d, tiles := Load(Param("x"), GP64()), Load(Param("d"), GP64()), Load(Param("tiles"), GP64())
	stride, p, n := GP64(), GP64(), GP64()
	MOVQ(d, stride)
	SHLQ(Imm(5), stride)
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	Label("cols")
	ends := [2]columnEnd{newColumnEnd(ones), newColumnEnd(ones)}
	one := func(i int) {
		v := YMM()
		VMOVUPS(Mem{Base: p}, v)
		ends[i].take(v, p, ones)
		ADDQ(stride, p)
	}
	MOVQ(x, p)
	MOVQ(tiles, n)
	SUBQ(Imm(2), n)
	JLT(LabelRef("last"))
	Label("pairs")
	one(0)
	one(1)
	SUBQ(Imm(2), n)
	JGE(LabelRef("pairs"))
	Label("last")
	CMPQ(n, I8(-2))
	JEQ(LabelRef("fold"))
	one(0)
	Label("fold")
	ends[0].merge(ends[1])
	ends[0].put(Mem{Base: low}, Mem{Base: high}, Mem{Base: least}, Mem{Base: sums})
	for _, to := range []reg.Register{low, high, least} {
		ADDQ(Imm(4), to)
	}
	ADDQ(Imm(8), sums)
	ADDQ(Imm(32), x)
	DECQ(d)
	JNZ(LabelRef("cols"))
	avx2.done()
}

// columnLeast: the least size above 0 of each column's values, by lanes.
// Processors with AVX-512 run it too.
func columnLeast(elem int) {
	kernel("columnLeast"+elemName(elem)+"AVX2", "func(least, x *"+elemType(elem)+", d, tiles int)")
	least, x := Load(Param("least"), GP64()), Load(Param("x"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	stride := tileStride(d, elem)
	move, low := VMOVUPS, VMINPS
	sign, inf, zero := konst(0x7fffffff7fffffff), konst(0x7f8000007f800000), YMM()
	if elem == 8 {
		move, low = VMOVUPD, VMINPD
		sign, inf = konst(1<<63-1), konst(0x7ff<<52)
	}
	VXORPS(zero, zero, zero)
	absent, size := YMM(), YMM()
	move(inf, absent)
	move(sign, size)
	tileLoop("tiles", tiles, func(n int) {
		p, p3, lp, left := GP64(), GP64(), GP64(), GP64()
		MOVQ(x, p)
		LEAQ(Mem{Base: x, Index: stride, Scale: 2}, p3)
		ADDQ(stride, p3)
		MOVQ(least, lp)
		MOVQ(d, left)
		loop := fmt.Sprintf("cols_%d", n)
		Label(loop)
		for h := range elem / 4 {
			lo := YMM()
			move(Mem{Base: lp, Disp: 32 * h}, lo)
			for _, m := range rows(n, p, p3, stride) {
				v, none := YMM(), YMM()
				move(m.Offset(32*h), v)
				VANDPS(size, v, v)
				if elem == 8 {
					VCMPPD(Imm(0), zero, v, none)
					VBLENDVPD(none, absent, v, v)
				} else {
					VCMPPS(Imm(0), zero, v, none)
					VBLENDVPS(none, absent, v, v)
				}
				low(v, lo, lo)
			}
			move(lo, Mem{Base: lp, Disp: 32 * h})
		}
		for _, r := range []reg.Register{p, p3, lp} {
			ADDQ(U32(uint32(8*elem)), r)
		}
		DECQ(left)
		JNZ(LabelRef(loop))
		for range n {
			ADDQ(stride, x)
		}
	})
	avx2.done()
}

// columnSplits: by column and lane the sums of the two parts of values that a
// grid makes, and with two powers of the four parts of their squares.
func columnSplits(s isa, name string, elem, powers int) {
	kernel(name+elemName(elem)+s.suffix, "func(sums *float64, x *"+elemType(elem)+", grids *float64, d, tiles int)")
	sums, x, grids := Load(Param("sums"), GP64()), Load(Param("x"), GP64()).(reg.GPVirtual), Load(Param("grids"), GP64())
	d, tiles := Load(Param("d"), GP64()).(reg.GPVirtual), Load(Param("tiles"), GP64()).(reg.GPVirtual)
	stride := tileStride(d, elem)
	left, p, n := GP64(), GP64(), GP64()
	MOVQ(d, left)
	Label("cols")
	grid := make([]reg.VecVirtual, 2*powers-1)
	for i := range grid {
		grid[i] = s.vec()
		VBROADCASTSD(Mem{Base: grids, Disp: 8 * i}, grid[i])
	}
	for h := range s.parts {
		acc := s.vecs(2 * len(grid))
		for _, a := range acc {
			VXORPD(a, a, a)
		}
		MOVQ(x, p)
		MOVQ(tiles, n)
		loop := fmt.Sprintf("tiles_%d", h)
		Label(loop)
		v, q, r := s.vec(), s.vec(), s.vec()
		s.loadElem(elem, Mem{Base: p, Disp: 4 * h * elem}, v)
		if powers > 1 {
			VMULPD(v, v, q)
			VMOVAPD(q, r)
			VFMSUB231PD(v, v, r) // v·v - q
		}
		for i, part := range []reg.VecVirtual{v, q, r}[:len(grid)] {
			t := s.vec()
			VADDPD(grid[i], part, t)
			VSUBPD(grid[i], t, t)
			VSUBPD(t, part, part)
			VADDPD(t, acc[2*i], acc[2*i])
			VADDPD(part, acc[2*i+1], acc[2*i+1])
		}
		ADDQ(stride, p)
		DECQ(n)
		JNZ(LabelRef(loop))
		for i, a := range acc {
			VMOVUPD(a, Mem{Base: sums, Disp: 64*i + 32*h})
		}
	}
	ADDQ(U32(384), sums)
	ADDQ(Imm(24), grids)
	ADDQ(U32(uint32(8*elem)), x)
	DECQ(left)
	JNZ(LabelRef("cols"))
	s.done()
}
