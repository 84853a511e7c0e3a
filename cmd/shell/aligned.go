package shell

import (
	"bufio"
	"fmt"
	"strings"
)

// A result is printed in chunks of at most so many rows and bytes, so that one of any length takes constant
// memory. The columns' widths come from the chunk, and never become smaller from one to the next.
const (
	chunkRows  = 10000
	chunkBytes = 4 << 20
)

// aligned prints tables as psql's aligned format does, and one line for each cell where expanded.
type aligned struct {
	f       *format
	w       *bufio.Writer
	cols    []column
	heads   [][]string
	rows    [][][]string
	bytes   int
	widths  []int
	value   int // the widest value, of expanded output
	printed int64
	decided bool // whether this result is expanded
	tall    bool
	screen  int
}

func newAligned(f *format, w *bufio.Writer, cols []column, screen int) *aligned {
	a := &aligned{f: f, w: w, cols: cols, widths: make([]int, len(cols)), screen: screen}
	for i, c := range cols {
		lines := display(c.name)
		a.heads = append(a.heads, lines)
		for _, l := range lines {
			a.widths[i] = max(a.widths[i], width(l))
		}
	}
	return a
}

func (a *aligned) row(vals [][]byte) {
	cells := make([][]string, len(vals))
	for i, v := range vals {
		text := a.f.null
		if v != nil {
			text = string(v)
		}
		cells[i] = display(text)
		a.bytes += len(text) + 64
	}
	if a.rows = append(a.rows, cells); len(a.rows) >= chunkRows || a.bytes >= chunkBytes {
		a.chunk()
	}
}

func (a *aligned) end(rows int64) {
	a.chunk()
	if a.f.border == 2 && !a.tall {
		a.rule()
	}
	switch {
	case a.f.footers != nil && !a.f.tuples:
		for _, l := range a.f.footers {
			fmt.Fprintln(a.w, l)
		}
	case a.tall && rows == 0 && !a.f.tuples:
		fmt.Fprint(a.w, "(0 rows)\n")
	case !a.tall && !a.f.tuples && a.f.footer:
		a.w.WriteString(rowCount(rows))
	}
	a.w.WriteByte('\n')
}

func rowCount(n int64) string {
	if n == 1 {
		return "(1 row)\n"
	}
	return fmt.Sprintf("(%d rows)\n", n)
}

// chunk prints the rows that are held.
func (a *aligned) chunk() {
	first := !a.decided
	if first {
		a.decided, a.tall = true, a.f.expanded == "on"
	}
	widths := append([]int(nil), a.widths...)
	for _, row := range a.rows {
		for i, cell := range row {
			for _, l := range cell {
				widths[i] = max(widths[i], width(l))
			}
		}
	}
	if first && a.f.expanded == "auto" && a.screen > 0 {
		total := 3*len(widths) - 1
		for _, w := range widths {
			total += w
		}
		a.tall = total > a.screen
	}
	if a.tall {
		a.records()
	} else {
		a.widths = widths
		a.table(first)
	}
	a.rows, a.bytes = a.rows[:0], 0
}

func (a *aligned) table(first bool) {
	if first && a.f.title != "" && !a.f.tuples {
		total := 3*len(a.widths) - 1
		for _, w := range a.widths {
			total += w
		}
		fmt.Fprintln(a.w, pad((total-width(a.f.title))/2)+a.f.title)
	}
	if first && !a.f.tuples {
		if a.f.border == 2 {
			a.rule()
		}
		a.lines(a.heads, func(i int, text string) string {
			gap := a.widths[i] - width(text)
			return pad(gap/2) + text + pad(gap-gap/2)
		}, false)
		a.rule()
	} else if first && a.f.border == 2 {
		a.rule()
	}
	for _, row := range a.rows {
		a.lines(row, func(i int, text string) string {
			gap := pad(a.widths[i] - width(text))
			if a.cols[i].right {
				return gap + text
			}
			return text + gap
		}, true)
	}
	a.printed += int64(len(a.rows))
}

func (a *aligned) rule() {
	var b strings.Builder
	for i, w := range a.widths {
		switch {
		case a.f.border == 0 && i > 0:
			b.WriteByte(' ')
		case a.f.border == 1 && i > 0, a.f.border == 2:
			b.WriteByte('+')
		}
		if a.f.border > 0 {
			w += 2
		}
		b.WriteString(strings.Repeat("-", w))
	}
	if len(a.widths) == 0 {
		b.WriteString("--")
	}
	if a.f.border == 2 {
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	a.w.WriteString(b.String())
}

// lines writes the lines of a row; fit brings a text to its column's width. Where a cell goes on in the next
// line stands a plus.
func (a *aligned) lines(cells [][]string, fit func(i int, text string) string, trim bool) {
	height := 1
	for _, c := range cells {
		height = max(height, len(c))
	}
	for j := range height {
		for i, c := range cells {
			switch {
			case a.f.border == 2 || a.f.border == 1 && i > 0:
				a.w.WriteByte('|')
			}
			text, mark := "", " "
			if j < len(c) {
				text = c[j]
			}
			if j < len(c)-1 {
				mark = "+"
			}
			if a.f.border > 0 {
				a.w.WriteByte(' ')
			}
			if last := i == len(cells)-1; trim && last && mark == " " && a.f.border < 2 && !a.cols[i].right {
				a.w.WriteString(text)
				continue
			}
			a.w.WriteString(fit(i, text))
			if last := i == len(cells)-1; a.f.border > 0 && (!trim || !last || mark == "+" || a.f.border == 2) || a.f.border == 0 && (!last || mark == "+") {
				a.w.WriteString(mark)
			}
		}
		if a.f.border == 2 {
			a.w.WriteByte('|')
		}
		a.w.WriteByte('\n')
	}
}

// records writes a line for each cell, as psql does under \x.
func (a *aligned) records() {
	name := 0
	for i := range a.cols {
		for _, l := range a.heads[i] {
			name = max(name, width(l))
		}
	}
	for _, row := range a.rows {
		for _, cell := range row {
			for _, l := range cell {
				a.value = max(a.value, width(l))
			}
		}
	}
	for _, row := range a.rows {
		a.printed++
		if !a.f.tuples {
			title := fmt.Sprintf("-[ RECORD %d ]", a.printed)
			if n := name + 1 - len(title); n >= 0 {
				title += strings.Repeat("-", n) + "+" + strings.Repeat("-", a.value+1)
			} else if rest := name + a.value + 3 - len(title); rest > 0 {
				title += strings.Repeat("-", rest)
			}
			fmt.Fprintln(a.w, title)
		} else if a.printed > 1 {
			a.w.WriteByte('\n')
		}
		for i, cell := range row {
			for j := range max(len(cell), len(a.heads[i])) {
				head, text := "", ""
				if j < len(a.heads[i]) {
					head = a.heads[i][j]
				}
				if j < len(cell) {
					text = cell[j]
				}
				fmt.Fprintf(a.w, "%s | %s\n", head+pad(name-width(head)), text)
			}
		}
	}
}
