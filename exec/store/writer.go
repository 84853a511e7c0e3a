package store

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/op"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/types"
)

// WriterColumn is a column of the rows that a Writer writes.
type WriterColumn struct {
	Num  int16 // attnum
	Type types.Type
}

// WriterOptions say what to write and how to divide it. Zero sizes are the package's constants.
type WriterOptions struct {
	Columns      []WriterColumn
	Account      *mem.Account // charged for memory in use, which other operators may have released (OnFlush); may be nil
	Rows         int64        // expected number of rows; 0 if not known
	Compress     bool         // zstd for plain strings where it pays
	GroupRows    int
	SegmentRows  int64
	SegmentBytes int64
	InlineBytes  int64 // a segment below this is inline; negative: never
	Part, Of     int   // of the segments (catalog.Segment)
	// Done is called with each segment as it is finished, from a goroutine that Finish
	// waits for: to push it to replicas while the next is written. May be nil.
	Done func(ctx context.Context, s *catalog.Segment) error
}

// Writer turns batches into segments, streaming: it holds one group of rows at
// most, while the file of the segment before is made durable. It belongs to one
// goroutine; between two calls another may have it write its pending rows.
type Writer struct {
	store *Store
	o     WriterOptions

	mu   sync.Mutex // held while it works
	asks bool       // whether OnFlush was called
	cols []*builder

	file   *segmentFile // nil until a group was written
	foot   footer
	rows   int64  // of the open segment, pending ones included
	inside *int64 // bytes of the inline segments of all the statement's writers
	done   []*catalog.Segment
	closed bool
	// publishing receives, once, the result of making the file of the last segment in done durable:
	// the disk works while the rows of the next segment are gathered.
	publishing chan error
}

// NewWriter starts to write segments. Finish or Abort ends it.
func (s *Store) NewWriter(o WriterOptions) *Writer {
	if o.GroupRows <= 0 {
		o.GroupRows = GroupRows
	}
	if o.SegmentRows <= 0 {
		o.SegmentRows = SegmentRows
	}
	o.GroupRows = int(min(int64(o.GroupRows), o.SegmentRows))
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = SegmentBytes
	}
	if o.InlineBytes == 0 {
		o.InlineBytes = InlineBytes
	}
	w := &Writer{store: s, o: o, inside: new(int64)}
	for _, c := range o.Columns {
		b := newBuilder(c.Num, c.Type)
		b.expect = int(min(o.Rows, maxExpected))
		w.cols = append(w.cols, b)
	}
	return w
}

// maxExpected is the most rows for which builders allocate memory in advance: many compactions merge
// only a few rows.
const maxExpected = 4096

// Write adds the batch's rows. Its columns are those of the options, in order.
func (w *Writer) Write(ctx context.Context, b *batch.Batch) error {
	if len(b.Cols) != len(w.cols) {
		return errors.New("BUG: store: a batch has other columns than its writer")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.o.Account; a != nil && !w.asks {
		w.asks = true
		a.OnFlush(func() (bool, error) { return w.reclaim(ctx) })
	}
	total := b.Rows()
	for from := 0; from < total; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// A batch is divided, so that each append is small compared with a group.
		n := min(total-from, w.o.GroupRows-w.pending(), 8*batch.DefaultSize)
		part := b
		if from != 0 || n != total {
			part = b.Slice(from, from+n)
		}
		if err := w.writePart(ctx, part); err != nil {
			return err
		}
		from += n
	}
	return nil
}

func (w *Writer) writePart(ctx context.Context, b *batch.Batch) error {
	n := b.Rows()
	halves := func() error {
		if err := w.writePart(ctx, b.Slice(0, n/2)); err != nil {
			return err
		}
		return w.writePart(ctx, b.Slice(n/2, n))
	}
	more, room := int64(0), true
	for i, c := range w.cols {
		add := c.adds(b.Cols[i], b.Sel)
		more, room = more+add, room && c.room(add)
	}
	if more > groupBytes && n > 1 {
		return halves() // a batch has each string of a dictionary once; the writer's buffer once for each row
	}
	if w.o.Account != nil && w.o.Account.ShouldSpill() {
		if err := w.giveWay(ctx); err != nil && !w.o.Account.Refused(err) {
			return err
		}
	}
	if err := w.charge(more); err != nil {
		// There is too little memory: the pending rows are written now, as a smaller group.
		if err := w.giveWay(ctx); err != nil && !w.o.Account.Refused(err) {
			return err
		}
		if err := w.insist(ctx, more); err != nil {
			if n < 2 || !w.o.Account.Refused(err) {
				return err
			}
			return halves() // a sort that releases all its rows still has the batches it reads from its runs
		}
	}
	if !room {
		if err := w.flushInsisting(ctx); err != nil {
			return err
		}
	}
	full := false
	for i, c := range w.cols {
		if err := c.append(b.Cols[i], b.Sel); err != nil {
			return err
		}
		full = full || c.full
	}
	w.rows += int64(n)
	if len(w.cols) == 0 {
		return nil
	}
	if full || w.pending() >= w.o.GroupRows || w.held() >= groupBytes {
		return w.flushInsisting(ctx)
	}
	if w.charge(0) == nil {
		return nil
	}
	return w.flushInsisting(ctx) // buffers grew in steps, by more than was asked for
}

// giveWay releases memory: it writes the pending rows to disk as a group, and if the segment's
// dictionaries are large enough to justify it, ends the segment. It returns a refusal of the account
// where a little more memory is held afterwards, as for the buffer of a file that was begun; the
// writer's own next request includes it.
func (w *Writer) giveWay(ctx context.Context) error {
	if err := w.flushGroup(ctx); err != nil {
		return err
	}
	if err := w.shed(); err != nil {
		return err
	}
	if w.file != nil && w.held() >= dictWorth {
		if err := w.endFile(ctx); err != nil {
			return err
		}
	}
	return w.charge(0)
}

// reclaim calls giveWay for another operator of the statement, unless the writer is working.
func (w *Writer) reclaim(ctx context.Context) (bool, error) {
	if !w.mu.TryLock() {
		return false, mem.ErrBusy
	}
	defer w.mu.Unlock()
	if w.closed {
		return false, nil
	}
	before := w.o.Account.Reserved()
	err := w.giveWay(ctx)
	if w.o.Account.Refused(err) {
		err = nil
	}
	return w.o.Account.Reserved() < before, err
}

// shed frees the buffers of the last group.
func (w *Writer) shed() error {
	for _, c := range w.cols {
		c.take()
		c.once.giveUp()
	}
	if w.file == nil {
		return nil
	}
	err := w.file.flush()
	w.file.buf = nil
	return err
}

func (w *Writer) pending() int {
	if len(w.cols) == 0 {
		return 0
	}
	return w.cols[0].rows
}

func (w *Writer) held() int64 {
	var n int64
	if w.file != nil {
		n = int64(cap(w.file.buf))
	}
	for _, c := range w.cols {
		n += c.bytes()
	}
	return n
}

// charge charges the account for the memory in use plus more.
func (w *Writer) charge(more int64) error {
	if w.o.Account == nil {
		return nil
	}
	return w.o.Account.Resize(w.held() + more)
}

// flushInsisting is flushGroup in the writer's own turn, where memory that a group needs beyond its
// rows (the buffer of a file that was begun) can be insisted on.
func (w *Writer) flushInsisting(ctx context.Context) error {
	err := w.flushGroup(ctx)
	if err != nil && w.o.Account.Refused(err) {
		return w.insist(ctx, 0)
	}
	return err
}

// insist is charge for rows that must be accepted: if there is no room, other operators spill.
func (w *Writer) insist(ctx context.Context, more int64) error {
	if d := w.held() + more - w.o.Account.Used(); d > 0 {
		return w.o.Account.Insist(ctx, d)
	}
	return w.charge(more)
}

// flushGroup writes the pending rows as a group, and ends the segment where
// that made it large enough.
func (w *Writer) flushGroup(ctx context.Context) error {
	n := w.pending()
	if n == 0 {
		return nil
	}
	if int64(n) >= w.o.SegmentRows {
		switch done, err := w.endInline(); {
		case err != nil:
			return err
		case done:
			return w.charge(0)
		}
	}
	if w.file == nil {
		f, err := w.store.createFile()
		if err != nil {
			return err
		}
		w.file = f
		w.foot = footer{}
	}
	g := footerGroup{Rows: int64(n)}
	for _, c := range w.cols {
		arr := c.array()
		z, ok := c.observeConsecutive(arr)
		if !ok {
			lo, hi := extremes(c.typ, arr)
			z = zoneAt(c.num, c.typ, arr, lo, hi)
			if more := c.once.room(c.typ, arr); more > 0 && w.charge(more) != nil {
				c.once.giveUp()
			}
			c.observe(arr, lo, hi)
		}
		g.Zones = append(g.Zones, z)
		ch, err := w.file.writeArray(arr, w.o.Compress)
		if err != nil {
			return err
		}
		g.Chunks = append(g.Chunks, ch)
		c.release()
	}
	w.foot.Groups = append(w.foot.Groups, g)
	w.foot.Rows += g.Rows
	if w.foot.Rows >= w.o.SegmentRows || w.file.off >= w.o.SegmentBytes {
		if err := w.endFile(ctx); err != nil {
			return err
		}
	}
	if w.charge(0) == nil {
		return nil
	}
	if err := w.shed(); err != nil {
		return err
	}
	return w.charge(0)
}

// endFile completes the open file and makes it a segment.
func (w *Writer) endFile(ctx context.Context) error {
	for i, c := range w.cols {
		if len(c.once.hashes) > 0 && w.charge(8*int64(c.once.slots())) != nil {
			c.once.giveUp()
		}
		c.observed()
		col := footerCol{Num: c.num, Type: c.typ, Zone: zoneOf(c.typ, c.num, w.foot.Groups, i, c.distinct(w.foot.Rows))}
		col.Zone.Unique = c.once.known()
		if c.dict != nil && c.dict.used {
			ch, err := w.file.writeArray(c.dict.array(), w.o.Compress)
			if err != nil {
				return err
			}
			col.Dict = &ch
			if !c.dict.closed {
				col.Zone.Distinct = int64(c.dict.len())
			}
		}
		w.foot.Cols = append(w.foot.Cols, col)
		c.restart()
	}
	f := w.file
	seg, err := f.finish(&w.foot)
	if err == nil {
		seg.Part, seg.Of = w.o.Part, w.o.Of
	}
	w.file = nil
	if err == nil {
		err = w.published()
		if err != nil {
			f.abort()
		}
	}
	if err != nil {
		return err
	}
	w.rows = 0
	w.done = append(w.done, seg)
	publishing := make(chan error, 1)
	w.publishing = publishing
	go func() {
		publishing <- op.Guard("write", func() error {
			if err := f.publish(seg); err != nil {
				f.abort()
				return err
			}
			if w.o.Done == nil {
				return nil
			}
			return w.o.Done(ctx, seg)
		})
	}()
	return nil
}

// published waits for the last segment's file.
func (w *Writer) published() error {
	if w.publishing == nil {
		return nil
	}
	err := <-w.publishing
	w.publishing = nil
	return err
}

// endInline makes the pending rows an inline segment if they are all of it and few enough: all
// inline segments of one writer fit into InlineBytes, since they go through the log together.
func (w *Writer) endInline() (bool, error) {
	if w.file != nil || w.rows == 0 || w.held() > 4*(w.o.InlineBytes-*w.inside) {
		return false, nil
	}
	seg := w.inline()
	seg.Part, seg.Of = w.o.Part, w.o.Of
	n := int64(len(seg.Inline))
	if *w.inside+n > w.o.InlineBytes {
		return false, w.restore()
	}
	for _, c := range w.cols {
		c.held = nil
		c.restart()
	}
	*w.inside += n
	w.rows = 0
	w.done = append(w.done, seg)
	return true, nil
}

// Finish ends the last segment and returns all, in the order of their rows. The files are on stable
// storage then. A few rows come as an inline segment.
func (w *Writer) Finish(ctx context.Context) ([]*catalog.Segment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("BUG: store: Finish of a closed writer")
	}
	if _, err := w.endInline(); err != nil {
		return nil, err
	}
	if err := w.flushInsisting(ctx); err != nil {
		return nil, err
	}
	if w.file != nil {
		if err := w.endFile(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.published(); err != nil {
		return nil, err
	}
	w.discard()
	w.closed = true
	return w.done, nil
}

// Abort removes what was written. It may be called twice, and after Finish
// where the segments were not committed.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.discard()
	_ = w.published() // a segment that failed is removed like the others
	for _, s := range w.done {
		if s.Inline == nil {
			w.store.forget(s.ID)
		}
	}
	w.done = nil
	return nil
}

func (w *Writer) discard() {
	if w.file != nil {
		w.file.abort()
		w.file = nil
	}
	w.cols = nil
	if w.o.Account != nil {
		w.o.Account.Resize(0)
	}
}

// NewID makes the id of a new file.
func NewID() (id catalog.SegmentID) {
	rand.Read(id[:])
	return id
}
