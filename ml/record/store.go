package record

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/spare"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/holdout"
	"github.com/tributarydb/tributary/ml/tempfile"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// chunkBytes returns the size of a chunk of held rows: small where memory is scarce,
// within bounds.
func (s *Store) chunkBytes(least, most int) int {
	return int(min(max(s.cfg.Pool.Limit()/flowShare, int64(least)), int64(most)))
}

const leafRows = 32768 // the most rows a leaf is meant to have

// Leaves is the number of leaves for so many rows: the least power of two that
// keeps a leaf within 32768 rows on average, at most Buckets.
func Leaves(rows int64) int {
	n := 1
	for rows > int64(n)*leafRows && n < block.Buckets {
		n *= 2
	}
	return n
}

// LocalLeaves is the number of leaves to cut rows in place into: no more rows
// than elsewhere, and enough leaves for all threads.
func LocalLeaves(rows int64, threads int) int {
	n := Leaves(rows)
	for n < 8*threads && rows > int64(n)*runRows {
		n *= 2
	}
	return n
}

// runRows is how many rows follow each other in a bucket of a store in place.
const runRows = 256

// LeafBuckets returns the buckets [from, to) of a leaf.
func LeafBuckets(leaf, leaves int) (from, to int) {
	per := block.Buckets / leaves
	return leaf * per, (leaf + 1) * per
}

// Config says how a Store is made.
type Config struct {
	Pool *mem.Pool // of the job
	Temp string    // directory of temporary files; "" for the system's
	Seed uint64    // of the row hash: the training's seed
	// InPlace keeps rows in the order in which they came: buckets are runs of
	// them, not what their hashes say, and leaves are not sorted. Which rows a
	// leaf has means nothing then.
	InPlace bool
	// Windows makes the store a keyed one: rows are distributed by their partition and
	// ordered within it.
	Windows *Windows
	// Leaves is the number of leaves where it is known before the rows are; 0 else.
	Leaves int
	// Copies counts the copies of rows as they are added.
	Copies bool
	// Flow takes rows that there is no memory for as they are added. They are
	// forgotten then, for they can be read again: nothing of them is written. It is called
	// from the goroutines that add rows, and the view is its for the call.
	Flow func(v *View) error
	// Worth reports whether rows of which v is a sample, that takes packed bytes in the file,
	// are better read again than written; nil: they are. It is asked once.
	Worth func(v *View, packed int) bool
	// Lengths counts the rows of partitions, once rows are not kept; nil: not needed.
	Lengths *Lengths
}

// Store holds one node's rows of one job until they are encoded. Add, Put
// and MakeLeaf may be called from several goroutines, each phase after the other;
// Take from one at a time for each bucket, also while rows are put.
type Store struct {
	layout *Layout
	cfg    Config
	file   tempfile.File

	mu     sync.Mutex
	acct   *mem.Account
	shards []*shard // all
	idle   []*shard
	added  []*shard // once rows are taken or put: those of the rows that were added
	// regions are the memory that records lie in; nil for those whose records
	// were written to the file.
	regions [][]byte
	moving  sync.Mutex // held while records of added are copied or spilled
	turns   mem.Turns
	flowing atomic.Bool
	asked   sync.Once // Worth
	worth   bool
	// rows whose copies all leaves share, and their records
	spread     []frequent
	spreadRecs []byte
	sorts      sortings
}

// shard takes the rows of one goroutine at a time: records one after the other
// in the order of arrival, for memory is fast that way alone, and their keys.
// A record's key says which bucket it is in; keys are distributed when that is
// wanted.
type shard struct {
	enc         *encoder
	rows        [block.Buckets]int64
	came        uint64  // rows so far
	fresh       [][]key // not distributed yet
	distributed []*deck
	runs        []run    // that were written to the file
	gone        []bool   // buckets whose part of runs was taken; nil for none
	regions     []uint32 // numbers of its regions; the last one is being filled
	used        int      // bytes of the last one
	copies      *holdout.Counter
	held        int // rows that are held, of a store with Config.Flow
	bytes       int // of their records
}

// deck is keys by bucket.
type deck struct {
	keys []key
	ends [block.Buckets]uint32
	gone [block.Buckets]uint32 // the first ones, that were taken
}

// of returns the keys of a bucket that are left.
func (d *deck) of(bkt int) []key {
	from := d.gone[bkt]
	if bkt > 0 {
		from += d.ends[bkt-1]
	}
	return d.keys[from:d.ends[bkt]]
}

// deckBytes is the size of a deck of so many keys.
func deckBytes(keys int) int64 { return int64(keys)*keyBytes + block.Buckets*8 }

const (
	firstRegion = 256 << 10
	lastRegion  = 8 << 20
	keyBytes    = 16
	keyRun      = 4096 // keys that are allocated at once
)

// NewStore makes an empty store for rows of this layout.
func NewStore(l *Layout, cfg Config) *Store {
	s := &Store{layout: l, cfg: cfg, acct: cfg.Pool.Account("training rows", true)}
	s.file.Dir = cfg.Temp
	return s
}

// Layout is the form of the rows.
func (s *Store) Layout() *Layout { return s.layout }

// Close frees all memory and files. It may be called twice.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards, s.idle, s.added, s.regions, s.spreadRecs = nil, nil, nil, nil, nil
	s.acct.Close()
	return s.file.Close()
}

// OnDisk is the size of the file that rows went to.
func (s *Store) OnDisk() int64 { return s.file.Size() }

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

// shouldSpill reports whether it is a shard that the node asks the store to spill: not one that
// holds little of it, whose runs would be many and short.
func (s *Store) shouldSpill(sh *shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.acct.ShouldSpill() {
		return false
	}
	var holds int64
	for _, num := range sh.regions {
		holds += int64(len(s.regions[num]))
	}
	return holds >= s.acct.Used()/4
}

const shardBytes = int64(block.Buckets) * 16 // a shard's own size, roughly

// checkout returns a shard for the caller's goroutine alone, until checkin. Where
// there is no memory for another one it makes some, as room does.
func (s *Store) checkout() (sh *shard, err error) {
	err = s.turns.Try(false, func() error { return s.makeRoom() }, func(bool) error {
		sh, err = s.takeShard()
		return err
	})
	return sh, err
}

// takeShard is checkout without the making.
func (s *Store) takeShard() (*shard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		sh := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.turns.Enter()
		return sh, nil
	}
	size := shardBytes
	if s.cfg.Copies {
		size += holdout.CounterBytes
	}
	if err := s.acct.Grow(size); err != nil {
		return nil, err
	}
	sh := &shard{enc: newEncoder(s.layout, s.cfg.Seed, s.cfg.Windows)}
	if s.cfg.Copies {
		sh.copies = &holdout.Counter{}
	}
	s.shards = append(s.shards, sh)
	s.turns.Enter()
	return sh, nil
}

func (s *Store) checkin(sh *shard) {
	s.mu.Lock()
	s.idle = append(s.idle, sh)
	s.mu.Unlock()
	s.turns.Leave()
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
		size, err := sh.enc.measure(b, from, from+n)
		if err != nil {
			return err
		}
		buf, at, keys, err := s.room(sh, size, n)
		if err != nil {
			return err
		}
		if err := sh.enc.write(b, buf); err != nil {
			return err
		}
		for _, start := range sh.enc.start[:n] {
			k := key{be.Uint64(buf[start:]), at + loc(start/8)}
			if sh.copies != nil {
				sh.copies.Count(block.RowHash(buf[start:]))
			}
			if s.cfg.InPlace {
				k.hi = bits.Reverse64(sh.came / runRows) // runs spread evenly over the buckets
				sh.came++
			}
			keys = append(keys, k)
			sh.rows[k.bucket()]++
		}
		sh.keep(keys)
		sh.held, sh.bytes = sh.held+n, sh.bytes+size
		if s.full(sh) { // a batch may be several times as long
			if err := s.spill(sh); err != nil {
				return err
			}
		}
	}
	if s.shouldSpill(sh) {
		return s.spill(sh)
	}
	return nil
}

// room returns zeroed memory for records of size bytes and the run that their n
// keys, at most groupRows, are to be appended to and kept with. Where there is
// no memory it makes some.
func (s *Store) room(sh *shard, size, n int) (buf []byte, at loc, keys []key, err error) {
	err = s.turns.Try(true, func() error { return s.makeRoom(sh) }, func(least bool) error {
		buf, at, keys, err = s.cut(sh, size, n, least)
		return err
	})
	return buf, at, keys, err
}

// MakeRoom spills the shards to which no rows are being added, to free their memory for
// the rest of the job.
func (s *Store) MakeRoom() error {
	return s.turns.Make(func() error { return s.makeRoom() })
}

// makeRoom writes to the file what the caller's shards, the idle ones and those
// of rows that were added hold.
func (s *Store) makeRoom(mine ...*shard) error {
	s.mu.Lock()
	idle, added := s.idle, s.added
	s.idle = nil
	s.mu.Unlock()
	err := s.spill(append(mine, idle...)...)
	if err == nil && len(added) > 0 {
		s.moving.Lock()
		err = s.spill(added...)
		s.moving.Unlock()
	}
	s.mu.Lock()
	s.idle = append(s.idle, idle...)
	s.mu.Unlock()
	return err
}

// cut is room without the making; least is for as little as will do.
func (s *Store) cut(sh *shard, size, n int, least bool) (buf []byte, at loc, keys []key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := len(sh.fresh); k == 0 || cap(sh.fresh[k-1])-len(sh.fresh[k-1]) < n {
		run := keyRun
		if least {
			run = n
		}
		if err := s.acct.Grow(int64(run) * keyBytes); err != nil {
			return nil, 0, nil, err
		}
		sh.fresh = append(sh.fresh, make([]key, 0, run))
	}
	if k := len(sh.regions); k == 0 || sh.used+size > len(s.regions[sh.regions[k-1]]) {
		want := max(size, min(firstRegion<<min(k, 10), s.chunkBytes(firstRegion, lastRegion)))
		if least {
			want = size
		}
		if err := s.acct.Grow(int64(want)); err != nil {
			if want == size || s.acct.Grow(int64(size)) != nil {
				return nil, 0, nil, err
			}
			want = size
		}
		sh.regions = append(sh.regions, uint32(len(s.regions)))
		s.regions = append(s.regions, spare.LargePages(make([]byte, want)))
		sh.used = 0
	}
	num := sh.regions[len(sh.regions)-1]
	from := sh.used
	sh.used += size
	return s.regions[num][from:sh.used:sh.used], loc(num)<<32 | loc(from/8), sh.fresh[len(sh.fresh)-1], nil
}

// keep replaces the key slice that room returned by its extended version.
func (sh *shard) keep(keys []key) { sh.fresh[len(sh.fresh)-1] = keys }

// distribute distributes a shard's fresh keys to their buckets. The memory for that is
// within what shards may hold: it is taken without asking where forced.
func (s *Store) distribute(sh *shard, force bool) error {
	n, held := 0, 0
	for _, run := range sh.fresh {
		n, held = n+len(run), held+cap(run)
	}
	if n == 0 {
		return nil
	}
	s.mu.Lock()
	var err error
	if size := deckBytes(n); force {
		s.acct.Take(size)
	} else {
		err = s.acct.Grow(size)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	d := &deck{keys: make([]key, n)}
	for _, run := range sh.fresh {
		for _, k := range run {
			d.ends[k.bucket()]++
		}
	}
	sum := uint32(0)
	for i, c := range d.ends {
		d.ends[i] = sum
		sum += c
	}
	for _, run := range sh.fresh {
		for _, k := range run {
			e := &d.ends[k.bucket()]
			d.keys[*e] = k
			*e++
		}
	}
	sh.fresh = nil
	sh.distributed = append(sh.distributed, d)
	s.shrink(int64(held) * keyBytes)
	return nil
}

// spill writes all that these shards hold to the file, or lets it flow by. The caller is the only
// one who works on them.
func (s *Store) spill(shards ...*shard) error {
	if s.lets(shards) {
		return s.flow(shards...)
	}
	s.mu.Lock()
	regions := s.regions
	s.mu.Unlock()
	for _, sh := range shards {
		if err := s.distribute(sh, true); err != nil {
			return err
		}
		if len(sh.distributed) == 0 {
			continue
		}
		if err := s.writeRun(sh, regions); err != nil {
			return err
		}
		s.mu.Lock()
		for _, num := range sh.regions {
			s.acct.Shrink(int64(len(s.regions[num])))
			s.regions[num] = nil
		}
		for _, d := range sh.distributed {
			s.acct.Shrink(deckBytes(len(d.keys)))
		}
		s.mu.Unlock()
		sh.regions, sh.used, sh.distributed = nil, 0, nil
	}
	return nil
}

// Counts returns the rows of each bucket.
func (s *Store) Counts() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int64, block.Buckets)
	for _, sh := range s.shards {
		for i, n := range sh.rows {
			out[i] += n
		}
	}
	return out
}
