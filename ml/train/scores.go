package train

import (
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/rows"
)

// scores are those of blocks that were kept for the next task.
type scores struct {
	blocks *block.Blocks // with which they are charged
	mu     sync.Mutex
	by     map[int]*family.Scores
}

// take returns the scores of a block that the task before or the family kept, or nil.
func (k *scores) take(rows family.Rows, w family.Worker) *family.Scores {
	k.mu.Lock()
	s := k.by[blockOf(rows)]
	if s != nil {
		delete(k.by, blockOf(rows))
		k.blocks.Unreserve(scoresBytes(s))
	}
	k.mu.Unlock()
	if f, ok := w.(family.Keeper); ok && s == nil {
		return f.Kept(rows)
	}
	return s
}

// keep keeps scores of two classes for the task that measures, where there is
// plenty of memory: evaluating many trees twice takes longer than everything else.
func (k *scores) keep(rows family.Rows, s *family.Scores) {
	if !k.blocks.TryReserve(scoresBytes(s)) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[int]*family.Scores{}
	}
	k.by[blockOf(rows)] = s
}

// drop drops what is kept.
func (k *scores) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.by {
		k.blocks.Unreserve(scoresBytes(s))
	}
	k.by = nil
}

// scoresBytes returns the size of scores of classes; two classes may have a single
// array.
func scoresBytes(s *family.Scores) (n int64) {
	for _, p := range s.Probs {
		n += 8 * int64(len(p))
	}
	return n
}

// blockOf returns the number of the block of these rows.
func blockOf(r family.Rows) int { return rows.BlockOf(r.Leaf, r.Held) }
