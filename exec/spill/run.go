package spill

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/klauspost/compress/zstd"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

const (
	frameHeader = 24
	formRaw     = 0
	formZstd    = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var zenc = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic("BUG: spill: " + err.Error())
	}
	return e
})

var zdec = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<33))
	if err != nil {
		panic("BUG: spill: " + err.Error())
	}
	return d
})

// Writer appends batches to a run that is being made. It is for one goroutine.
type Writer struct {
	run *Run
	f   *os.File
	at  []int64 // offset of each batch in the file
}

// frameBytes is the size up to which a frame may have several rows: a reader holds one frame in
// memory, and a full batch of rows of 100 KB would not fit under a small memory limit.
const frameBytes = 1 << 20

// Append writes a batch, which must have no selection; a long one is divided into several of fewer
// rows. After an error the writer can only be aborted.
func (w *Writer) Append(ctx context.Context, b *batch.Batch) error { return w.append(ctx, b, true) }

// AppendWhole is Append without the division, so that At returns the whole batch.
func (w *Writer) AppendWhole(ctx context.Context, b *batch.Batch) error {
	return w.append(ctx, b, false)
}

func (w *Writer) append(ctx context.Context, b *batch.Batch, divide bool) error {
	c := w.run.dir.encs.Get().(*codec)
	defer w.run.dir.encs.Put(c)
	w.run.mem += b.Bytes()
	w.run.rows += int64(b.N)
	return w.frames(ctx, c, b, divide)
}

// frames writes b as one frame or several.
func (w *Writer) frames(ctx context.Context, c *codec, b *batch.Batch, divide bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.enc.Encode(b)
	defer c.enc.Reset() // which refers to b
	n := int64(frameHeader + c.enc.Len())
	if divide && n > frameBytes && b.N > 1 && !sharesValues(b, n) {
		parts := int(min((n+frameBytes-1)/frameBytes, int64(b.N)))
		for i := range parts {
			if err := w.frames(ctx, c, b.Slice(i*b.N/parts, (i+1)*b.N/parts), true); err != nil {
				return err
			}
		}
		return nil
	}
	d := w.run.dir
	if n > maxWhole {
		if err := w.writeParts(&c.enc); err != nil {
			return err
		}
	} else {
		frame := c.frame(d.opts.Compress)
		n = int64(len(frame))
		if err := d.opts.Budget.take(n); err != nil {
			return err
		}
		if _, err := w.f.Write(frame); err != nil {
			d.opts.Budget.release(n)
			return ioError(err, "write to temporary file")
		}
	}
	w.at = append(w.at, w.run.disk)
	w.run.disk += n
	w.run.frames++
	if d.opts.Pool != nil {
		d.opts.Pool.AddSpilled(n)
	}
	return nil
}

// sharesValues reports whether rows of a batch, n bytes long as a frame, share the values of a
// dictionary: each frame of fewer rows would have its own copy of them.
func sharesValues(b *batch.Batch, n int64) bool {
	var plain int64
	for _, c := range b.Cols {
		if c.DataType().ID() == arrow.DICTIONARY {
			plain += batch.PlainBytes(c, nil)
		}
	}
	return plain > 2*n
}

// frame returns the batch in enc as a frame.
func (c *codec) frame(compress bool) []byte {
	c.buf = append(c.buf[:0], make([]byte, frameHeader)...)
	_ = c.enc.Parts(func(p []byte) error {
		c.buf = append(c.buf, p...)
		return nil
	})
	rawLen := len(c.buf) - frameHeader
	frame, form := c.buf, uint32(formRaw)
	if compress && rawLen > 512 {
		c.zip = append(c.zip[:0], make([]byte, frameHeader)...)
		c.zip = zenc().EncodeAll(c.buf[frameHeader:], c.zip)
		if len(c.zip) < len(c.buf)*9/10 {
			frame, form = c.zip, formZstd
		}
	}
	head(frame, form, rawLen, len(frame)-frameHeader)
	binary.LittleEndian.PutUint32(frame, crc32.Checksum(frame[4:], castagnoli))
	return frame
}

// head fills in the header of a frame, except the checksum.
func head(h []byte, form uint32, raw, stored int) {
	binary.LittleEndian.PutUint32(h[4:], form)
	binary.LittleEndian.PutUint64(h[8:], uint64(raw))
	binary.LittleEndian.PutUint64(h[16:], uint64(stored))
}

// maxWhole is the longest frame that is assembled in memory. A longer one has a few long values;
// copying them would take as much memory as the spill is meant to free.
const maxWhole = 4 << 20

// writeParts writes the batch in enc, raw and without a copy.
func (w *Writer) writeParts(enc *batch.Encoder) error {
	var h [frameHeader]byte
	n := enc.Len()
	head(h[:], formRaw, n, n)
	sum := crc32.Checksum(h[4:], castagnoli)
	_ = enc.Parts(func(p []byte) error {
		sum = crc32.Update(sum, castagnoli, p)
		return nil
	})
	binary.LittleEndian.PutUint32(h[:], sum)
	budget := w.run.dir.opts.Budget
	if err := budget.take(int64(frameHeader + n)); err != nil {
		return err
	}
	_, err := w.f.Write(h[:])
	if err == nil {
		err = enc.Parts(func(p []byte) error {
			_, err := w.f.Write(p)
			return err
		})
	}
	if err != nil {
		budget.release(int64(frameHeader + n))
		return ioError(err, "write to temporary file")
	}
	return nil
}

// At reads batch i back before the run is finished. The caller owns the batch's memory.
func (w *Writer) At(ctx context.Context, i int) (*batch.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return w.run.frame(io.NewSectionReader(w.f, w.at[i], w.run.disk-w.at[i]), i, func(int64) error { return nil })
}

// Batches returns the number of batches on disk.
func (w *Writer) Batches() int { return len(w.at) }

// Rows returns the number of rows appended so far.
func (w *Writer) Rows() int64 { return w.run.rows }

// Bytes returns the number of bytes written so far.
func (w *Writer) Bytes() int64 { return w.run.disk }

// Finish ends the run. The writer must not be used any more.
func (w *Writer) Finish() (*Run, error) {
	r := w.run
	if err := w.f.Close(); err != nil {
		w.drop()
		return nil, ioError(err, "close temporary file")
	}
	w.f = nil
	r.dir.mu.Lock()
	r.dir.live[r] = struct{}{}
	r.dir.mu.Unlock()
	return r, nil
}

// Abort discards the run. It may be called after Finish, and does nothing then.
func (w *Writer) Abort() {
	if w.f == nil {
		return
	}
	w.f.Close()
	w.f = nil
	w.drop()
}

func (w *Writer) drop() {
	os.Remove(w.run.path)
	w.run.dir.opts.Budget.release(w.run.disk)
}

// Run is a finished sequence of batches.
type Run struct {
	dir    *Dir
	path   string
	dts    []arrow.DataType
	rows   int64
	frames int
	mem    int64
	disk   int64
}

// Rows returns the number of rows in the run.
func (r *Run) Rows() int64 { return r.rows }

// Size returns what the batches take in memory and on disk.
func (r *Run) Size() (mem, disk int64) { return r.mem, r.disk }

// Open returns a reader from the first batch on. Close it.
func (r *Run) Open() (*Reader, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, ioError(err, "open temporary file")
	}
	return &Reader{run: r, f: f}, nil
}

// Remove deletes the run. Open readers can go on reading; it may be called twice.
func (r *Run) Remove() error {
	d := r.dir
	d.mu.Lock()
	_, live := d.live[r]
	delete(d.live, r)
	d.mu.Unlock()
	if !live {
		return nil
	}
	d.opts.Budget.release(r.disk)
	if err := os.Remove(r.path); err != nil && !os.IsNotExist(err) {
		return ioError(err, "remove temporary file")
	}
	return nil
}

// RemoveAll removes runs; files that cannot be removed now are removed with the directory.
func RemoveAll(runs []*Run) {
	for _, r := range runs {
		_ = r.Remove()
	}
}

// TotalRows returns the number of rows in runs.
func TotalRows(runs []*Run) int64 {
	var n int64
	for _, r := range runs {
		n += r.rows
	}
	return n
}

// Reader reads a run in order. It is for one goroutine.
type Reader struct {
	run  *Run
	f    *os.File
	at   int
	cols []int // the columns that batches have; nil for all
	enc  batch.Encoder
	acct *mem.Account // charged for the last batch if that is long; nil before the first such batch
}

// Columns makes Next return only the columns at these positions, in this order.
func (r *Reader) Columns(at []int) { r.cols = at }

// Next returns the next batch, io.EOF after the last. The caller owns the batch's memory; that of a
// long batch is charged to the statement until the next call of Next.
func (r *Reader) Next(ctx context.Context) (*batch.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.at == r.run.frames {
		return nil, io.EOF
	}
	b, err := r.run.frame(r.f, r.at, r.charge)
	if err != nil {
		return nil, err
	}
	r.at++
	return r.narrow(b)
}

// narrow returns some columns of a batch. All columns of a batch that was read are in one allocation:
// keeping only the keys of rows of 1 KB would keep all of it in memory, uncharged. A few small columns
// are therefore copied.
func (r *Reader) narrow(b *batch.Batch) (*batch.Batch, error) {
	if r.cols == nil {
		return b, nil
	}
	cols, dts := make([]arrow.Array, len(r.cols)), make([]arrow.DataType, len(r.cols))
	for i, c := range r.cols {
		cols[i], dts[i] = b.Cols[c], r.run.dts[c]
	}
	out := b.With(cols)
	if 2*out.Bytes() > b.Bytes() {
		return out, nil
	}
	return batch.Decode(r.enc.Append(nil, out), dts)
}

// charge charges n bytes of a batch, if it is long.
func (r *Reader) charge(n int64) error {
	if n <= maxWhole {
		n = 0
	}
	pool := r.run.dir.opts.Pool
	if r.acct == nil {
		if n == 0 || pool == nil {
			return nil
		}
		r.acct = pool.Account("temporary file", false)
	}
	r.acct.Shrink(r.acct.Used())
	return r.acct.Grow(n)
}

// frame reads batch i, the next in src, once charge has accepted its bytes.
func (r *Run) frame(src io.Reader, i int, charge func(bytes int64) error) (*batch.Batch, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(src, h[:]); err != nil {
		return nil, bad(err, i)
	}
	rawLen, stored := binary.LittleEndian.Uint64(h[8:]), binary.LittleEndian.Uint64(h[16:])
	if stored > uint64(r.disk) || rawLen > 1<<34 {
		return nil, bad(nil, i)
	}
	if err := charge(int64(stored)); err != nil {
		return nil, err
	}
	data := make([]byte, stored)
	if _, err := io.ReadFull(src, data); err != nil {
		return nil, bad(err, i)
	}
	sum := crc32.Update(crc32.Checksum(h[4:], castagnoli), castagnoli, data)
	if sum != binary.LittleEndian.Uint32(h[:]) {
		return nil, bad(nil, i)
	}
	switch binary.LittleEndian.Uint32(h[4:]) {
	case formRaw:
	case formZstd:
		var err error
		if data, err = zdec().DecodeAll(data, make([]byte, 0, rawLen)); err != nil {
			return nil, bad(err, i)
		}
	default:
		return nil, bad(nil, i)
	}
	if uint64(len(data)) != rawLen {
		return nil, bad(nil, i)
	}
	return batch.Decode(data, r.dts)
}

func bad(err error, at int) error {
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return ioError(err, "read from temporary file")
	}
	return pgerr.New(pgerr.DataCorrupted, "a temporary file is damaged at batch %d", at)
}

// Close ends reading. It may be called twice.
func (r *Reader) Close() error {
	if r.f == nil {
		return nil
	}
	if r.acct != nil {
		r.acct.Close()
	}
	err := r.f.Close()
	r.f = nil
	return err
}
