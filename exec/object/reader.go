package object

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/tributarydb/tributary/sql/pgerr"
)

// reader reads an object by ranges: blocks by the cache, and where that has none, straight into the caller's memory.
type reader struct {
	b    *bucket
	ctx  context.Context
	stop context.CancelFunc
	key  string
	info Info
	at   int64 // of Read

	mu     sync.Mutex
	blocks map[int64]*os.File // of the cache, open

	queued  sync.Mutex
	queue   []int64 // blocks to fetch ahead
	working int     // goroutines that do
	ahead   sync.WaitGroup
}

// openBlocks is how many blocks of the cache a reader keeps open.
const openBlocks = 16

// Open implements Store.
func (b *bucket) Open(ctx context.Context, f Info) (File, error) {
	key, err := b.key(f.Name)
	if err != nil {
		return nil, err
	}
	r := &reader{b: b, key: key, info: f, blocks: map[int64]*os.File{}}
	r.ctx, r.stop = context.WithCancel(ctx)
	return r, nil
}

func (r *reader) Close() error {
	r.stop()
	r.ahead.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	return nil
}

// forget closes the open blocks; the caller holds mu.
func (r *reader) forget() {
	for i, f := range r.blocks {
		_ = f.Close()
		delete(r.blocks, i)
	}
}

func (r *reader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += r.at
	case io.SeekEnd:
		off += r.info.Size
	}
	if off < 0 {
		return 0, errors.New("a place before the beginning")
	}
	r.at = off
	return off, nil
}

// Read reads on, and has the blocks behind fetched meanwhile.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p[:min(len(p), blockSize)], r.at)
	if r.at += int64(n); n > 0 {
		if (r.at-int64(n))/blockSize != r.at/blockSize || r.at == int64(n) {
			r.Prefetch(Range{r.at, r.at + 4*blockSize})
		}
		if err == io.EOF {
			err = nil
		}
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (r *reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("a place before the beginning")
	}
	short := int64(len(p)) > r.info.Size-off
	if short {
		if off >= r.info.Size {
			return 0, io.EOF
		}
		p = p[:r.info.Size-off]
	}
	if r.b.cache == nil {
		n, err = len(p), r.direct(p, off)
	} else {
		for n < len(p) && err == nil {
			at := off + int64(n)
			part := p[n:min(len(p), n+int(blockSize-at%blockSize))]
			if err = r.block(part, at); err == nil {
				n += len(part)
			}
		}
	}
	if err != nil {
		return 0, err
	}
	if short {
		return n, io.EOF
	}
	return n, nil
}

// block reads a part of one block.
func (r *reader) block(p []byte, off int64) error {
	i := off / blockSize
	r.mu.Lock()
	defer r.mu.Unlock() // of the threads that read one file each has a reader of its own
	f := r.blocks[i]
	if f == nil {
		var err error
		if f, err = r.load(i); err != nil {
			return err
		}
		if f == nil { // there is no room, of disk or memory, for the block
			return r.direct(p, off)
		}
		if len(r.blocks) >= openBlocks {
			r.forget()
		}
		r.blocks[i] = f
	}
	if _, err := f.ReadAt(p, off%blockSize); err != nil {
		return r.direct(p, off)
	}
	return nil
}

// length is how many bytes a block has.
func (r *reader) length(i int64) int { return int(min(blockSize, r.info.Size-i*blockSize)) }

// blockName names a block by all that its bytes depend on, and by who may read it.
func (r *reader) blockName(i int64) string {
	return strings.Join([]string{r.b.access.Who, r.b.core.EndpointURL().String(), r.b.name, r.key, r.info.Version, strconv.FormatInt(r.info.Size, 10), strconv.FormatInt(i, 10)}, "\x00")
}

// workers is how many blocks a reader fetches ahead at once.
const workers = 4

// Prefetch implements File. The ranges must come in their order; those that lie in one block, as neighbours mostly
// do, are one request.
func (r *reader) Prefetch(ranges ...Range) {
	c := r.b.cache
	if c == nil {
		return
	}
	r.queued.Lock()
	defer r.queued.Unlock()
	next := int64(0)
	for _, x := range ranges {
		for i := max(next, x.From/blockSize); i*blockSize < min(x.To, r.info.Size); i++ {
			// More would be gone again before it is read.
			if next = i + 1; int64(len(r.queue)) < c.limit/blockSize/8 && !c.has(r.blockName(i)) {
				r.queue = append(r.queue, i)
			}
		}
	}
	for ; r.working < min(workers, len(r.queue)); r.working++ {
		r.ahead.Go(r.fetchAhead)
	}
}

// fetchAhead fetches what is queued.
func (r *reader) fetchAhead() {
	for {
		r.queued.Lock()
		if len(r.queue) == 0 || r.ctx.Err() != nil {
			r.working--
			r.queued.Unlock()
			return
		}
		i := r.queue[0]
		r.queue = r.queue[1:]
		r.queued.Unlock()
		select {
		case r.b.cache.slots <- struct{}{}:
		case <-r.ctx.Done():
			continue
		}
		if f, err := r.load(i); err == nil && f != nil { // whoever reads the block meets the error again
			_ = f.Close()
		}
		<-r.b.cache.slots
	}
}

// load opens a block of the cache, nil where it cannot have it.
func (r *reader) load(i int64) (*os.File, error) {
	return r.b.cache.get(r.ctx, r.blockName(i), func(b []byte) error { return r.direct(b, i*blockSize) }, r.length(i))
}

// direct reads a range by HTTP. What broke off is asked for again from there.
func (r *reader) direct(p []byte, off int64) error {
	for n, tries := 0, 0; n < len(p); {
		k, err := r.attempt(p[n:], off+int64(n))
		if n += k; err == nil {
			continue
		}
		if tries++; k > 0 {
			tries = 1
		}
		var known *pgerr.Error
		if errors.As(err, &known) || !torn(err) || tries >= bodyTries || !rest(r.ctx, tries) {
			return r.b.error(r.ctx, err, "could not read %q", r.info.Name)
		}
	}
	return nil
}

// attempt makes one request, and returns how many bytes came.
func (r *reader) attempt(p []byte, off int64) (n int, err error) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	opts := minio.GetObjectOptions{}
	if err := opts.SetRange(off, off+int64(len(p))-1); err != nil {
		return 0, err
	}
	if r.info.Version != "" {
		if err := opts.SetMatchETag(r.info.Version); err != nil {
			return 0, err
		}
	}
	body, o, head, err := r.b.core.GetObject(ctx, r.b.name, r.key, opts)
	if err != nil {
		if minio.ToErrorResponse(err).Code == minio.NoSuchKey { // it was there
			return 0, changed(r.info.Name)
		}
		return 0, err
	}
	defer body.Close()
	if r.info.Version != "" && o.ETag != "" && o.ETag != r.info.Version {
		return 0, changed(r.info.Name)
	}
	if got := head.Get("Content-Range"); !strings.HasPrefix(got, "bytes "+strconv.FormatInt(off, 10)+"-") && (off != 0 || o.Size != int64(len(p))) {
		return 0, pgerr.New(pgerr.IOError, "could not read %q: the store does not answer with the range that it was asked for", r.info.Name)
	}
	silent := time.AfterFunc(patience, cancel)
	defer silent.Stop()
	for n < len(p) {
		k, err := body.Read(p[n:])
		n += k
		silent.Reset(patience)
		if err != nil && n < len(p) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			if r.ctx.Err() == nil && errors.Is(err, context.Canceled) {
				err = os.ErrDeadlineExceeded // of patience
			}
			return n, err
		}
	}
	return n, nil
}

// rest waits before another try, longer each time, and reports whether there is to be one.
func rest(ctx context.Context, tries int) bool {
	most := min(shortRest<<(tries-1), 2*time.Second)
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
