package rows

import (
	"context"
	"errors"
	"sync"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/record"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// shuffle distributes encoded rows to the owners of their leaves: they are sent as they
// come, so that no node spills rows that belong to others.
type shuffle struct {
	*base
	enc      *Encoding
	stores   []*record.Store         // of what this node owns: to train on, and held out
	frequent *record.FrequentCounter // rows that are counted instead
	size     int                     // bytes that are sent at once
	to       []sending               // by node; first those to train on, then those held out
	bytes    int64                   // charged for the buffers
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

// newShuffle makes the stores, and buffers for rows to the other nodes.
func (r *Reread) newShuffle(f *feature.Fitted, count []block.RowHash) (*shuffle, error) {
	s := &shuffle{base: r.base, enc: r.enc, frequent: record.NewFrequentCounter(count)}
	parts := 1
	if r.Holds || r.Folds > 0 {
		parts = 2
	}
	layout, windows := r.codedLayout(f)
	for range parts {
		s.stores = append(s.stores, record.NewStore(layout, record.Config{Pool: r.cfg.Pool, Temp: r.cfg.Temp, Seed: r.Seed, Leaves: len(r.owners), Windows: windows}))
	}
	n := r.cfg.Workers
	s.to, s.size = make([]sending, n*parts), int(min(max(r.cfg.Pool.Limit()/int64(passShare*n), leastSent), mostSent))
	if n > 1 {
		if r.cfg.Send == nil {
			return s, pgerr.Internal("rows of a training have nobody to send them")
		}
		s.bytes = int64(s.size * len(s.to))
		return s, r.blocks.Reserve(s.bytes)
	}
	return s, nil
}

// view encodes rows and distributes them, as many goroutines at once as there is memory for.
func (s *shuffle) view(v *record.View) error {
	train, held := s.Spec.Split(v)
	for i, part := range []*record.View{train, held} {
		if part.Rows == 0 {
			continue
		}
		var b *block.Block
		encode := func() (err error) {
			if b, err = s.encode(s.enc, part, nil, i); err == nil {
				return nil
			}
			for _, store := range s.stores { // rows distributed before may be spilled for it
				if err := store.MakeRoom(); err != nil {
					return err
				}
			}
			b, err = s.encode(s.enc, part, nil, i)
			return err
		}
		err := s.gate.Hold(encode, func() error {
			defer s.blocks.Unreserve(b.Bytes())
			if err := s.checkTargets(b); err != nil {
				return err
			}
			return s.add(part, b, i)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// add distributes the rows of a view, which are encoded in b: to train on, or held out
// (part is 1).
func (s *shuffle) add(v *record.View, b *block.Block, part int) error {
	own := make([]int32, 0, v.Rows)
	per, store := block.Buckets/max(len(s.owners), 1), s.stores[part]
	for i := range v.Rows {
		if s.frequent.Count(v, i, part == 1, func() []byte { return store.Record(v, b, i) }) {
			continue
		}
		to := s.owners[v.Bucket(i)/per]
		if to == s.cfg.Self {
			own = append(own, int32(i))
			continue
		}
		to += part * s.cfg.Workers
		x := &s.to[to]
		x.mu.Lock()
		if len(x.buf) == 0 {
			x.buf = append(x.buf, byte(part))
		}
		x.buf = store.AppendCoded(x.buf, v, b, i)
		err := s.send(to, s.size)
		x.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return store.AddCoded(v, b, own)
}

// send sends what is buffered for a node, if it is at least so much. The buffer's
// lock is held.
func (s *shuffle) send(to, least int) error {
	x := &s.to[to]
	if len(x.buf) < max(least, 1) {
		return nil
	}
	s.moved.Add(int64(len(x.buf)))
	err := s.cfg.Send(s.cfg.Context, to%s.cfg.Workers, func(put func(rows []byte) error) error { return put(x.buf) })
	x.buf = x.buf[:0]
	return err
}

// flush sends everything that is buffered.
func (s *shuffle) flush() error {
	for to := range s.to {
		x := &s.to[to]
		x.mu.Lock()
		err := s.send(to, 0)
		x.mu.Unlock()
		if err != nil {
			return err
		}
	}
	s.to = nil
	s.blocks.Unreserve(s.bytes)
	return nil
}

// leaf makes the blocks of a leaf.
func (s *shuffle) leaf(ctx context.Context, leaf int, e *Encoding) (*Encoded, error) {
	var out *Encoded
	from, to := record.LeafBuckets(leaf, len(s.owners))
	for i, store := range s.stores {
		err := s.withRoom(ctx, func() error {
			l, err := store.MakeLeaf(ctx, from, to)
			if err != nil {
				return err
			}
			defer l.Free()
			if i == 0 {
				out = &Encoded{} // of this try
			}
			return s.block(BlockOf(leaf, i == 1), l, e, out)
		})
		if err != nil {
			return nil, err
		}
	}
	out.Leaves = []int64{out.Rows}
	return out, nil
}

// block makes block id of a leaf.
func (s *shuffle) block(id int, l *record.Leaf, e *Encoding, out *Encoded) error {
	if l.Rows == 0 {
		return nil
	}
	bytes := l.CodedBytes()
	if err := s.blocks.Reserve(bytes); err != nil {
		return err
	}
	made := func() (*block.Block, error) { return l.Block(e.ClassWeights) }
	if s.Windows != nil {
		made = l.Series
	}
	b, err := made()
	if err == nil && b.Rows != l.Rows { // a partition was longer in the first reading
		err = ErrOtherRows
	}
	if err == nil {
		err = s.blocks.Reserve(b.Bytes() - bytes) // the windows
	}
	if err != nil {
		s.blocks.Unreserve(bytes)
		return err
	}
	_, weights := b.Targets()
	if id%2 == 1 {
		out.Held = int64(len(weights))
	} else {
		out.Rows = int64(len(weights))
		out.weigh(weights)
	}
	return s.put(id, b)
}

// close drops the rows.
func (s *shuffle) close() (err error) {
	for _, store := range s.stores {
		err = errors.Join(err, store.Close())
	}
	return err
}

// codedLayout returns the layout of encoded rows, and for windows their order.
func (b *base) codedLayout(f *feature.Fitted) (*record.Layout, *record.Windows) {
	l, w := record.CodedLayout(f.Dense, f.Codes, f.Narrow, b.Spec.WeightCol() >= 0), b.Windows
	if w == nil {
		return l, nil
	}
	by := &record.Windows{Length: w.Length, Stride: w.Stride, Whole: w.Whole}
	for i := range w.Order {
		by.Order = append(by.Order, i)
	}
	return l.Keyed(len(by.Order)), by
}
