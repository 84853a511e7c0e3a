package op

import (
	"io"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/sql/types"
)

// Coalescer concatenates small batches, of columns Types, into larger ones. Order is kept. It holds
// at most smallWait batches, which it does not charge, until the next are asked for.
type Coalescer struct {
	Types []types.Type
	pend  []*batch.Batch
	rows  int
	bytes int64
	held  *batch.Batch // comes after pend
	err   error
}

const (
	smallRows = 1024
	smallWait = 16 // batches: a reader may want the first row soon
)

// Next pulls batches until they are enough for one. Errors, io.EOF included, are returned after the
// rows that wait.
func (s *Coalescer) Next(pull func() (*batch.Batch, error)) (*batch.Batch, error) {
	for {
		if b := s.held; b != nil {
			s.held = nil
			return b, nil
		}
		if s.err != nil {
			return nil, s.err
		}
		b, err := pull()
		switch {
		case err != nil:
			if err == io.EOF {
				s.err = err
				if s.rows > 0 {
					return s.flush(), nil
				}
			}
			return nil, err
		case b == nil || b.Rows() == 0:
		case large(b) && s.rows == 0:
			return b, nil
		case large(b):
			s.held = b
			return s.flush(), nil
		default:
			s.pend = append(s.pend, kernel.Compact(b))
			s.rows += b.Rows()
			s.bytes += b.Bytes()
			if s.rows >= 4*smallRows || s.bytes >= BatchBytes/8 || len(s.pend) == smallWait {
				return s.flush(), nil
			}
		}
	}
}

// large reports whether a batch is worth passing on alone.
func large(b *batch.Batch) bool { return b.Rows() >= smallRows || b.Bytes() >= BatchBytes/8 }

func (s *Coalescer) flush() *batch.Batch {
	b := rowset.Concat(s.Types, s.pend)
	s.pend, s.rows, s.bytes = nil, 0, 0
	return b
}
