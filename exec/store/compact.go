package store

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// Compaction merges neighbours, so that rows keep their order: fanIn or more that are no larger
// than a size class, classes growing by fanIn. None may have more than a share of the run's rows,
// else a large segment would be rewritten for every few small ones after it; so a row is rewritten
// a logarithmic number of times.
const (
	fanIn        = 8
	largestShare = 4 // one in so many
	// Merging a run of more segments would take so long that an UPDATE of one of its rows intervenes
	// each time, and it is never merged.
	longestRun   = 512
	deletedShare = 0.3
)

// Run is a range [From, To) of a partition's list of segments to be merged.
type Run struct{ From, To int }

// PlanCompaction returns which runs of a partition to merge. It is a pure function of the segments.
func PlanCompaction(segs []*catalog.Segment, rowsPerSegment int64) []Run {
	if rowsPerSegment <= 0 {
		rowsPerSegment = SegmentRows
	}
	var out []Run
	taken := make([]bool, len(segs))
	// Many small neighbours, the smallest classes first.
	for class := int64(fanIn); ; class *= fanIn {
		limit := min(class, rowsPerSegment/2)
		for from := 0; from < len(segs); {
			to, live, most := from, int64(0), int64(0)
			for to < len(segs) && to-from < longestRun && !taken[to] && segs[to].Rows <= limit && segs[to].Bytes <= SegmentBytes/2 && live+segs[to].Live() <= rowsPerSegment {
				live += segs[to].Live()
				most = max(most, segs[to].Live())
				to++
			}
			if to-from >= fanIn && most*largestShare <= live {
				out = append(out, Run{from, to})
				for i := from; i < to; i++ {
					taken[i] = true
				}
			}
			from = max(to, from+1)
		}
		if limit < class {
			break
		}
	}
	// Segments with many deleted rows, alone.
	for i, s := range segs {
		if !taken[i] && float64(s.DeletedRows) > deletedShare*float64(s.Rows) && s.Rows > 0 {
			out = append(out, Run{i, i + 1})
		}
	}
	return out
}

// Compact writes the live rows of a run as new segments and returns the change that puts them in
// place. The new files are the caller's to replicate and commit, or to Discard. between, which may
// be nil, is called every so many rows; an error of it ends the work.
func (s *Store) Compact(ctx context.Context, rel *catalog.Relation, part int, segs []*catalog.Segment, acct *mem.Account,
	replicate func(context.Context, *catalog.Segment) error, between func(ctx context.Context, rows int) error) (*catalog.ReplaceSegments, error) {
	pin := s.Pin(0)
	defer pin.Close()
	scan := &plan.Scan{Table: rel.OID, Name: rel.Name}
	o := WriterOptions{Account: acct, Compress: rel.Options["compression"] == "zstd", Done: replicate}
	for i, c := range rel.Live() {
		scan.Cols = append(scan.Cols, plan.Column{ID: expr.ColID(i + 1), Name: c.Name, Type: c.Type, Num: c.Num})
		scan.Missing = append(scan.Missing, c.Missing)
		o.Columns = append(o.Columns, WriterColumn{Num: c.Num, Type: c.Type})
	}
	xmin := uint32(catalog.FrozenXmin)
	for _, g := range segs {
		xmin = max(xmin, g.Xmin)
	}
	if slices.ContainsFunc(segs, func(g *catalog.Segment) bool { return max(g.Xmin, catalog.FrozenXmin) != xmin || storesXmin(g) }) {
		scan.Cols = append(scan.Cols, plan.Column{ID: expr.ColID(len(scan.Cols) + 1), Name: "xmin", Type: types.XID, Num: plan.Xmin})
		scan.Missing = append(scan.Missing, nil)
		o.Columns = append(o.Columns, WriterColumn{Num: plan.Xmin, Type: types.XID})
	}
	if len(segs) > 0 && !slices.ContainsFunc(segs, func(g *catalog.Segment) bool { return g.Part != segs[0].Part || g.Of != segs[0].Of }) {
		o.Part, o.Of = segs[0].Part, segs[0].Of
	}
	for _, ref := range segs {
		o.Rows += ref.Live()
	}
	w := s.NewWriter(o)
	change := &catalog.ReplaceSegments{Table: rel.OID, Part: part}
	for _, ref := range segs {
		if err := s.copyRows(ctx, pin, scan, ref, w, between); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
		change.Old = append(change.Old, catalog.SegmentRef{ID: ref.ID, DeletedRows: ref.DeletedRows})
	}
	var err error
	if change.New, err = w.Finish(ctx); err == nil {
		err = pin.Intact()
	}
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	for _, g := range change.New {
		g.Xmin = xmin
	}
	return change, nil
}

// storesXmin reports whether a segment has rows of several statements.
func storesXmin(g *catalog.Segment) bool {
	return slices.ContainsFunc(g.Zones, func(z catalog.Zone) bool { return z.Column == plan.Xmin })
}

func (s *Store) copyRows(ctx context.Context, pin *Pin, scan *plan.Scan, ref *catalog.Segment, w *Writer, between func(context.Context, int) error) error {
	if b := inlineRows(ref, w.o.Columns); b != nil {
		err := w.Write(ctx, b)
		if err == nil && between != nil {
			err = between(ctx, b.Rows())
		}
		return err
	}
	r, err := pin.Open(ctx, scan, &op.Split{Segment: ref, To: ref.Rows}, &function.Env{}, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err = w.Write(ctx, b); err == nil && between != nil {
			err = between(ctx, b.Rows())
		}
		if err != nil {
			return err
		}
	}
}

// inlineRows returns the rows of an inline segment that is to be written as it is; nil for others, and
// damaged ones. Small INSERTs leave them by the thousand, and a scan of each costs more than its row.
func inlineRows(ref *catalog.Segment, cols []WriterColumn) *batch.Batch {
	if ref.Inline == nil || ref.DeletedRows > 0 {
		return nil
	}
	g, err := openInline(ref)
	if err != nil {
		return nil
	}
	if n := len(cols) - 1; n >= 0 && cols[n].Num == plan.Xmin && g.column(plan.Xmin) < 0 {
		cols = cols[:n]
		g.rows = append(g.rows[:len(g.rows):len(g.rows)], xmins(ref, int(ref.Rows)))
	}
	if !slices.EqualFunc(g.foot.Cols, cols, func(has footerCol, c WriterColumn) bool { return has.Num == c.Num && has.Type == c.Type }) {
		return nil
	}
	return batch.New(g.rows, int(ref.Rows))
}
