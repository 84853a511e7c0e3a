package op

import (
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
)

// RowIDs is a set of rows of one table's snapshot. Row ids hold the segment's
// number in their upper half and the row in their lower (exec/store.RowID). Threads may
// share one while they add to it, each charging its own account, which may be nil.
type RowIDs struct {
	mu   sync.Mutex
	segs map[uint32]*segmentRows
	rows []uint32
}

type segmentRows struct {
	rows *roaring.Bitmap
	last int64 // the highest
}

// bytesOfRowID is the most that a row takes in a bitmap, about.
const bytesOfRowID, bytesOfRowIDs = 2, 256

// Add notes the rows of a batch whose ids are in a column and gives those that were
// not noted before. Rows without an id (the inserting half of a MERGE) are left out.
func (s *RowIDs) Add(acct *mem.Account, b *batch.Batch, col int) (*batch.Batch, error) {
	n := b.Rows()
	if acct != nil {
		if err := acct.Grow(int64(n) * bytesOfRowID); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	arr := b.Cols[col].(*array.Int64)
	ids, nulls := arr.Int64Values(), arr.NullN() > 0
	var sel []int32 // nil while all are new
	leave := func(k int) {
		if sel == nil {
			sel = make([]int32, 0, n)
			for i := range k {
				sel = append(sel, int32(storedRow(b, i)))
			}
		}
	}
	for k := 0; k < n; {
		row := storedRow(b, k)
		if nulls && arr.IsNull(row) {
			leave(k)
			k++
			continue
		}
		seg, err := s.segment(acct, uint32(ids[row]>>32))
		if err != nil {
			return nil, err
		}
		// Rows come as they lie, mostly: those that ascend are added at once.
		run := s.rows[:0]
		of := ids[row] >> 32
		for ; k < n; k++ {
			row := storedRow(b, k)
			if id := ids[row]; nulls && arr.IsNull(row) || id>>32 != of || int64(uint32(id)) <= seg.last {
				break
			}
			seg.last = int64(uint32(ids[row]))
			run = append(run, uint32(ids[row]))
			if sel != nil {
				sel = append(sel, int32(row))
			}
		}
		s.rows = run
		if len(run) > 0 {
			seg.rows.AddMany(run)
			continue
		}
		if seg.rows.CheckedAdd(uint32(ids[row])) {
			if sel != nil {
				sel = append(sel, int32(row))
			}
		} else {
			leave(k)
		}
		k++
	}
	if sel == nil {
		return b, nil
	}
	return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}, nil
}

func (s *RowIDs) segment(acct *mem.Account, ordinal uint32) (*segmentRows, error) {
	if g := s.segs[ordinal]; g != nil {
		return g, nil
	}
	if acct != nil {
		if err := acct.Grow(bytesOfRowIDs); err != nil {
			return nil, err
		}
	}
	if s.segs == nil {
		s.segs = map[uint32]*segmentRows{}
	}
	g := &segmentRows{rows: roaring.New(), last: -1}
	s.segs[ordinal] = g
	return g, nil
}

// Merge adds an encoded bitmap of a segment's rows, and reports whether some of them
// were there already.
func (s *RowIDs) Merge(acct *mem.Account, ordinal uint32, enc []byte) (again bool, err error) {
	more := roaring.New()
	if err := more.UnmarshalBinary(enc); err != nil {
		return false, err
	}
	had := s.segs[ordinal] != nil
	g, err := s.segment(acct, ordinal)
	if err != nil {
		return false, err
	}
	if acct != nil {
		if err := acct.Grow(int64(more.GetSizeInBytes())); err != nil {
			return false, err
		}
	}
	if had {
		again = g.rows.Intersects(more)
		g.rows.Or(more)
	} else {
		g.rows = more
	}
	if !g.rows.IsEmpty() {
		g.last = int64(g.rows.Maximum())
	}
	return again, nil
}

// Ordinals are the numbers of the segments that have rows in the set, ascending.
func (s *RowIDs) Ordinals() []uint32 {
	out := make([]uint32, 0, len(s.segs))
	for o := range s.segs {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

// Rows are the rows of a segment.
func (s *RowIDs) Rows(ordinal uint32) *roaring.Bitmap { return s.segs[ordinal].rows }

// Encoded returns the bitmap of a segment's rows as it is kept and sent.
func (s *RowIDs) Encoded(ordinal uint32) ([]byte, error) {
	b := s.segs[ordinal].rows
	b.RunOptimize()
	return b.ToBytes()
}
