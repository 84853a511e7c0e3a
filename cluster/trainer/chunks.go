package trainer

import (
	"io"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// chunkBytes is how many bytes of parameters or partials one message of a stream
// carries.
const chunkBytes = 256 << 10

// sendChunks sends b in chunks, and ends the stream.
func sendChunks(put *rpc.Put, b []byte) error {
	for len(b) > chunkBytes {
		if err := put.Send(b[:chunkBytes]); err != nil {
			return err
		}
		b = b[chunkBytes:]
	}
	_, err := put.FinishWith(b)
	return err
}

// readChunks reads as many bytes as were announced; the caller has charged them.
func readChunks(recv func() ([]byte, error), size int) ([]byte, error) {
	var b []byte
	for {
		chunk, err := recv()
		switch {
		case err == io.EOF && len(b) == size:
			return b, nil
		case err == io.EOF || err == nil && len(chunk) > size-len(b):
			return nil, pgerr.New(pgerr.DataCorrupted, "a training partial of %d bytes came with other ones", size)
		case err != nil:
			return nil, err
		case len(b) == 0 && len(chunk) == size:
			b = chunk // most fit in one chunk
		default:
			if b == nil {
				b = make([]byte, 0, size)
			}
			b = append(b, chunk...)
		}
	}
}
