package shell

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// result is the result of a statement, as text.
type result struct {
	head  []string
	right []bool // right-aligned columns: numbers
	rows  [][]string
}

// table writes a result as psql's aligned format does.
func (r result) table(w io.Writer) {
	width := make([]int, len(r.head))
	lines := make([][][]string, len(r.rows))
	for i, h := range r.head {
		width[i] = utf8.RuneCountInString(h)
	}
	for k, row := range r.rows {
		for i, c := range row {
			cell := strings.Split(c, "\n")
			lines[k] = append(lines[k], cell)
			for j, l := range cell {
				cell[j] = strings.ReplaceAll(l, "\t", "        ")
				width[i] = max(width[i], utf8.RuneCountInString(cell[j]))
			}
		}
	}
	var b strings.Builder
	for i, h := range r.head {
		if i > 0 {
			b.WriteByte('|')
		}
		gap := width[i] - utf8.RuneCountInString(h)
		b.WriteString(" " + strings.Repeat(" ", gap/2) + h + strings.Repeat(" ", gap-gap/2) + " ")
	}
	b.WriteByte('\n')
	for i := range r.head {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(strings.Repeat("-", width[i]+2))
	}
	b.WriteByte('\n')
	for _, row := range lines {
		height := 1
		for _, c := range row {
			height = max(height, len(c))
		}
		for j := range height {
			for i, c := range row {
				if i > 0 {
					b.WriteByte('|')
				}
				text, mark := "", " "
				if j < len(c) {
					text = c[j]
				}
				if j < len(c)-1 {
					mark = "+" // the cell continues on the next line
				}
				pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
				switch {
				case r.right[i]:
					b.WriteString(" " + pad + text + mark)
				case i == len(row)-1 && mark == " ":
					b.WriteString(" " + text)
				default:
					b.WriteString(" " + text + pad + mark)
				}
			}
			b.WriteByte('\n')
		}
	}
	s := "s"
	if len(r.rows) == 1 {
		s = ""
	}
	fmt.Fprintf(&b, "(%d row%s)\n\n", len(r.rows), s)
	_, _ = io.WriteString(w, b.String())
}

// expanded writes a line for each cell, as psql does under \x.
func (r result) expanded(w io.Writer) {
	if len(r.rows) == 0 {
		fmt.Fprint(w, "(0 rows)\n\n")
		return
	}
	name, value := 0, 0
	for i, h := range r.head {
		name = max(name, utf8.RuneCountInString(h))
		for _, row := range r.rows {
			for _, l := range strings.Split(row[i], "\n") {
				value = max(value, utf8.RuneCountInString(l))
			}
		}
	}
	for k, row := range r.rows {
		title := fmt.Sprintf("-[ RECORD %d ]", k+1)
		if n := name + 1 - len(title); n >= 0 {
			title += strings.Repeat("-", n) + "+" + strings.Repeat("-", value+1)
		} else if rest := name + value + 3 - len(title); rest > 0 {
			title += strings.Repeat("-", rest)
		}
		fmt.Fprintln(w, title)
		for i, h := range r.head {
			for j, l := range strings.Split(row[i], "\n") {
				if j > 0 {
					h = ""
				}
				fmt.Fprintf(w, "%s | %s\n", h+strings.Repeat(" ", name-utf8.RuneCountInString(h)), l)
			}
		}
	}
	fmt.Fprintln(w)
}
