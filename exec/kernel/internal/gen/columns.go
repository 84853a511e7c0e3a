package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// storeElem stores one part of eight float64s as feature values.
func (s isa) storeElem(elem int, v reg.VecVirtual, m Mem) {
	switch {
	case elem == 8:
		VMOVUPD(v, m)
	case s.parts == 1:
		n := YMM()
		VCVTPD2PS(v, n)
		VMOVUPS(n, m)
	default:
		n := XMM()
		VCVTPD2PSY(v, n)
		VMOVUPS(n, m)
	}
}

// standardize: x becomes (x-c)·inv, column by column.
func standardize(s isa, elem int) {
	kernel("standardize"+elemName(elem)+s.suffix, "func(x []"+elemType(elem)+", c []float64, inv []float64, tiles int)")
	x := Load(Param("x").Base(), GP64())
	c, d := Load(Param("c").Base(), GP64()), Load(Param("c").Len(), GP64())
	inv := Load(Param("inv").Base(), GP64())
	tiles := Load(Param("tiles"), GP64())
	Label("tiles")
	cp, ip, left := GP64(), GP64(), GP64()
	MOVQ(c, cp)
	MOVQ(inv, ip)
	MOVQ(d, left)
	Label("cols")
	cj, ij := s.vec(), s.vec()
	VBROADCASTSD(Mem{Base: cp}, cj)
	VBROADCASTSD(Mem{Base: ip}, ij)
	for h := range s.parts {
		m := Mem{Base: x, Disp: h * s.width * elem / 8}
		v := s.vec()
		s.loadElem(elem, m, v)
		VSUBPD(cj, v, v)
		VMULPD(ij, v, v)
		s.storeElem(elem, v, m)
	}
	ADDQ(U32(uint32(8*elem)), x)
	ADDQ(Imm(8), cp)
	ADDQ(Imm(8), ip)
	DECQ(left)
	JNZ(LabelRef("cols"))
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	s.done()
}

// tileStride returns the bytes of a tile of d columns.
func tileStride(d reg.GPVirtual, elem int) reg.GPVirtual {
	stride := GP64()
	MOVQ(d, stride)
	shift := 5
	if elem == 8 {
		shift = 6
	}
	SHLQ(Imm(uint64(shift)), stride)
	return stride
}

// transpose8 turns eight rows of eight float32s into eight columns.
func transpose8(r [8]reg.VecVirtual) (out [8]reg.VecVirtual) {
	var a, b [8]reg.VecVirtual
	for i := 0; i < 8; i += 2 {
		a[i], a[i+1] = YMM(), YMM()
		VUNPCKLPS(r[i+1], r[i], a[i])
		VUNPCKHPS(r[i+1], r[i], a[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for k := range 2 {
			lo, hi := a[i+k], a[i+2+k]
			b[i+2*k], b[i+2*k+1] = YMM(), YMM()
			VSHUFPS(Imm(0x44), hi, lo, b[i+2*k])
			VSHUFPS(Imm(0xee), hi, lo, b[i+2*k+1])
		}
	}
	for i := range 4 {
		out[i], out[i+4] = YMM(), YMM()
		VPERM2F128(Imm(0x20), b[i+4], b[i], out[i])
		VPERM2F128(Imm(0x31), b[i+4], b[i], out[i+4])
	}
	return out
}

// eights runs body for k = 0, 8, … of n ≥ 8 columns, the last time for the
// last eight.
func eights(k, n reg.Register, body func()) {
	last := GP64()
	LEAQ(Mem{Base: n, Disp: -8}, last)
	XORQ(k, k)
	Label("eights")
	CMPQ(k, last)
	CMOVQGT(last, k)
	body()
	ADDQ(Imm(8), k)
	CMPQ(k, n)
	JL(LabelRef("eights"))
}

// gather: a tile's columns out of eight rows that lie apart.
func gather() {
	kernel("gather32AVX2", "func(dst *float32, rows *[8]*float32, n int)")
	dst, rows := Load(Param("dst"), GP64()), Load(Param("rows"), GP64())
	n := Load(Param("n"), GP64())
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
		SHLQ(Imm(5), out)
		ADDQ(dst, out)
		for i, v := range transpose8(r) {
			VMOVUPS(v, Mem{Base: out, Disp: 32 * i})
		}
	})
	avx2.done()
}

// scatter: eight rows at a distance of stride bytes out of columns, with -0 as
// 0 and one NaN.
func scatter() {
	kernel("scatter32AVX2", "func(dst *float32, stride int, cols *[]float32, row int, n int)")
	dst, stride := Load(Param("dst"), GP64()).(reg.GPVirtual), Load(Param("stride"), GP64()).(reg.GPVirtual)
	cols, row := Load(Param("cols"), GP64()), Load(Param("row"), GP64())
	n := Load(Param("n"), GP64())
	stride3 := GP64()
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	zero, nan := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VMOVUPS(konst(0x7fc000007fc00000), nan)
	k := GP64()
	eights(k, n, func() {
		at := GP64() // of a slice's header
		LEAQ(Mem{Base: k, Index: k, Scale: 2}, at)
		SHLQ(Imm(3), at)
		ADDQ(cols, at)
		var r [8]reg.VecVirtual
		for i := range r {
			p, bad := GP64(), YMM()
			MOVQ(Mem{Base: at, Disp: 24 * i}, p)
			r[i] = YMM()
			VMOVUPS(Mem{Base: p, Index: row, Scale: 4}, r[i])
			VADDPS(zero, r[i], r[i])
			VCMPPS(Imm(3), r[i], r[i], bad) // unordered
			VBLENDVPS(bad, nan, r[i], r[i])
		}
		lo, hi := GP64(), GP64()
		LEAQ(Mem{Base: dst, Index: k, Scale: 4}, lo)
		LEAQ(Mem{Base: lo, Index: stride, Scale: 4}, hi)
		for i, v := range transpose8(r) {
			base := lo
			if i >= 4 {
				base = hi
			}
			switch i % 4 {
			case 0:
				VMOVUPS(v, Mem{Base: base})
			case 1:
				VMOVUPS(v, Mem{Base: base, Index: stride, Scale: 1})
			case 2:
				VMOVUPS(v, Mem{Base: base, Index: stride, Scale: 2})
			case 3:
				VMOVUPS(v, Mem{Base: base, Index: stride3, Scale: 1})
			}
		}
	})
	avx2.done()
}

// tile: tiles out of rows of columns, with -0 as 0, or scaled as standardize does; odd is not 0
// if a value is not finite. A column's rows are read one after the other, and meanwhile the same
// number of rows behind them, which the next call is about, and the lines of the tiles that they
// go to are asked for: those of the next column would come too late.
func tile(s isa, scaled bool) {
	if scaled {
		kernel("tileScaled32"+s.suffix, "func(dst *float32, cols *[]float32, row int, n int, tiles int, c, inv *float64) (odd int)")
	} else {
		kernel("tile32"+s.suffix, "func(dst *float32, cols *[]float32, row int, n int, tiles int) (odd int)")
	}
	dst, cols := Load(Param("dst"), GP64()), Load(Param("cols"), GP64())
	row, n, tiles := Load(Param("row"), GP64()), Load(Param("n"), GP64()), Load(Param("tiles"), GP64())
	var c, inv, cj, ij reg.Register
	if scaled {
		c, inv = Load(Param("c"), GP64()), Load(Param("inv"), GP64())
	}
	zero, odd := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VXORPS(odd, odd, odd)
	stride, left, ahead := GP64(), GP64(), GP64()
	MOVQ(n, stride)
	SHLQ(Imm(5), stride)
	MOVQ(n, left)
	MOVQ(tiles, ahead)
	SHLQ(Imm(5), ahead)
	Label("cols")
	p, to, t := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: cols}, p)
	LEAQ(Mem{Base: p, Index: row, Scale: 4}, p)
	MOVQ(dst, to)
	MOVQ(tiles, t)
	if scaled {
		cj, ij = s.vec(), s.vec()
		VBROADCASTSD(Mem{Base: c}, cj)
		VBROADCASTSD(Mem{Base: inv}, ij)
	}
	Label("tiles")
	v, d := YMM(), YMM()
	PREFETCHT1(Mem{Base: p, Index: ahead, Scale: 1})
	PREFETCHT0(Mem{Base: to, Disp: 64})
	VADDPS(Mem{Base: p}, zero, v)
	if !scaled {
		VMOVUPS(v, Mem{Base: to})
	}
	VSUBPS(v, v, d)
	VORPS(d, odd, odd) // NaN where it is not 0
	if scaled {
		s.scale(v, cj, ij, to)
	}
	ADDQ(Imm(32), p)
	ADDQ(stride, to)
	DECQ(t)
	JNZ(LabelRef("tiles"))
	ADDQ(Imm(24), cols)
	ADDQ(Imm(32), dst)
	if scaled {
		ADDQ(Imm(8), c)
		ADDQ(Imm(8), inv)
	}
	DECQ(left)
	JNZ(LabelRef("cols"))
	VCMPPS(Imm(3), odd, odd, odd)
	mask := GP32()
	VMOVMSKPS(odd, mask)
	out := GP64()
	MOVL(mask, out.As32())
	Store(out, ReturnIndex(0))
	s.done()
}

// tileColumn64: a column's place in tiles of stride columns out of its rows, with -0 as 0; odd is not 0 if a value is
// not finite.
func tileColumn64() {
	kernel("tileColumn64AVX2", "func(dst *float64, stride int, col *float64, tiles int) (odd int)")
	dst, stride := Load(Param("dst"), GP64()), tileStride(Load(Param("stride"), GP64()).(reg.GPVirtual), 8)
	col, tiles := Load(Param("col"), GP64()), Load(Param("tiles"), GP64())
	zero, odd, ahead := YMM(), YMM(), GP64()
	VXORPD(zero, zero, zero)
	VXORPD(odd, odd, odd)
	MOVQ(tiles, ahead)
	SHLQ(Imm(6), ahead)
	Label("tiles")
	PREFETCHT1(Mem{Base: col, Index: ahead, Scale: 1})
	PREFETCHT0(Mem{Base: dst, Index: stride, Scale: 4})
	for h := range 2 {
		v, d := YMM(), YMM()
		VADDPD(Mem{Base: col, Disp: 32 * h}, zero, v)
		VMOVUPD(v, Mem{Base: dst, Disp: 32 * h})
		VSUBPD(v, v, d)
		VORPD(d, odd, odd) // NaN where it is not 0
	}
	ADDQ(Imm(64), col)
	ADDQ(stride, dst)
	DECQ(tiles)
	JNZ(LabelRef("tiles"))
	VCMPPD(Imm(3), odd, odd, odd)
	mask := GP32()
	VMOVMSKPD(odd, mask)
	Store(mask.As64(), ReturnIndex(0))
	avx2.done()
}

// scale writes (v - c)·inv of eight numbers, reckoned in float64.
func (s isa) scale(v reg.VecVirtual, c, inv, to reg.Register) {
	for h := range s.parts {
		x := s.vec()
		if s.parts == 1 {
			VCVTPS2PD(v, x)
		} else {
			half := v.AsX()
			if h == 1 {
				half = XMM()
				VEXTRACTF128(Imm(1), v, half)
			}
			VCVTPS2PD(half, x)
		}
		VSUBPD(c, x, x)
		VMULPD(inv, x, x)
		s.storeElem(4, x, Mem{Base: to, Disp: 16 * h})
	}
}

// tileEnds: tile of an even number of columns, and columnEnds of their values as these pass.
// Two columns are a line of memory of a tile, which goes there past the caches: it is not
// read before it is overwritten, and what is in the caches stays.
func tileEnds() {
	kernel("tileEnds32AVX2", "func(dst *float32, cols *[]float32, row int, n int, tiles int, low, high *float32, least *uint32, sums *float64)")
	dst, cols := Load(Param("dst"), GP64()), Load(Param("cols"), GP64())
	row, n, tiles := Load(Param("row"), GP64()), Load(Param("n"), GP64()), Load(Param("tiles"), GP64())
	zero, ones := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VPCMPEQD(ones, ones, ones)
	stride, at, ahead := GP64(), GP64(), GP64()
	MOVQ(n, stride)
	SHLQ(Imm(5), stride)
	MOVQ(tiles, ahead)
	SHLQ(Imm(5), ahead)
	XORQ(at, at)
	Label("cols")
	from := [2]reg.GPVirtual{GP64(), GP64()}
	ends := [2]columnEnd{newColumnEnd(ones), newColumnEnd(ones)}
	for i, p := range from {
		MOVQ(Mem{Base: cols, Disp: 24 * i}, p)
		LEAQ(Mem{Base: p, Index: row, Scale: 4}, p)
	}
	to, t := GP64(), GP64()
	MOVQ(dst, to)
	MOVQ(tiles, t)
	Label("tiles")
	for i, p := range from {
		v := YMM()
		PREFETCHT1(Mem{Base: p, Index: ahead, Scale: 1})
		VADDPS(Mem{Base: p}, zero, v)
		VMOVNTPS(v, Mem{Base: to, Disp: 32 * i})
		ends[i].take(v, p, ones)
		ADDQ(Imm(32), p)
	}
	ADDQ(stride, to)
	DECQ(t)
	JNZ(LabelRef("tiles"))
	for i, e := range ends {
		low, high := Load(Param("low"), GP64()), Load(Param("high"), GP64())
		least, sums := Load(Param("least"), GP64()), Load(Param("sums"), GP64())
		e.put(Mem{Base: low, Index: at, Scale: 4, Disp: 4 * i}, Mem{Base: high, Index: at, Scale: 4, Disp: 4 * i},
			Mem{Base: least, Index: at, Scale: 4, Disp: 4 * i}, Mem{Base: sums, Index: at, Scale: 8, Disp: 8 * i})
	}
	ADDQ(Imm(48), cols)
	ADDQ(Imm(64), dst)
	ADDQ(Imm(2), at)
	CMPQ(at, n)
	JL(LabelRef("cols"))
	SFENCE() // others read it
	avx2.done()
}
