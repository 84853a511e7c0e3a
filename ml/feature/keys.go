package feature

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// A key is the canonical bytes of a value, as a record holds it: the text, or
// the little-endian slot of a number.

var le = binary.LittleEndian

// isDecimal reports whether keys of t are decimals of any length.
func isDecimal(t types.Type) bool { return t.Class() == types.ClassNumeric && !t.IsFixed() }

// keyNumber is the value of a numeric key.
func keyNumber(t types.Type, key []byte) float64 {
	switch form := t.Form(); {
	case isDecimal(t):
		if d, err := number.DecodeDecimal(key); err == nil {
			return d.Float64()
		}
	case len(key) != form.Width():
	case form == types.FormBool:
		return float64(key[0])
	case form == types.FormInt16:
		return float64(int16(le.Uint16(key)))
	case form == types.FormInt32:
		return float64(int32(le.Uint32(key)))
	case form == types.FormFloat32:
		return float64(math.Float32frombits(le.Uint32(key)))
	case form == types.FormFloat64:
		return math.Float64frombits(le.Uint64(key))
	case t.IsFixed():
		return record.FixedFloat(int64(le.Uint64(key)), t.Scale)
	case t.IsInteger():
		return float64(int64(le.Uint64(key)))
	}
	return math.NaN()
}

// IntegerKey returns the key of an int8.
func IntegerKey(v int64) string { return string(le.AppendUint64(nil, uint64(v))) }

// compareKeys orders keys as their values are ordered; texts by their bytes.
func compareKeys(t types.Type, a, b string) int {
	switch {
	case isDecimal(t):
		return number.CompareDecimalBytes([]byte(a), []byte(b))
	case t.IsInteger() && t.Form() == types.FormInt64 || t.IsFixed():
		if len(a) == 8 && len(b) == 8 {
			return cmp.Compare(int64(le.Uint64([]byte(a))), int64(le.Uint64([]byte(b))))
		}
	case t.IsNumber() || t.IsIntegral() || t.Class() == types.ClassBool:
		return cmp.Compare(keyNumber(t, []byte(a)), keyNumber(t, []byte(b)))
	}
	return bytes.Compare([]byte(a), []byte(b))
}

// UnionKeys returns the keys that a or b has, both in the order of their values, in that order.
func UnionKeys(t types.Type, a, b []string) []string {
	if slices.Equal(a, b) || len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y string) int { return compareKeys(t, x, y) })
	return slices.Compact(all)
}

// KeyText returns a key as its type's output text.
func KeyText(t types.Type, key string) string { return keyText(t, []byte(key)) }

func keyText(t types.Type, b []byte) string {
	switch class := t.Class(); {
	case t.IsString():
		return string(b)
	case class == types.ClassBool:
		if len(b) == 1 && b[0] != 0 {
			return "true"
		}
		return "false"
	case t.IsFixed() && len(b) == 8:
		return number.DecimalFromInt64(int64(le.Uint64(b)), int32(t.Scale)).String()
	case class == types.ClassNumeric:
		if d, err := number.DecodeDecimal(b); err == nil {
			return d.String()
		}
	case class == types.ClassUUID && len(b) == 16:
		return string(types.AppendText(nil, t, [16]byte(b), nil))
	case class == types.ClassInteger && len(b) == 8:
		return strconv.FormatInt(int64(le.Uint64(b)), 10)
	case class == types.ClassInteger && len(b) > 0:
		return strconv.FormatInt(int64(keyNumber(t, b)), 10)
	case class == types.ClassDate && len(b) == 4:
		return time.Unix(int64(int32(le.Uint32(b)))*86400, 0).UTC().Format(time.DateOnly)
	case t.Form() == types.FormFloat32:
		return strconv.FormatFloat(keyNumber(t, b), 'g', -1, 32)
	}
	return strconv.FormatFloat(keyNumber(t, b), 'g', -1, 64)
}
