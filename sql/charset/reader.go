package charset

import "io"

// readBytes is how much a reader converts at a time.
const readBytes = 32 << 10

// Reader returns what r has, as UTF8.
func (c *Charset) Reader(r io.Reader) io.Reader {
	if c == nil {
		return r
	}
	return &reader{of: c, r: r, in: make([]byte, 0, readBytes)}
}

type reader struct {
	of  *Charset
	r   io.Reader
	in  []byte // not converted yet: the beginning of a character
	out []byte // converted, not read yet
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.r.Read(r.in[len(r.in):cap(r.in)])
		r.in = r.in[:len(r.in)+n]
		whole := r.of.CompleteBytes(r.in)
		if err == io.EOF {
			whole = len(r.in) // what is missing now never comes
		}
		out, derr := r.of.Decode(r.in[:whole])
		if derr != nil {
			r.err = derr
			continue
		}
		r.out = append([]byte(nil), out...) // Decode may return its argument
		r.in = append(r.in[:0], r.in[whole:]...)
		r.err = err
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
