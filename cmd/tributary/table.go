package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// printTable prints rows as psql does.
func printTable(w io.Writer, head []string, rows [][]string) {
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = utf8.RuneCountInString(h)
	}
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			if i > 0 {
				b.WriteString(" |")
			}
			b.WriteString(" " + c + strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = strings.Repeat("-", width[i]+2)
	}
	fmt.Fprintln(w, strings.Join(rule, "+"))
	for _, r := range rows {
		line(r)
	}
	s := "s"
	if len(rows) == 1 {
		s = ""
	}
	fmt.Fprintf(w, "(%d row%s)\n", len(rows), s)
}
