package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"

	"github.com/tributarydb/tributary/sql/codec"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Peers are a node's connections to the others, made when they are first
// needed. Its methods may be called from any goroutine.
type Peers struct {
	dialer  *Dialer
	resolve func(node uint64) (addr string, ok bool)

	mu     sync.Mutex
	conns  map[endpoint]*client
	closed bool
	lines  connPool
}

// endpoint is an address and the node expected there; node 0: any. Streams have a
// connection of their own, so that calls, heartbeats among them, do not queue behind
// the bytes of statements.
type endpoint struct {
	node uint64
	addr string
	bulk bool
}

// client is a gRPC connection to an endpoint.
type client struct {
	flight.FlightServiceClient
	conn    *grpc.ClientConn
	addr    string
	refused atomic.Pointer[pgerr.Error] // of the last dial
}

// NewPeers makes a node's Peers. resolve returns another node's address.
func NewPeers(d *Dialer, resolve func(uint64) (string, bool)) *Peers {
	return &Peers{dialer: d, resolve: resolve, conns: map[endpoint]*client{}, lines: connPool{all: map[*streamConn]struct{}{}, idle: map[endpoint][]*streamConn{}}}
}

// Close closes all connections and ends the calls on them.
func (p *Peers) Close() error {
	p.lines.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		c.conn.Close()
	}
	p.conns = nil
	return nil
}

// Drop closes the connection to a node, so that calls and streams on it end now and not
// when TCP times out. The next call reconnects.
func (p *Peers) Drop(node uint64) {
	p.lines.cut(node)
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, c := range p.conns {
		if at.node == node {
			c.conn.Close()
			delete(p.conns, at)
		}
	}
}

func (p *Peers) addr(node uint64) (string, error) {
	a, ok := p.resolve(node)
	if !ok {
		return "", &UnreachableError{Addr: strconv.FormatUint(node, 10), Err: errors.New("not a member")}
	}
	return a, nil
}

func (p *Peers) client(node uint64, addr string, bulk bool) (*client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
	}
	at := endpoint{node, addr, bulk}
	if c := p.conns[at]; c != nil {
		return c, nil
	}
	c := &client{addr: addr}
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := p.dialer.dial(ctx, node, addr, kindGRPC)
		c.refused.Store(asRefusal(err))
		return conn, err
	}
	var err error
	// "passthrough" keeps gRPC from resolving names: the dialer does.
	c.conn, err = grpc.NewClient("passthrough:///"+addr,
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the dialer does TLS
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithInitialWindowSize(4<<20), grpc.WithInitialConnWindowSize(16<<20),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer), grpc.WithSharedWriteBuffer(true), experimental.WithBufferPool(&read),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 2 * time.Second,
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
	)
	if err != nil {
		return nil, pgerr.Wrap(pgerr.InternalError, err, "could not make a connection to %s", addr)
	}
	c.FlightServiceClient = flight.NewFlightServiceClient(c.conn)
	p.conns[at] = c
	return c, nil
}

// Version asks a node for the version of its program, on a connection for this question alone.
func (p *Peers) Version(ctx context.Context, node uint64) (uint32, error) {
	addr, err := p.addr(node)
	if err != nil {
		return 0, err
	}
	c, is, err := p.dialer.identify(ctx, node, addr, kindPut)
	if err != nil {
		return 0, err
	}
	return max(is.Version, 1), c.Close()
}

// Action calls action name of a node and waits for the reply.
func (p *Peers) Action(ctx context.Context, node uint64, name string, body []byte) ([]byte, error) {
	addr, err := p.addr(node)
	if err != nil {
		return nil, err
	}
	return p.ActionAt(ctx, node, addr, name, body)
}

// ActionAt is Action for a node at an address. Node 0 is any node there, on a
// connection for this call alone: a guest may be a member by the next time.
func (p *Peers) ActionAt(ctx context.Context, node uint64, addr, name string, body []byte) ([]byte, error) {
	c, err := p.client(node, addr, false)
	if err != nil {
		return nil, err
	}
	if node == 0 {
		defer p.Drop(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.DoAction(ctx, &flight.Action{Type: name, Body: body})
	if err != nil {
		return nil, c.fromWire(ctx, err, nil)
	}
	r, err := stream.Recv()
	if err != nil {
		return nil, c.fromWire(ctx, err, stream.Trailer())
	}
	return r.Body, nil
}

// Get opens a stream from a node. Call it until io.EOF or an error, or cancel
// ctx: one of them must happen.
func (p *Peers) Get(ctx context.Context, node uint64, name string, ticket []byte) (recv func() ([]byte, error), err error) {
	addr, err := p.addr(node)
	if err != nil {
		return nil, err
	}
	c, err := p.client(node, addr, true)
	if err != nil {
		return nil, err
	}
	stream, err := c.DoGet(ctx, &flight.Ticket{Ticket: joinName(name, ticket)})
	if err != nil {
		return nil, c.fromWire(ctx, err, nil)
	}
	return func() ([]byte, error) {
		m, err := stream.Recv()
		if err == io.EOF {
			return nil, io.EOF
		}
		if err != nil {
			return nil, c.fromWire(ctx, err, stream.Trailer())
		}
		return m.DataBody, nil
	}, nil
}

// Call is Action with encoded request and reply (package codec).
func Call[Reply, Request any](ctx context.Context, p *Peers, node uint64, name string, req Request) (reply Reply, err error) {
	out, err := p.Action(ctx, node, name, Encode(req))
	if err != nil {
		return reply, err
	}
	return Decode[Reply](out)
}

// Handle registers an action whose request and reply are encoded.
func Handle[Request, Reply any](s *Server, name string, f func(ctx context.Context, req Request) (Reply, error)) {
	s.RegisterAction(name, func(ctx context.Context, body []byte) ([]byte, error) {
		req, err := Decode[Request](body)
		if err != nil {
			return nil, err
		}
		reply, err := f(ctx, req)
		if err != nil {
			return nil, err
		}
		return Encode(reply), nil
	})
}

// encodingVersion is the first byte of every encoding. Within a version messages grow
// at their ends (package codec).
const encodingVersion = 1

// Encode returns the encoding of a message.
func Encode[T any](v T) []byte { return codec.Append([]byte{encodingVersion}, v) }

// Decode decodes what Encode returned.
func Decode[T any](b []byte) (v T, err error) {
	if len(b) == 0 || b[0] != encodingVersion {
		return v, pgerr.New(pgerr.ProtocolViolation, "could not decode a message: unknown version")
	}
	if v, err = codec.Unmarshal[T](b[1:]); err != nil {
		return v, pgerr.Wrap(pgerr.ProtocolViolation, err, "could not decode a message")
	}
	return v, nil
}
