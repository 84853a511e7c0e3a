package main

import (
	"flag"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set: the lanes of a tile are parts registers of width
// bytes each.
type isa struct {
	suffix string
	parts  int
	width  int
}

var (
	avx2   = isa{"AVX2", 2, 32}
	avx512 = isa{"AVX512", 1, 64}
)

func (s isa) vec() reg.VecVirtual {
	if s.parts == 1 {
		return ZMM()
	}
	return YMM()
}

func (s isa) vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = s.vec()
	}
	return v
}

// konsts are the constants in use by their bits, repeated over 64 bytes, as memory operands.
var konsts = map[uint64]Mem{}

func konst(bits uint64) Mem {
	if m, ok := konsts[bits]; ok {
		return m
	}
	name := "k" + hex(bits)
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(8*i, U64(bits))
	}
	konsts[bits] = m
	return m
}

func f(v float64) Mem { return konst(math.Float64bits(v)) }

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b)
}

func main() {
	flag.Parse()
	ConstraintExpr("!noasm")
	if flag.Lookup("pkg").Value.String() == "f32" {
		kernels32()
	} else {
		kernels64()
	}
	Generate()
}

func kernels32() {
	gemms()
	for _, s := range []isa{avx2, avx512} {
		cellForward(s)
		cellBackward(s)
	}
	pack()
	packTransposed()
	packSteps()
	pointwise32("tanh", tanh32)
	pointwise32("sigmoid", sigmoid32)
	relu32()
	reluBack32()
	addAll32()
	adam()
}

func kernels64() {
	for _, s := range []isa{avx2, avx512} {
		for _, elem := range []int{4, 8} {
			margins(s, elem)
			margins4(s, elem)
			squareMargins(s, elem)
			centeredKeys(s, elem)
			grad(s, elem)
			standardize(s, elem)
			packFixed(s, elem)
			columnSplits(s, "columnSplits", elem, 2)
			if elem == 8 {
				columnSplits(s, "columnSums", elem, 1)
			}
		}
		errorEnds(s)
		errorParts(s)
		logistic(s)
		exp(s)
		sigmoids(s)
		entropy(s, "crossEntropy", false)
		entropy(s, "labelEntropy", true)
		tile(s, true)
		dot(s)
	}
	gather()
	scatter()
	tile(avx2, false)
	tileColumn64()
	tileEnds()
	classMoments512(4)
	classMoments512(8)
	nearest()
	widen()
	narrow()
	stays()
	stays512()
	addFixed()
	addFixed512("addFixedAVX512", 8)
	addFixed512("addFixed6AVX512", 6)
	addTriangle512()
	packCoarse(4)
	packCoarse(8)
	packCoarse512(4)
	packCoarse512(8)
	margins2(avx512, 4)
	margins2(avx512, 8)
	addCoarse()
	addCoarseVNNI()
	addSquares()
	addWhole()
	fetch()
	fixAll()
	columnBounds(4)
	columnBounds(8)
	columnLeast(4)
	columnLeast(8)
	columnEnds()
	axpy()
	axpy2()
	lossParts()
	splitKeys512()
	whichOfTwo()
	likelier()
	countTwo()
	logs()
	exps()
	sines("sinesAVX2", false)
	sines("cosinesAVX2", true)
}

func (s isa) done() {
	VZEROUPPER()
	RET()
}

// loadElem loads one part of eight feature values as float64.
func (s isa) loadElem(elem int, m Mem, v reg.VecVirtual) {
	if elem == 4 {
		VCVTPS2PD(m, v)
	} else {
		VMOVUPD(m, v)
	}
}

func elemName(elem int) string {
	if elem == 4 {
		return "32"
	}
	return "64"
}

func elemType(elem int) string { return "float" + elemName(elem) }

func kernel(name, signature string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
}
