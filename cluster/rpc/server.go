package rpc

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// MaxMessage bounds one message, in bytes. Streams should send chunks of at most about
// a megabyte.
const MaxMessage = 64 << 20

// buffer is the size of a gRPC connection's read and write buffers, a quarter of a
// chunk of a long stream. Every connection has a read buffer, and a write buffer only
// while it writes.
const buffer = 64 << 10

// The kinds of handler. They may be called from many goroutines; ctx ends when
// the caller goes away. Byte slices are the handler's to keep.
type (
	ActionFunc func(ctx context.Context, body []byte) ([]byte, error)
	GetFunc    func(ctx context.Context, ticket []byte, send func([]byte) error) error
	PutFunc    func(ctx context.Context, header []byte, recv func() ([]byte, error)) ([]byte, error)
)

// Server serves a node's cluster port.
type Server struct {
	flight.BaseFlightServer
	mux  *mux
	grpc *grpc.Server
	log  *slog.Logger
	wg   sync.WaitGroup
	ctx  context.Context // for the handlers of Puts; ends with Close
	stop context.CancelFunc

	mu      sync.RWMutex
	actions map[string]ActionFunc
	gets    map[string]GetFunc
	puts    map[string]PutFunc
	guests  map[string]bool // actions that nodes without a cluster may call
}

// Listen makes the server of a node on a listener, which it takes over. Handlers
// are registered, then Serve starts.
func Listen(ln net.Listener, trust Trust, self Self, log *slog.Logger) *Server {
	s := &Server{mux: newMux(ln, trust, self, log), log: log, actions: map[string]ActionFunc{}, gets: map[string]GetFunc{}, puts: map[string]PutFunc{},
		guests: map[string]bool{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage),
		grpc.InitialWindowSize(4<<20), grpc.InitialConnWindowSize(16<<20),
		grpc.ReadBufferSize(buffer), grpc.WriteBufferSize(buffer), grpc.SharedWriteBuffer(true), experimental.BufferPool(&read),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 5 * time.Second, Timeout: 3 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	flight.RegisterFlightServiceServer(s.grpc, s)
	return s
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.mux.ln.Addr() }

// RaftListener returns the connections that carry raft.
func (s *Server) RaftListener() net.Listener { return s.mux.raft }

// RegisterAction sets the handler of an action.
func (s *Server) RegisterAction(name string, f ActionFunc) {
	s.mu.Lock()
	s.actions[name] = f
	s.mu.Unlock()
}

// Guests sets the actions that nodes without a cluster may call. While this node itself
// has none, all nodes are its guests.
func (s *Server) Guests(names ...string) {
	s.mu.Lock()
	for _, n := range names {
		s.guests[n] = true
	}
	s.mu.Unlock()
}

// RegisterGet sets the handler of a stream to callers.
func (s *Server) RegisterGet(name string, f GetFunc) {
	s.mu.Lock()
	s.gets[name] = f
	s.mu.Unlock()
}

// RegisterPut sets the handler of a stream from callers.
func (s *Server) RegisterPut(name string, f PutFunc) {
	s.mu.Lock()
	s.puts[name] = f
	s.mu.Unlock()
}

// Serve starts serving and returns at once. Close stops it.
func (s *Server) Serve() {
	s.wg.Go(s.acceptStreams)
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		if err := s.grpc.Serve(s.mux.grpc); err != nil {
			s.log.Error("cluster port closed", "err", err)
		}
	}()
}

// Close ends all calls and closes the listener. It waits for handlers to return.
func (s *Server) Close() error {
	s.stop()
	s.grpc.Stop()
	s.mux.close()
	s.wg.Wait()
	return nil
}

func find[F any](s *Server, ctx context.Context, m map[string]F, name string) (f F, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a, ok := callerOf(ctx); !ok || s.mux.self().guest(a.peer) && !s.guests[name] {
		return f, status.Errorf(codes.PermissionDenied, "%q is for members", name)
	}
	f, ok := m[name]
	if !ok {
		return f, status.Errorf(codes.Unimplemented, "no handler %q", name)
	}
	return f, nil
}

// guard runs a handler; a panic in it becomes the call's error.
func (s *Server) guard(name string, handle func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("BUG: a cluster call panicked", "call", name, "panic", p, "stack", string(debug.Stack()))
			err = pgerr.Internal("cluster call %s panicked: %v", name, p)
		}
	}()
	return batch.Guard(handle) // handlers may touch rows in mapped files
}

// DoAction implements Flight.
func (s *Server) DoAction(a *flight.Action, stream flight.FlightService_DoActionServer) error {
	f, err := find(s, stream.Context(), s.actions, a.Type)
	if err != nil {
		return err
	}
	var out []byte
	err = s.guard(a.Type, func() (err error) {
		out, err = f(stream.Context(), a.Body)
		return err
	})
	if err == nil {
		return stream.Send(&flight.Result{Body: out})
	}
	md, err := toWire(err)
	stream.SetTrailer(md)
	return err
}

// DoGet implements Flight. A ticket is the handler's name, a zero byte, and
// what the handler gets.
func (s *Server) DoGet(t *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	name, ticket := cutName(t.Ticket)
	f, err := find(s, stream.Context(), s.gets, name)
	if err != nil {
		return err
	}
	err = s.guard(name, func() error {
		return f(stream.Context(), ticket, func(b []byte) error { return stream.Send(&flight.FlightData{DataBody: b}) })
	})
	md, err := toWire(err)
	stream.SetTrailer(md)
	return err
}

func joinName(name string, body []byte) []byte {
	return append(append(append(make([]byte, 0, len(name)+1+len(body)), name...), 0), body...)
}

func cutName(b []byte) (string, []byte) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:]
		}
	}
	return string(b), nil
}
