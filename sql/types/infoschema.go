package types

import "strings"

// What information_schema says of a type, as PostgreSQL's functions _pg_char_max_length() and so on
// return it: nil where a type has no such thing.

// CharacterMaximumLength is the length of a string type with a modifier.
func (t Type) CharacterMaximumLength() Datum {
	switch {
	case t.Mod < 0:
	case t.OID == BpcharOID, t.OID == VarcharOID:
		return int64(t.Mod) - 4
	case t.Class() == ClassBits:
		return int64(t.Mod)
	}
	return nil
}

// CharacterOctetLength is the greatest number of bytes of a string.
func (t Type) CharacterOctetLength() Datum {
	if !t.IsText() || t.OID == NameOID {
		return nil
	}
	if n, ok := t.CharacterMaximumLength().(int64); ok {
		return 4 * n
	}
	return int64(1) << 30
}

// NumericPrecision is the number of digits of a number, in the base NumericPrecisionRadix.
func (t Type) NumericPrecision() Datum {
	if n := t.OID.def().bits; n > 0 {
		return int64(n)
	}
	if t.Class() == ClassNumeric && t.Mod >= 0 {
		return int64((t.Mod - 4) >> 16 & 0xffff)
	}
	return nil
}

func (t Type) NumericPrecisionRadix() Datum {
	switch {
	case t.Class() == ClassNumeric:
		return int64(10)
	case t.IsNumber():
		return int64(2)
	}
	return nil
}

// NumericScale is the number of digits after the point.
func (t Type) NumericScale() Datum {
	switch {
	case t.IsInteger():
		return int64(0)
	case t.Class() == ClassNumeric && t.Mod >= 0:
		return int64((t.Mod - 4) & 0xffff)
	}
	return nil
}

// DatetimePrecision is the number of digits of a second.
func (t Type) DatetimePrecision() Datum {
	switch class := t.Class(); {
	case class == ClassDate:
		return int64(0)
	case !t.IsTime():
		return nil
	case class == ClassInterval && t.Mod >= 0 && t.Mod&0xffff != 0xffff:
		return int64(t.Mod & 0xffff)
	case class == ClassInterval || t.Mod < 0:
		return int64(6)
	}
	return int64(t.Mod)
}

// IntervalType is the fields of an interval.
func (t Type) IntervalType() Datum {
	if t.Class() != ClassInterval {
		return nil
	}
	fields := strings.TrimLeft(strings.TrimPrefix(t.String(), "interval"), "()0123456789")
	if fields = strings.ToUpper(strings.TrimSpace(fields)); fields != "" {
		return fields
	}
	return nil
}
