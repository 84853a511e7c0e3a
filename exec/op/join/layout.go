package join

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/types"
)

// layout is a Config with the columns that are stored of each side: those that are needed, then the
// keys that are computed. Fields that end in At index stored columns.
type layout struct {
	Config
	lStored, rStored           []int // input columns
	lStoredTypes, rStoredTypes []types.Type
	lKeyAt, rKeyAt             []int // by key: stored column
	lOutAt, rOutAt             []int
	given                      []int // stored right columns that are returned and are no keys
	residual                   []residualCol
	ranges                     *ranges // nil: none
	lPaired, rPaired           []int   // stored columns that pairs are gathered of
	directKey                  bool
	nullAware                  bool // a NULL key makes the answer NULL
}

// residualCol is a stored column of a side.
type residualCol struct {
	right bool
	at    int
}

// emitsPairs: the result has right columns; else it is about left rows only.
func (c *layout) emitsPairs() bool {
	switch c.Kind {
	case plan.Semi, plan.Anti, plan.AntiNull, plan.Mark, plan.RightSemi, plan.RightAnti:
		return false
	}
	return true
}

// rightOnly: the result is about right rows.
func (c *layout) rightOnly() bool { return c.Kind == plan.RightSemi || c.Kind == plan.RightAnti }

// emitsUnmatched: left rows without a match come with NULLs.
func (c *layout) emitsUnmatched() bool {
	return c.Kind == plan.Left || c.Kind == plan.Full || c.Kind == plan.Single
}

// tracks: which left rows have a match must be remembered.
func (c *layout) tracks() bool {
	return !c.rightOnly() && (!c.emitsPairs() || c.emitsUnmatched())
}

// emitsBuild: right rows go out by themselves after the probe, those without a
// match, or with one.
func (c *layout) emitsBuild() bool {
	return c.Kind == plan.Right || c.Kind == plan.Full || c.rightOnly()
}

// keepsLeft: a left row without a match is in the result somehow.
func (c *layout) keepsLeft() bool {
	return c.Kind != plan.Inner && c.Kind != plan.Right && c.Kind != plan.Semi && !c.rightOnly()
}

func newLayout(jc Config) *layout {
	c := &layout{Config: jc}
	side := func(ts []types.Type, need []int, keys []op.Item) (stored []int, storedTypes []types.Type, keyAt []int) {
		at := map[int]int{}
		put := func(col int) int {
			if i, ok := at[col]; ok {
				return i
			}
			at[col] = len(stored)
			stored = append(stored, col)
			storedTypes = append(storedTypes, ts[col])
			return at[col]
		}
		for _, col := range need {
			put(col)
		}
		for _, k := range keys {
			if k.Program == nil {
				keyAt = append(keyAt, put(k.Col))
			} else {
				keyAt = append(keyAt, -1)
			}
		}
		for i := range keys {
			if keyAt[i] < 0 {
				keyAt[i] = len(storedTypes)
				storedTypes = append(storedTypes, c.KeyTypes[i])
			}
		}
		return stored, storedTypes, keyAt
	}
	lNeed, rNeed := append([]int(nil), c.LOut...), append([]int(nil), c.ROut...)
	for _, col := range c.ResidualCols {
		if col < len(c.LTypes) {
			lNeed = append(lNeed, col)
		} else {
			rNeed = append(rNeed, col-len(c.LTypes))
		}
	}
	c.lStored, c.lStoredTypes, c.lKeyAt = side(c.LTypes, lNeed, c.LKeys[0])
	c.rStored, c.rStoredTypes, c.rKeyAt = side(c.RTypes, rNeed, c.RKeys[0])
	find := func(stored []int, col int) int {
		for i, s := range stored {
			if s == col {
				return i
			}
		}
		panic("BUG: join: a column is not stored")
	}
	for _, col := range c.LOut {
		c.lOutAt = append(c.lOutAt, find(c.lStored, col))
	}
	c.rOutAt = []int{}
	for _, col := range c.ROut {
		c.rOutAt = append(c.rOutAt, find(c.rStored, col))
	}
	for _, at := range c.rOutAt {
		if !slices.Contains(c.rKeyAt, at) {
			c.given = append(c.given, at)
		}
	}
	for _, col := range c.ResidualCols {
		if col < len(c.LTypes) {
			c.residual = append(c.residual, residualCol{false, find(c.lStored, col)})
		} else {
			c.residual = append(c.residual, residualCol{true, find(c.rStored, col-len(c.LTypes))})
		}
	}
	c.ranges = rangesOf(c.Ranges, func(col int) int { return find(c.lStored, col) }, func(col int) int { return find(c.rStored, col) })
	lPair, rPair := map[int]bool{}, map[int]bool{}
	pair := func(of map[int]bool, list *[]int, at int) {
		if !of[at] {
			of[at] = true
			*list = append(*list, at)
		}
	}
	for _, r := range c.residual {
		if r.right {
			pair(rPair, &c.rPaired, r.at)
		} else {
			pair(lPair, &c.lPaired, r.at)
		}
	}
	if c.emitsPairs() {
		for _, at := range c.lOutAt {
			pair(lPair, &c.lPaired, at)
		}
		for _, at := range c.rOutAt {
			pair(rPair, &c.rPaired, at)
		}
	}
	if len(c.KeyTypes) == 1 {
		switch c.KeyTypes[0].Arrow().ID() {
		case arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT32, arrow.DATE32:
			c.directKey = true
		}
	}
	c.nullAware = (c.Kind == plan.AntiNull || c.Kind == plan.Mark) && len(c.KeyTypes) == 1 && !c.NullSafe[0] && c.ResidualValue == nil
	return c
}

// stored returns a batch of an input in the stored layout, without a selection.
func stored(ctx context.Context, b *batch.Batch, which []int, keys []op.Item) (*batch.Batch, error) {
	cols := make([]arrow.Array, 0, len(which)+len(keys))
	for _, w := range which {
		c := b.Cols[w]
		if b.Sel != nil {
			c = kernel.Take(c, b.Sel)
		}
		cols = append(cols, c)
	}
	for _, k := range keys {
		if k.Program == nil {
			continue
		}
		c, err := k.Program.Eval(ctx, b)
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return batch.New(cols, b.Rows()), nil
}

func pickCols(cols []arrow.Array, which []int) []arrow.Array {
	out := make([]arrow.Array, len(which))
	for i, w := range which {
		out[i] = cols[w]
	}
	return out
}
