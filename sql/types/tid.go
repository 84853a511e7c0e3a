package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// A tid is the address of a row: a block's number and an offset in it, which a column holds as one
// integer, so that the order of integers is that of addresses.
//
//	bits 16 … 47  block      bits 0 … 15  offset

// TIDOf returns the value of a tid.
func TIDOf(block uint32, offset uint16) int64 { return int64(block)<<16 | int64(offset) }

// tidRows is how many rows have an address in one block. Offset 0 names none, as in PostgreSQL, whose
// blocks have some hundred rows: clients read offsets as 16 bits with a sign.
const tidRows = 1<<15 - 1

// TIDAt returns the address of row n of a table, counted from 0; addresses have the order of n.
func TIDAt(n uint64) int64 { return TIDOf(uint32(n/tidRows), uint16(n%tidRows)+1) }

// parseTID reads a tid as PostgreSQL does: what is before the parenthesis and after the closing one
// does not count, and a negative block wraps around, as clients print those from 2³¹ on.
func parseTID(s string) (int64, error) {
	before, body, open := strings.Cut(s, "(")
	block, rest, comma := strings.Cut(body, ",")
	offset, _, closed := strings.Cut(rest, ")")
	if open && comma && closed && !strings.ContainsAny(before, ",)") {
		x, ok1 := tidNumber(block)
		y, ok2 := tidNumber(offset)
		if ok1 && ok2 && math.MinInt32 <= x && x <= math.MaxUint32 && 0 <= y && y <= math.MaxUint16 {
			return TIDOf(uint32(x), uint16(y)), nil
		}
	}
	return 0, pgerr.InvalidText("tid", s)
}

// tidNumber reads a number as strtoul does: none is 0.
func tidNumber(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(strings.TrimLeft(s, " \t\n\v\f\r"), 10, 64)
	return n, err == nil
}

func appendTID(dst []byte, v int64) []byte {
	dst = strconv.AppendUint(append(dst, '('), uint64(v)>>16, 10)
	return append(strconv.AppendUint(append(dst, ','), uint64(v)&(1<<16-1), 10), ')')
}
