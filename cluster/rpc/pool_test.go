package rpc

import (
	"net"
	"testing"
	"time"
)

// TestPutBack: a stream that ends while its pool is being closed has its connection closed. It must
// not be kept: the pool has no idle connections any more, and a panic there left the stream's lock
// held, for which the stream's own end waited for ever.
func TestPutBack(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	l := &streamConn{conn: a}
	s := &connPool{all: map[*streamConn]struct{}{l: {}}, closed: true} // as close leaves it until the reader has ended
	s.put(l)
	_ = b.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := b.Read(make([]byte, 1)); err == nil || s.idle != nil {
		t.Errorf("the connection is open: %v, idle %v", err, s.idle)
	}
}
