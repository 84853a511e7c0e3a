package types

import (
	"encoding/gob"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
)

// Values inside plans travel between nodes as gob, which must know the types
// that stand in a Datum. The plain ones it knows by itself.
func init() {
	gob.Register(number.Decimal{})
	gob.Register(datetime.Interval{})
	gob.Register(datetime.TimeTZ{})
	gob.Register(Array{})
	gob.Register(Row{})
	gob.Register([16]byte{})
}
