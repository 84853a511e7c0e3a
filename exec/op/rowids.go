package op

import (
	"context"
	"slices"
	"sort"
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
	last int64   // the highest
	in   []int32 // how many rows are in each container, which has room for 2¹⁶
}

// A bitmap's container is a list of rows, of 2 bytes each and room for as many to come,
// until it is shorter as bits: a bit a row, if the rows are not few.
const (
	bytesOfRowID     = 4
	bytesOfContainer = 8 << 10 // at most
	bytesOfEmpty     = 64      // of one
	bytesOfRowIDs    = 256     // of a segment
)

// add counts n more rows in the container of one of them, and returns how many more bytes the
// bitmap takes.
func (s *segmentRows) add(row uint32, n int) (more int64) {
	c := int(row >> 16)
	if c >= len(s.in) {
		s.in = append(s.in, make([]int32, c+1-len(s.in))...)
	}
	was := s.in[c]
	s.in[c] += int32(n)
	if more = bytesIn(s.in[c]) - bytesIn(was); was == 0 {
		more += bytesOfEmpty
	}
	return more
}

func bytesIn(rows int32) int64 { return min(int64(rows)*bytesOfRowID, bytesOfContainer) }

// addMany is add for rows that ascend.
func (s *segmentRows) addMany(rows []uint32) (more int64) {
	for len(rows) > 0 {
		n := len(rows)
		if c := rows[0] >> 16; rows[n-1]>>16 != c {
			n = sort.Search(n, func(i int) bool { return rows[i]>>16 > c })
		}
		more += s.add(rows[0], n)
		rows = rows[n:]
	}
	return more
}

// Add records the rows of a batch whose ids are in a column and returns those that were not
// recorded before. Rows without an id (the inserting half of a MERGE) are left out. What they may
// take is charged first, and released but for what they do take.
func (s *RowIDs) Add(ctx context.Context, acct *mem.Account, b *batch.Batch, col int) (*batch.Batch, error) {
	most := int64(b.Rows()) * bytesOfRowID
	if err := chargeRows(ctx, acct, most); err != nil {
		return nil, err
	}
	b, more := s.add(b, col)
	if acct == nil {
		return b, nil
	}
	if more > most { // many segments' first rows
		return b, chargeRows(ctx, acct, more-most)
	}
	acct.Shrink(most - more)
	return b, nil
}

// smallShare is the part of the pool below which an account of row ids is not refused: a join below
// that fills the pool releases nothing while its rows are changed, and a bit a row is what the
// catalog keeps of them, too.
const smallShare = 8

// chargeRows charges an account, if there is one, for row ids.
func chargeRows(ctx context.Context, acct *mem.Account, n int64) error {
	if acct == nil {
		return nil
	}
	err := acct.Insist(ctx, n)
	if acct.Refused(err) && acct.Used()+n <= acct.Pool().Limit()/smallShare {
		acct.Take(n)
		return nil
	}
	return err
}

// add is Add without charging; it also returns how many bytes the set grew by.
func (s *RowIDs) add(b *batch.Batch, col int) (added *batch.Batch, more int64) {
	n := b.Rows()
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
		seg, fresh := s.segment(uint32(ids[row] >> 32))
		more += fresh
		// Rows mostly come in stored order: ascending runs are added at once.
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
			more += seg.addMany(run)
			continue
		}
		if seg.rows.CheckedAdd(uint32(ids[row])) {
			more += seg.add(uint32(ids[row]), 1)
			if sel != nil {
				sel = append(sel, int32(row))
			}
		} else {
			leave(k)
		}
		k++
	}
	if sel == nil {
		return b, more
	}
	return &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}, more
}

// segment returns the rows of a segment, and what it takes if it is new.
func (s *RowIDs) segment(ordinal uint32) (g *segmentRows, more int64) {
	if g := s.segs[ordinal]; g != nil {
		return g, 0
	}
	if s.segs == nil {
		s.segs = map[uint32]*segmentRows{}
	}
	g = &segmentRows{rows: roaring.New(), last: -1}
	s.segs[ordinal] = g
	return g, bytesOfRowIDs
}

// Merge adds an encoded bitmap of a segment's rows, and reports whether some of them
// were there already.
func (s *RowIDs) Merge(ctx context.Context, acct *mem.Account, ordinal uint32, enc []byte) (again bool, err error) {
	more := roaring.New()
	if err := more.UnmarshalBinary(enc); err != nil {
		return false, err
	}
	g, fresh := s.segment(ordinal)
	if err := chargeRows(ctx, acct, fresh+int64(more.GetSizeInBytes())); err != nil {
		return false, err
	}
	if fresh == 0 {
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

// Ordinals returns the numbers of the segments that have rows in the set, ascending.
func (s *RowIDs) Ordinals() []uint32 {
	out := make([]uint32, 0, len(s.segs))
	for o := range s.segs {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

// Contains reports whether a row was recorded.
func (s *RowIDs) Contains(id int64) bool {
	g := s.segs[uint32(id>>32)]
	return g != nil && g.rows.Contains(uint32(id))
}

// Rows returns the set's rows of a segment.
func (s *RowIDs) Rows(ordinal uint32) *roaring.Bitmap { return s.segs[ordinal].rows }

// Encoded returns the bitmap of a segment's rows as it is kept and sent.
func (s *RowIDs) Encoded(ordinal uint32) ([]byte, error) {
	b := s.segs[ordinal].rows
	b.RunOptimize()
	return b.ToBytes()
}
