package dataset

import (
	"context"
	"sync"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Buckets is the number of hash prefixes that rows are dealt to before their
// total is known. It bounds the number of leaves.
const (
	Buckets    = 4096
	bucketBits = 12
	leafRows   = 32768 // the most rows a leaf is meant to have
)

// Leaves is the number of leaves for so many rows: the least power of two that
// keeps a leaf within 32768 rows on average, at most Buckets.
func Leaves(rows int64) int {
	n := 1
	for rows > int64(n)*leafRows && n < Buckets {
		n *= 2
	}
	return n
}

// LeafBuckets gives the buckets [from, to) of a leaf.
func LeafBuckets(leaf, leaves int) (from, to int) {
	per := Buckets / leaves
	return leaf * per, (leaf + 1) * per
}

// Config says how a Store is made.
type Config struct {
	Pool *mem.Pool // of the job
	Temp string    // directory of temporary files; "" for the system's
	Seed uint64    // of the row hash: the training's seed
}

// Store holds one node's rows of one job until they are encoded. Add, PutBucket
// and Settle may be called from several goroutines, each phase after the other;
// TakeBucket from one at a time for each bucket.
type Store struct {
	layout *Layout
	cfg    Config
	file   tempFile

	mu     sync.Mutex
	acct   *mem.Account
	shards []*shard // all
	idle   []*shard
	// regions are the memory that chunks are cut from; nil for those whose
	// records were written to the file.
	regions [][]byte
}

// shard takes the rows of one goroutine at a time.
type shard struct {
	enc     *encoder
	buckets [Buckets]bucket
	regions []uint32 // numbers of its regions; the last one is being filled
	used    int      // bytes of the last one
}

// bucket is chunks of whole records, and what was written to the file of earlier
// ones. The chunk being filled lies in the bucket itself: a row costs one look
// at the bucket and one at the chunk.
type bucket struct {
	open   chunk
	rows   int64
	bytes  int     // capacity of all chunks
	closed []chunk // the full ones
	disk   []extent
}

// chunks lists all chunks.
func (b *bucket) chunks() []chunk {
	if len(b.open.buf) == 0 {
		return b.closed
	}
	return append(b.closed, b.open)
}

// chunk is a piece of a region.
type chunk struct {
	buf []byte // the records
	at  loc    // of the first
}

// loc is where a record starts: region number, and words of eight bytes in it.
type loc uint64

func (l loc) in(regions [][]byte) []byte { return regions[l>>32][int(uint32(l))*8:] }

const (
	firstRegion = 256 << 10
	lastRegion  = 8 << 20
)

// NewStore makes an empty store for rows of this layout.
func NewStore(l *Layout, cfg Config) *Store {
	s := &Store{layout: l, cfg: cfg, acct: cfg.Pool.Account("training rows", true)}
	s.file.dir = cfg.Temp
	return s
}

// Layout is the form of the rows.
func (s *Store) Layout() *Layout { return s.layout }

// Close frees all memory and files. It may be called twice.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards, s.idle, s.regions = nil, nil, nil
	s.acct.Close()
	return s.file.Close()
}

func (s *Store) grow(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acct.Grow(n)
}

func (s *Store) shrink(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acct.Shrink(n)
}

func (s *Store) shouldSpill() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acct.ShouldSpill()
}

const shardBytes = int64(Buckets) * 88 // a shard's own size, roughly

func (s *Store) checkout() (*shard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		sh := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return sh, nil
	}
	if err := s.acct.Grow(shardBytes); err != nil {
		return nil, err
	}
	sh := &shard{enc: newEncoder(s.layout, s.cfg.Seed)}
	s.shards = append(s.shards, sh)
	return sh, nil
}

func (s *Store) checkin(sh *shard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, sh)
}

// Add takes the counted rows of a batch, whose columns are the layout's.
func (s *Store) Add(ctx context.Context, b *batch.Batch) error {
	if len(b.Cols) != len(s.layout.Cols) {
		return pgerr.Internal("a training batch has %d columns, not %d", len(b.Cols), len(s.layout.Cols))
	}
	sh, err := s.checkout()
	if err != nil {
		return err
	}
	defer s.checkin(sh)
	for from := 0; from < b.Rows(); from += groupRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(groupRows, b.Rows()-from)
		if err := sh.enc.group(b, from, from+n); err != nil {
			return err
		}
		for i := range n {
			rec := sh.enc.buf[sh.enc.start[i]:sh.enc.start[i+1]]
			if err := s.put(sh, int(be.Uint64(rec)>>(64-bucketBits)), rec); err != nil {
				return err
			}
		}
	}
	if s.shouldSpill() {
		return s.spill(sh)
	}
	return nil
}

// put appends one record to a bucket of a shard.
func (s *Store) put(sh *shard, bkt int, rec []byte) error {
	b := &sh.buckets[bkt]
	if n := len(b.open.buf); n+len(rec) <= cap(b.open.buf) {
		b.open.buf = b.open.buf[:n+len(rec)]
		copy(b.open.buf[n:], rec)
		b.rows++
		return nil
	}
	// A new chunk is half of what is there already: few chunks, a third empty
	// at worst.
	size := max(4*len(rec), min(b.bytes/2, 1<<20)) &^ 7
	c, err := s.cut(sh, size)
	if err != nil {
		// Make room: what this goroutine and the idle ones hold goes to disk.
		s.mu.Lock()
		mine := append(s.idle, sh)
		s.idle = nil
		s.mu.Unlock()
		serr := s.spill(mine...)
		s.mu.Lock()
		s.idle = append(s.idle, mine[:len(mine)-1]...)
		s.mu.Unlock()
		if serr != nil {
			return serr
		}
		if c, err = s.cut(sh, 4*len(rec)); err != nil {
			return err
		}
	}
	b.closed = b.chunks()
	b.bytes += cap(c.buf)
	c.buf = append(c.buf, rec...)
	b.open = c
	b.rows++
	return nil
}

// cut gives a chunk of size bytes, from a new region if need be.
func (s *Store) cut(sh *shard, size int) (chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(sh.regions)
	if n == 0 || sh.used+size > len(s.regions[sh.regions[n-1]]) {
		want := max(size, min(firstRegion<<min(n, 10), lastRegion))
		if err := s.acct.Grow(int64(want)); err != nil {
			if want == size || s.acct.Grow(int64(size)) != nil {
				return chunk{}, err
			}
			want = size
		}
		sh.regions = append(sh.regions, uint32(len(s.regions)))
		s.regions = append(s.regions, largePages(make([]byte, want)))
		sh.used = 0
	}
	num := sh.regions[len(sh.regions)-1]
	at := sh.used
	sh.used += size
	return chunk{buf: s.regions[num][at : at : at+size], at: loc(num)<<32 | loc(at/8)}, nil
}

// spill writes all that these shards hold to the file. The caller is the only
// one who works on them.
func (s *Store) spill(shards ...*shard) error {
	var all [][]byte
	var n int
	for _, sh := range shards {
		for i := range sh.buckets {
			for _, c := range sh.buckets[i].chunks() {
				all = append(all, c.buf)
				n += len(c.buf)
			}
		}
	}
	var off int64
	if n > 0 {
		e, err := s.file.write(8, all...)
		if err != nil {
			return err
		}
		off = e.off
		s.cfg.Pool.AddSpilled(int64(n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range shards {
		for i := range sh.buckets {
			b := &sh.buckets[i]
			size := 0
			for _, c := range b.chunks() {
				size += len(c.buf)
			}
			if size > 0 {
				b.disk = append(b.disk, extent{off, size})
				off += int64(size)
			}
			b.open, b.closed, b.bytes = chunk{}, nil, 0
		}
		for _, num := range sh.regions {
			s.acct.Shrink(int64(len(s.regions[num])))
			s.regions[num] = nil
		}
		sh.regions, sh.used = nil, 0
	}
	return nil
}

// Counts gives the rows of each bucket.
func (s *Store) Counts() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int64, Buckets)
	for _, sh := range s.shards {
		for i := range sh.buckets {
			out[i] += sh.buckets[i].rows
		}
	}
	return out
}

// TakeBucket hands a bucket's records to emit in runs of whole records, and
// forgets them; their memory is free when the store spills or is closed. The
// bytes are emit's for the call.
func (s *Store) TakeBucket(bkt int, emit func(records []byte) error) error {
	for _, sh := range s.all() {
		b := &sh.buckets[bkt]
		for _, c := range b.chunks() {
			if err := emit(c.buf); err != nil {
				return err
			}
		}
		for _, e := range b.disk {
			buf := make([]byte, e.len)
			if err := s.file.read(e, buf); err != nil {
				return err
			}
			if err := emit(buf); err != nil {
				return err
			}
		}
		*b = bucket{}
	}
	return nil
}

func (s *Store) all() []*shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shards
}

// PutBucket takes records that TakeBucket of another node's store emitted.
func (s *Store) PutBucket(bkt int, records []byte) error {
	if bkt < 0 || bkt >= Buckets {
		return errRecords()
	}
	sh, err := s.checkout()
	if err != nil {
		return err
	}
	defer s.checkin(sh)
	for len(records) > 0 {
		n, ok := s.layout.recordLen(records)
		if !ok || int(be.Uint64(records)>>(64-bucketBits)) != bkt {
			return errRecords()
		}
		if err := s.put(sh, bkt, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	if s.shouldSpill() {
		return s.spill(sh)
	}
	return nil
}

func errRecords() error {
	return pgerr.New(pgerr.DataCorrupted, "invalid encoding of training rows")
}

// recordLen is the length of the record at the start of b; false if b does not
// hold it whole.
func (l *Layout) recordLen(b []byte) (int, bool) {
	n := l.fixed
	if len(b) < n {
		return 0, false
	}
	if len(l.vars) > 0 {
		for _, c := range l.vars {
			n += int(le.Uint32(b[l.at[c]:]))
		}
		n = (n + 7) &^ 7
	}
	return n, n <= len(b)
}
