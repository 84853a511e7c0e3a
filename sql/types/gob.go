package types

import "encoding/gob"

// Values inside plans travel between nodes as gob, which must know the types
// that stand in a Datum. The plain ones it knows by itself.
func init() {
	gob.Register(Decimal{})
	gob.Register(Interval{})
	gob.Register(TimeTZ{})
	gob.Register(Array{})
	gob.Register(Row{})
	gob.Register([16]byte{})
}

// GobEncode implements gob.GobEncoder.
func (d Decimal) GobEncode() ([]byte, error) { return d.AppendBinary(nil), nil }

// GobDecode implements gob.GobDecoder.
func (d *Decimal) GobDecode(b []byte) error {
	v, err := DecodeDecimal(b)
	if err == nil {
		*d = v
	}
	return err
}
