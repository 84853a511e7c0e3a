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
	switch {
	case t.OID == types.BoolOID && len(b) == 1:
		return int64(b[0]), 0, true
	case t.OID == types.Int2OID && len(b) == 2:
		return int64(int16(le.Uint16(b))), 0, true
	case t.OID == types.Int4OID && len(b) == 4:
		return int64(int32(le.Uint32(b))), 0, true
	case (t.OID == types.Int8OID || t.IsFixed()) && len(b) == 8:
		return int64(le.Uint64(b)), 0, true
	case t.OID == types.Float4OID && len(b) == 4:
		return 0, float64(math.Float32frombits(le.Uint32(b))), true
	case t.OID == types.Float8OID && len(b) == 8:
		return 0, math.Float64frombits(le.Uint64(b)), true
	case t.OID == types.NumericOID && !t.IsFixed():
		_, err := number.DecodeDecimal(b)
		return 0, 0, err == nil
	}
	return 0, 0, false
}
