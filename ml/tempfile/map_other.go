//go:build !unix

package tempfile

// Mapped returns the bytes of e. release must be called once.
func (t *File) Mapped(e Extent) (b []byte, release func(), err error) {
	words := make([]float64, (e.Len+7)/8) // for its alignment
	b = Bytes(words)[:e.Len]
	if err := t.ReadFull(e.Off, b); err != nil {
		return nil, nil, err
	}
	return b, func() {}, e.Check(b)
}

// Space returns an error: there is none.
func (t *File) Space(int) (b []byte, release func(), err error) { return nil, nil, ErrNoMapping }
