package catalog

// Origin returns the first place of a row, as far as the manifest knows, so that a row that was moved can be
// recognised.
func (m *Manifest) Origin(id SegmentID, row uint32) (SegmentID, uint32) {
	for range 64 { // stored data may be circular
		var from *Move
		var at int64 // among the rows that were moved from there
		for _, mv := range m.Moved {
			base := int64(0)
			for _, to := range mv.To {
				if to.ID == id && base+int64(row) >= mv.From && (from == nil || mv.From > from.From) {
					from, at = mv, base+int64(row)-mv.From
				}
				base += to.Rows
			}
		}
		if from == nil {
			break
		}
		gone, err := readBitmap(from.Deleted)
		if err != nil {
			break
		}
		for it := gone.Iterator(); it.HasNext() && int64(it.Next()) <= at; {
			at++
		}
		id, row = from.Old, uint32(at)
	}
	return id, row
}
