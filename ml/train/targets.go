package train

import "github.com/tributarydb/tributary/ml/block"

// forTarget returns a block whose labels are the values of a target.
func forTarget(b *block.Block, target int) *block.Block {
	if target <= 0 || target > len(b.More) {
		return b
	}
	c := *b
	c.Y = b.More[target-1]
	return &c
}
