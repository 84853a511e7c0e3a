package session

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/cluster/copydata"
)

// CopyStream is the byte stream of a COPY, whose end is its portal's.
type CopyStream struct {
	*copydata.Stream
	portal *Portal
}

// Copy returns the byte stream of a COPY, after Start; nil for other statements.
func (p *Portal) Copy() *CopyStream {
	if p.res == nil || p.res.Copy == nil {
		return nil
	}
	return &CopyStream{p.res.Copy, p}
}

// Write takes the client's bytes; it blocks while the decoder is behind.
func (c *CopyStream) Write(ctx context.Context, p []byte) error {
	if err := c.Stream.Write(p); err != nil {
		return c.portal.failed(err)
	}
	return nil
}

// Finish ends the bytes; the rows are in the transaction then.
func (c *CopyStream) Finish(ctx context.Context) error {
	if err := c.Stream.Finish(); err != nil {
		return c.portal.failed(err)
	}
	if err := c.portal.finish(); err != io.EOF {
		return err
	}
	return nil
}

// Fail ends the copy with the client's reason.
func (c *CopyStream) Fail(reason string) error { return c.portal.failed(c.Stream.Fail(reason)) }

// Read returns the next rows of COPY TO and where in p each ends, io.EOF at the
// end.
func (c *CopyStream) Read(ctx context.Context) (p []byte, ends []int, err error) {
	p, ends, err = c.Stream.Read(c.portal.x.Ctx)
	if err == io.EOF {
		return nil, nil, c.portal.finish()
	}
	if err != nil {
		return nil, nil, c.portal.failed(err)
	}
	return p, ends, nil
}
