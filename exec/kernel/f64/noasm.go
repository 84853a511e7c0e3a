//go:build !amd64 || noasm

package f64

// Level names the body of the kernels that runs here.
const Level = "go"

func fetch([]byte) {}

func margins32(z []float64, x []float32, w []float64) { marginsGo(z, x, w) }
func margins64(z []float64, x []float64, w []float64) { marginsGo(z, x, w) }
func grad32(acc []float64, x []float32, r []float64)  { gradGo(acc, x, r) }
func grad64(acc []float64, x []float64, r []float64)  { gradGo(acc, x, r) }
func logistic(z, h, l, y, w []float64)                { logisticGo(z, h, l, y, w) }
func expAll(x []float64)                              { expGo(x) }
func dotLanes(acc *[Lanes]float64, a, b []float64)    { dotGo(acc, a, b) }

func standardize32(x []float32, c, inv []float64, tiles int)      { standardizeGo(x, c, inv, tiles) }
func standardize64(x []float64, c, inv []float64, tiles int)      { standardizeGo(x, c, inv, tiles) }
func gather32(dst []float32, rows *[Lanes]*float32, n int)        { gather32Go(dst, rows, n) }
func scatter32(dst []float32, stride int, c [][]float32, row int) { scatter32Go(dst, stride, c, row) }
func tileScaled32(dst []float32, cols [][]float32, row, tiles int, c, inv []float64) bool {
	return tileScaledGo(dst, cols, row, tiles, c, inv)
}
func tile32(dst []float32, cols [][]float32, row, tiles int) bool {
	return tile32Go(dst, cols, row, tiles)
}
func tileColumn64(dst []float64, stride int, col []float64) bool {
	return tileColumnGo(dst, stride, col)
}
func squareMargins32(z []float64, x []float32, m, w []float64) { squareMarginsGo(z, x, m, w) }
func squareMargins64(z []float64, x []float64, m, w []float64) { squareMarginsGo(z, x, m, w) }
func centeredKeys32(keys []uint32, x []float32, stride int, center float64) {
	centeredKeysGo(keys, x, stride, center)
}
func centeredKeys64(keys []uint32, x []float64, stride int, center float64) {
	centeredKeysGo(keys, x, stride, center)
}
func classMoments32(to []Moments, x []float32, stride int, shift, scale float64, class []uint8, squares bool) bool {
	return classMomentsGo(to, x, stride, shift, scale, class, squares)
}
func classMoments64(to []Moments, x []float64, stride int, shift, scale float64, class []uint8, squares bool) bool {
	return classMomentsGo(to, x, stride, shift, scale, class, squares)
}
func tileEnds32(s *Splits, dst []float32, cols [][]float32, row, tiles int) {
	tileEndsGo(s, dst, cols, row, tiles)
}
func nearest(best, second []float64, at []int64, x []float64, c *Centers, z []float64, zstep int) {
	nearestGo(best, second, at, x, c, z, zstep)
}
func packFixed32(dst []float64, x []float32, shift, scale []float64, tiles int) {
	packFixedGo(dst, x, shift, scale, tiles)
}
func packFixed64(dst, x, shift, scale []float64, tiles int) { packFixedGo(dst, x, shift, scale, tiles) }
func addFixed(m []int64, stride int, a, b []float64, rows, groups int) {
	addFixedGo(m, stride, a, b, rows, groups)
}

// triangles: the upper half of products has kernels of its own; not here.
const triangles = false

func addSix(m []int64, stride int, a, b []float64, rows int)      {}
func addTriangle(m []int64, stride int, a, b []float64, rows int) {}

func margins2x32(z []float64, zstride int, x []float32, w []float64, tiles int) {
	marginsTwice(z, zstride, x, w, tiles)
}
func margins2x64(z []float64, zstride int, x, w []float64, tiles int) {
	marginsTwice(z, zstride, x, w, tiles)
}
func margins4x32(z []float64, zstride int, x []float32, w []float64, tiles int) {
	margins4Go(z, zstride, x, w, tiles)
}
func margins4x64(z []float64, zstride int, x, w []float64, tiles int) {
	margins4Go(z, zstride, x, w, tiles)
}
func packCoarse32(dst []byte, x []float32, shift, scale []float64, d, tiles int) {
	packCoarseGo(dst, x, shift, scale, d, tiles)
}
func packCoarse64(dst []byte, x, shift, scale []float64, d, tiles int) {
	packCoarseGo(dst, x, shift, scale, d, tiles)
}
func addCoarse(m []int32, stride int, a, b []byte, quads int) { addCoarseGo(m, stride, a, b, quads) }
func addSquares(r, v []float64, by float64)                   { addSquaresGo(r, v, by) }
func fixAll(v []float64, scale float64) (int64, float64)      { return fixAllGo(v, scale) }
func columnBounds32(low, high, x []float32, d, tiles int)     { columnBoundsGo(low, high, x, d, tiles) }
func columnBounds64(low, high, x []float64, d, tiles int)     { columnBoundsGo(low, high, x, d, tiles) }
func columnLeast32(least, x []float32, d, tiles int)          { columnLeastGo(least, x, d, tiles) }
func columnLeast64(least, x []float64, d, tiles int)          { columnLeastGo(least, x, d, tiles) }
func columnSplits32(s []float64, x []float32, g []float64, d, tiles int) {
	columnSplitsGo(s, x, g, d, tiles)
}
func columnSplits64(s, x, g []float64, d, tiles int) { columnSplitsGo(s, x, g, d, tiles) }
func columnEnds32(low, high []float32, least []uint32, sums []float64, x []float32, d, tiles int) {
	columnEndsGo(low, high, least, sums, x, d, tiles)
}
func columnSums64(s, x, g []float64, d, tiles int)       { columnSumsGo(s, x, g, d, tiles) }
func axpy(y, u []float64, a float64)                     { axpyGo(y, u, a) }
func axpy2(y, u, v []float64, a, b float64)              { axpy2Go(y, u, v, a, b) }
func crossEntropy(loss, p, y []float64)                  { crossEntropyGo(loss, p, y) }
func addWhole(sums []int64, x, scale []float64)          { addWholeGo(sums, x, scale) }
func errorEnds(ends *[4 * Lanes]float64, y, p []float64) { errorEndsGo(ends, y, p) }
func errorParts(sums *[13 * Lanes]float64, grids *[5]float64, y, p []float64) {
	errorPartsGo(sums, grids, y, p)
}
func lossParts(sums *[3 * Lanes]float64, loss []float64) { lossPartsGo(sums, loss) }
func sigmoids(z []float64)                               { sigmoidsGo(z) }
func widen(dst []float64, src []float32)                 { widenGo(dst, src) }
func narrow(dst []float32, src []float64)                { narrowGo(dst, src) }
func stays(doubt []uint8, x []float32, was []int32, c *Centers32) {
	staysGo(doubt, x, was, c)
}
func labelEntropy(loss, p []float64, label []uint32, hit uint32) { labelEntropyGo(loss, p, label, hit) }
func splitKeys(a, b []uint64, v []float64, label []uint32, second uint32) (na int, least, most uint64) {
	return splitKeysGo(a, b, v, label, second)
}
func whichOfTwo(out []uint32, v []int64, first, second int64) bool {
	return whichOfTwoGo(out, v, first, second)
}
func likelier(out []int64, p []float64, first, second int64) { likelierGo(out, p, first, second) }
func countTwo(a, b []uint32) (second, got, both, any uint32) { return countTwoGo(a, b) }
func logs(y, x []float64)                                    { logsGo(y, x) }
func exps(y, x []float64)                                    { expsGo(y, x) }
func sines(y, x []float64)                                   { sinesGo(y, x) }
func cosines(y, x []float64)                                 { cosinesGo(y, x) }
