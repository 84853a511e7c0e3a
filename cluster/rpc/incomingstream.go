package rpc

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// incomingStream is the handler's end of a stream connection.
type incomingStream struct {
	conn  net.Conn
	r     *bufio.Reader
	ended bool // the call's last chunk has been read
	// gone is called when the caller goes away; watched is closed once it has, or has begun
	// another call.
	gone    context.CancelFunc
	watched chan struct{}
}

// acceptStreams serves stream connections until the port is closed.
func (s *Server) acceptStreams() {
	for {
		c, err := s.mux.puts.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serveStreams(c) })
	}
}

func (s *Server) serveStreams(c net.Conn) {
	defer c.Close()
	ctx := peer.NewContext(s.ctx, &peer.Peer{Addr: c.RemoteAddr()})
	stop := context.AfterFunc(s.ctx, func() { c.Close() })
	defer stop()
	in := &incomingStream{conn: c, r: bufio.NewReaderSize(c, lineBuffer)}
	for in.call(ctx, s) {
	}
}

// call takes a call and answers it; it reports whether there may be another.
func (in *incomingStream) call(ctx context.Context, s *Server) bool {
	ctx, in.gone = context.WithCancel(ctx)
	defer in.gone()
	in.ended, in.watched = false, nil
	first, err := in.chunk()
	if err != nil || in.ended {
		return false
	}
	name, header := cutName(first)
	f, err := find(s, ctx, s.puts, name)
	var out []byte
	code := status.Code(err)
	if err == nil {
		err = s.guard(name, func() (err error) {
			out, err = f(ctx, header, in.recv)
			return err
		})
		md, wire := toWire(err)
		if code = status.Code(wire); code == codes.Aborted {
			out = []byte(md.Get(errorKey)[0])
		}
	} else {
		out = []byte(err.Error())
	}
	if len(out) > MaxMessage {
		code, out = codes.ResourceExhausted, nil
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, answerLen+len(out)), uint32(len(out)))
	b = append(append(b, byte(code)), out...)
	if _, err := in.conn.Write(b); err != nil {
		in.conn.Close()
	}
	for !in.ended { // skip what the handler did not read
		p, err := in.chunk()
		if err != nil {
			return false
		}
		Free(p)
	}
	<-in.watched
	return true
}

// chunk reads the next chunk. After the last one of a call it starts watching whether
// the caller goes away.
func (in *incomingStream) chunk() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(in.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	last := n&endMark != 0
	if n &^= endMark; n > MaxMessage {
		return nil, pgerr.New(pgerr.ProtocolViolation, "a chunk of %d bytes", n)
	}
	b := take(int(n))
	if _, err := io.ReadFull(in.r, b); err != nil {
		return nil, err
	}
	if last {
		in.ended = true
		watched, gone := make(chan struct{}), in.gone
		in.watched = watched
		go func() {
			defer close(watched)
			if _, err := in.r.Peek(1); err != nil {
				gone()
			}
		}()
	}
	return b, nil
}

// recv returns the next chunk to the handler.
func (in *incomingStream) recv() ([]byte, error) {
	if in.ended {
		return nil, io.EOF
	}
	b, err := in.chunk()
	switch {
	case err != nil: // the caller has gone, or sent something malformed
		in.gone()
		return nil, context.Canceled
	case in.ended && len(b) == 0:
		return nil, io.EOF
	}
	return b, nil
}
