package op

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// Rows that do not fit in memory go to partitions by five bits of their hash,
// the uppermost first; a partition that does not fit is split again by the
// next five (kernel.Part). What has the same keys meets in the same partition.
const maxPartLevel = 6

// partitioner writes rows to partitions. It gathers rows until they are worth
// a write to each partition. It is for one lane.
type partitioner struct {
	rt     *Runtime
	st     *Stats
	acct   *mem.Account
	types  []types.Type
	keyAt  []int
	level  int // <0: no keys, one partition
	h      *kernel.Hasher
	set    *rowSet
	held   int64 // bytes of set, charged
	limit  int64
	w      [kernel.Parts]*spill.Writer
	hashes []uint64
}

func newPartitioner(rt *Runtime, st *Stats, acct *mem.Account, ts []types.Type, keyAt []int, keyTypes []types.Type, level int) *partitioner {
	return &partitioner{rt: rt, st: st, acct: acct, types: ts, keyAt: keyAt, level: level,
		h: kernel.NewHasher(keyTypes), set: newRowSet(ts), limit: partitionBuffer(rt)}
}

// partitionBuffer is how many bytes a lane gathers before it writes.
func partitionBuffer(rt *Runtime) int64 {
	return min(16<<20, max(256<<10, rt.Pool.Limit()/int64(16*rt.Lanes)))
}

// add puts in the rows of b, which has no selection.
func (p *partitioner) add(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes()
	if n > p.limit && b.N > 1 {
		half := b.N / 2
		if err := p.add(ctx, b.Slice(0, half)); err != nil {
			return err
		}
		return p.add(ctx, b.Slice(half, b.N))
	}
	if p.held+n > p.limit {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	if err := p.acct.Grow(n); err != nil {
		if !refused(err, p.acct) {
			return err
		}
		if err := p.flush(ctx); err != nil {
			return err
		}
		p.acct.Take(n)
	}
	p.held += n
	p.set.add(b)
	return nil
}

// flush writes what is gathered.
func (p *partitioner) flush(ctx context.Context) error {
	set := p.set
	if set.n == 0 {
		return nil
	}
	set.flush()
	if p.level < 0 {
		for ch := range set.lens {
			if err := p.write(ctx, 0, set.chunk(ch)); err != nil {
				return err
			}
		}
		return p.reset()
	}
	var ids [kernel.Parts][]uint32
	for ch, n := range set.lens {
		keys := make([]arrow.Array, len(p.keyAt))
		for k, at := range p.keyAt {
			keys[k] = set.cols[at].Chunk(ch)
		}
		p.hashes = p.h.Hash(keys, int(n), p.hashes)
		for i, h := range p.hashes {
			part := kernel.Part(h, p.level)
			ids[part] = append(ids[part], kernel.RowID(ch, i))
		}
	}
	set.seal()
	for part, list := range ids {
		for from := 0; from < len(list); from += kernel.ChunkRows {
			some := list[from:min(from+kernel.ChunkRows, len(list))]
			if err := p.write(ctx, part, batch.New(set.gather(some, nil), len(some))); err != nil {
				return err
			}
		}
	}
	return p.reset()
}

func (p *partitioner) reset() error {
	p.set = newRowSet(p.types)
	p.acct.Shrink(p.held)
	p.held = 0
	return nil
}

func (p *partitioner) write(ctx context.Context, part int, b *batch.Batch) error {
	w := p.w[part]
	if w == nil {
		var err error
		if w, err = p.rt.Spill.Create(arrowTypes(p.types)); err != nil {
			return err
		}
		p.w[part] = w
	}
	before := w.Bytes()
	if err := w.Append(ctx, b); err != nil {
		return err
	}
	p.st.spill(w.Bytes() - before)
	return nil
}

// finish writes the rest and gives the partitions' runs, nil for empty ones.
func (p *partitioner) finish(ctx context.Context) ([kernel.Parts]*spill.Run, error) {
	var out [kernel.Parts]*spill.Run
	if err := p.flush(ctx); err != nil {
		p.abort()
		return out, err
	}
	for i, w := range p.w {
		if w == nil {
			continue
		}
		run, err := w.Seal()
		if err != nil {
			p.abort()
			return out, err
		}
		p.w[i], out[i] = nil, run
	}
	return out, nil
}

// abort throws away what is written and not finished. It may be called twice.
func (p *partitioner) abort() {
	for i, w := range p.w {
		if w != nil {
			w.Abort()
			p.w[i] = nil
		}
	}
	p.acct.Shrink(p.held)
	p.held = 0
	p.set = newRowSet(p.types)
}

// runReader reads runs one after the other.
type runReader struct {
	runs []*spill.Run
	cur  *spill.Reader
	at   int
}

// next gives the next batch; nil at the end.
func (r *runReader) next(ctx context.Context) (*batch.Batch, error) {
	for {
		if r.cur == nil {
			if r.at == len(r.runs) {
				return nil, nil
			}
			cur, err := r.runs[r.at].Open()
			if err != nil {
				return nil, err
			}
			r.cur = cur
			r.at++
		}
		b, err := r.cur.Next(ctx)
		if err == nil {
			return b, nil
		}
		if !isEOF(err) {
			return nil, err
		}
		r.close()
	}
}

func (r *runReader) close() {
	if r.cur != nil {
		r.cur.Close()
		r.cur = nil
	}
}

func removeRuns(runs []*spill.Run) {
	for _, r := range runs {
		r.Remove() // what cannot be removed goes with the directory
	}
}

func runRows(runs []*spill.Run) int64 {
	var n int64
	for _, r := range runs {
		n += r.Rows()
	}
	return n
}
