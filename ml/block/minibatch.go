package block

// Slice is units [From, To) of a leaf; of rows they are multiples of f64.Lanes,
// the last of which may fill up the leaf's last tile.
type Slice struct{ Leaf, From, To int }

// BatchSlices returns the units that belong to step step of an epoch of steps
// mini-batches, over leaves of so many units each: the tiles of all leaves, each
// of unit of them (family.Plan.Unit), one leaf after the other, are cut into
// steps runs as equal as can be. So a mini-batch touches few leaves, and a
// spilled leaf is read a few times an epoch. There are mini-batches without rows
// where there are fewer tiles than steps.
func BatchSlices(units []int64, unit, step, steps int) (out []Slice) {
	tiles := 0
	tilesOf := func(n int64) int { return (int(n) + unit - 1) / unit }
	for _, n := range units {
		tiles += tilesOf(n)
	}
	from, to := tiles*step/steps, tiles*(step+1)/steps
	at := 0
	for leaf, n := range units {
		here := tilesOf(n)
		if a, b := max(from-at, 0), min(to-at, here); a < b {
			out = append(out, Slice{leaf, a * unit, b * unit})
		}
		at += here
	}
	return out
}
