//go:build !unix

package dataset

// mapped returns the bytes of e. release must be called once.
func (t *tempFile) mapped(e extent) (b []byte, release func(), err error) {
	words := make([]float64, (e.len+7)/8) // for its alignment
	b = raw(words)[:e.len]
	return b, func() {}, t.read(e, b)
}

// space returns an error: there is none.
func (t *tempFile) space(int) (b []byte, release func(), err error) { return nil, nil, errNoMapping }
