package pg

import (
	"crypto/tls"
	"net"
)

// Origin is where the client of an inner connection is: a client of this process that speaks for
// another one, as the console speaks for a browser.
type Origin struct {
	// Remote and Local are the ends of the client's own connection. Rules, trust over loopback
	// and the limits of failed logins go by them.
	Remote, Local net.Addr
	// TLS is the state of the client's own connection; nil where that is not encrypted.
	TLS *tls.ConnectionState
	// Pass, where set, is filled when the client has proved its password, and is taken
	// instead of a password afterwards.
	Pass *Pass
	// NoCopyIn refuses COPY FROM STDIN: the client has no bytes to send, and would wait with the
	// server for the other.
	NoCopyIn bool
}

// Pass shows that a role's password was proved, for later connections of the same client: a room
// that keeps it need not keep the password. It is worth nothing once the role has another
// password. The goroutine that makes a connection owns it until that is open.
type Pass struct{ role, verifier string }

// inner is the server's end of an inner connection.
type inner struct {
	net.Conn
	from Origin
}

// RemoteAddr implements net.Conn.
func (i *inner) RemoteAddr() net.Addr { return i.from.Remote }

// LocalAddr implements net.Conn.
func (i *inner) LocalAddr() net.Addr { return i.from.Local }

// Dial opens an inner connection to the server, which closes it with the others. It returns the
// client's end.
func (s *Server) Dial(from Origin) net.Conn {
	client, server := net.Pipe()
	s.start(&inner{Conn: server, from: from})
	return client
}

// encryption returns the state of the connection's TLS, nil without.
func (c *conn) encryption() *tls.ConnectionState {
	switch nc := c.nc.(type) {
	case *tls.Conn:
		st := nc.ConnectionState()
		return &st
	case *inner:
		return nc.from.TLS
	}
	return nil
}

// passed reports whether the client has proved this password before.
func (c *conn) passed(user, verifier string) bool {
	i, ok := c.nc.(*inner)
	return ok && i.from.Pass != nil && verifier != "" && *i.from.Pass == Pass{user, verifier}
}

// proved notes that the client has proved the password.
func (c *conn) proved(user, verifier string) {
	if i, ok := c.nc.(*inner); ok && i.from.Pass != nil {
		*i.from.Pass = Pass{user, verifier}
	}
}

// copiesIn reports whether the client sends the bytes of a COPY FROM STDIN.
func (c *conn) copiesIn() bool {
	i, ok := c.nc.(*inner)
	return !ok || !i.from.NoCopyIn
}
