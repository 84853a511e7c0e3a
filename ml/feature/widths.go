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

// Widths returns how many numbers and codes of a row a column has, and how many OneHot slots.
func (c *FitCol) Widths() (dense, codes, slots int) {
	dense, of := c.shape()
	return dense, len(of), c.slots(of)
}

// Codes returns the number of a column's codes.
func (c *FitCol) Codes() int {
	_, codes := c.shape()
	return len(codes)
}
