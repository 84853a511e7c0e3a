package train

import (
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// outgoing buffers encoded rows for the owners of their leaves: they are sent as they
// come, so that no node spills rows that belong to others.
type outgoing struct {
	w    *Worker
	size int       // bytes that are sent at once
	to   []sending // by worker; first those to train on, then those held out
	// bytes are charged for the buffers.
	bytes int64
}

type sending struct {
	mu  sync.Mutex
	buf []byte
}

// Sizes of messages, in bytes.
const (
	leastSent = 16 << 10
	mostSent  = 256 << 10
)

// newOutgoing makes buffers for rows to so many workers.
func (w *Worker) newOutgoing(workers int) (*outgoing, error) {
	o := &outgoing{w: w, to: make([]sending, workers*len(w.flow.coded)), size: int(min(max(w.cfg.Pool.Limit()/int64(flowShare*workers), leastSent), mostSent))}
	if workers > 1 {
		if w.cfg.Send == nil {
			return nil, pgerr.Internal("rows of a training have nobody to send them")
		}
		o.bytes = int64(o.size * len(o.to))
		return o, w.blocks.Reserve(o.bytes)
	}
	return o, nil
}

// add distributes the rows of a view, which are encoded in b: to train on, or held out
// (part is 1).
func (o *outgoing) add(v *record.View, b *block.Block, part int) error {
	w := o.w
	own := make([]int32, 0, v.Rows)
	per, coded := block.Buckets/max(len(w.owners), 1), w.flow.coded[part]
	for i := range v.Rows {
		if w.flow.counted.Count(v, i, part == 1, func() []byte { return coded.Record(v, b, i) }) {
			continue
		}
		to := w.owners[v.Bucket(i)/per]
		if to == w.self {
			own = append(own, int32(i))
			continue
		}
		to += part * w.nodes.Leaves()
		s := &o.to[to]
		s.mu.Lock()
		if len(s.buf) == 0 {
			s.buf = append(s.buf, byte(part))
		}
		s.buf = coded.AppendCoded(s.buf, v, b, i)
		err := o.send(to, o.size)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return coded.AddCoded(v, b, own)
}

// send sends what is buffered for a worker, if it is at least so much. The worker's
// lock is held.
func (o *outgoing) send(to, least int) error {
	s := &o.to[to]
	if len(s.buf) < max(least, 1) {
		return nil
	}
	o.w.moved.Add(int64(len(s.buf)))
	err := o.w.cfg.Send(o.w.cfg.Context, to%o.w.nodes.Leaves(), s.buf)
	s.buf = s.buf[:0]
	return err
}

// flush sends everything that is buffered.
func (o *outgoing) flush() error {
	for to := range o.to {
		s := &o.to[to]
		s.mu.Lock()
		err := o.send(to, 0)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	o.to = nil
	o.w.blocks.Unreserve(o.bytes)
	return nil
}

// PutRows adds encoded rows that another worker sent.
func (w *Worker) PutRows(rows []byte) error {
	if len(rows) == 0 || int(rows[0]) >= len(w.flow.coded) {
		return pgerr.Internal("encoded rows of a training came to who does not read rows again")
	}
	return w.flow.coded[rows[0]].PutCoded(rows[1:])
}
