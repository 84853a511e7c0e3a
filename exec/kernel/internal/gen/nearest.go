package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// nearest: the nearest and second nearest centre of the rows of tiles, four
// centres at a time: eight chains of a subtraction and an FMA hide their
// latency. Processors with AVX-512 run it too.
func nearest() {
	kernel("nearestAVX2", "func(best, second *float64, at *int64, x, c, z *float64, d, groups, tiles, zstep int)")
	best, second, at := Load(Param("best"), GP64()), Load(Param("second"), GP64()), Load(Param("at"), GP64())
	x, z0 := Load(Param("x"), GP64()), Load(Param("z"), GP64())
	tiles, err := Param("tiles").Resolve()
	if err != nil {
		panic(err)
	}
	Label("tiles")
	// What is seldom wanted stays in memory: there are not enough registers.
	c, g := Load(Param("c"), GP64()), Load(Param("groups"), GP64())
	z, num := GP64(), GP64()
	MOVQ(z0, z)
	XORQ(num, num)
	inf := YMM()
	VMOVUPD(konst(0x7ff0000000000000), inf)
	for h := range 2 {
		VMOVUPD(inf, Mem{Base: best, Disp: 32 * h})
		VMOVUPD(inf, Mem{Base: second, Disp: 32 * h})
	}
	Label("groups")
	var acc [4][2]reg.VecVirtual
	for q := range acc {
		for h := range 2 {
			acc[q][h] = YMM()
			VMOVUPD(Mem{Base: z, Disp: 64*q + 32*h}, acc[q][h])
		}
	}
	xp, left := GP64(), Load(Param("d"), GP64())
	MOVQ(x, xp)
	TESTQ(left, left)
	JZ(LabelRef("summed"))
	Label("cols")
	lo, hi := YMM(), YMM()
	VMOVUPD(Mem{Base: xp}, lo)
	VMOVUPD(Mem{Base: xp, Disp: 32}, hi)
	for q := range acc {
		cj, t := YMM(), YMM()
		VBROADCASTSD(Mem{Base: c, Disp: 8 * q}, cj)
		VSUBPD(cj, lo, t)
		VFMADD231PD(t, t, acc[q][0])
		VSUBPD(cj, hi, cj)
		VFMADD231PD(cj, cj, acc[q][1])
	}
	ADDQ(Imm(64), xp)
	ADDQ(Imm(32), c)
	DECQ(left)
	JNZ(LabelRef("cols"))
	Label("summed")
	for h := range 2 {
		b, s, i := YMM(), YMM(), YMM()
		VMOVUPD(Mem{Base: best, Disp: 32 * h}, b)
		VMOVUPD(Mem{Base: second, Disp: 32 * h}, s)
		VMOVUPD(Mem{Base: at, Disp: 32 * h}, i)
		n := YMM()
		nx := XMM()
		VMOVQ(num, nx)
		VPBROADCASTQ(nx, n)
		for q := range acc {
			less, worse := YMM(), YMM()
			VCMPPD(Imm(cmpLT), b, acc[q][h], less)
			VMAXPD(acc[q][h], b, worse)
			VMINPD(worse, s, s)
			VMINPD(acc[q][h], b, b)
			VBLENDVPD(less, n, i, i)
			if q < 3 {
				VPADDQ(konst(1), n, n)
			}
		}
		VMOVUPD(b, Mem{Base: best, Disp: 32 * h})
		VMOVUPD(s, Mem{Base: second, Disp: 32 * h})
		VMOVUPD(i, Mem{Base: at, Disp: 32 * h})
	}
	ADDQ(Imm(4), num)
	ADDQ(U32(256), z)
	DECQ(g)
	JNZ(LabelRef("groups"))
	for _, p := range []reg.Register{best, second, at} {
		ADDQ(Imm(64), p)
	}
	step := Load(Param("d"), GP64())
	SHLQ(Imm(6), step)
	ADDQ(step, x)
	ADDQ(Load(Param("zstep"), step), z0)
	DECQ(tiles.Addr)
	JNZ(LabelRef("tiles"))
	avx2.done()
}

// widen: float32s as float64s, n of them, a multiple of eight.
func widen() {
	kernel("widenAVX2", "func(dst *float64, src *float32, n int)")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	Label("loop")
	for h := range 2 {
		v := YMM()
		VCVTPS2PD(Mem{Base: src, Disp: 16 * h}, v)
		VMOVUPD(v, Mem{Base: dst, Disp: 32 * h})
	}
	ADDQ(Imm(64), dst)
	ADDQ(Imm(32), src)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}

// narrow: float64s as float32s, n of them, a multiple of eight.
func narrow() {
	kernel("narrowAVX2", "func(dst *float32, src *float64, n int)")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	Label("loop")
	for h := range 2 {
		v := XMM()
		VCVTPD2PSY(Mem{Base: src, Disp: 32 * h}, v)
		VMOVUPS(v, Mem{Base: dst, Disp: 16 * h})
	}
	ADDQ(Imm(32), dst)
	ADDQ(Imm(64), src)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	avx2.done()
}

// stays: a bit for each row of pairs of tiles whose nearest centre is in doubt or
// another than before, in float32, four centres at a time.
func stays() {
	kernel("staysAVX2", "func(doubt *uint8, x *float32, was *int32, c, start *float32, err *[2]float32, d, groups, pairs int)")
	const best, second, at = 0, 64, 128 // on the stack, by tile
	mem := AllocLocal(192)
	doubt, x, was := Load(Param("doubt"), GP64()), Load(Param("x"), GP64()), Load(Param("was"), GP64())
	c0, start := Load(Param("c"), GP64()), Load(Param("start"), GP64())
	stride := Load(Param("d"), GP64())
	SHLQ(Imm(5), stride)
	pairs, err := Param("pairs").Resolve()
	if err != nil {
		panic(err)
	}
	Label("pairs")
	inf := YMM()
	VMOVUPS(konst(0x7f8000007f800000), inf)
	for t := range 2 {
		VMOVUPS(inf, mem.Offset(best+32*t))
		VMOVUPS(inf, mem.Offset(second+32*t))
	}
	c, z, g, num := GP64(), GP64(), Load(Param("groups"), GP64()), GP64()
	MOVQ(c0, c)
	MOVQ(start, z)
	XORQ(num, num)
	Label("groups")
	var acc [4][2]reg.VecVirtual
	for q := range acc {
		for t := range 2 {
			acc[q][t] = YMM()
			VBROADCASTSS(Mem{Base: z, Disp: 4 * q}, acc[q][t])
		}
	}
	xp, left := GP64(), Load(Param("d"), GP64())
	MOVQ(x, xp)
	Label("cols")
	lo, hi := YMM(), YMM()
	VMOVUPS(Mem{Base: xp}, lo)
	VMOVUPS(Mem{Base: xp, Index: stride, Scale: 1}, hi)
	for q := range acc {
		cj := YMM()
		VBROADCASTSS(Mem{Base: c, Disp: 4 * q}, cj)
		VFMADD231PS(cj, lo, acc[q][0])
		VFMADD231PS(cj, hi, acc[q][1])
	}
	ADDQ(Imm(32), xp)
	ADDQ(Imm(16), c)
	DECQ(left)
	JNZ(LabelRef("cols"))
	for t := range 2 {
		b, s, i := YMM(), YMM(), YMM()
		VMOVUPS(mem.Offset(best+32*t), b)
		VMOVUPS(mem.Offset(second+32*t), s)
		VMOVUPS(mem.Offset(at+32*t), i)
		n, nx := YMM(), XMM()
		VMOVQ(num, nx)
		VPBROADCASTD(nx, n)
		for q := range acc {
			less, worse := YMM(), YMM()
			VCMPPS(Imm(cmpLT), b, acc[q][t], less)
			VMAXPS(acc[q][t], b, worse)
			VMINPS(worse, s, s)
			VMINPS(acc[q][t], b, b)
			VBLENDVPS(less, n, i, i)
			if q < 3 {
				VPADDD(konst(1<<32|1), n, n)
			}
		}
		VMOVUPS(b, mem.Offset(best+32*t))
		VMOVUPS(s, mem.Offset(second+32*t))
		VMOVUPS(i, mem.Offset(at+32*t))
	}
	ADDQ(Imm(4), num)
	ADDQ(Imm(16), z)
	DECQ(g)
	JNZ(LabelRef("groups"))
	// What the sums may be wrong by: err[0] + err[1]·|x|².
	MOVQ(x, xp)
	left = Load(Param("d"), left)
	norms := [2]reg.VecVirtual{YMM(), YMM()}
	for _, v := range norms {
		VXORPS(v, v, v)
	}
	Label("norms")
	VMOVUPS(Mem{Base: xp}, lo)
	VMOVUPS(Mem{Base: xp, Index: stride, Scale: 1}, hi)
	VFMADD231PS(lo, lo, norms[0])
	VFMADD231PS(hi, hi, norms[1])
	ADDQ(Imm(32), xp)
	DECQ(left)
	JNZ(LabelRef("norms"))
	e := Load(Param("err"), GP64())
	for t, v := range norms {
		e0, e1, gap, eq := YMM(), YMM(), YMM(), YMM()
		VBROADCASTSS(Mem{Base: e}, e0)
		VBROADCASTSS(Mem{Base: e, Disp: 4}, e1)
		VFMADD231PS(e1, v, e0)
		VMOVUPS(mem.Offset(second+32*t), gap)
		VSUBPS(mem.Offset(best+32*t), gap, gap)
		VCMPPS(Imm(cmpGT), e0, gap, gap)
		VMOVUPS(mem.Offset(at+32*t), eq)
		VPCMPEQD(Mem{Base: was, Disp: 32 * t}, eq, eq)
		VANDPS(gap, eq, eq)
		bits := GP32()
		VMOVMSKPS(eq, bits)
		NOTL(bits)
		MOVB(bits.As8(), Mem{Base: doubt, Disp: t})
	}
	ADDQ(Imm(2), doubt)
	ADDQ(Imm(64), was)
	ADDQ(stride, x)
	ADDQ(stride, x)
	DECQ(pairs.Addr)
	JNZ(LabelRef("pairs"))
	avx2.done()
}

// stays512: the same of four tiles at a time, two in a register, and eight centres. Of a row
// it keeps the distance of the centre that was, and the least of all others.
func stays512() {
	kernel("staysAVX512", "func(doubt *uint8, x *float32, was *int32, c, start *float32, err *[2]float32, d, groups, fours int)")
	doubt, x, was := Load(Param("doubt"), GP64()), Load(Param("x"), GP64()), Load(Param("was"), GP64())
	fours, err := Param("fours").Resolve()
	if err != nil {
		panic(err)
	}
	stride, stride3 := Load(Param("d"), GP64()), GP64()
	SHLQ(Imm(5), stride)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	Label("fours")
	c, z, g := Load(Param("c"), GP64()), Load(Param("start"), GP64()), Load(Param("groups"), GP64())
	var other, own, home, norm, rows [2]reg.VecVirtual
	for t := range other {
		other[t], own[t], home[t], norm[t], rows[t] = ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
		VMOVUPS(konst(0x7f8000007f800000), other[t])
		VMOVUPS(other[t], own[t])
		VMOVUPS(Mem{Base: was, Disp: 64 * t}, home[t])
		VPXORD(norm[t], norm[t], norm[t])
	}
	num := ZMM()
	VPXORD(num, num, num)
	// load loads a column of the tiles.
	load := func(p reg.Register) {
		VMOVUPS(Mem{Base: p}, rows[0].AsY())
		VINSERTF32X8(Imm(1), Mem{Base: p, Index: stride, Scale: 1}, rows[0], rows[0])
		VMOVUPS(Mem{Base: p, Index: stride, Scale: 2}, rows[1].AsY())
		VINSERTF32X8(Imm(1), Mem{Base: p, Index: stride3, Scale: 1}, rows[1], rows[1])
	}
	xp, left, c2 := GP64(), GP64(), GP64()
	// groups takes so many groups of four centres.
	groups := func(n int, name string) {
		acc := make([][2]reg.VecVirtual, 4*n)
		for q := range acc {
			for t := range acc[q] {
				acc[q][t] = ZMM()
				VBROADCASTSS(Mem{Base: z, Disp: 4 * q}, acc[q][t])
			}
		}
		if n > 1 {
			MOVQ(stride, c2)
			SHRQ(Imm(1), c2)
			ADDQ(c, c2)
		}
		MOVQ(x, xp)
		MOVQ(stride, left)
		Label(name)
		load(xp)
		for q := range acc {
			cj := ZMM()
			VBROADCASTSS(Mem{Base: []reg.Register{c, c2}[q/4], Disp: 4 * (q % 4)}, cj)
			for t, v := range rows {
				VFMADD231PS(cj, v, acc[q][t])
			}
		}
		ADDQ(Imm(32), xp)
		ADDQ(Imm(16), c)
		if n > 1 {
			ADDQ(Imm(16), c2)
		}
		SUBQ(Imm(32), left)
		JNZ(LabelRef(name))
		for q := range acc {
			for t := range other {
				not := K()
				VPCMPD(Imm(4), num, home[t], not)
				VMINPS(acc[q][t], other[t], not, other[t])
				VBLENDMPS(own[t], acc[q][t], not, own[t])
			}
			VPADDD(konst(1<<32|1), num, num)
		}
		ADDQ(Imm(16*uint64(n)), z)
		if n > 1 {
			MOVQ(c2, c)
		}
	}
	SUBQ(Imm(2), g)
	JLT(LabelRef("last"))
	Label("pairs")
	groups(2, "cols")
	SUBQ(Imm(2), g)
	JGE(LabelRef("pairs"))
	Label("last")
	CMPQ(g, I8(-2))
	JEQ(LabelRef("all"))
	groups(1, "cols_1")
	Label("all")
	// Tiles that are wanted after the next few calls are asked of memory meanwhile.
	ahead := GP64()
	MOVQ(stride, ahead)
	SHLQ(Imm(4), ahead)
	ADDQ(x, ahead)
	MOVQ(x, xp)
	MOVQ(stride, left)
	Label("norms")
	load(xp)
	PREFETCHT0(Mem{Base: ahead})
	PREFETCHT0(Mem{Base: ahead, Disp: 64})
	ADDQ(U32(128), ahead)
	for t, v := range rows {
		VFMADD231PS(v, v, norm[t])
	}
	ADDQ(Imm(32), xp)
	SUBQ(Imm(32), left)
	JNZ(LabelRef("norms"))
	e := Load(Param("err"), GP64())
	for t := range other {
		e0, e1, gap, sure := ZMM(), ZMM(), ZMM(), K()
		VBROADCASTSS(Mem{Base: e}, e0)
		VBROADCASTSS(Mem{Base: e, Disp: 4}, e1)
		VFMADD231PS(e1, norm[t], e0)
		VSUBPS(own[t], other[t], gap)
		VCMPPS(Imm(cmpGT), e0, gap, sure)
		bits := GP32()
		KMOVW(sure, bits)
		NOTL(bits)
		MOVW(bits.As16(), Mem{Base: doubt, Disp: 2 * t})
	}
	ADDQ(Imm(4), doubt)
	ADDQ(U32(128), was)
	LEAQ(Mem{Base: x, Index: stride, Scale: 4}, x)
	DECQ(fours.Addr)
	JNZ(LabelRef("fours"))
	avx512.done()
}
