package spill

import (
	"context"
	"io"
	"os"
)

// Spool is a temporary file of bytes in the order in which they arrive, for data that can only be read
// from its end: a Parquet file's footer says where everything before it is. It counts against the
// budget as runs do. It is for one goroutine.
type Spool struct {
	dir  *Dir
	ctx  context.Context
	f    *os.File
	size int64
}

// Spool makes an empty Spool, which must be closed; it accepts no more bytes once ctx has ended.
func (d *Dir) Spool(ctx context.Context) (*Spool, error) {
	f, err := d.file()
	if err != nil {
		return nil, err
	}
	return &Spool{dir: d, ctx: ctx, f: f}, nil
}

// Write implements io.Writer.
func (s *Spool) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n := int64(len(p))
	if err := s.dir.opts.Budget.take(n); err != nil {
		return 0, err
	}
	if _, err := s.f.Write(p); err != nil {
		s.dir.opts.Budget.release(n)
		return 0, ioError(err, "write to temporary file")
	}
	s.size += n
	if s.dir.opts.Pool != nil {
		s.dir.opts.Pool.AddSpilled(n)
	}
	return len(p), nil
}

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = ioError(err, "read temporary file")
	}
	return n, err
}

// Path returns the path of the file.
func (s *Spool) Path() string { return s.f.Name() }

// Close removes the file.
func (s *Spool) Close() error {
	s.dir.opts.Budget.release(s.size)
	s.size = 0
	err := s.f.Close()
	if e := os.Remove(s.f.Name()); err == nil {
		err = e
	}
	if err != nil {
		return ioError(err, "remove temporary file")
	}
	return nil
}
