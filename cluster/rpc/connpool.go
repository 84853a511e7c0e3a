package rpc

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// A streamConn is a connection that carries one Put at a time and nothing else. Its
// bytes go from the sender's memory to the kernel and from there to the reader's,
// whereas gRPC frames them and copies them twice at each end. Each chunk is preceded by
// its length, which has endMark set for the last one; the first two chunks are the
// handler's name and the header. The answer is a length, a status and the reply, or the
// error.

const (
	endMark   = 1 << 31
	answerLen = 5
	// shortChunk is the length up to which a chunk is copied after its length prefix and
	// sent in one write.
	shortChunk = 16 << 10
	// lineBuffer is the size of a server's read buffer.
	lineBuffer = 16 << 10
	// mostIdle bounds the idle connections kept for each node.
	mostIdle = 64
)

// streamConn is the sending end of a stream connection.
type streamConn struct {
	at      endpoint
	conn    net.Conn
	buf     []byte // buffered output before the next chunk
	answers chan answer
	dead    chan struct{} // closed when the connection has ended: see err
	err     error
}

type answer struct {
	code codes.Code
	body []byte
}

// read delivers answers until the connection ends.
func (l *streamConn) read() {
	defer close(l.dead)
	defer l.conn.Close()
	r := bufio.NewReaderSize(l.conn, 512)
	for {
		var head [answerLen]byte
		if _, l.err = io.ReadFull(r, head[:]); l.err != nil {
			return
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n > MaxMessage {
			l.err = pgerr.New(pgerr.ProtocolViolation, "an answer of %d bytes", n)
			return
		}
		a := answer{code: codes.Code(head[4]), body: make([]byte, n)}
		if _, l.err = io.ReadFull(r, a.body); l.err != nil {
			return
		}
		select {
		case l.answers <- a:
		default:
			l.err = pgerr.New(pgerr.ProtocolViolation, "an answer that nobody asked for")
			return
		}
	}
}

// connPool has a node's idle and active stream connections to all others.
type connPool struct {
	mu     sync.Mutex
	all    map[*streamConn]struct{}
	idle   map[endpoint][]*streamConn
	closed bool
	wg     sync.WaitGroup
}

// take returns an idle connection to at, nil if there is none.
func (s *connPool) take(at endpoint) *streamConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.idle[at]
	if len(list) == 0 {
		return nil
	}
	l := list[len(list)-1]
	s.idle[at] = list[:len(list)-1]
	return l
}

// start makes a streamConn of a connection, which belongs to the pool then.
func (s *connPool) start(at endpoint, c net.Conn) (*streamConn, error) {
	l := &streamConn{at: at, conn: c, answers: make(chan answer, 1), dead: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return nil, pgerr.New(pgerr.AdminShutdown, "the node is shutting down")
	}
	s.all[l] = struct{}{}
	s.wg.Go(func() {
		l.read()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, l)
		if i := slices.Index(s.idle[at], l); i >= 0 {
			s.idle[at] = slices.Delete(s.idle[at], i, i+1)
		}
	})
	return l, nil
}

// put returns a connection to the idle ones.
func (s *connPool) put(l *streamConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[l]; ok && !s.closed && len(s.idle[l.at]) < mostIdle {
		s.idle[l.at] = append(s.idle[l.at], l)
		return
	}
	l.conn.Close()
}

// cut closes the connections to a node.
func (s *connPool) cut(node uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.all {
		if l.at.node == node {
			l.conn.Close()
		}
	}
	for at := range s.idle {
		if at.node == node {
			delete(s.idle, at)
		}
	}
}

// close closes all connections.
func (s *connPool) close() {
	s.mu.Lock()
	s.closed = true
	for l := range s.all {
		l.conn.Close()
	}
	s.idle = nil
	s.mu.Unlock()
	s.wg.Wait()
}

// Put is a stream to a node. Send and Finish are for one goroutine. Cancel ends it in
// any state and must be called in the end.
type Put struct {
	ctx  context.Context
	line *streamConn
	from *connPool
	stop func() bool

	mu   sync.Mutex
	done bool // the connection has been returned, or closed
}

// Put opens a stream to a node.
func (p *Peers) Put(ctx context.Context, node uint64, name string, header []byte) (*Put, error) {
	addr, err := p.addr(node)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := endpoint{node: node, addr: addr}
	l := p.lines.take(at)
	if l == nil {
		c, err := p.dialer.dial(ctx, node, addr, kindPut)
		if err != nil {
			return nil, fromWire(ctx, addr, asRefusal(err), err, nil)
		}
		if l, err = p.lines.start(at, c); err != nil {
			return nil, err
		}
	}
	first := joinName(name, header)
	l.buf = append(binary.LittleEndian.AppendUint32(l.buf[:0], uint32(len(first))), first...)
	s := &Put{ctx: ctx, line: l, from: &p.lines}
	s.mu.Lock() // Cancel may be called from now on
	s.stop = context.AfterFunc(ctx, s.Cancel)
	s.mu.Unlock()
	return s, nil
}

// Send sends a chunk and blocks while the other end has no room for it. It does not
// retain b.
func (s *Put) Send(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return s.send(b, 0)
}

func (s *Put) send(b []byte, mark uint32) error {
	l := s.line
	select {
	case a := <-l.answers: // the handler has ended
		return s.handlerError(a)
	default:
	}
	if len(b) > MaxMessage {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a message between nodes is too large")
	}
	l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(b))|mark)
	var err error
	if len(b) <= shortChunk {
		l.buf = append(l.buf, b...)
		_, err = l.conn.Write(l.buf)
	} else {
		var n int64
		n, err = (&net.Buffers{l.buf, b}).WriteTo(l.conn)
		wrote(l.conn, n)
	}
	if l.buf = l.buf[:0]; err == nil {
		return nil
	}
	l.conn.Close()
	<-l.dead
	select {
	case a := <-l.answers:
		return s.handlerError(a)
	default:
		return fromWire(s.ctx, l.at.addr, nil, err, nil)
	}
}

// handlerError returns the error of a stream whose handler ended before the stream's end.
func (s *Put) handlerError(a answer) error {
	s.Cancel()
	if _, err := s.reply(a); err != nil {
		return err
	}
	return pgerr.New(pgerr.ConnectionFailure, "node at %s ended a stream early", s.line.at.addr)
}

func (s *Put) reply(a answer) ([]byte, error) {
	switch a.code {
	case codes.OK:
		return a.body, nil
	case codes.Aborted:
		return nil, fromWire(s.ctx, s.line.at.addr, nil, status.Error(a.code, ""), metadata.Pairs(errorKey, string(a.body)))
	}
	return nil, fromWire(s.ctx, s.line.at.addr, nil, status.Error(a.code, string(a.body)), nil)
}

// Finish ends the stream and returns the handler's reply.
func (s *Put) Finish() ([]byte, error) { return s.FinishWith(nil) }

// FinishWith sends a last chunk and then does what Finish does.
func (s *Put) FinishWith(b []byte) ([]byte, error) {
	defer s.Cancel()
	select {
	case a := <-s.line.answers: // the handler did not need the rest
		s.Cancel()
		return s.reply(a)
	default:
	}
	if err := s.send(b, endMark); err != nil {
		return nil, err
	}
	select {
	case a := <-s.line.answers:
		if s.stop() {
			s.mu.Lock()
			if !s.done {
				s.done = true
				s.from.put(s.line)
			}
			s.mu.Unlock()
		}
		return s.reply(a)
	case <-s.line.dead:
	}
	select {
	case a := <-s.line.answers:
		return s.reply(a)
	default:
		return nil, fromWire(s.ctx, s.line.at.addr, nil, s.line.err, nil)
	}
}

// Cancel aborts the stream. It may be called at any time, also after Finish.
func (s *Put) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		s.done = true
		s.stop()
		s.line.conn.Close()
	}
}
