package copyfmt

import (
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// appender appends one field's text to a column. Fields alias the decoder's buffer; builders copy
// them.
type appender struct {
	b    array.Builder
	text func(field []byte) error
}

// newAppender makes the appender of a column. The common types are parsed without a types.Datum;
// what a fast path does not cover exactly falls back to types.ParseText, which also words the
// errors.
func newAppender(t types.Type, env *types.Env) *appender {
	a := &appender{b: array.NewBuilder(memory.DefaultAllocator, t.Arrow())}
	slow := func(f []byte) error {
		if err := pgerr.CheckUTF8(view(f)); err != nil {
			return err
		}
		d, err := types.ParseText(t, string(f), env)
		if err == nil {
			d, err = types.ApplyMod(t, d, false)
		}
		if err != nil {
			return err
		}
		return types.AppendDatum(a.b, t, d)
	}
	a.text = slow
	switch b := a.b.(type) {
	case *array.Int64Builder:
		if t.OID == types.Int8OID {
			a.text = func(f []byte) error {
				if v, ok := digits(f, 18); ok {
					b.Append(v)
					return nil
				}
				return slow(f)
			}
		} else if t.IsFixed() {
			a.text = func(f []byte) error {
				if v, ok := fixed(f, int(t.Prec), int(t.Scale)); ok {
					b.Append(v)
					return nil
				}
				return slow(f)
			}
		}
	case *array.Int32Builder:
		a.text = func(f []byte) error {
			if v, ok := digits(f, 9); ok {
				b.Append(int32(v))
				return nil
			}
			return slow(f)
		}
	case *array.Float64Builder:
		a.text = func(f []byte) error {
			if v, err := strconv.ParseFloat(view(f), 64); err == nil && plainFloat(f) {
				b.Append(v)
				return nil
			}
			return slow(f)
		}
	case *array.Float32Builder:
		a.text = func(f []byte) error {
			if v, err := strconv.ParseFloat(view(f), 32); err == nil && plainFloat(f) {
				b.Append(float32(v))
				return nil
			}
			return slow(f)
		}
	case *array.Date32Builder:
		a.text = func(f []byte) error {
			if d, ok := isoDate(f); ok {
				b.Append(arrow.Date32(d))
				return nil
			}
			return slow(f)
		}
	case *array.StringBuilder:
		room := math.MaxInt // of bytes that are not too many characters in any case
		switch {
		case !t.IsText() || t.OID == types.NameOID:
			return a
		case t.Mod >= 4:
			room = int(t.Mod) - 4
		}
		var padded []byte
		a.text = func(f []byte) error {
			if len(f) > room {
				return slow(f)
			}
			if err := pgerr.CheckUTF8(view(f)); err != nil {
				return err
			}
			if t.OID == types.BpcharOID && t.Mod >= 4 {
				if n := room - utf8.RuneCount(f); n > 0 {
					padded = append(append(padded[:0], f...), make([]byte, n)...)
					for i := len(f); i < len(padded); i++ {
						padded[i] = ' '
					}
					f = padded
				}
			}
			b.BinaryBuilder.Append(f)
			return nil
		}
	}
	return a
}

// view returns the bytes as a string, for calls that do not keep it.
func view(f []byte) string { return unsafe.String(unsafe.SliceData(f), len(f)) }

// digits reads a plain integer of at most n digits.
func digits(f []byte, n int) (int64, bool) {
	neg := len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	if len(f) == 0 || len(f) > n {
		return 0, false
	}
	var v int64
	for _, c := range f {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if neg {
		v = -v
	}
	return v, true
}

// fixed reads a plain decimal into an integer times 10^-scale; ok is false where it may need
// rounding or overflow.
func fixed(f []byte, prec, scale int) (int64, bool) {
	neg := len(f) > 0 && f[0] == '-'
	if neg {
		f = f[1:]
	}
	var v int64
	n, frac, seen := 0, 0, false
	for _, c := range f {
		if c == '.' {
			if seen {
				return 0, false
			}
			seen = true
			continue
		}
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
		if n++; n > 18 {
			return 0, false
		}
		if seen {
			frac++
		}
	}
	if n == 0 || frac > scale || n-frac > prec-scale {
		return 0, false
	}
	for ; frac < scale; frac++ {
		v *= 10
	}
	if neg {
		v = -v
	}
	return v, true
}

// plainFloat reports whether f is a number that Go and PostgreSQL parse alike: no hex, no
// underscore, no "Inf", no blanks.
func plainFloat(f []byte) bool {
	for _, c := range f {
		switch {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return len(f) > 0
}

// isoDate reads YYYY-MM-DD of the years 1 to 9999.
func isoDate(f []byte) (int32, bool) {
	if len(f) != 10 || f[4] != '-' || f[7] != '-' {
		return 0, false
	}
	y, ok1 := digits(f[:4], 4)
	m, ok2 := digits(f[5:7], 2)
	d, ok3 := digits(f[8:], 2)
	if !ok1 || !ok2 || !ok3 || y < 1 || m < 1 || m > 12 || d < 1 || d > 28 && d > daysIn(y, m) {
		return 0, false
	}
	// Days of the proleptic Gregorian calendar (H. Hinnant, "chrono-Compatible
	// Low-Level Date Algorithms").
	if m <= 2 {
		y--
	}
	era := y / 400
	yoe := y - era*400
	mp := (m + 9) % 12
	doy := (153*mp+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int32(era*146097 + doe - 719468), true
}

func daysIn(y, m int64) int64 {
	switch m {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
