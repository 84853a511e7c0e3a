package impute

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/tributarydb/tributary/exec/kernel/exact"
)

// The rows that have gaps in the same places are collected as sums, or one by one while they are fewer than the sums would be: of twenty
// columns there may be ten thousand such patterns, most of them of a few rows. Both are the same sums in the end, to the last bit,
// so that it shows in no result where rows were counted one by one. Entries of both kinds have keys that begin with the columns that are no gaps:
//
//	columns (8 bytes), sum (2 bytes)                    two sums, from that one on
//	columns (8 bytes), numbers, weight (8 bytes each)   a row

// Entries is how many entries the sums of rows of n numbers take.
func Entries(n int) int { return max(1, (NumberOfProducts(n)+1)/2) }

// SumKey is the key of sums i and i+1 of rows that have these columns.
func SumKey(has uint64, i int) string {
	return string(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(nil, has), uint16(i)))
}

// RowKey is the key of a row of numbers, those that are no gaps.
func RowKey(dst []byte, has uint64, numbers []float64, weight float64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, has)
	for _, x := range numbers {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(x))
	}
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(weight))
}

// Has is what a key says of the columns; ok is false for bytes that are no key of so many columns.
func Has(key string, columns int) (has uint64, ok bool) {
	if len(key) < 8 {
		return 0, false
	}
	has = binary.BigEndian.Uint64([]byte(key))
	return has, has>>columns == 0
}

// Observed returns the numbers of a row that are no gaps, and which they are.
func Observed(row []float64) (has uint64, numbers []float64) {
	numbers = make([]float64, 0, MaxColumns)
	for j, x := range row {
		if x == x {
			has |= 1 << j
			numbers = append(numbers, x)
		}
	}
	return has, numbers
}

// EachPattern calls f with the entries of each pattern, which are ascending by key.
func EachPattern[E any](entries []E, key func(*E) string, f func(of []E) error) error {
	for len(entries) > 0 {
		n, first := 1, key(&entries[0])
		for n < len(entries) && len(first) >= 8 && strings.HasPrefix(key(&entries[n]), first[:8]) {
			n++
		}
		if err := f(entries[:n]); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// AddEntry adds an entry: its sums, or n times the row of its key. It reports whether they fit the pattern.
func (p Products) AddEntry(key string, n int64, sums *[2]exact.Sum) bool {
	has, _ := Has(key, MaxColumns)
	width := bits.OnesCount64(has)
	switch {
	case len(key) == len(SumKey(0, 0)):
		at := int(binary.BigEndian.Uint16([]byte(key[8:])))
		if sums == nil || at%2 != 0 || at > 0 && at >= len(p) {
			return false
		}
		for i := at; i < min(at+2, len(p)); i++ {
			p[i].Merge(&sums[i-at])
		}
		return true
	case sums != nil || width == 0 || len(key) != 8*(width+2) || n < 1 || n >= 1<<30:
		return false
	}
	numbers := make([]float64, width+1)
	for i := range numbers {
		numbers[i] = math.Float64frombits(binary.BigEndian.Uint64([]byte(key[8*(i+1):])))
	}
	if n == 1 {
		p.Add(numbers[:width], numbers[width])
		return true
	}
	row := make(Products, len(p))
	row.Add(numbers[:width], numbers[width])
	for ; n > 0; n /= 2 {
		for i := range row {
			if n%2 == 1 {
				p[i].Merge(&row[i])
			}
			half := row[i]
			row[i].Merge(&half)
		}
	}
	return true
}
