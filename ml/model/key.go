package model

import (
	"encoding/binary"
	"math"

	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// keyValue decodes a class's key: a little-endian number.
func keyValue(t types.Type, key string) (i int64, f float64, ok bool) {
	b := []byte(key)
	le := binary.LittleEndian
	form := t.Form()
	if t.OID == types.NumericOID && form == types.FormBinary {
		_, err := number.DecodeDecimal(b)
		return 0, 0, err == nil
	}
	if t.Class() > types.ClassFloat || len(b) != form.Width() {
		return 0, 0, false
	}
	switch form {
	case types.FormBool:
		return int64(b[0]), 0, true
	case types.FormInt16:
		return int64(int16(le.Uint16(b))), 0, true
	case types.FormInt32:
		return int64(int32(le.Uint32(b))), 0, true
	case types.FormInt64:
		return int64(le.Uint64(b)), 0, true
	case types.FormFloat32:
		return 0, float64(math.Float32frombits(le.Uint32(b))), true
	case types.FormFloat64:
		return 0, math.Float64frombits(le.Uint64(b)), true
	}
	return 0, 0, false
}
