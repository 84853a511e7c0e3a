package feature

// CodeSlots returns the number of slots of each code of a row, in the order of
// codes: a code's slots follow those of the codes before it.
func (f *Fitted) CodeSlots() []int {
	var out []int
	for i := range f.Cols {
		_, codes := f.Cols[i].shape()
		out = append(out, codes...)
	}
	return out
}

// Codes returns the number of a column's codes.
func (c *FitCol) Codes() int {
	_, codes := c.shape()
	return len(codes)
}
