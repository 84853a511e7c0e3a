package pg

import (
	"bytes"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestLongMessagesOfFallingLength: the reader keeps the buffer of a long message for the next one. A
// shorter message must not consume bytes of the one after it because that buffer is longer.
func TestLongMessagesOfFallingLength(t *testing.T) {
	sizes := []int{growStep + 1, growStep, 4 * readBuffer, 3 * readBuffer, readBuffer + 1, 7, 2 * readBuffer}
	var in []byte
	for i, n := range sizes {
		var err error
		if in, err = (&pgproto3.CopyData{Data: bytes.Repeat([]byte{byte(i)}, n)}).Encode(in); err != nil {
			t.Fatal(err)
		}
	}
	r := newReader(bytes.NewReader(in), 2*growStep, nil)
	for i, n := range sizes {
		m, err := r.next()
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if d, ok := m.(*pgproto3.CopyData); !ok || !bytes.Equal(d.Data, bytes.Repeat([]byte{byte(i)}, n)) {
			t.Fatalf("message %d: got %T, want the %d bytes that were sent", i, m, n)
		}
	}
	if _, err := r.next(); err != io.EOF {
		t.Fatalf("after the last message: %v, want EOF", err)
	}
}
