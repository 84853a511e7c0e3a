package copydata

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Stream is the server side of a COPY with a client. It must be closed. For COPY FROM the decoder
// runs in a goroutine, which ends with Finish or Fail. The pipe to it is unbuffered, so a slow
// decoder blocks the client (back-pressure).
type Stream struct {
	binary  bool
	columns int
	in      *io.PipeWriter // nil for one to the client
	decoded chan error     // of the decoding goroutine, once
	ended   bool
	read    func(ctx context.Context) (p []byte, ends []int, err error)
	tag     func() string
	close   func() error
}

// In reports whether it is COPY FROM STDIN.
func (c *Stream) In() bool { return c.in != nil }

// Binary reports whether the format is binary.
func (c *Stream) Binary() bool { return c.binary }

// Columns is the number of columns.
func (c *Stream) Columns() int { return c.columns }

// Write takes the client's bytes; it blocks while the decoder is behind.
func (c *Stream) Write(p []byte) error {
	if _, err := c.in.Write(p); err != nil {
		return c.wait() // the decoder failed: its error is the statement's
	}
	return nil
}

// Finish ends the input; the rows are then part of the transaction.
func (c *Stream) Finish() error {
	_ = c.in.Close()
	return c.wait()
}

// Fail ends the copy with the client's reason.
func (c *Stream) Fail(reason string) error {
	err := pgerr.New(pgerr.QueryCanceled, "COPY from stdin failed: %s", reason)
	_ = c.in.CloseWithError(err)
	_ = c.wait()
	return err
}

// Read returns the next rows of COPY TO and where in p each ends, io.EOF at the
// end.
func (c *Stream) Read(ctx context.Context) (p []byte, ends []int, err error) {
	err = batch.Guard(func() (err error) { // rows may lie in mapped files
		p, ends, err = c.read(ctx)
		return err
	})
	return p, ends, err
}

// Tag is the command tag, once the copy is over.
func (c *Stream) Tag() string { return c.tag() }

// Close frees what the copy holds.
func (c *Stream) Close() error { return c.close() }

func (c *Stream) wait() error {
	if c.ended {
		return nil
	}
	c.ended = true
	return <-c.decoded
}

// ToClient is the stream of bytes that are no rows: a file that the client keeps.
func ToClient(b []byte, tag string, closed func()) *Stream {
	return &Stream{binary: true, tag: func() string { return tag }, close: func() error { closed(); return nil },
		read: func(context.Context) ([]byte, []int, error) {
			if len(b) == 0 {
				return nil, nil, io.EOF
			}
			p := b[:min(len(b), clientChunk)]
			b = b[len(p):]
			return p, []int{len(p)}, nil
		}}
}

// clientChunk is how much of a file is sent at once.
const clientChunk = 64 << 10

// FromClient is the stream of a file that a client sends; take reads it, in a goroutine, until its end.
func FromClient(ctx context.Context, tag string, take func(io.Reader) error, closed func()) *Stream {
	pr, pw := io.Pipe()
	s := &Stream{binary: true, in: pw, decoded: make(chan error, 1), tag: func() string { return tag }}
	stop := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(context.Cause(ctx)) })
	go func() {
		err := op.Guard("copy", func() error { return take(pr) })
		_ = pr.CloseWithError(io.ErrClosedPipe) // a failed reader must not block the writer
		s.decoded <- err
	}()
	s.close = func() error {
		stop()
		_ = pw.CloseWithError(io.ErrUnexpectedEOF)
		_ = s.wait()
		closed()
		return nil
	}
	return s
}

// ReadAll reads a stream to the client to its end.
func (c *Stream) ReadAll(ctx context.Context) ([]byte, error) {
	var out []byte
	for {
		p, _, err := c.Read(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p...)
	}
}
