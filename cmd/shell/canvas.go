package shell

import (
	"math"
	"strconv"
	"strings"
)

// canvas draws in characters: each has 2 × 4 dots of braille.
type canvas struct {
	columns, rows int
	dots          []rune // of a character, the bits of braille
	series        []int  // whose colour a character has
}

func newCanvas(columns, rows int) *canvas {
	return &canvas{columns, rows, make([]rune, columns*rows), make([]int, columns*rows)}
}

// braille are the bits of the dots in a character, by line and column.
var braille = [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

func (c *canvas) dot(x, y, series int) {
	if x < 0 || y < 0 || x >= 2*c.columns || y >= 4*c.rows {
		return
	}
	at := y/4*c.columns + x/2
	c.dots[at] |= braille[y%4][x%2]
	c.series[at] = series
}

// line draws from one dot to another.
func (c *canvas) line(x0, y0, x1, y1, series int) {
	steps := max(abs(x1-x0), abs(y1-y0), 1)
	for i := range steps + 1 {
		c.dot(x0+(x1-x0)*i/steps, y0+(y1-y0)*i/steps, series)
	}
}

func abs(n int) int { return max(n, -n) }

// seriesColors tell lines apart, in the order of their columns.
var seriesColors = []string{"\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[32m", "\x1b[31m", "\x1b[34m"}

// text returns a line of the drawing.
func (c *canvas) text(row int, colored bool) string {
	var b strings.Builder
	last := -1
	for i := range c.columns {
		at := row*c.columns + i
		if c.dots[at] == 0 {
			b.WriteByte(' ')
			continue
		}
		if colored && c.series[at] != last {
			last = c.series[at]
			b.WriteString(seriesColors[last%len(seriesColors)])
		}
		b.WriteRune(0x2800 + c.dots[at])
	}
	if last >= 0 {
		b.WriteString(plain)
	}
	return strings.TrimRight(b.String(), " ")
}

// curve is a line of a chart; a value that is NaN interrupts it.
type curve struct {
	name string
	y    []float64
}

// bounds returns the least and the greatest finite value; ok tells whether there is one.
func bounds(values ...[]float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, list := range values {
		for _, v := range list {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, low <= high
}

// curves draws lines over x in a rectangle of so many characters, with the values at its edges on the left.
func curves(x []float64, lines []curve, columns, rows int, colored bool) []string {
	all := make([][]float64, len(lines))
	for i, l := range lines {
		all[i] = l.y
	}
	low, high, ok := bounds(all...)
	from, to, ok2 := bounds(x)
	if !ok || !ok2 {
		return nil
	}
	labels := []string{short(high), short(low)}
	left := max(len(labels[0]), len(labels[1]))
	c := newCanvas(max(columns-left-2, 8), rows)
	at := func(v, low, high float64, n int) int {
		if high == low {
			return n / 2
		}
		return int(math.Round((v - low) / (high - low) * float64(n-1)))
	}
	for s, l := range lines {
		px, py, drawn := 0, 0, false
		for i, v := range l.y {
			if math.IsNaN(v) || math.IsInf(v, 0) || math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
				drawn = false
				continue
			}
			cx, cy := at(x[i], from, to, 2*c.columns), 4*rows-1-at(v, low, high, 4*rows)
			if !drawn {
				px, py = cx, cy
			}
			c.line(px, py, cx, cy, s)
			px, py, drawn = cx, cy, true
		}
	}
	out := make([]string, rows)
	for r := range rows {
		label := ""
		switch r {
		case 0:
			label = labels[0]
		case rows - 1:
			label = labels[1]
		}
		out[r] = pad(left-len(label)) + label + " ┤" + c.text(r, colored)
	}
	return out
}

// short writes a number for a label.
func short(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
