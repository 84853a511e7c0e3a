package kernel

import "github.com/apache/arrow/go/v15/arrow"

// DictRows counts the rows of one dictionary, which batches share: what is made of a dictionary pays once its rows are
// many.
type DictRows struct {
	of   arrow.ArrayData
	rows int
}

// Add counts n more rows, and returns how many there are of this dictionary so far. A dictionary that is nil is new
// each time.
func (d *DictRows) Add(of arrow.ArrayData, n int) int {
	if of == nil || d.of != of {
		d.of, d.rows = of, 0
	}
	d.rows += n
	return d.rows
}
