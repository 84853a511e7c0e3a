package kernel

import (
	"encoding/binary"
	"encoding/json"
	"math/big"
	"sort"
	"strings"

	"github.com/tributarydb/tributary/sql/number"
)

// The ranks of the kinds of jsonb, least first. An empty top-level array is
// less than everything, as in PostgreSQL.
const (
	jsonEmptyTop = iota
	jsonNull
	jsonString
	jsonNumber
	jsonFalse
	jsonTrue
	jsonArray
	jsonObject
)

// appendJSONKey appends the key of a canonical jsonb text.
func appendJSONKey(dst []byte, s string) []byte {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return appendBytesKey(dst, s) // not canonical: some order
	}
	if a, ok := v.([]any); ok && len(a) == 0 {
		return append(dst, jsonEmptyTop)
	}
	return appendJSONValue(dst, v)
}

func appendJSONValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendBytesKey(append(dst, jsonString), v)
	case json.Number:
		d, err := number.ParseDecimal(string(v))
		if err != nil {
			d = number.DecimalFromBig(new(big.Int), 0)
		}
		return appendNumericKey(append(dst, jsonNumber), d.AppendBinary(nil))
	case bool:
		if v {
			return append(dst, jsonTrue)
		}
		return append(dst, jsonFalse)
	case []any:
		dst = binary.BigEndian.AppendUint32(append(dst, jsonArray), uint32(len(v)))
		for _, e := range v {
			dst = appendJSONValue(dst, e)
		}
		return dst
	case map[string]any:
		// by length, then bytes: the order in which jsonb keeps its keys
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			if len(keys[i]) != len(keys[j]) {
				return len(keys[i]) < len(keys[j])
			}
			return keys[i] < keys[j]
		})
		dst = binary.BigEndian.AppendUint32(append(dst, jsonObject), uint32(len(v)))
		for _, k := range keys {
			dst = appendBytesKey(dst, k)
			dst = appendJSONValue(dst, v[k])
		}
		return dst
	}
	return append(dst, jsonNull)
}
