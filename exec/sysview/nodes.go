package sysview

// ofNodes produces the rows of a relation of which each node has some.
func ofNodes(v *view, put put) error {
	want := make([]int16, len(v.cols))
	for i, c := range v.cols {
		want[i] = c.Num
	}
	rows, err := v.host.NodeRows(v.shape.name, want)
	if err != nil {
		return err
	}
	for _, r := range rows {
		cells := make([]any, len(v.shape.cols))
		for i := range cells {
			if i < len(r) { // a node of an older version may have fewer columns
				cells[i] = r[i]
			}
		}
		if err := put(cells...); err != nil {
			return err
		}
	}
	return nil
}
