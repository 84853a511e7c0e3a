//go:build amd64 && !noasm

package f64

import (
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ../internal/gen -out kernels_amd64.s -stubs stubs_amd64.go -pkg f64

// Level names the body of the kernels that runs here.
var Level = func() string {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasFMA:
		return "avx512"
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return "avx2"
	}
	return "go"
}()

// The kernels in use, chosen once at start.
var (
	margins32   = choose(marginsGo[float32], margins32AVX2, margins32AVX512)
	margins64   = choose(marginsGo[float64], margins64AVX2, margins64AVX512)
	margins4x32 = choose(margins4Go[float32], margins4Body(margins4x32AVX2), margins4Body(margins4x32AVX512))
	margins4x64 = choose(margins4Go[float64], margins4Body(margins4x64AVX2), margins4Body(margins4x64AVX512))
	margins2x32 = choose(marginsTwice[float32], marginsTwice[float32], margins2Body(margins2x32AVX512))
	margins2x64 = choose(marginsTwice[float64], marginsTwice[float64], margins2Body(margins2x64AVX512))
	grad32      = choose(gradGo[float32], grad32AVX2, grad32AVX512)
	grad64      = choose(gradGo[float64], grad64AVX2, grad64AVX512)
	logistic    = choose(logisticGo, logisticAVX2, logisticAVX512)
	expAll      = choose(expGo, expAVX2, expAVX512)

	squareMargins32 = choose(squareMarginsGo[float32], squareMargins32AVX2, squareMargins32AVX512)
	squareMargins64 = choose(squareMarginsGo[float64], squareMargins64AVX2, squareMargins64AVX512)
	centeredKeys32  = choose(centeredKeysGo[float32], centeredKeysBody(centeredKeys32AVX2), centeredKeysBody(centeredKeys32AVX512))
	centeredKeys64  = choose(centeredKeysGo[float64], centeredKeysBody(centeredKeys64AVX2), centeredKeysBody(centeredKeys64AVX512))
	classMoments32  = choose(classMomentsGo[float32], classMomentsGo[float32], classMomentsBody(classMoments32AVX512))
	classMoments64  = choose(classMomentsGo[float64], classMomentsGo[float64], classMomentsBody(classMoments64AVX512))

	standardize32  = choose(standardizeGo[float32], standardize32AVX2, standardize32AVX512)
	standardize64  = choose(standardizeGo[float64], standardize64AVX2, standardize64AVX512)
	gather32       = choose(gather32Go, gather32Eights, gather32Eights)
	scatter32      = choose(scatter32Go, scatter32Eights, scatter32Eights)
	tile32         = choose(tile32Go, tile32Body, tile32Body)
	tileColumn64   = choose(tileColumnGo, tileColumnBody, tileColumnBody)
	tileScaled32   = choose(tileScaledGo, tileScaledBody(tileScaled32AVX2), tileScaledBody(tileScaled32AVX512))
	tileEnds32     = choose(tileEndsGo, tileEndsBody, tileEndsBody)
	nearest        = choose(nearestGo, nearestBody, nearestBody)
	widen          = choose(widenGo, widenBody, widenBody)
	narrow         = choose(narrowGo, narrowBody, narrowBody)
	stays          = choose(staysGo, staysBody, staysBody512)
	packFixed32    = choose(packFixedGo[float32], packFixedBody(packFixed32AVX2), packFixedBody(packFixed32AVX512))
	packFixed64    = choose(packFixedGo[float64], packFixedBody(packFixed64AVX2), packFixedBody(packFixed64AVX512))
	addFixed       = choose(addFixedGo, addFixedBody, addFixedBody512)
	packCoarse32   = choose(packCoarseGo[float32], packCoarseBody(packCoarse32AVX2), packCoarseBody512(packCoarse32AVX512, packCoarse32AVX2))
	packCoarse64   = choose(packCoarseGo[float64], packCoarseBody(packCoarse64AVX2), packCoarseBody512(packCoarse64AVX512, packCoarse64AVX2))
	addCoarse      = choose(addCoarseGo, addCoarseBody, addCoarse512)
	addSquares     = choose(addSquaresGo, addSquaresBody, addSquaresBody)
	fixAll         = choose(fixAllGo, fixAllBody, fixAllBody)
	columnLeast32  = choose(columnLeastGo[float32], columnLeastBody(columnLeast32AVX2), columnLeastBody(columnLeast32AVX2))
	columnLeast64  = choose(columnLeastGo[float64], columnLeastBody(columnLeast64AVX2), columnLeastBody(columnLeast64AVX2))
	columnSplits32 = choose(columnSplitsGo[float32], columnSplitsBody(columnSplits32AVX2), columnSplitsBody(columnSplits32AVX512))
	columnSplits64 = choose(columnSplitsGo[float64], columnSplitsBody(columnSplits64AVX2), columnSplitsBody(columnSplits64AVX512))
	columnEnds32   = choose(columnEndsGo, columnEndsBody, columnEndsBody)
	columnSums64   = choose(columnSumsGo[float64], columnSplitsBody(columnSums64AVX2), columnSplitsBody(columnSums64AVX512))
	axpy           = choose(axpyGo, axpyBody, axpyBody)
	axpy2          = choose(axpy2Go, axpy2Body, axpy2Body)
	crossEntropy   = choose(crossEntropyGo, crossEntropyBody(crossEntropyAVX2), crossEntropyBody(crossEntropyAVX512))
	lossParts      = choose(lossPartsGo, lossPartsBody, lossPartsBody)
	addWhole       = choose(addWholeGo, addWholeBody, addWholeBody)
	errorEnds      = choose(errorEndsGo, errorEndsBody(errorEndsAVX2), errorEndsBody(errorEndsAVX512))
	errorParts     = choose(errorPartsGo, errorPartsBody(errorPartsAVX2), errorPartsBody(errorPartsAVX512))
	sigmoids       = choose(sigmoidsGo, sigmoidsBody(sigmoidsAVX2), sigmoidsBody(sigmoidsAVX512))
	labelEntropy   = choose(labelEntropyGo, labelEntropyBody(labelEntropyAVX2), labelEntropyBody(labelEntropyAVX512))
	splitKeys      = choose(splitKeysGo, splitKeysGo, splitKeysBody512)
	whichOfTwo     = choose(whichOfTwoGo[int64], whichOfTwoBody, whichOfTwoBody)
	likelier       = choose(likelierGo[int64], likelierBody, likelierBody)
	countTwo       = choose(countTwoGo, countTwoBody, countTwoBody)
	logs           = choose(logsGo, logsBody, logsBody)
	exps           = choose(expsGo, expsBody, expsBody)
	sines          = choose(sinesGo, sinesBody, sinesBody)
	cosines        = choose(cosinesGo, cosinesBody, cosinesBody)
)

// gather32Eights and scatter32Eights use a transposition of eight by eight,
// which needs as many columns.
func gather32Eights(dst []float32, rows *[Lanes]*float32, n int) {
	if n < Lanes {
		gather32Go(dst, rows, n)
		return
	}
	gather32AVX2(&dst[0], rows, n)
}

func scatter32Eights(dst []float32, stride int, cols [][]float32, row int) {
	if len(cols) < Lanes {
		scatter32Go(dst, stride, cols, row)
		return
	}
	scatter32AVX2(&dst[0], 4*stride, &cols[0], row, len(cols))
}

func tile32Body(dst []float32, cols [][]float32, row, tiles int) bool {
	return tile32AVX2(&dst[0], &cols[0], row, len(cols), tiles) == 0
}

func tileColumnBody(dst []float64, stride int, col []float64) bool {
	return tileColumn64AVX2(&dst[0], stride, &col[0], len(col)/Lanes) == 0
}

func centeredKeysBody[T Elem](k func(keys *uint32, x *T, stride int, center float64, tiles int)) func([]uint32, []T, int, float64) {
	return func(keys []uint32, x []T, stride int, center float64) {
		k(&keys[0], &x[0], stride, center, len(keys)/Lanes)
	}
}

// classMomentsBody takes the rows once a class, which pays for few of them.
func classMomentsBody[T Elem](k func(to *int64, x *T, stride int, shift, scale float64, class *uint8, tiles, classes, squares int) int) func([]Moments, []T, int, float64, float64, []uint8, bool) bool {
	return func(to []Moments, x []T, stride int, shift, scale float64, class []uint8, squares bool) bool {
		if len(to) > 8 {
			return classMomentsGo(to, x, stride, shift, scale, class, squares)
		}
		with := 0
		if squares {
			with = 1
		}
		return k(&to[0].Sum, &x[0], stride, shift, scale, &class[0], len(class)/Lanes, len(to), with) == 0
	}
}

func tileScaledBody(f func(dst *float32, cols *[]float32, row, n, tiles int, c, inv *float64) int) func(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) bool {
	return func(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) bool {
		return f(&dst[0], &cols[0], row, len(cols), tiles, &c[0], &inv[0]) == 0
	}
}

// tileEndsBody works on whole cache lines, of which tiles of an odd number of columns have halves.
func tileEndsBody(s *Splits, dst []float32, cols [][]float32, row, tiles int) {
	if len(cols)%2 != 0 || uintptr(unsafe.Pointer(&dst[0]))%fetched != 0 {
		tileEndsGo(s, dst, cols, row, tiles)
		return
	}
	tileEnds32AVX2(&dst[0], &cols[0], row, len(cols), tiles, &s.low32[0], &s.up32[0], &s.small[0], &s.sums[0])
}

func nearestBody(best, second []float64, at []int64, x []float64, c *Centers, z []float64, zstep int) {
	nearestAVX2(&best[0], &second[0], &at[0], unsafe.SliceData(x), unsafe.SliceData(c.c), &z[0], c.D, c.Padded()/nearestGroup, len(best)/Lanes, 8*zstep)
}

func widenBody(dst []float64, src []float32) { widenAVX2(&dst[0], &src[0], len(src)) }

func narrowBody(dst []float32, src []float64) { narrowAVX2(&dst[0], &src[0], len(src)) }

func staysBody(doubt []uint8, x []float32, was []int32, c *Centers32) {
	staysAVX2(&doubt[0], &x[0], &was[0], &c.c[0], &c.start[0], &c.err, c.d, len(c.start)/nearestGroup, len(doubt)/2)
}

// staysBody512 takes four tiles at a time, and leaves two to the other.
func staysBody512(doubt []uint8, x []float32, was []int32, c *Centers32) {
	n := len(doubt) / 4
	if n > 0 {
		staysAVX512(&doubt[0], &x[0], &was[0], &c.c[0], &c.start[0], &c.err, c.d, len(c.start)/nearestGroup, n)
	}
	if n *= 4; n < len(doubt) {
		staysBody(doubt[n:], x[n*Lanes*c.d:], was[n*Lanes:], c)
	}
}

func packFixedBody[T Elem](k func(dst *float64, x *T, shift, scale *float64, d, tiles, stride int)) func([]float64, []T, []float64, []float64, int) {
	return func(dst []float64, x []T, shift, scale []float64, tiles int) {
		k(&dst[0], &x[0], &shift[0], &scale[0], len(shift), tiles, FixedStride)
	}
}

func margins4Body[T Elem](k func(z *float64, zstride int, x *T, w *float64, d, tiles int)) func([]float64, int, []T, []float64, int) {
	return func(z []float64, zstride int, x []T, w []float64, tiles int) {
		k(&z[0], zstride, &x[0], &w[0], len(w)/4, tiles)
	}
}

func margins2Body[T Elem](k func(z *float64, zstride int, x *T, w *float64, d, tiles int)) func([]float64, int, []T, []float64, int) {
	return func(z []float64, zstride int, x []T, w []float64, tiles int) {
		k(&z[0], zstride, &x[0], &w[0], len(w)/2, tiles)
	}
}

func packCoarseBody[T Elem](k func(dst *byte, x *T, shift, scale *float64, d, cols, tiles int)) func([]byte, []T, []float64, []float64, int, int) {
	return func(dst []byte, x []T, shift, scale []float64, d, tiles int) {
		k(&dst[0], &x[0], &shift[0], &scale[0], d, len(shift), tiles)
	}
}

// packCoarseBody512 takes four columns at a time, and leaves three or fewer to the other.
func packCoarseBody512[T Elem](fours, k func(dst *byte, x *T, shift, scale *float64, d, n, tiles int)) func([]byte, []T, []float64, []float64, int, int) {
	return func(dst []byte, x []T, shift, scale []float64, d, tiles int) {
		n := len(shift) / 4
		if n > 0 {
			fours(&dst[0], &x[0], &shift[0], &scale[0], d, n, tiles)
		}
		if n *= 4; n < len(shift) {
			k(&dst[4*n], &x[n*Lanes], &shift[n], &scale[n], d, len(shift)-n, tiles)
		}
	}
}

func addCoarseBody(m []int32, stride int, a, b []byte, quads int) {
	for i := 0; i < coarseTile; i += 4 {
		for k := 0; k < CoarseCols; k += 16 {
			addCoarseAVX2(&m[i*stride+k], stride, &a[4*i], &b[4*k], quads)
		}
	}
}

var addCoarse512 = func() func(m []int32, stride int, a, b []byte, quads int) {
	if !cpu.X86.HasAVX512VNNI {
		return addCoarseBody
	}
	return func(m []int32, stride int, a, b []byte, quads int) { addCoarseVNNI(&m[0], stride, &a[0], &b[0], quads) }
}()

func addSquaresBody(r, v []float64, by float64) { addSquaresAVX2(&r[0], &v[0], by, len(r)) }

// fetch prefetches whole cache lines.
func fetch(b []byte) { fetchLines(&b[0], len(b)/fetched) }

func addFixedBody(m []int64, stride int, a, b []float64, rows, groups int) {
	addFixedAVX2(&m[0], stride, &a[0], &b[0], FixedStride, rows, groups)
}

// addFixedBody512 does tiles of rows and eight columns of b at once, and leaves the
// rest to the other.
func addFixedBody512(m []int64, stride int, a, b []float64, rows, groups int) {
	if groups != 2 || rows%Lanes != 0 {
		addFixedBody(m, stride, a, b, rows, groups)
		return
	}
	addFixedAVX512(&m[0], stride, &a[0], &b[0], FixedStride, rows)
}

// triangles: the upper half of products has kernels of its own.
var triangles = level == 2

// addSix adds products of three columns of a with six of b, and addTriangle those of six
// with the same six, from the diagonal on, of rows that are a multiple of Lanes.
func addSix(m []int64, stride int, a, b []float64, rows int) {
	addFixed6AVX512(&m[0], stride, &a[0], &b[0], FixedStride, rows)
}

func addTriangle(m []int64, stride int, a, b []float64, rows int) {
	addTriangleAVX512(&m[0], stride, &a[0], &b[0], FixedStride, rows)
}

// dotLanes and columnBounds call their bodies directly, so that the compiler sees that the
// accumulators do not escape: through a function variable they would be allocated at each call,
// which takes longer than a short vector.
func dotLanes(acc *[Lanes]float64, a, b []float64) {
	switch level {
	case 2:
		dotAVX512(acc, a, b)
	case 1:
		dotAVX2(acc, a, b)
	default:
		dotGo(acc, a, b)
	}
}

func columnBounds32(low, high, x []float32, d, tiles int) {
	if level == 0 {
		columnBoundsGo(low, high, x, d, tiles)
		return
	}
	columnBounds32AVX2(&low[0], &high[0], &x[0], d, tiles)
}

func columnBounds64(low, high, x []float64, d, tiles int) {
	if level == 0 {
		columnBoundsGo(low, high, x, d, tiles)
		return
	}
	columnBounds64AVX2(&low[0], &high[0], &x[0], d, tiles)
}

// level is Level as a number: 0 for plain Go.
var level = choose(0, 1, 2)

func columnLeastBody[T Elem](k func(least, x *T, d, tiles int)) func(least, x []T, d, tiles int) {
	return func(least, x []T, d, tiles int) { k(&least[0], &x[0], d, tiles) }
}

func columnEndsBody(low, high []float32, least []uint32, sums []float64, x []float32, d, tiles int) {
	columnEnds32AVX2(&low[0], &high[0], &least[0], &sums[0], &x[0], d, tiles)
}

func columnSplitsBody[T Elem](k func(sums *float64, x *T, grids *float64, d, tiles int)) func(sums []float64, x []T, grids []float64, d, tiles int) {
	return func(sums []float64, x []T, grids []float64, d, tiles int) { k(&sums[0], &x[0], &grids[0], d, tiles) }
}

func axpyBody(y, u []float64, a float64) {
	n := len(y) &^ (Lanes - 1)
	if n > 0 {
		axpyAVX2(&y[0], &u[0], a, n)
	}
	axpyGo(y[n:], u[n:], a)
}

func axpy2Body(y, u, v []float64, a, b float64) {
	n := len(y) &^ (Lanes - 1)
	if n > 0 {
		axpy2AVX2(&y[0], &u[0], &v[0], a, b, n)
	}
	axpy2Go(y[n:], u[n:], v[n:], a, b)
}

func crossEntropyBody(f func(loss, p, y *float64, n int)) func(loss, p, y []float64) {
	return func(loss, p, y []float64) { f(&loss[0], &p[0], &y[0], len(loss)) }
}

func labelEntropyBody(f func(loss, p *float64, label *uint32, hit uint32, n int)) func(loss, p []float64, label []uint32, hit uint32) {
	return func(loss, p []float64, label []uint32, hit uint32) {
		f(&loss[0], &p[0], &label[0], hit, len(loss))
	}
}

func splitKeysBody512(a, b []uint64, v []float64, label []uint32, second uint32) (na int, least, most uint64) {
	_, _ = a[SideRows-1], b[SideRows-1]
	var ends [2 * Lanes]uint64
	na = splitKeysAVX512(&a[0], &b[0], &v[0], &label[0], second, len(v), &ends)
	return na, slices.Min(ends[:Lanes]), slices.Max(ends[Lanes:])
}

func whichOfTwoBody(out []uint32, v []int64, first, second int64) bool {
	return whichOfTwoAVX2(&out[0], &v[0], first, second, len(v)) == 0
}

func countTwoBody(a, b []uint32) (second, got, both, any uint32) {
	var sums [4 * Lanes]uint32
	countTwoAVX2(&a[0], &b[0], len(a), &sums)
	for l := range Lanes {
		second += sums[l]
		got += sums[Lanes+l]
		both += sums[2*Lanes+l]
		any |= sums[3*Lanes+l]
	}
	return second, got, both, any
}

func likelierBody(out []int64, p []float64, first, second int64) {
	likelierAVX2(&out[0], &p[0], first, second, len(p))
}

func sigmoidsBody(f func(z *float64, n int)) func(z []float64) {
	return func(z []float64) { f(&z[0], len(z)) }
}

func addWholeBody(sums []int64, x, scale []float64) {
	addWholeAVX2(&sums[0], &x[0], &scale[0], len(scale), len(x)/(Lanes*len(scale)))
}

func errorEndsBody(k func(ends *[4 * Lanes]float64, y, p *float64, n int)) func(*[4 * Lanes]float64, []float64, []float64) {
	return func(ends *[4 * Lanes]float64, y, p []float64) { k(ends, &y[0], &p[0], len(y)) }
}

func errorPartsBody(k func(sums *[13 * Lanes]float64, grids *[5]float64, y, p *float64, n int)) func(*[13 * Lanes]float64, *[5]float64, []float64, []float64) {
	return func(sums *[13 * Lanes]float64, grids *[5]float64, y, p []float64) {
		k(sums, grids, &y[0], &p[0], len(y))
	}
}

func lossPartsBody(sums *[3 * Lanes]float64, loss []float64) {
	lossPartsAVX2(sums, &loss[0], len(loss))
}

func fixAllBody(v []float64, scale float64) (sum int64, most float64) {
	var top [4]float64
	n, bad := fixAllAVX2(&v[0], len(v), scale, &top)
	if bad != 0 {
		return 0, math.Inf(1)
	}
	return int64(n), max(top[0], top[1], top[2], top[3])
}

func choose[F any](goBody, avx2, avx512 F) F {
	switch Level {
	case "avx512":
		return avx512
	case "avx2":
		return avx2
	}
	return goBody
}

func logsBody(y, x []float64) { logsAVX2(&y[0], &x[0], len(x)) }
func expsBody(y, x []float64) { expsAVX2(&y[0], &x[0], len(x)) }

func sinesBody(y, x []float64)   { sinesAVX2(&y[0], &x[0], len(x)) }
func cosinesBody(y, x []float64) { cosinesAVX2(&y[0], &x[0], len(x)) }
