package disk

import (
	"io"
	"iter"
)

// Blocks are the bytes of r, in blocks that are read into what room returns; the last one may be shorter.
// They end with the first error of r, which comes without a block.
func Blocks(r io.Reader, room func() []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			b := room()
			n, err := io.ReadFull(r, b)
			if n > 0 && !yield(b[:n], nil) {
				return
			}
			switch err {
			case nil:
			case io.EOF, io.ErrUnexpectedEOF:
				return
			default:
				yield(nil, err)
				return
			}
		}
	}
}
