package hist

import "unsafe"

// Add adds vals[r] to h[c·stride + bins[r·width+c]] for all c below width and r
// of rows. Bins are below stride, rows inside bins and vals: nothing is checked.
func Add(h []int64, stride int, bins []uint8, width int, rows []uint32, vals []int64) {
	if len(rows) == 0 || width == 0 {
		return
	}
	_ = h[width*stride-1]
	add(h, stride, bins, width, rows, vals)
}

func addGo(h []int64, stride int, bins []uint8, width int, rows []uint32, vals []int64) {
	base, v, first := unsafe.Pointer(unsafe.SliceData(bins)), unsafe.Pointer(unsafe.SliceData(vals)), unsafe.Pointer(unsafe.SliceData(h))
	step := uintptr(stride) * 8
	for _, r := range rows {
		row := unsafe.Add(base, uintptr(r)*uintptr(width))
		x := *(*int64)(unsafe.Add(v, uintptr(r)*8))
		at := first
		c := width
		for ; c >= 4; c -= 4 {
			b := *(*uint32)(row)
			*(*int64)(unsafe.Add(at, uintptr(b&255)*8)) += x
			at = unsafe.Add(at, step)
			*(*int64)(unsafe.Add(at, uintptr(b>>8&255)*8)) += x
			at = unsafe.Add(at, step)
			*(*int64)(unsafe.Add(at, uintptr(b>>16&255)*8)) += x
			at = unsafe.Add(at, step)
			*(*int64)(unsafe.Add(at, uintptr(b>>24)*8)) += x
			at = unsafe.Add(at, step)
			row = unsafe.Add(row, 4)
		}
		for ; c > 0; c-- {
			*(*int64)(unsafe.Add(at, uintptr(*(*uint8)(row))*8)) += x
			at = unsafe.Add(at, step)
			row = unsafe.Add(row, 1)
		}
	}
}

// AddSome is Add for some columns: column cols[k]'s histogram begins at h[at[k]].
func AddSome(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	if len(rows) == 0 || len(cols) == 0 {
		return
	}
	addSome(h, at[:len(cols)], cols, bins, width, rows, vals)
}

func addSomeGo(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	base, v := unsafe.Pointer(unsafe.SliceData(bins)), unsafe.Pointer(unsafe.SliceData(vals))
	first := unsafe.Pointer(unsafe.SliceData(h))
	at = at[:len(cols)]
	for _, r := range rows {
		row := unsafe.Add(base, uintptr(r)*uintptr(width))
		x := *(*int64)(unsafe.Add(v, uintptr(r)*8))
		for k, c := range cols {
			b := *(*uint8)(unsafe.Add(row, uintptr(c)))
			*(*int64)(unsafe.Add(first, (uintptr(at[k])+uintptr(b))*8)) += x
		}
	}
}

// AddPairs is AddSome for two integers a row and a bin: those of row r are
// vals[2r] and vals[2r+1].
func AddPairs(h []int64, at, cols []int32, bins []uint8, width int, rows []uint32, vals []int64) {
	for _, r := range rows {
		row := bins[int(r)*width:][:width]
		x, y := vals[2*r], vals[2*r+1]
		for k, c := range cols {
			i := 2 * (int(at[k]) + int(row[c]))
			h[i] += x
			h[i+1] += y
		}
	}
}

// Part partitions rows by a column, stably: first those for whose bins goes is 1, then the others.
// The bin of row r is col[r·width]; other is scratch for as many rows. It returns how many are in
// the first part.
func Part(rows, other []uint32, col []uint8, width int, goes *[256]uint8) int {
	if len(rows) == 0 {
		return 0
	}
	n := part(rows, other[:len(rows)], col, width, goes)
	copy(rows[n:], other)
	return n
}

func partGo(rows, other []uint32, col []uint8, width int, goes *[256]uint8) (left int) {
	for i, row := range rows {
		n := int(goes[col[int(row)*width]])
		rows[left], other[i-left] = row, row
		left += n
	}
	return left
}
