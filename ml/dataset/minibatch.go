package dataset

import "github.com/tributarydb/tributary/exec/kernel/f64"

// BatchRows gives the rows [from, to) of a leaf that belong to step step of an
// epoch of steps mini-batches: whole tiles, so that every leaf gives each
// mini-batch its share as evenly as tiles allow. Leaves with fewer tiles than
// there are steps take part in some mini-batches only, each leaf in others.
func BatchRows(rows, leaf, leaves, step, steps int) (from, to int) {
	tiles := f64.Tiles(rows)
	off := leaf * steps / leaves
	a := (tiles*step + off) / steps
	b := (tiles*(step+1) + off) / steps
	return a * f64.Lanes, b * f64.Lanes
}
