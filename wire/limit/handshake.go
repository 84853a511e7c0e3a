package limit

import (
	"errors"
	"net"
	"sync/atomic"
)

// handshakeBytes is the limit of what a client sends until its TLS handshake is done. A hello and a chain
// of certificates take some 2 to 12 KiB; crypto/tls keeps up to 256 KiB of a message that never ends.
const handshakeBytes = 32 << 10

var errHandshake = errors.New("the TLS handshake is too long")

// Bounded limits what is read of a connection until Lift is called: what crypto/tls keeps of the
// handshakes of strangers is charged to nobody.
type Bounded struct {
	net.Conn
	left   int64
	lifted atomic.Bool
}

// Bound bounds a connection whose TLS handshake is next.
func Bound(c net.Conn) *Bounded { return &Bounded{Conn: c, left: handshakeBytes} }

// Lift ends the limit.
func (b *Bounded) Lift() { b.lifted.Store(true) }

// Read implements net.Conn.
func (b *Bounded) Read(p []byte) (int, error) {
	if b.lifted.Load() {
		return b.Conn.Read(p)
	}
	if b.left == 0 {
		return 0, errHandshake
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
