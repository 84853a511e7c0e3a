package trainer

import (
	"io"

	"github.com/tributarydb/tributary/cluster/rpc"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// pieceBytes is what one message of a stream carries of parameters or partials.
const pieceBytes = 256 << 10

// sendPieces sends b in pieces, and ends the stream.
func sendPieces(put *rpc.Put, b []byte) error {
	for len(b) > pieceBytes {
		if err := put.Send(b[:pieceBytes]); err != nil {
			return err
		}
		b = b[pieceBytes:]
	}
	_, err := put.FinishWith(b)
	return err
}

// readPieces reads as many bytes as were announced, which have been charged.
func readPieces(recv func() ([]byte, error), size int) ([]byte, error) {
	var b []byte
	for {
		piece, err := recv()
		switch {
		case err == io.EOF && len(b) == size:
			return b, nil
		case err == io.EOF || err == nil && len(piece) > size-len(b):
			return nil, pgerr.New(pgerr.DataCorrupted, "a training partial of %d bytes came with other ones", size)
		case err != nil:
			return nil, err
		case len(b) == 0 && len(piece) == size:
			b = piece // most come in one
		default:
			if b == nil {
				b = make([]byte, 0, size)
			}
			b = append(b, piece...)
		}
	}
}
