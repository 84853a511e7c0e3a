package types

import (
	"strings"
	"unicode/utf8"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// ApplyMod applies the modifier of a type to a value: length of strings, precision of numbers and
// times. An explicit cast cuts long strings, an assignment refuses them unless what is cut is
// blanks.
func ApplyMod(t Type, d Datum, explicit bool) (Datum, error) {
	if d == nil {
		return nil, nil
	}
	switch t.OID {
	case VarcharOID, BpcharOID:
		if s, ok := d.(string); ok {
			return datum(fitString(t, s, explicit))
		}
	case BitOID, VarbitOID:
		if s, ok := d.(string); ok && t.Mod > 0 {
			return datum(fitBits(t, s, explicit))
		}
	case NumericOID:
		v, ok := d.(number.Decimal)
		if !ok {
			break
		}
		if t.Mod >= 0 {
			var err error
			if v, err = number.FitNumeric(t.Mod, v); err != nil {
				return nil, err
			}
		}
		if t.Prec > 0 {
			return datum(number.FitFixed(int(t.Prec), int(t.Scale), v))
		}
		return v, nil
	case TimeOID:
		if v, ok := d.(int64); ok && t.Mod >= 0 && t.Mod < 6 {
			return datetime.RoundMicros(v, t.Mod), nil
		}
	case TimestampOID, TimestamptzOID:
		if v, ok := d.(int64); ok && t.Mod >= 0 && t.Mod < 6 && !datetime.IsInfTimestamp(v) {
			v = datetime.RoundMicros(v-datetime.PgEpochMicros, t.Mod) + datetime.PgEpochMicros // overflow is caught as out of range
			if !datetime.ValidTimestamp(v) {
				return nil, datetime.ErrTimestampRange()
			}
			return v, nil
		}
	case TimetzOID:
		if v, ok := d.(datetime.TimeTZ); ok && t.Mod >= 0 && t.Mod < 6 {
			v.Micros = datetime.RoundMicros(v.Micros, t.Mod)
			return v, nil
		}
	case IntervalOID:
		if v, ok := d.(datetime.Interval); ok {
			return datum(datetime.FitInterval(v, t.Mod))
		}
	}
	if a, ok := d.(Array); ok && t.Mod >= 0 {
		elem, _ := t.Elem()
		out := Array{Elem: a.Elem, Elems: make([]Datum, len(a.Elems))}
		for i, e := range a.Elems {
			v, err := ApplyMod(elem, e, explicit)
			if err != nil {
				return nil, err
			}
			out.Elems[i] = v
		}
		return out, nil
	}
	return d, nil
}

func fitString(t Type, s string, explicit bool) (string, error) {
	if t.Mod < 4 {
		return s, nil
	}
	n := int(t.Mod) - 4
	if len(s) > n {
		if cut := runeOffset(s, n); cut < len(s) {
			if !explicit && strings.TrimRight(s[cut:], " ") != "" {
				name := "character varying"
				if t.OID == BpcharOID {
					name = "character"
				}
				return "", pgerr.New(pgerr.StringDataRightTruncation, "value too long for type %s(%d)", name, n)
			}
			s = s[:cut]
		}
	}
	if t.OID == BpcharOID {
		if short := n - utf8.RuneCountInString(s); short > 0 {
			s += strings.Repeat(" ", short)
		}
	}
	return s, nil
}

// runeOffset returns the byte offset of character n, or len(s).
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

func fitBits(t Type, s string, explicit bool) (string, error) {
	n := int(t.Mod)
	switch {
	case len(s) == n || t.OID == VarbitOID && len(s) < n:
		return s, nil
	case !explicit && t.OID == BitOID:
		return "", pgerr.New(pgerr.StringDataLengthMismatch, "bit string length %d does not match type bit(%d)", len(s), n)
	case !explicit:
		return "", pgerr.New(pgerr.StringDataRightTruncation, "bit string too long for type bit varying(%d)", n)
	case len(s) > n:
		return s[:n], nil
	}
	return s + strings.Repeat("0", n-len(s)), nil
}

// TypmodIn packs the modifiers written after a type name, as in numeric(10,2).
func TypmodIn(o OID, mods []int32) (int32, error) {
	one := func(name string, lo, hi int32) (int32, error) {
		switch {
		case len(mods) != 1:
			return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
		case mods[0] < lo:
			return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
		case mods[0] > hi:
			return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, hi)
		}
		return mods[0], nil
	}
	base := o
	if e := o.def().elem; e != 0 {
		base = e
	}
	const maxChars = 10485760
	switch base {
	case VarcharOID:
		n, err := one("varchar", 1, maxChars)
		return n + 4, err
	case BpcharOID:
		n, err := one("char", 1, maxChars)
		return n + 4, err
	case BitOID:
		return one("bit", 1, maxChars*8)
	case VarbitOID:
		return one("varbit", 1, maxChars*8)
	case NumericOID:
		return number.NumericTypmod(mods)
	case TimeOID, TimetzOID, TimestampOID, TimestamptzOID:
		if len(mods) != 1 {
			return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
		}
		if mods[0] < 0 {
			name := "TIME"
			if base == TimestampOID || base == TimestamptzOID {
				name = "TIMESTAMP"
			}
			zone := ""
			if base == TimetzOID || base == TimestamptzOID {
				zone = " WITH TIME ZONE"
			}
			return 0, pgerr.New(pgerr.InvalidParameterValue, "%s(%d)%s precision must not be negative", name, mods[0], zone)
		}
		return min(mods[0], 6), nil
	case IntervalOID:
		return datetime.IntervalTypmod(mods)
	}
	return 0, pgerr.New(pgerr.SyntaxError, "type modifier is not allowed for type \"%s\"", TypeName(o))
}
