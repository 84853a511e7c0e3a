package task

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/op"
)

// shortStage is where a short task panics.
const shortStage = "a short stage"

// inlineThread runs a task's only thread in the goroutine that reads its rows: for a
// statement of a few rows, starting others and handing rows over costs more than
// its work.
type inlineThread struct {
	t    *Task
	ctx  context.Context
	root op.Operator

	mu     sync.Mutex // Close may be called during Next
	opened bool
	ended  bool
}

func (s *inlineThread) next() (*batch.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		if err := s.t.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var b *batch.Batch
	err := op.Guard(shortStage, func() (err error) {
		if !s.opened {
			s.opened = true
			if err := s.root.Open(s.ctx); err != nil {
				return err
			}
		}
		for b == nil || b.Rows() == 0 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
			if b, err = s.root.Next(s.ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return b, nil
	}
	if err != io.EOF {
		if errors.Is(err, context.Canceled) {
			err = context.Cause(s.ctx) // the cause, which the client should see
		}
		s.t.fail(err)
	}
	s.end()
	if err := s.t.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// end closes the operators; mu is held.
func (s *inlineThread) end() {
	s.ended = true
	s.t.fail(op.Guard(shortStage, s.root.Close))
	s.t.cancel(nil)
	close(s.t.done)
	close(s.t.out)
}

func (s *inlineThread) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.end()
	}
}
