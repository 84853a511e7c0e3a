package store

import (
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/catalog"
)

// SplitRows is the usual size of a split: two groups.
const SplitRows = 2 * GroupRows

// Splits divides a table's snapshot into splits of at most rows rows (0: SplitRows) for a leaf, in
// the order of its rows. Segments that keep excludes (nil: none), and those without a live row, are
// left out but still counted, so that an ordinal names the same segment for everyone.
func Splits(m *catalog.Manifest, leaf int, rows int64, keep func(*catalog.Segment) bool) []op.Split {
	if m == nil {
		return nil
	}
	if rows <= 0 {
		rows = SplitRows
	}
	var out []op.Split
	ordinal := uint32(0)
	for _, segs := range m.Partitions {
		for _, s := range segs {
			if s.Live() > 0 && (keep == nil || keep(s)) {
				for from := int64(0); from < s.Rows; from += rows {
					out = append(out, op.Split{Scan: leaf, Segment: s, Ordinal: ordinal, From: from, To: min(from+rows, s.Rows)})
				}
			}
			ordinal++
		}
	}
	return out
}

// Sampled returns splits of about so many of a table's rows, or of all where there are not more: each as
// likely as any other, at equal distances. A column is read in groups, so that to pick rows of all of them
// costs as much as to read the table.
func Sampled(m *catalog.Manifest, leaf int, rows int64, keep func(*catalog.Segment) bool) []op.Split {
	list := Splits(m, leaf, GroupRows, keep)
	all := int64(0)
	for _, s := range list {
		all += s.To - s.From
	}
	step := int((all + rows - 1) / rows)
	if step <= 1 {
		return list
	}
	out := list[:0]
	for i := step / 2; i < len(list); i += step {
		out = append(out, list[i])
	}
	return out
}

// At returns the segment that an ordinal names and its partition; nil if there is
// none.
func At(m *catalog.Manifest, ordinal uint32) (part int, s *catalog.Segment) {
	n := int(ordinal)
	for p, segs := range m.Partitions {
		if n < len(segs) {
			return p, segs[n]
		}
		n -= len(segs)
	}
	return 0, nil
}
