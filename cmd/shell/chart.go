package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kept are the rows of the last result, for \chart and \crosstabview, as far as they are few.
type kept struct {
	cols  []column
	rows  [][]*string
	bytes int
	all   bool
}

const (
	keptRows  = 10000
	keptBytes = 4 << 20
)

func (k *kept) add(vals [][]byte) {
	if !k.all {
		return
	}
	row := make([]*string, len(vals))
	for i, v := range vals {
		if v != nil {
			text := string(v)
			row[i] = &text
			k.bytes += len(text)
		}
		k.bytes += 24
	}
	if k.rows = append(k.rows, row); len(k.rows) > keptRows || k.bytes > keptBytes {
		*k = kept{cols: k.cols}
	}
}

// result returns the rows of what was typed before the \command, else of the last result.
func (s *session) result(ctx context.Context, sp *splitter, command string) (*kept, error) {
	if sp.open() {
		sql, err := s.statement(sp)
		if err != nil {
			return nil, err
		}
		silent := s.silent
		s.silent = true
		err = s.run(ctx, sql)
		s.silent = silent
		if err != nil {
			return nil, errShown
		}
	}
	switch k := s.kept; {
	case k == nil:
		return nil, fmt.Errorf(`\%s: there is no result yet: put it behind a statement`, command)
	case !k.all:
		return nil, fmt.Errorf(`\%s: the result has more than %d rows or %d MB: aggregate, or add LIMIT`, command, keptRows, keptBytes>>20)
	case len(k.rows) == 0:
		return nil, fmt.Errorf(`\%s: the result has no rows`, command)
	default:
		return k, nil
	}
}

// find returns a column by its name or its number from 1.
func (k *kept) find(word string) (int, error) {
	word = strings.Trim(word, `"`)
	for i, c := range k.cols {
		if strings.EqualFold(c.name, word) {
			return i, nil
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(k.cols) {
		return n - 1, nil
	}
	return 0, fmt.Errorf("the result has no column %q", word)
}

// numbers returns a column as numbers; a date or a time is its seconds.
func (k *kept) numbers(col int) ([]float64, bool) {
	out := make([]float64, len(k.rows))
	times := false
	for i, r := range k.rows {
		out[i] = math.NaN()
		if r[col] == nil {
			continue
		}
		v, err := strconv.ParseFloat(*r[col], 64)
		if err != nil {
			t, ok := moment(*r[col])
			if !ok {
				return nil, false
			}
			v, times = float64(t.UnixMicro())/1e6, true
		}
		out[i] = v
	}
	return out, !times || k.temporal(col)
}

func (k *kept) temporal(col int) bool {
	for _, r := range k.rows {
		if r[col] != nil {
			_, ok := moment(*r[col])
			return ok
		}
	}
	return false
}

func moment(text string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999-07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

const (
	chartRows   = 16
	chartWidth  = 80 // where there is no terminal
	longestName = 30
)

// chartCommand is \chart [bar|line|histogram] [X [Y ...]].
func chartCommand(s *session, ctx context.Context, sp *splitter, a *arguments) error {
	words := a.all()
	kind := ""
	if len(words) > 0 {
		if i := slices.IndexFunc([]string{"bar", "line", "histogram"}, func(k string) bool { return strings.HasPrefix(k, words[0]) }); i >= 0 {
			kind, words = []string{"bar", "line", "histogram"}[i], words[1:]
		}
	}
	k, err := s.result(ctx, sp, "chart")
	if err != nil {
		return err
	}
	var cols []int
	for _, w := range words {
		if kind == "histogram" && len(cols) == 1 {
			break // the number of bars
		}
		i, err := k.find(w)
		if err != nil {
			return err
		}
		cols = append(cols, i)
	}
	columns := first2(s.screen(), chartWidth)
	var lines []string
	if kind, cols, err = k.shape(kind, cols); err != nil {
		return err
	}
	switch kind {
	case "histogram":
		bins := 20
		if len(words) > 1 {
			if bins, err = strconv.Atoi(words[1]); err != nil || bins < 1 || bins > 1000 {
				return fmt.Errorf(`\chart: %q is no number of bars`, words[1])
			}
		}
		lines, err = k.histogram(cols[0], bins, columns)
	case "line":
		lines, err = k.lines(cols, columns, s.colored())
	default:
		lines, err = k.bars(cols, columns)
	}
	if err != nil {
		return err
	}
	to := s.output()
	for _, l := range lines {
		fmt.Fprintln(to, l)
	}
	fmt.Fprintln(to)
	return s.closeSink(to)
}

func first2(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// shape chooses the kind of chart and the columns that were not named.
func (k *kept) shape(kind string, cols []int) (string, []int, error) {
	isNumber := func(i int) bool { _, ok := k.numbers(i); return ok && !k.temporal(i) }
	if len(cols) == 0 {
		x, y := -1, -1
		for i := range k.cols {
			if isNumber(i) && i > 0 && y < 0 {
				y = i
			} else if x < 0 {
				x = i
			}
		}
		switch {
		case y < 0 && isNumber(0):
			cols = []int{0}
		case kind == "histogram":
			cols = []int{y}
		default:
			cols = []int{x, y}
		}
	}
	if kind == "" {
		switch {
		case len(cols) == 1:
			kind = "histogram"
		case len(cols) > 1 && (isNumber(cols[0]) || k.temporal(cols[0])):
			kind = "line"
		default:
			kind = "bar"
		}
	}
	for i, c := range cols {
		if c < 0 || (i > 0 || kind == "histogram") && !isNumber(c) || kind == "line" && i == 0 && !isNumber(c) && !k.temporal(c) {
			name := "a column"
			if c >= 0 {
				name = fmt.Sprintf("column %q", k.cols[c].name)
			}
			return "", nil, fmt.Errorf(`\chart %s needs numbers, which %s is not: name the columns`, kind, name)
		}
	}
	return kind, cols, nil
}

// bars draws a line of blocks for each row.
func (k *kept) bars(cols []int, columns int) ([]string, error) {
	if len(cols) == 1 { // one column of numbers: its rows in their order
		y, _ := k.numbers(cols[0])
		names := make([]string, len(y))
		for i := range y {
			names[i] = strconv.Itoa(i + 1)
		}
		return bars(names, y, columns), nil
	}
	if len(cols) > 2 {
		return nil, errors.New(`\chart bar has one column of numbers; \chart line may have several`)
	}
	y, _ := k.numbers(cols[1])
	names := make([]string, len(k.rows))
	for i, r := range k.rows {
		names[i] = "NULL"
		if v := r[cols[0]]; v != nil {
			names[i] = display(*v)[0]
		}
	}
	return bars(names, y, columns), nil
}

// blocks are eighths of a character.
var blocks = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

func bars(names []string, values []float64, columns int) []string {
	left, right := 0, 0
	for i, v := range values {
		names[i] = cut(names[i], longestName)
		left, right = max(left, width(names[i])), max(right, len(short(v)))
	}
	low, high, _ := bounds(values, []float64{0})
	room := max(columns-left-right-3, 8)
	scale := 0.0
	if high > low {
		scale = float64(room) / (high - low)
	}
	zero := int(math.Round(-low * scale))
	var out []string
	for i, v := range values {
		bar := ""
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
		case v < 0:
			n := min(int(math.Round(-v*scale)), zero)
			bar = pad(zero-n) + strings.Repeat("█", n)
		default:
			eighths := int(math.Round(v * scale * 8))
			bar = pad(zero) + strings.Repeat("█", eighths/8) + blocks[eighths%8]
		}
		out = append(out, pad(left-width(names[i]))+names[i]+" │"+bar+" "+map[bool]string{true: "NULL", false: short(v)}[math.IsNaN(v)])
	}
	return out
}

// cut shortens a text to so many cells.
func cut(text string, cells int) string {
	if width(text) <= cells {
		return text
	}
	r := []rune(text)
	for len(r) > 0 && width(string(r)) > cells-1 {
		r = r[:len(r)-1]
	}
	return string(r) + "…"
}

func (k *kept) histogram(col, bins, columns int) ([]string, error) {
	v, _ := k.numbers(col)
	low, high, ok := bounds(v)
	if !ok {
		return nil, fmt.Errorf(`\chart: column %q has no value`, k.cols[col].name)
	}
	if high == low {
		bins = 1
	}
	counts, names := make([]float64, bins), make([]string, bins)
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		i := 0
		if high > low {
			i = min(int((x-low)/(high-low)*float64(bins)), bins-1)
		}
		counts[i]++
	}
	for i := range names {
		from := low + (high-low)*float64(i)/float64(bins)
		if math.Abs(from) < (high-low)/1e6 {
			from = 0 // but for its rounding
		}
		names[i] = short(from)
	}
	return bars(names, counts, columns), nil
}

// lines draws columns over the first one.
func (k *kept) lines(cols []int, columns int, colored bool) ([]string, error) {
	var x []float64
	label := func(v float64) string { return short(v) }
	if len(cols) == 1 {
		for i := range k.rows {
			x = append(x, float64(i+1))
		}
		cols = []int{-1, cols[0]}
	} else {
		x, _ = k.numbers(cols[0])
		if k.temporal(cols[0]) {
			label = func(v float64) string {
				return strings.TrimSuffix(time.UnixMicro(int64(v*1e6)).UTC().Format("2006-01-02 15:04:05"), " 00:00:00")
			}
		}
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	sorted := func(v []float64) []float64 {
		out := make([]float64, len(v))
		for i, at := range order {
			out[i] = v[at]
		}
		return out
	}
	var list []curve
	for _, c := range cols[1:] {
		y, _ := k.numbers(c)
		list = append(list, curve{k.cols[c].name, sorted(y)})
	}
	x = sorted(x)
	out := curves(x, list, columns, chartRows, colored)
	if out == nil {
		return nil, errors.New(`\chart: there is nothing to draw: all values are NULL`)
	}
	from, to, _ := bounds(x)
	left := strings.IndexRune(out[0], '┤')
	a, b := label(from), label(to)
	out = append(out, pad(left)+"└"+a+pad(columns-left-2-len(a)-len(b))+b)
	if len(list) > 1 {
		out = append(out, pad(left+1)+legend(list, colored))
	}
	return out, nil
}

func legend(list []curve, colored bool) string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = "── " + l.name
		if colored {
			names[i] = seriesColors[i%len(seriesColors)] + names[i] + plain
		}
	}
	return strings.Join(names, "   ")
}
