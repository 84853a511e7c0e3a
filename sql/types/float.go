package types

import "github.com/tributarydb/tributary/sql/number"

// Float is the value of a number of any type, the nearest for a decimal; ok is false for what is no number.
func Float(d Datum) (f float64, ok bool) {
	switch v := d.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case number.Decimal:
		return v.Float64(), true
	}
	return 0, false
}
