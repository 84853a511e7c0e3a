package catalog

import "iter"

// Places returns the places that a row has had, as far as the manifest knows, the present one first, so that a row that was
// moved can be recognised.
func (m *Manifest) Places(id SegmentID, row uint32) iter.Seq2[SegmentID, uint32] {
	return func(yield func(SegmentID, uint32) bool) {
		for range 64 { // stored data may be circular
			if !yield(id, row) {
				return
			}
			from, at := m.movedFrom(id, row)
			if from == nil {
				return
			}
			gone, err := readBitmap(from.Deleted)
			if err != nil {
				return
			}
			for it := gone.Iterator(); it.HasNext() && int64(it.Next()) <= at; {
				at++
			}
			id, row = from.Old, uint32(at)
		}
	}
}

// movedFrom returns the move that brought a row, nil for none, and its number among the rows that it moved.
func (m *Manifest) movedFrom(id SegmentID, row uint32) (from *Move, at int64) {
	for _, mv := range m.Moved {
		base := int64(0)
		for _, to := range mv.To {
			if to.ID == id && base+int64(row) >= mv.From && (from == nil || mv.From > from.From) {
				from, at = mv, base+int64(row)-mv.From
			}
			base += to.Rows
		}
	}
	return from, at
}

// Origin returns the first of a row's places.
func (m *Manifest) Origin(id SegmentID, row uint32) (SegmentID, uint32) {
	for id, row = range m.Places(id, row) {
	}
	return id, row
}
