package order

import (
	"context"
	"io"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// reclaim writes away what the thread holds for another operator, if the thread waits for
// rows, or for who reads them.
func (o *sorter) reclaim(ctx context.Context) (bool, error) {
	if !o.mu.TryLock() {
		return false, mem.ErrBusy
	}
	defer o.mu.Unlock()
	switch {
	case o.state == 1 && (!o.filled || o.waits) && o.set.Rows() > 0 && o.s.cfg.Limit < 0:
		err := o.spillRun(ctx)
		o.acct.Shrink(o.acct.Used())
		return true, err
	case o.state == 1 && o.held != nil:
		return true, o.held.write(ctx, o)
	}
	return false, nil
}

// heldStream gives the rows that a thread has in memory, or from a file those that are
// left when another operator needs their memory.
type heldStream struct{ sortedStream }

// write puts the rows that are left into a run of o's.
func (h *heldStream) write(ctx context.Context, o *sorter) error {
	rest := *h.sortedStream.(*orderedSet)
	rest.withKeys = o.keysApart()
	rest.rows = o.runBatchRows(max(1, o.acct.Used()/o.set.Rows()))
	if err := o.writeRun(ctx, &rest); err != nil {
		return err
	}
	in, err := o.streams(o.runs[len(o.runs)-1:])
	if err != nil {
		return err
	}
	h.sortedStream = in[0]
	o.reset()
	o.held = nil
	o.acct.Shrink(o.acct.Used() - o.open)
	return nil
}

// reclaim is the same for rows that were divided into bins: all threads must wait.
func (s *shared) reclaim(ctx context.Context) (bool, error) {
	for _, l := range s.threads {
		if !l.mu.TryLock() {
			return false, mem.ErrBusy
		}
		defer l.mu.Unlock()
	}
	for _, l := range s.threads {
		if l.state == 0 || l.state == 1 && l.stream == nil {
			return false, mem.ErrBusy // it is about to begin to give
		}
	}
	for _, l := range s.threads {
		if l.state == 1 {
			if err := l.writeRest(ctx); err != nil {
				return false, err
			}
		}
	}
	s.split.set, s.split.begins = nil, nil
	s.split.acct.Shrink(s.split.acct.Used())
	return true, nil
}

// writeRest puts the rows of the range that the thread has still to give into a file, from
// which it gives them. Where that fails the thread gives the error too: rows that the stream
// gave are lost.
func (o *sorter) writeRest(ctx context.Context) (err error) {
	if _, done := o.stream.(*restStream); done {
		return nil
	}
	defer func() {
		if err != nil {
			o.stream.close()
			o.stream = failed{err}
		}
	}()
	var ts []types.Type
	for _, c := range o.s.cfg.Given {
		ts = append(ts, o.s.cfg.Types[c])
	}
	w, err := o.s.rt.Spill.Create(types.ArrowTypes(ts))
	if err != nil {
		return err
	}
	defer w.Abort()
	for {
		sb, err := o.stream.next(ctx)
		if err != nil {
			return err
		}
		if sb == nil {
			break
		}
		if err := w.Append(ctx, sb.b); err != nil {
			return err
		}
	}
	o.s.st.AddSpilled(w.Bytes())
	run, err := w.Finish()
	if err != nil {
		return err
	}
	o.stream.close()
	o.stream = &restStream{run: run}
	return nil
}

// failed is a stream that was lost.
type failed struct{ error }

func (s failed) next(context.Context) (*sortedBatch, error) { return nil, s.error }
func (s failed) close()                                     {}

// restStream reads what writeRest wrote, which goes with it.
type restStream struct {
	run *spill.Run
	rd  *spill.Reader
}

func (s *restStream) next(ctx context.Context) (*sortedBatch, error) {
	if s.rd == nil {
		rd, err := s.run.Open()
		if err != nil {
			return nil, err
		}
		s.rd = rd
	}
	b, err := s.rd.Next(ctx)
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &sortedBatch{b: b}, nil
}

func (s *restStream) close() {
	if s.rd != nil {
		s.rd.Close()
		s.rd = nil
	}
	s.run.Remove() // what cannot be removed goes with the directory
}
