package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("!noasm")
	first := GLOBL("first", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(i)))
	}
	heads(first, "int32", false)
	heads(first, "int32", true)
	heads(first, "int64", false)
	heads(first, "int64", true)
	groups(first, "groups1x16", 1)
	groups(first, "groups2x16", 2)
	groups(first, "groupsx16", 0)
	Generate()
}

// heads is findFrom of 16 keys at a time. Numbers are compressed in registers: a compressing
// store takes a step a number.
func heads(first Mem, integer string, selected bool) {
	name, list, doc := "heads"+integer[3:]+"x16", "", "all keys"
	if selected {
		name, list, doc = "selected"+integer[3:]+"x16", "sel *int32, ", "the keys sel"
	}
	TEXT(name, NOSPLIT, "func(rows *int32, heads *uint32, keys *"+integer+", "+list+"n int, lo "+integer+", table *uint32, size u"+integer+", less uint32) int")
	Pragma("noescape")
	Doc(name+" is findFrom of "+doc+", n of them, a multiple of 16 and not 0; it stores 16 rows and",
		"heads for every 16 keys.")
	rows := Load(Param("rows"), GP64())
	heads := Load(Param("heads"), GP64())
	keys := Load(Param("keys"), GP64())
	var sel reg.Register
	if selected {
		sel = Load(Param("sel"), GP64())
	}
	n := Load(Param("n"), GP64())
	table := Load(Param("table"), GP64())
	lo, size, less := ZMM(), ZMM(), ZMM()
	if integer == "int32" {
		VPBROADCASTD(Load(Param("lo"), GP32()), lo)
		VPBROADCASTD(Load(Param("size"), GP32()), size)
	} else {
		VPBROADCASTQ(Load(Param("lo"), GP64()), lo)
		VPBROADCASTQ(Load(Param("size"), GP64()), size)
	}
	VPBROADCASTD(Load(Param("less"), GP32()), less)
	numbers, step := ZMM(), ZMM()
	VMOVDQU32(first, numbers)
	sixteen := GP32()
	MOVL(U32(16), sixteen)
	VPBROADCASTD(sixteen, step)
	k, count := GP64(), GP64()
	XORQ(k, k)
	head, out := ZMM(), ZMM()
	there, every := K(), K()
	if selected {
		KXNORW(every, every, every)
	}

	Label("next")
	if integer == "int32" {
		x := ZMM()
		if selected {
			at, all := ZMM(), K()
			VMOVDQU32(Mem{Base: sel}, at)
			ADDQ(Imm(64), sel)
			VPXORD(x, x, x)
			KMOVW(every, all)
			VPGATHERDD(Mem{Base: keys, Index: at, Scale: 4}, all, x)
		} else {
			VMOVDQU32(Mem{Base: keys}, x)
			ADDQ(Imm(64), keys)
		}
		VPSUBD(lo, x, x)
		VPCMPUD(Imm(1), size, x, there)
		VPXORD(head, head, head)
		VPGATHERDD(Mem{Base: table, Index: x, Scale: 4}, there, head)
	} else {
		halves := [2]reg.VecVirtual{ZMM(), ZMM()}
		for i, x := range halves {
			if selected {
				at, all := YMM(), K()
				VMOVDQU(Mem{Base: sel, Disp: 32 * i}, at)
				VPXORD(x, x, x)
				KMOVW(every, all)
				VPGATHERDQ(Mem{Base: keys, Index: at, Scale: 8}, all, x)
			} else {
				VMOVDQU64(Mem{Base: keys, Disp: 64 * i}, x)
			}
		}
		if selected {
			ADDQ(Imm(64), sel)
		} else {
			ADDQ(U32(128), keys)
		}
		high := YMM()
		for i, x := range halves {
			to := head.AsY()
			if i == 1 {
				to = high
			}
			VPSUBQ(lo, x, x)
			VPCMPUQ(Imm(1), size, x, there)
			VPXOR(to, to, to)
			VPGATHERQD(Mem{Base: table, Index: x, Scale: 4}, there, to)
		}
		VINSERTI64X4(Imm(1), high, head, head)
	}
	VPTESTMD(head, head, there)
	VPSUBD(less, head, head)
	VPCOMPRESSD_Z(numbers, there, out)
	VMOVDQU32(out, Mem{Base: rows, Index: k, Scale: 4})
	VPCOMPRESSD_Z(head, there, out)
	VMOVDQU32(out, Mem{Base: heads, Index: k, Scale: 4})
	VPADDD(step, numbers, numbers)
	KMOVW(there, count.As32())
	POPCNTQ(count, count)
	ADDQ(count, k)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}

// groups is firstFrom of 16 rows of so many words at a time, 0 for any number.
func groups(first Mem, name string, words int) {
	TEXT(name, NOSPLIT, "func(groups *uint32, misses *int32, rows *uint64, hashes *uint64, n int, slots *uint32, mask uint64, words *uint64, width int, all uint64) int")
	Pragma("noescape")
	what := "any number of words"
	if words > 0 {
		what = []string{1: "a word", 2: "two words"}[words]
	}
	Doc(name+" is firstFrom of n rows of "+what+", a multiple of 16 and not 0; it stores 16 misses and",
		"16 groups for every 16 rows, of which those of misses count where their bits of all are set.")
	out := Load(Param("groups"), GP64())
	misses := Load(Param("misses"), GP64())
	rows := Load(Param("rows"), GP64())
	hashes := Load(Param("hashes"), GP64())
	n := Load(Param("n"), GP64())
	slots := Load(Param("slots"), GP64())
	table := Load(Param("words"), GP64())
	mask, width, one, step, numbers := ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTQ(Load(Param("mask"), GP64()), mask)
	VMOVDQU32(first, numbers)
	small := GP32()
	MOVL(U32(1), small)
	VPBROADCASTD(small, one)
	MOVL(U32(16), small)
	VPBROADCASTD(small, step)
	size := Load(Param("width"), GP64())
	VPBROADCASTQ(size, width)
	every, there, differ, all := K(), K(), K(), K()
	KXNORW(every, every, every)
	// The rows' places among each eight, where they are gathered.
	places := ZMM()
	VPMOVZXDQ(numbers.AsY(), places)
	VPMULUDQ(width, places, places)
	even, odd := places, ZMM()
	if words == 2 {
		VPTERNLOGQ(Imm(0xff), odd, odd, odd)
		VPSUBQ(odd, even, odd)
	}
	SHLQ(Imm(6), size) // bytes of eight rows
	k, count := GP64(), GP64()
	XORQ(k, k)
	kept, bitsKept := K(), GP64()

	Label("next")
	slot, high := ZMM(), YMM()
	for i, to := range []reg.Register{slot.AsY(), high} {
		at := ZMM()
		VPANDQ(Mem{Base: hashes, Disp: 64 * i}, mask, at)
		VPXOR(to, to, to)
		KMOVW(every, all)
		VPGATHERQD(Mem{Base: slots, Index: at, Scale: 4}, all, to)
	}
	ADDQ(U32(128), hashes)
	VINSERTI64X4(Imm(1), high, slot, slot)
	VPTESTMD(slot, slot, there)
	VPMAXUD(one, slot, slot)
	VPSUBD(one, slot, slot)
	VEXTRACTI64X4(Imm(1), slot, high)
	var bits [2]reg.GPVirtual
	for i, group := range []reg.Register{slot.AsY(), high} {
		at := ZMM()
		VPMOVZXDQ(group, at)
		if words == 2 {
			VPADDQ(at, at, at)
		} else if words == 0 {
			VPMULUDQ(width, at, at)
		}
		same := func(word Mem, row reg.Register, first bool) {
			key := ZMM()
			VPXORQ(key, key, key)
			KMOVW(every, all)
			VPGATHERQQ(word, all, key)
			VPCMPUQ(Imm(4), row, key, all)
			if first {
				KMOVW(all, differ)
			} else {
				KORW(all, differ, differ)
			}
		}
		switch words {
		case 1:
			row := ZMM()
			VMOVDQU64(Mem{Base: rows, Disp: 64 * i}, row)
			same(Mem{Base: table, Index: at, Scale: 8}, row, true)
		case 2:
			lo, hi, row := ZMM(), ZMM(), ZMM()
			VMOVDQU64(Mem{Base: rows, Disp: 128 * i}, lo)
			VMOVDQU64(Mem{Base: rows, Disp: 128*i + 64}, hi)
			VMOVDQA64(even, row)
			VPERMI2Q(hi, lo, row)
			same(Mem{Base: table, Index: at, Scale: 8}, row, true)
			VMOVDQA64(odd, row)
			VPERMI2Q(hi, lo, row)
			same(Mem{Base: table, Index: at, Scale: 8, Disp: 8}, row, false)
		default:
			word, key, left, row := GP64(), GP64(), GP64(), ZMM()
			Load(Param("width"), left)
			MOVQ(rows, word)
			MOVQ(table, key)
			KXORW(differ, differ, differ)
			again := "words" + string('0'+rune(i))
			Label(again)
			VPXORQ(row, row, row)
			KMOVW(every, all)
			VPGATHERQQ(Mem{Base: word, Index: places, Scale: 8}, all, row)
			same(Mem{Base: key, Index: at, Scale: 8}, row, false)
			ADDQ(Imm(8), word)
			ADDQ(Imm(8), key)
			DECQ(left)
			JNZ(LabelRef(again))
			ADDQ(size, rows)
		}
		bits[i] = GP64()
		KMOVW(differ, bits[i].As32())
	}
	if words > 0 {
		ADDQ(U32(uint32(128*words)), rows)
	}
	SHLQ(Imm(8), bits[1])
	ORQ(bits[1], bits[0])
	KNOTW(there, there)
	KMOVW(there, count.As32())
	ORQ(bits[0], count)
	KMOVW(count.As32(), differ)
	KNOTW(differ, kept)
	KMOVW(kept, bitsKept.As32())
	ORQ(Load(Param("all"), GP64()), bitsKept)
	KMOVW(bitsKept.As32(), kept)
	miss := ZMM()
	VPCOMPRESSD_Z(slot, kept, miss)
	VMOVDQU32(miss, Mem{Base: out})
	POPCNTQ(bitsKept, bitsKept)
	LEAQ(Mem{Base: out, Index: bitsKept, Scale: 4}, out)
	VPCOMPRESSD_Z(numbers, differ, miss)
	VMOVDQU32(miss, Mem{Base: misses, Index: k, Scale: 4})
	VPADDD(step, numbers, numbers)
	POPCNTQ(count, count)
	ADDQ(count, k)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}
