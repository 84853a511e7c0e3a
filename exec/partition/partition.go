package partition

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/exec/spill"
	"github.com/tributarydb/tributary/sql/types"
)

// MaxLevel is how often rows can be divided: each time by five more bits of
// their hash.
const MaxLevel = 6

// Config configures a Writer.
type Config struct {
	Dir      *spill.Dir
	Account  *mem.Account // of the rows that are gathered
	Buffer   int64        // bytes that are gathered before they are written
	Types    []types.Type // columns
	Keys     []int        // the columns that are hashed, of KeyTypes
	KeyTypes []types.Type
	Level    int         // from 0 on; negative: one partition, of all rows
	Wrote    func(int64) // is called with the bytes written
}

// Writer writes rows to partitions, one run of the spill directory each. It
// gathers rows until they are worth a write to each partition. It is for one
// goroutine, which ends it by Finish or Abort.
type Writer struct {
	c      Config
	h      *kernel.Hasher
	set    *rowset.Set
	held   int64 // bytes of set, charged
	w      [kernel.Parts]*spill.Writer
	hashes []uint64
}

// NewWriter makes a writer; it opens files as rows come.
func NewWriter(c Config) *Writer {
	return &Writer{c: c, h: kernel.NewHasher(c.KeyTypes), set: rowset.New(c.Types)}
}

// Account returns the account of the rows that are gathered.
func (p *Writer) Account() *mem.Account { return p.c.Account }

// Add adds the rows of b, which has no selection.
func (p *Writer) Add(ctx context.Context, b *batch.Batch) error {
	n := b.Bytes()
	if n > p.c.Buffer && b.N > 1 {
		half := b.N / 2
		if err := p.Add(ctx, b.Slice(0, half)); err != nil {
			return err
		}
		return p.Add(ctx, b.Slice(half, b.N))
	}
	if p.held+n > p.c.Buffer {
		if err := p.Flush(ctx); err != nil {
			return err
		}
	}
	if err := p.c.Account.Grow(n); err != nil {
		if !p.c.Account.Refused(err) {
			return err
		}
		if err := p.Flush(ctx); err != nil {
			return err
		}
		p.c.Account.Take(n)
	}
	p.held += n
	p.set.Add(b)
	return nil
}

// Flush writes what is gathered.
func (p *Writer) Flush(ctx context.Context) error {
	set := p.set
	if set.Rows() == 0 {
		return nil
	}
	set.Flush()
	if p.c.Level < 0 {
		for ch := range set.Chunks() {
			if err := p.write(ctx, 0, set.Chunk(ch)); err != nil {
				return err
			}
		}
		return p.reset()
	}
	var ids [kernel.Parts][]uint32
	for ch := range set.Chunks() {
		n := set.ChunkRows(ch)
		keys := make([]arrow.Array, len(p.c.Keys))
		for k, at := range p.c.Keys {
			keys[k] = set.Column(at).Chunk(ch)
		}
		p.hashes = p.h.Hash(keys, n, p.hashes)
		for i, h := range p.hashes {
			part := kernel.Part(h, p.c.Level)
			ids[part] = append(ids[part], kernel.RowID(ch, i))
		}
	}
	set.Finish()
	for part, list := range ids {
		for from := 0; from < len(list); from += kernel.ChunkRows {
			some := list[from:min(from+kernel.ChunkRows, len(list))]
			if err := p.write(ctx, part, batch.New(set.Gather(some, nil), len(some))); err != nil {
				return err
			}
		}
	}
	return p.reset()
}

func (p *Writer) reset() error {
	p.set = rowset.New(p.c.Types)
	p.c.Account.Shrink(p.held)
	p.held = 0
	return nil
}

func (p *Writer) write(ctx context.Context, part int, b *batch.Batch) error {
	w := p.w[part]
	if w == nil {
		var err error
		if w, err = p.c.Dir.Create(types.ArrowTypes(p.c.Types)); err != nil {
			return err
		}
		p.w[part] = w
	}
	before := w.Bytes()
	if err := w.Append(ctx, b); err != nil {
		return err
	}
	p.c.Wrote(w.Bytes() - before)
	return nil
}

// Finish writes the rest and returns the partitions' runs, nil for empty ones.
func (p *Writer) Finish(ctx context.Context) ([kernel.Parts]*spill.Run, error) {
	var out [kernel.Parts]*spill.Run
	if err := p.Flush(ctx); err != nil {
		p.Abort()
		return out, err
	}
	for i, w := range p.w {
		if w == nil {
			continue
		}
		run, err := w.Finish()
		if err != nil {
			p.Abort()
			return out, err
		}
		p.w[i], out[i] = nil, run
	}
	return out, nil
}

// Abort discards what is written and not finished. It may be called twice.
func (p *Writer) Abort() {
	for i, w := range p.w {
		if w != nil {
			w.Abort()
			p.w[i] = nil
		}
	}
	p.c.Account.Shrink(p.held)
	p.held = 0
	p.set = rowset.New(p.c.Types)
}

// Reader reads runs one after the other.
type Reader struct {
	Runs []*spill.Run
	cur  *spill.Reader
	at   int
}

// Next returns the next batch; nil at the end. It holds one run open at a time.
func (r *Reader) Next(ctx context.Context) (*batch.Batch, error) {
	for {
		if r.cur == nil {
			if r.at == len(r.Runs) {
				return nil, nil
			}
			cur, err := r.Runs[r.at].Open()
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
		if err != io.EOF {
			return nil, err
		}
		r.Close()
	}
}

// Rewind restarts with the first run.
func (r *Reader) Rewind() {
	r.Close()
	r.at = 0
}

// Close closes the run that is being read. It may be called twice.
func (r *Reader) Close() {
	if r.cur != nil {
		r.cur.Close()
		r.cur = nil
	}
}
