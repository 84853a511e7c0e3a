package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	sqltypes "github.com/tributarydb/tributary/sql/types"
)

const (
	oidFloat4 = 700
	oidFloat8 = 701

	lostConnection = "lost connection"
	internalError  = "internal error"
)

// verdict is what a comparison found: nothing, something that is allowed and
// counted by name, or a failure.
type verdict struct {
	allowed string
	failure string
}

// broken returns why an answer is a failure whatever the statement was; "" if it is
// not.
func broken(a *answer) string {
	switch {
	case a.lost:
		return lostConnection + ": " + a.code + " " + a.text
	case strings.HasPrefix(a.code, "XX"):
		return internalError + " " + a.code + ": " + a.text
	}
	return ""
}

// resource reports whether an error is due to the machine's resources, not to the
// statement.
func resource(code string) bool {
	return strings.HasPrefix(code, "53") || strings.HasPrefix(code, "54") || code == "57014"
}

// compare compares our answer with the other. Errors are compared by class; allow lists
// SQLSTATEs of ours that count as known differences.
func compare(ours, other *answer, ordered, risky bool, allow []string) verdict {
	if why := broken(ours); why != "" {
		return verdict{failure: why}
	}
	switch {
	case ours.code == "57014":
		return verdict{allowed: "no answer within " + statementTimeout}
	case resource(ours.code), resource(other.code):
		return verdict{allowed: "resources"}
	case ours.failed() && slices.Contains(allow, ours.code):
		return verdict{allowed: ours.code}
	case slices.Contains([]string{"0A000", "42P21", "42P22"}, other.code): // a server with a single collation has no mismatches
		return verdict{allowed: "the other refuses"}
	case ours.failed() && other.failed():
		denied := ours.code == "42501" || other.code == "42501"
		if (ours.code[:2] != other.code[:2] || denied && ours.code != other.code) && !risky {
			return verdict{failure: "another class of error"}
		}
		if ours.tag != other.tag && !risky {
			return verdict{failure: "other statements before the error"}
		}
		if ours.block != other.block {
			return verdict{failure: "another state of the transaction"}
		}
		return verdict{}
	case ours.failed() != other.failed():
		// For which rows an expression that may fail is evaluated depends on the plan.
		if code := ours.code + other.code; risky && (code[:2] == "22" || code[:2] == "21") {
			return verdict{allowed: "one-sided 22"}
		}
		// PostgreSQL does not check privileges on what it need not read, such as the other
		// side of a join that is never true.
		if ours.code == "42501" && strings.HasPrefix(other.tag, "SELECT") {
			return verdict{allowed: "denied where the other reads nothing"}
		}
		return verdict{failure: "an error on one side"}
	}
	return verdict{failure: sameRows(ours, other, ordered)}
}

// sameRows returns how two results differ, "" if they do not.
func sameRows(a, b *answer, ordered bool) string {
	switch {
	case a.block != b.block:
		return "another state of the transaction"
	case a.tag != b.tag:
		return "another command tag"
	case !slices.Equal(a.names, b.names):
		return fmt.Sprintf("other column names: %q, %q", a.names, b.names)
	case !slices.Equal(a.types, b.types):
		return fmt.Sprintf("other column types: %d, %d", a.types, b.types)
	case len(a.rows) != len(b.rows):
		return "another number of rows"
	case len(a.rows) == 0:
		return ""
	}
	x, y := a.rows, b.rows
	if !ordered {
		x, y = sorted(a), sorted(b)
	}
	for i := range x {
		for j := range x[i] {
			if !sameCell(x[i][j], y[i][j], a.types[j]) {
				return "other rows"
			}
		}
	}
	return ""
}

func sorted(a *answer) [][]cell {
	type keyed struct {
		key string
		row []cell
	}
	list := make([]keyed, len(a.rows))
	for i, row := range a.rows {
		var b strings.Builder
		for j, c := range row {
			// Quoted, so that no value, text or binary, can be confused with NULL or with two
			// values.
			if c.null {
				b.WriteString("NULL")
			} else {
				b.WriteString(strconv.Quote(rounded(c.text, a.types[j])))
			}
		}
		list[i] = keyed{b.String(), row}
	}
	// Rows that are equal after rounding are sorted by all their digits.
	slices.SortStableFunc(list, func(a, b keyed) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return slices.CompareFunc(a.row, b.row, func(x, y cell) int { return strings.Compare(x.text, y.text) })
	})
	rows := make([][]cell, len(list))
	for i, k := range list {
		rows[i] = k.row
	}
	return rows
}

// digits returns how many digits two orders of summing the same numbers have in common.
func digits(oid uint32) int {
	switch oid {
	case oidFloat4:
		return 4
	case oidFloat8:
		return 9
	}
	return 0
}

func rounded(text string, oid uint32) string {
	d := digits(oid)
	if d == 0 {
		return flagless(text, oid)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(f, 'g', d, 64)
}

// flagless returns a binary array, or a row that may contain one, without the flag for
// NULLs: the slice of an array with a NULL keeps it in PostgreSQL, whether the NULL is
// in the slice or not. Literals of unknown type within a row are replaced by text: we
// resolve them to text where rows are sorted, PostgreSQL does not while the columns
// before them decide the order.
func flagless(text string, oid uint32) string {
	t := sqltypes.Type{OID: sqltypes.OID(oid)}
	if _, array := t.Elem(); !array && t.OID != sqltypes.RecordOID {
		return text
	}
	b := []byte(text)
	for i := range len(b) - 7 {
		if h := b[i : i+8]; h[0]|h[1]|h[2]|h[4]|h[5]|h[6] == 0 && h[3] >= 1 && h[3] <= 6 && h[7] == 1 {
			h[7] = 0
		}
	}
	return strings.ReplaceAll(string(b), "\x00\x00\x02\xc1\x00\x00", "\x00\x00\x00\x19\x00\x00")
}

func sameCell(a, b cell, oid uint32) bool {
	a.text, b.text = flagless(a.text, oid), flagless(b.text, oid)
	if a.null || b.null || a.text == b.text {
		return a == b
	}
	d := digits(oid)
	if d == 0 {
		return false
	}
	x, errX := strconv.ParseFloat(a.text, 64)
	y, errY := strconv.ParseFloat(b.text, 64)
	if errX != nil || errY != nil || math.IsInf(x, 0) || math.IsInf(y, 0) {
		return false
	}
	// Cancellation leaves noise that depends on the order of summation: PostgreSQL's corr
	// of columns that have nothing in common is -4.7e-18, ours 0.
	return math.Abs(x-y) <= math.Pow(10, float64(-d))*max(math.Abs(x), math.Abs(y), 1e-6)
}
