package dataset

import "github.com/tributarydb/tributary/exec/kernel/f64"

// Slice is rows [From, To) of a leaf, multiples of f64.Lanes: the last may fill
// up the leaf's last tile.
type Slice struct{ Leaf, From, To int }

// BatchSlices gives the rows that belong to step step of an epoch of steps
// mini-batches, over leaves of so many rows each: the tiles of all leaves, one
// leaf after the other, are cut into steps runs as equal as can be. So a
// mini-batch touches few leaves, and a spilled leaf is read a few times an
// epoch. There are mini-batches without rows where there are fewer tiles than
// steps.
func BatchSlices(rows []int64, step, steps int) (out []Slice) {
	tiles := 0
	for _, n := range rows {
		tiles += f64.Tiles(int(n))
	}
	from, to := tiles*step/steps, tiles*(step+1)/steps
	at := 0
	for leaf, n := range rows {
		here := f64.Tiles(int(n))
		if a, b := max(from-at, 0), min(to-at, here); a < b {
			out = append(out, Slice{leaf, a * f64.Lanes, b * f64.Lanes})
		}
		at += here
	}
	return out
}
