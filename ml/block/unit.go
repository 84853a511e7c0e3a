package block

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// UnitRows is the most rows of a block of NewUnit.
const UnitRows = 32768

// units are the weights of such rows, and of what fills up the last tile.
var units = func() (w [UnitRows + f64.Lanes]float64) {
	for i := range UnitRows {
		w[i] = 1
	}
	return w
}()

func unitWeights(rows int) []float64 {
	n := f64.Tiles(rows) * f64.Lanes
	return units[UnitRows-rows:][:n:n]
}

// NewUnit is newDirty of at most UnitRows rows that all weigh 1. Their weights are one
// array shared by all such blocks, which must not be written: writing and reading
// separate weights would be a twelfth of the work on a row of twenty numbers. With
// fewer rows, First must cut the block to them, or the others count too.
func NewUnit(rows, dense, codes int, narrow bool) *Block {
	b := newDirty(rows, dense, codes, narrow)
	b.W = unitWeights(rows)
	return b
}

// UnitBytes is the size of such a block.
func UnitBytes(rows, dense, codes int, narrow bool) int64 {
	return Bytes(rows, dense, codes, narrow) - WeightBytes(rows)
}

// WeightBytes is the size of the weights of rows.
func WeightBytes(rows int) int64 { return 8 * int64(f64.Tiles(rows)*f64.Lanes) }

// Unit reports whether b's weights are known to be all 1 without a look: then they are not
// b's own.
func (b *Block) Unit() bool {
	return b.Rows > 0 && len(b.W) >= b.Rows && &b.W[b.Rows-1] == &units[UnitRows-1]
}

// OwnWeights gives b its own weights, which may be written. The caller has charged
// them: they add to Bytes.
func (b *Block) OwnWeights() {
	if b.Unit() {
		b.W = append(make([]float64, 0, len(b.W)), b.W...)
	}
}

// OwnWeightsBytes is what OwnWeights adds.
func (b *Block) OwnWeightsBytes() int64 {
	if b.Unit() {
		return WeightBytes(b.Rows)
	}
	return 0
}
