package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const checkOK = "same"

// null stands for NULL in files of answers.
const null = `\N`

// write saves an answer as csv. A column whose name ends in ~ is of a floating
// type.
func (a answer) write(dir, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, name+".csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	line := make([]string, len(a.head))
	for i, h := range a.head {
		line[i] = h
		if a.approx[i] {
			line[i] += "~"
		}
	}
	err = w.Write(line)
	for _, r := range a.rows {
		for i, c := range r {
			line[i] = c.text
			if !c.valid {
				line[i] = null
			}
		}
		err = errors.Join(err, w.Write(line))
	}
	w.Flush()
	return errors.Join(err, w.Error(), f.Close())
}

func readAnswer(dir, name string) (answer, error) {
	f, err := os.Open(filepath.Join(dir, name+".csv"))
	if err != nil {
		return answer{}, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) == 0 {
		return answer{}, errors.Join(err, fmt.Errorf("%s: no header", f.Name()))
	}
	var a answer
	for _, h := range lines[0] {
		name, approx := strings.CutSuffix(h, "~")
		a.head, a.approx = append(a.head, name), append(a.approx, approx)
	}
	for _, l := range lines[1:] {
		row := make([]cell, len(l))
		for i, v := range l {
			row[i] = cell{strings.TrimRight(v, " "), v != null}
		}
		a.rows = append(a.rows, row)
	}
	return a, nil
}

// check compares an answer with a peer's file and returns the difference, "" if there
// is none.
func check(dir, name string, got answer) (string, error) {
	want, err := readAnswer(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "no answer to compare with", nil
	}
	if err != nil {
		return "", err
	}
	return compare(got, want), nil
}

// compare returns checkOK for the same rows in any order: rows that tie in the query's
// ORDER BY cannot be recognised here, so the answers are compared as sets. Numbers must
// be equal exactly, unless either side holds them as floating point or a quotient: then
// to a relative 1e-9.
func compare(got, want answer) string {
	if len(got.head) != len(want.head) {
		return fmt.Sprintf("%d columns, want %d", len(got.head), len(want.head))
	}
	if len(got.rows) != len(want.rows) {
		return fmt.Sprintf("%d rows, want %d", len(got.rows), len(want.rows))
	}
	approx := make([]bool, len(got.head))
	for i := range approx {
		approx[i] = got.approx[i] || want.approx[i]
	}
	diff := compareRows(got.rows, want.rows, want.head, approx)
	if diff == "" {
		return checkOK
	}
	g, w := slices.Clone(got.rows), slices.Clone(want.rows)
	sortRows(g, approx)
	sortRows(w, approx)
	if compareRows(g, w, want.head, approx) == "" {
		return checkOK
	}
	return diff
}

func compareRows(got, want [][]cell, head []string, approx []bool) string {
	for i := range want {
		for j := range want[i] {
			if !sameCell(got[i][j], want[i][j], approx[j]) {
				return fmt.Sprintf("row %d, %s: %s, want %s", i+1, head[j], got[i][j], want[i][j])
			}
		}
	}
	return ""
}

func (c cell) String() string {
	if !c.valid {
		return "NULL"
	}
	return c.text
}

func sameCell(a, b cell, approx bool) bool {
	if a == b {
		return true
	}
	if !a.valid || !b.valid {
		return a.valid == b.valid
	}
	if approx {
		x, err1 := strconv.ParseFloat(a.text, 64)
		y, err2 := strconv.ParseFloat(b.text, 64)
		return err1 == nil && err2 == nil && (math.Abs(x-y) <= 1e-9*max(1, math.Abs(y)) || math.IsNaN(x) && math.IsNaN(y))
	}
	x, ok1 := new(big.Rat).SetString(a.text)
	y, ok2 := new(big.Rat).SetString(b.text)
	return ok1 && ok2 && x.Cmp(y) == 0
}

// sortRows orders rows by their exact columns first, then by the others.
func sortRows(rows [][]cell, approx []bool) {
	slices.SortFunc(rows, func(a, b []cell) int {
		for i := range a {
			if !approx[i] {
				if c := compareCells(a[i], b[i]); c != 0 {
					return c
				}
			}
		}
		for i := range a {
			if c := compareCells(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
}

func compareCells(a, b cell) int {
	if !a.valid || !b.valid {
		// Compare NULLs by kind: one of ours has no text, one of a file has that of null.
		return cmp.Compare(known(a), known(b))
	}
	x, err1 := strconv.ParseFloat(a.text, 64)
	y, err2 := strconv.ParseFloat(b.text, 64)
	if err1 == nil && err2 == nil && x != y {
		return cmp.Compare(x, y)
	}
	if err1 == nil && err2 == nil {
		return 0
	}
	return cmp.Compare(a.text, b.text)
}

func known(c cell) int {
	if c.valid {
		return 1
	}
	return 0
}
