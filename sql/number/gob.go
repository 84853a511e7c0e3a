package number

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
