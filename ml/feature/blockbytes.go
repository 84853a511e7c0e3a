package feature

import (
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/types"
)

// BlockBytes estimates the bytes of the block of a view's rows, before encoders are fitted.
// Indicator columns of NULLs, one number a row each, are not counted: which columns get one
// is known after fitting.
func (s *Spec) BlockBytes(v *record.View) int64 {
	number := 8
	if s.Narrow {
		number = 4
	}
	row, rest := 16, 0 // label and weight
	for i := range s.Cols {
		c := &s.Cols[i]
		if c.Role != Feature {
			continue
		}
		switch c.Encoder {
		case OneHot, Hashed, Bucketize, QuantileBucketize:
			row += 4
		case Spline:
			row += number * (c.Buckets + c.degree() - 1)
		case Terms:
			for r := range v.Rows {
				rest += 2 * len(v.Bytes(i, r))
			}
		case Dates:
			if row += number + 8; c.Type.OID != types.DateOID {
				row += 4
			}
		case Array, PlainArray, NearestRows, Regressions:
			for r := range v.Rows {
				rest += len(v.Bytes(i, r)) / 8 * number
			}
		default:
			if row += number; c.Target {
				row += 8 - number
			}
		}
	}
	return int64(row*v.Rows + rest)
}
