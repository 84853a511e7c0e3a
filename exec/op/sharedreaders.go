package op

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
)

// NewShared returns the batches of readers, which are opened once, to whichever
// thread asks: virtual relations, received rows, buffers. A thread that finds a
// reader busy goes on to the next, so that several senders' streams are read
// side by side.
func NewShared(rt *Runtime, open func(ctx context.Context) ([]BatchReader, error)) []Operator {
	s := &shared{open: open, open_: rt.Threads}
	return Instances(rt, func(i int) *sharedThread { return &sharedThread{s: s, at: i} })
}

type shared struct {
	open    func(ctx context.Context) ([]BatchReader, error)
	mu      sync.Mutex
	opened  bool
	err     error
	readers []*lockedReader
	open_   int // threads not closed
}

type lockedReader struct {
	mu   sync.Mutex
	r    BatchReader
	done bool
}

type sharedThread struct {
	s      *shared
	at     int
	closed bool
}

func (o *sharedThread) Open(context.Context) error { return nil }

func (o *sharedThread) Next(ctx context.Context) (*batch.Batch, error) {
	if o.closed {
		return nil, io.EOF
	}
	readers, err := o.s.begin(ctx)
	if err != nil {
		return nil, err
	}
	n := len(readers)
	for left := n; left > 0; {
		r := readers[o.at%n]
		b, err := r.next(ctx)
		if err == io.EOF {
			o.at++
			left--
			continue
		}
		if err != nil {
			return nil, err
		}
		left = n
		if b.Rows() > 0 {
			o.at++
			return b, nil
		}
	}
	return nil, io.EOF
}

// begin opens the readers, unless that was done. Where it panics the threads that wait find no readers:
// the statement has failed.
func (s *shared) begin(ctx context.Context) ([]*lockedReader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened {
		s.opened = true
		rs, err := s.open(ctx)
		s.err = err
		for _, r := range rs {
			s.readers = append(s.readers, &lockedReader{r: r})
		}
	}
	return s.readers, s.err
}

func (r *lockedReader) next(ctx context.Context) (*batch.Batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return nil, io.EOF
	}
	b, err := r.r.Next(ctx)
	if err == io.EOF {
		r.done = true
	}
	return b, err
}

func (o *sharedThread) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	s := o.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open_--; s.open_ > 0 {
		return nil
	}
	s.opened = true // nobody opens it any more
	var all error
	for _, r := range s.readers {
		all = errors.Join(all, r.r.Close())
	}
	return all
}
