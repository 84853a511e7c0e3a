package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of math.go in package f32, which explains them.
const (
	log2e32   = 1.4426950408889634
	ln2Hi32   = 0x1.62e43p-1
	ln2Lo32   = -0x1.05c61p-29
	magic32   = 0x1.8p23
	expMin32  = -87.33
	tanhMax32 = 10
	sign32    = 1 << 31
)

var exp32C = [6]float32{1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5}

func bits32(b uint32) Mem      { return konst(uint64(b)<<32 | uint64(b)) }
func load(m Op) reg.VecVirtual { v := ymm(); VMOVUPS(m, v); return v }

// lanes is how many numbers kernels work on at a time: 4, 8 or 16.
var lanes = 8

func ymm() reg.VecVirtual {
	switch lanes {
	case 4:
		return XMM()
	case 16:
		return ZMM()
	}
	return YMM()
}

// keep makes v 0 where a pred b does not hold.
func keep(pred uint64, a reg.VecVirtual, b Op, v reg.VecVirtual) {
	if lanes == 16 {
		k := K()
		VCMPPS(Imm(pred), b, a, k)
		VMOVAPS_Z(v, k, v)
		return
	}
	m := ymm()
	VCMPPS(Imm(pred), b, a, m)
	VANDPS(m, v, v)
}

// whereNegative sets rest to v where x has its sign set.
func whereNegative(x, v, rest reg.VecVirtual) {
	if lanes == 16 {
		k := K()
		VPMOVD2M(x, k)
		VMOVAPS(v, k, rest)
		return
	}
	VBLENDVPS(x, v, rest, rest)
}

// held are constants in registers, for loops that would wait for their loads.
var held = map[float32]reg.VecVirtual{}

// f32 returns a constant.
func f32(v float32) Op {
	switch r, ok := held[v]; {
	case ok && lanes == 4:
		return r.AsX()
	case ok:
		return r
	}
	return bits32(math.Float32bits(v))
}

// hold has the kernel that begins hold so many of the constants of reduce32.
func hold(n int) {
	clear(held)
	for _, v := range append([]float32{magic32, log2e32, -ln2Hi32, -ln2Lo32}, exp32C[1:]...)[:n] {
		held[v] = load(bits32(math.Float32bits(v)))
	}
}

// pointwise32: dst = f(src) for n values; tail lets those after the last eight
// through. Processors with AVX-512 run it too.
func pointwise32(name string, f func(x reg.VecVirtual) reg.VecVirtual) {
	update32(name, 9, func(_ func() reg.VecVirtual, x reg.VecVirtual) reg.VecVirtual { return f(x) })
}

// update32: dst = f(dst, src), likewise, with so many constants held.
func update32(name string, consts int, f func(was func() reg.VecVirtual, x reg.VecVirtual) reg.VecVirtual) {
	kernel(name+"AVX2", "func(dst, src *float32, n int, tail *[8]int32)")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	hold(consts)
	SUBQ(Imm(8), n)
	JL(LabelRef("tail"))
	Label("loop")
	VMOVUPS(f(func() reg.VecVirtual { return load(Mem{Base: dst}) }, load(Mem{Base: src})), Mem{Base: dst})
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(8), n)
	JGE(LabelRef("loop"))
	Label("tail")
	ADDQ(Imm(8), n)
	JZ(LabelRef("done"))
	mask, x := load(Mem{Base: Load(Param("tail"), GP64())}), ymm()
	VMASKMOVPS(Mem{Base: src}, mask, x)
	was := func() reg.VecVirtual {
		v := ymm()
		VMASKMOVPS(Mem{Base: dst}, mask, v)
		return v
	}
	VMASKMOVPS(f(was, x), mask, Mem{Base: dst})
	Label("done")
	avx2.done()
}

// relu32 is reluGo, and reluBack32 reluBackGo.
func relu32() {
	update32("relu", 0, func(_ func() reg.VecVirtual, x reg.VecVirtual) reg.VecVirtual {
		sign := ymm()
		VPSRAD(Imm(31), x, sign)
		VPANDN(x, sign, x)
		return x
	})
}

// addAll32 is addGo.
func addAll32() {
	update32("add", 0, func(was func() reg.VecVirtual, x reg.VecVirtual) reg.VecVirtual {
		VADDPS(x, was(), x)
		return x
	})
}

func reluBack32() {
	update32("reluBack", 0, func(was func() reg.VecVirtual, x reg.VecVirtual) reg.VecVirtual {
		zero := ymm()
		VPXOR(zero, zero, zero)
		VPCMPEQD(zero, x, x)
		VPANDN(was(), x, x)
		return x
	})
}

// reduce32 is reduce.
func reduce32(x reg.VecVirtual) (r, q, t reg.VecVirtual) {
	t, n := load(f32(magic32)), ymm()
	VFMADD231PS(f32(log2e32), x, t)
	VSUBPS(f32(magic32), t, n)
	r = ymm()
	VMOVAPS(x, r)
	VFMADD231PS(f32(-ln2Hi32), n, r)
	VFMADD231PS(f32(-ln2Lo32), n, r)
	q = load(f32(exp32C[0]))
	for _, c := range exp32C[1:] {
		VFMADD213PS(f32(c), r, q)
	}
	return r, q, t
}

// scale32 is scale of x in memory or in a register.
func scale32(x Op, t reg.VecVirtual) reg.VecVirtual {
	s := ymm()
	VPSLLD(Imm(23), t, s)
	VPADDD(x, s, s)
	return s
}

// expBelow32 is e^x, of numbers that do not overflow.
func expBelow32(x reg.VecVirtual) reg.VecVirtual {
	c := load(f32(expMin32))
	VMAXPS(x, c, c) // the second source, x, where either is NaN
	r, q, t := reduce32(c)
	VFMADD213PS(f32(1), r, q)
	VFMADD213PS(f32(1), r, q)
	keep(cmpORD, x, x, t) // a NaN's payload must not reach the exponent
	e := scale32(q, t)
	keep(cmpNLT, x, f32(expMin32), e)
	return e
}

func tanh32(x reg.VecVirtual) reg.VecVirtual {
	a, top := ymm(), load(f32(tanhMax32))
	VANDPS(bits32(^uint32(sign32)), x, a)
	VMINPS(a, top, a) // the second source, a, where it is NaN
	VADDPS(a, a, a)
	r, q, t := reduce32(a)
	s, e := scale32(f32(1), t), ymm()
	VMULPS(r, r, e)
	VFMADD213PS(r, q, e)
	less := ymm()
	VSUBPS(f32(1), s, less)
	VFMADD213PS(less, s, e)
	den := ymm()
	VADDPS(f32(2), e, den)
	VDIVPS(den, e, e)
	sign := ymm()
	VANDPS(bits32(sign32), x, sign)
	VORPS(sign, e, e)
	return e
}

func sigmoid32(x reg.VecVirtual) reg.VecVirtual {
	m := ymm()
	VORPS(bits32(sign32), x, m)
	t := expBelow32(m)
	num, den := load(f32(1)), ymm()
	VADDPS(num, t, den)
	whereNegative(x, t, num) // of 0 it is 1 either way
	VDIVPS(den, num, num)
	return num
}
